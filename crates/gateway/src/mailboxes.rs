//! Who has which mailbox. A conversation's task is made when something wakes it and let go when it has nothing to do.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use homing_domain::ids::ConversationId;
use tokio::sync::mpsc;

use crate::conversation::{self, Wake};
use crate::inside::Inside;

#[derive(Debug, Default)]
pub(crate) struct Mailboxes {
    inner: Mutex<HashMap<ConversationId, mpsc::UnboundedSender<Wake>>>,
}

impl Mailboxes {
    fn lock(&self) -> MutexGuard<'_, HashMap<ConversationId, mpsc::UnboundedSender<Wake>>> {
        // Whole after every operation: a panic elsewhere cannot have torn it.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes a conversation, making its task if there is none.
    pub fn wake(&self, inside: &Arc<Inside>, conversation: ConversationId, wake: Wake) {
        inside.counters.add(&inside.counters.mailbox);
        let mut inner = self.lock();
        let wake = match inner.get(&conversation) {
            Some(mailbox) => match mailbox.send(wake) {
                Ok(()) => return,
                Err(mpsc::error::SendError(wake)) => wake,
            },
            None => wake,
        };
        let (sender, receiver) = mpsc::unbounded_channel();
        if sender.send(wake).is_ok() {
            inner.insert(conversation, sender);
        }
        drop(inner);
        tokio::spawn(conversation::run(inside.clone(), conversation, receiver));
    }

    /// All tasks that exist now.
    pub fn wake_all(&self, inside: &Arc<Inside>, wake: impl Fn() -> Wake) {
        for mailbox in self.lock().values() {
            inside.counters.add(&inside.counters.mailbox);
            if mailbox.send(wake()).is_err() {
                inside.counters.done(&inside.counters.mailbox);
            }
        }
    }

    /// Lets a task go if nothing waits for it. After `true` it must end.
    pub fn let_go(
        &self,
        conversation: ConversationId,
        mailbox: &mpsc::UnboundedReceiver<Wake>,
    ) -> bool {
        let mut inner = self.lock();
        let free = mailbox.is_empty();
        if free {
            inner.remove(&conversation);
        }
        free
    }

    /// Tasks that exist now.
    pub fn len(&self) -> usize {
        self.lock().len()
    }
}
