//! Windows as UI sessions: when one is closed though nobody said so (OWN-34…36, 101).
//!
//! A window is one conversation shown in one browser tab; it stays open while the tab lives, also when the tab shows another conversation.
//! It is closed
//! - at once, when the page says so (`DELETE`);
//! - [`GOODBYE`] after the tab's beacon, unless the page comes back: a reload says goodbye just like a closing tab;
//! - [`VANISHED`] after its last stream ended, or after it was opened and no stream came;
//! - [`RESTARTED`] after the gateway started, if its page does not reconnect.
//!
//! **Invariant:** a window with a connected stream is never closed by time. A close that fails is tried again.
//! **Absent on purpose:** what closing means. The inbox decides; here is only when.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use homing_domain::ids::WindowId;
use homing_domain::time::Timestamp;
use homing_ports::Clock;
use homing_ports::inbox::{AcceptError, Inbox};
use homing_ports::store::{Queries, StoreResult};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::threads;

pub(crate) const GOODBYE: Duration = Duration::from_secs(3);
pub(crate) const VANISHED: Duration = Duration::from_secs(30);
pub(crate) const RESTARTED: Duration = Duration::from_secs(60);
/// Conversations whose windows are looked for after a restart, most recently active first.
const RECALLED: u32 = 1_000;

pub(crate) struct Windows {
    clock: Arc<dyn Clock>,
    inbox: Arc<dyn Inbox>,
    standing: Mutex<HashMap<WindowId, Standing>>,
    moved: Notify,
}

/// What holds a window open.
#[derive(Debug, Clone, Copy, Default)]
struct Standing {
    /// Streams of its page. Two for a moment, while a page reconnects.
    streams: u32,
    /// When it is closed if there are no streams then.
    close_at: Option<Timestamp>,
}

impl Windows {
    pub fn new(clock: Arc<dyn Clock>, inbox: Arc<dyn Inbox>) -> Arc<Windows> {
        Arc::new(Windows {
            clock,
            inbox,
            standing: Mutex::default(),
            moved: Notify::new(),
        })
    }

    /// Gives the windows of an earlier gateway their minute. If the store cannot say which they are, they stay open until their page closes
    /// them: late is better than closing what somebody looks at.
    pub async fn recall(&self, queries: &dyn Queries) {
        let deadline = self.clock.now().plus(RESTARTED);
        match open_windows(queries).await {
            Ok(windows) => windows.into_iter().for_each(|window| {
                self.change(window, |standing| standing.close_at = Some(deadline))
            }),
            Err(error) => {
                tracing::warn!(%error, "the console could not read which windows were open")
            }
        }
    }

    /// It was opened or used just now; its stream is expected.
    pub fn opened(&self, window: WindowId) {
        let deadline = self.clock.now().plus(VANISHED);
        self.change(window, |standing| standing.close_at = Some(deadline));
    }

    /// Its page is connected for as long as the answer lives.
    pub fn connect(self: &Arc<Self>, window: WindowId) -> Connection {
        self.change(window, |standing| {
            *standing = Standing {
                streams: standing.streams + 1,
                close_at: None,
            }
        });
        Connection {
            windows: self.clone(),
            window,
        }
    }

    /// The page said goodbye. Its stream may end before or after that, and a reloaded page may have come back already.
    pub fn goodbye(&self, window: WindowId) {
        let deadline = self.clock.now().plus(GOODBYE);
        self.change(window, |standing| standing.close_at = Some(deadline));
    }

    /// It is closed: there is nothing left to watch.
    pub fn closed(&self, window: WindowId) {
        self.lock().remove(&window);
    }

    fn disconnect(&self, window: WindowId) {
        let deadline = self.clock.now().plus(VANISHED);
        // One that is closed already is not known here any more, and stays so.
        if let Some(standing) = self.lock().get_mut(&window) {
            standing.streams = standing.streams.saturating_sub(1);
            standing.close_at = Some(
                standing
                    .close_at
                    .map_or(deadline, |goodbye| goodbye.min(deadline)),
            );
        }
        self.moved.notify_one();
    }

    fn change(&self, window: WindowId, how: impl FnOnce(&mut Standing)) {
        how(self.lock().entry(window).or_default());
        self.moved.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<WindowId, Standing>> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes what is due, until `shutdown`. A restart is no reason to close anything (OWN-16).
    pub async fn keep(self: Arc<Self>, shutdown: CancellationToken) {
        while !shutdown.is_cancelled() {
            self.close_due().await;
            let next = self.lock().values().filter_map(Standing::deadline).min();
            tokio::select! {
                () = self.moved.notified() => {}
                () = wait(self.clock.as_ref(), next) => {}
                () = shutdown.cancelled() => {}
            }
        }
    }

    async fn close_due(&self) {
        let now = self.clock.now();
        let is_due =
            |standing: &Standing| standing.deadline().is_some_and(|deadline| deadline <= now);
        let due: Vec<WindowId> = self
            .lock()
            .iter()
            .filter(|(_, standing)| is_due(standing))
            .map(|(window, _)| *window)
            .collect();
        for window in due {
            // Its page may have come back while others were being closed.
            if self.lock().get(&window).is_some_and(is_due) {
                self.close(window).await;
            }
        }
    }

    async fn close(&self, window: WindowId) {
        match self.inbox.close_window(window).await {
            Ok(()) | Err(AcceptError::UnknownWindow(_)) => self.closed(window),
            Err(error) => {
                tracing::warn!(window.id = %window, %error, "a window could not be closed; it is tried again");
                let deadline = self.clock.now().plus(VANISHED);
                self.change(window, |standing| standing.close_at = Some(deadline));
            }
        }
    }
}

impl Standing {
    fn deadline(&self) -> Option<Timestamp> {
        self.close_at.filter(|_| self.streams == 0)
    }
}

async fn wait(clock: &dyn Clock, until: Option<Timestamp>) {
    match until {
        Some(deadline) => clock.sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

async fn open_windows(queries: &dyn Queries) -> StoreResult<Vec<WindowId>> {
    let mut windows = Vec::new();
    for conversation in queries.conversations(RECALLED).await? {
        if conversation.key.platform == threads::PLATFORM {
            windows.extend(
                queries
                    .open_windows(conversation.id)
                    .await?
                    .into_iter()
                    .map(|window| window.id),
            );
        }
    }
    Ok(windows)
}

/// Holds a window open while a stream of its page lives.
pub(crate) struct Connection {
    windows: Arc<Windows>,
    pub window: WindowId,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.windows.disconnect(self.window);
    }
}
