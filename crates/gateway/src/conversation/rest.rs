//! What is known not to wait, so that the store is not asked for it after every turn.
//!
//! **Invariant:** whoever stores a message or a notification wakes its conversation afterwards. So what did not wait at the last look comes with a wake,
//! unless this task brought it itself: only what surely brings nothing leaves the knowledge as it is, and everything else ends it.

use homing_ports::agent::TurnAnswer;

use super::{About, Conversation, Wake};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct AtRest {
    pub messages: bool,
    pub notifications: bool,
}

impl Conversation {
    /// Before a wake is handled.
    pub(super) fn look_up(&mut self, wake: Option<&Wake>) {
        match wake {
            Some(Wake::Inbound) => self.at_rest.messages = false,
            Some(Wake::Notifications) => self.at_rest.notifications = false,
            // Settling a send touches nothing but the outbox.
            Some(Wake::SendEnded { .. }) => {}
            // A turn that failed may be begun again, and what it was to tell waits again.
            Some(Wake::TurnEnded { result, .. }) if self.was_for_a_person(result.as_ref().ok()) => {
            }
            Some(_) | None => self.at_rest = AtRest::default(),
        }
    }

    fn was_for_a_person(&self, answered: Option<&TurnAnswer>) -> bool {
        let running = self.turn.as_ref().map(|running| &running.about);
        answered.is_some() && matches!(running, Some(About::Person { .. }))
    }
}
