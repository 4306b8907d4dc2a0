//! A notification is a row before it is anything else (OWN-60).

/// What background work has to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A process ended and how is known.
    Completed,
    /// A watch pattern matched.
    Matched,
    /// Watching was switched off (OWN-81).
    WatchOff,
    /// A sub-agent finished, failed or was interrupted.
    Delegation,
    /// A process is gone and how it ended is unknown (OWN-91).
    Lost,
}

impl Kind {
    pub const ALL: [Kind; 5] = [
        Kind::Completed,
        Kind::Matched,
        Kind::WatchOff,
        Kind::Delegation,
        Kind::Lost,
    ];
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Completed => "completed",
            Kind::Matched => "matched",
            Kind::WatchOff => "watch_off",
            Kind::Delegation => "delegation",
            Kind::Lost => "lost",
        }
    }
    pub fn parse(text: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == text)
    }
}

/// Where a notification stands. `pending → claimed → delivered | noticed | consumed | dropped`, and `held` to and from `pending`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum State {
    Pending,
    /// A background turn that tells it is under way.
    Claimed,
    Held,
    /// In the session's history (OWN-65).
    Delivered,
    /// Told as plain text, outside the history.
    Noticed,
    /// The agent had it already.
    Consumed,
    Dropped,
}

impl State {
    pub const ALL: [State; 7] = [
        State::Pending,
        State::Claimed,
        State::Held,
        State::Delivered,
        State::Noticed,
        State::Consumed,
        State::Dropped,
    ];
    pub const fn name(self) -> &'static str {
        match self {
            State::Pending => "pending",
            State::Claimed => "claimed",
            State::Held => "held",
            State::Delivered => "delivered",
            State::Noticed => "noticed",
            State::Consumed => "consumed",
            State::Dropped => "dropped",
        }
    }
    pub fn parse(text: &str) -> Option<State> {
        State::ALL.into_iter().find(|state| state.name() == text)
    }
    pub const fn is_final(self) -> bool {
        matches!(
            self,
            State::Delivered | State::Noticed | State::Consumed | State::Dropped
        )
    }
}
