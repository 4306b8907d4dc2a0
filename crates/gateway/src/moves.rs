//! Places that a platform has moved while this gateway runs (OWN-72).
//!
//! **Invariant:** stored routes are changed by the store, in one transaction. Here is only what a turn, or a message that was read before, still
//! remembers of the old place: it is followed to the new one when something is made of it.
//! **Absent on purpose:** memory across restarts. Afterwards every route is read from the store.

use std::sync::{Mutex, MutexGuard, PoisonError};

use homing_domain::origin::{AccountName, Origin};
use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

/// A chat that moved more often in a gateway's life is not followed further; the platform says where it is now.
const STEPS: usize = 8;

#[derive(Debug, Default)]
pub(crate) struct Moves {
    known: Mutex<Vec<Moved>>,
    /// Held for writing from before the store changes its routes until the move is known here. Who stores by a place holds it for reading: else a
    /// message could be stored by the old name of a place that has just got a new one, as a conversation of its own. Chats move once in a life.
    gate: RwLock<()>,
}

#[derive(Debug)]
struct Moved {
    account: AccountName,
    from: String,
    to: String,
}

impl Moves {
    fn lock(&self) -> MutexGuard<'_, Vec<Moved>> {
        // Whole after every operation.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nothing moves for as long as this is held.
    pub async fn stand_still(&self) -> RwLockReadGuard<'_, ()> {
        self.gate.read().await
    }

    /// A move begins, once nobody stores by a place that it may concern.
    pub async fn begin(&self) -> RwLockWriteGuard<'_, ()> {
        self.gate.write().await
    }

    pub fn add(&self, account: &AccountName, from: &str, to: &str) {
        let mut moves = self.lock();
        // The newest word on a chat is the one that counts, and a chat that came back is where it was.
        moves.retain(|moved| moved.account != *account || (moved.from != from && moved.from != to));
        moves.push(Moved {
            account: account.clone(),
            from: from.to_owned(),
            to: to.to_owned(),
        });
    }

    /// Where this place is now. The anchor goes with the old place: message ids begin anew at the new one.
    pub fn follow(&self, mut origin: Origin) -> Origin {
        let moves = self.lock();
        if moves.is_empty() {
            return origin;
        }
        let account = origin.account_name();
        for _ in 0..STEPS {
            let next = moves
                .iter()
                .find(|moved| moved.from == origin.chat && moved.account == account);
            let Some(next) = next else { break };
            origin.chat.clone_from(&next.to);
            origin.anchor = None;
        }
        origin
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use homing_domain::key::SessionKey;

    fn origin(key: &str) -> Origin {
        let key: SessionKey = key.parse().unwrap();
        Origin {
            anchor: Some("17".into()),
            ..Origin::from_key(&key)
        }
    }

    // OWN-72
    #[test]
    fn a_place_is_followed_through_every_move_and_loses_its_anchor() {
        let moves = Moves::default();
        let here = origin("agent:main:telegram:group:-1:42");
        assert_eq!(moves.follow(here.clone()), here);
        moves.add(&here.account_name(), "-1", "-2");
        moves.add(&here.account_name(), "-2", "-3");
        let there = moves.follow(here);
        assert_eq!((there.chat.as_str(), there.anchor), ("-3", None));
        assert_eq!(there.thread.as_deref(), Some("42"));
    }

    // OWN-6
    #[test]
    fn the_same_chat_of_another_account_stays() {
        let moves = Moves::default();
        let here = origin("agent:main:telegram:group:-1");
        moves.add(&here.account_name(), "-1", "-2");
        for other in [
            "agent:main:telegram@second:group:-1",
            "agent:other:telegram:group:-1",
        ] {
            assert_eq!(moves.follow(origin(other)).chat, "-1");
        }
    }

    #[test]
    fn a_chat_that_is_said_to_go_in_circles_ends_somewhere() {
        let moves = Moves::default();
        let here = origin("agent:main:telegram:group:-1");
        for (from, to) in [("-1", "-2"), ("-2", "-3"), ("-3", "-1"), ("-1", "-1")] {
            moves.add(&here.account_name(), from, to);
        }
        let _somewhere = moves.follow(here);
    }
}
