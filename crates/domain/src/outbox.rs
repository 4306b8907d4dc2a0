//! The rules of the outbox: what leaves next, what an attempt makes of an item, what a boundary and a restart do to it.
//!
//! **Invariant:** an item that may have arrived is never sent again as if it had not, and an item of a closed lineage that has not left
//! never leaves. The order of a conversation is the order of its items: only the first unsettled one may be sent.
//! **Absent on purpose:** waiting times and texts. The gateway adds those; a model checker does without.

/// Where an item stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum OutboxState {
    Queued,
    Sending,
    /// The gateway died, or the connection broke, while it was sent.
    Uncertain,
    Sent,
    /// Its lineage was closed before it went out.
    Cancelled,
    /// Refused for good; kept with its reason (OWN-73).
    Dead,
}

impl OutboxState {
    pub const ALL: [OutboxState; 6] = [
        OutboxState::Queued,
        OutboxState::Sending,
        OutboxState::Uncertain,
        OutboxState::Sent,
        OutboxState::Cancelled,
        OutboxState::Dead,
    ];
    pub const fn name(self) -> &'static str {
        match self {
            OutboxState::Queued => "queued",
            OutboxState::Sending => "sending",
            OutboxState::Uncertain => "uncertain",
            OutboxState::Sent => "sent",
            OutboxState::Cancelled => "cancelled",
            OutboxState::Dead => "dead",
        }
    }
    pub fn parse(text: &str) -> Option<OutboxState> {
        OutboxState::ALL
            .into_iter()
            .find(|state| state.name() == text)
    }
    pub const fn is_settled(self) -> bool {
        matches!(
            self,
            OutboxState::Sent | OutboxState::Cancelled | OutboxState::Dead
        )
    }
}

/// What a platform offers against a message being posted twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Repeats {
    /// It recognises the idempotency key: sending again is safe.
    Deduplicates,
    /// History can be searched for our id before sending again.
    LookUp,
    /// Nothing: a repeat is possible and is marked as one (OWN-94).
    Unprotected,
}

/// How an attempt ended, as far as the rules care.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Attempt {
    Accepted,
    /// Nothing was sent: away, rate limited, refused for now.
    NotSent,
    /// It may have arrived.
    Unknown,
    /// It will never be accepted, or it landed in the wrong place.
    Refused,
}

/// Whether the lineage that an item speaks for was closed while the attempt was under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Lineage {
    #[default]
    Open,
    Closed,
}

/// What an attempt makes of an item that stood `before` when the attempt began. What did not arrive of a closed lineage is not tried again.
pub const fn after_attempt(before: OutboxState, attempt: Attempt, lineage: Lineage) -> OutboxState {
    match (attempt, lineage, before) {
        (Attempt::Accepted, _, _) => OutboxState::Sent,
        (Attempt::Refused, _, _) => OutboxState::Dead,
        (Attempt::Unknown | Attempt::NotSent, Lineage::Closed, _) => OutboxState::Cancelled,
        (Attempt::Unknown, Lineage::Open, _) => OutboxState::Uncertain,
        // Nobody knows of the attempt before this one, and this one says nothing about it.
        (Attempt::NotSent, Lineage::Open, OutboxState::Uncertain) => OutboxState::Uncertain,
        (
            Attempt::NotSent,
            Lineage::Open,
            OutboxState::Queued
            | OutboxState::Sending
            | OutboxState::Sent
            | OutboxState::Cancelled
            | OutboxState::Dead,
        ) => OutboxState::Queued,
    }
}

/// What a boundary of its lineage does to an item (OWN-64): what has not left is cancelled; what is on its way settles as it may.
pub const fn at_boundary(state: OutboxState) -> OutboxState {
    match state {
        OutboxState::Queued | OutboxState::Uncertain => OutboxState::Cancelled,
        OutboxState::Sending | OutboxState::Sent | OutboxState::Cancelled | OutboxState::Dead => {
            state
        }
    }
}

/// What a restart makes of an item: one that was being sent may have arrived (OWN-94).
pub const fn at_restart(state: OutboxState) -> OutboxState {
    match state {
        OutboxState::Sending => OutboxState::Uncertain,
        OutboxState::Queued
        | OutboxState::Uncertain
        | OutboxState::Sent
        | OutboxState::Cancelled
        | OutboxState::Dead => state,
    }
}

/// Which item may be sent: the first unsettled one, if none is on its way.
pub fn next(items: impl IntoIterator<Item = OutboxState>) -> Option<usize> {
    let (index, state) = items
        .into_iter()
        .enumerate()
        .find(|(_, state)| !state.is_settled())?;
    (state != OutboxState::Sending).then_some(index)
}

/// How an item is to be sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum How {
    /// As it is.
    Plain,
    /// Looked up first: if it is there, it was sent.
    LookUpFirst,
    /// Marked as a possible repeat.
    Marked,
}

pub const fn how_to_send(state: OutboxState, repeats: Repeats) -> How {
    match (state, repeats) {
        (OutboxState::Uncertain, Repeats::LookUp) => How::LookUpFirst,
        (OutboxState::Uncertain, Repeats::Unprotected) => How::Marked,
        (OutboxState::Uncertain, Repeats::Deduplicates) => How::Plain,
        (
            OutboxState::Queued
            | OutboxState::Sending
            | OutboxState::Sent
            | OutboxState::Cancelled
            | OutboxState::Dead,
            _,
        ) => How::Plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_unsettled_item_leaves_and_only_alone() {
        use OutboxState::{Cancelled, Dead, Queued, Sending, Sent, Uncertain};
        assert_eq!(next([Sent, Dead, Queued, Queued]), Some(2));
        assert_eq!(next([Sent, Sending, Queued]), None);
        assert_eq!(next([Uncertain, Queued]), Some(0));
        assert_eq!(next([Cancelled, Sent]), None);
    }

    // OWN-64
    #[test]
    fn what_has_not_left_a_closed_lineage_never_leaves() {
        for state in OutboxState::ALL {
            let after = at_boundary(state);
            assert!(
                after.is_settled() || state == OutboxState::Sending,
                "{state:?}"
            );
        }
    }

    // OWN-94
    #[test]
    fn uncertain_is_only_forgotten_by_an_answer() {
        for attempt in [Attempt::NotSent, Attempt::Unknown] {
            assert_eq!(
                after_attempt(OutboxState::Uncertain, attempt, Lineage::Open),
                OutboxState::Uncertain
            );
        }
        assert_eq!(at_restart(OutboxState::Sending), OutboxState::Uncertain);
        assert_eq!(
            how_to_send(OutboxState::Uncertain, Repeats::Unprotected),
            How::Marked
        );
        assert_eq!(
            how_to_send(OutboxState::Queued, Repeats::Unprotected),
            How::Plain
        );
    }
}
