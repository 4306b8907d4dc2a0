//! The poll loop of one account.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::future::join_all;
use homing_domain::origin::Origin;
use homing_ports::inbox::{AcceptError, Inbound, Inbox};

use super::{Line, outcome};
use crate::wire::{LONGEST_WAIT_MS, Poll, Update, Updates};

const FIRST_BACKOFF: Duration = Duration::from_millis(20);
const LONGEST_BACKOFF: Duration = Duration::from_millis(500);
/// How long a poll waits for news, in milliseconds.
const WAIT_MS: u64 = 25_000;

/// Whether the inbox knows that this account can send.
enum Standing {
    /// The next poll returns at once, only to see whether someone answers.
    Away,
    Announced,
}

pub(super) async fn run(line: Arc<Line>, inbox: Arc<dyn Inbox>) {
    let mut backoff = Backoff::new();
    let mut standing = Standing::Away;
    let mut offset = 0;
    loop {
        let wait_ms = match standing {
            Standing::Away => 0,
            Standing::Announced => WAIT_MS,
        };
        let fetched = tokio::select! {
            fetched = fetch(&line, Poll { offset, wait_ms }) => fetched,
            () = line.doubt.notified() => Err("a send found the platform away".to_owned()),
        };
        match (fetched, &standing) {
            (Ok(updates), Standing::Announced) => {
                backoff = Backoff::new();
                offset = take_in(&line, &inbox, offset, updates).await;
            }
            (Ok(updates), Standing::Away) => {
                standing = Standing::Announced;
                line.connected.store(true, Ordering::Release);
                inbox.ready(&line.account);
                offset = take_in(&line, &inbox, offset, updates).await;
            }
            (Err(reason), _) => {
                tracing::debug!(account = %line.account, reason, "the simulated platform is away");
                line.connected.store(false, Ordering::Release);
                standing = Standing::Away;
                backoff.wait().await;
            }
        }
    }
}

/// Doubles from the first wait to the longest.
struct Backoff(Duration);

impl Backoff {
    fn new() -> Backoff {
        Backoff(FIRST_BACKOFF)
    }
    async fn wait(&mut self) {
        tokio::time::sleep(self.0).await;
        self.0 = (self.0 * 2).min(LONGEST_BACKOFF);
    }
}

async fn fetch(line: &Line, poll: Poll) -> Result<Vec<Update>, String> {
    let request = line
        .client
        .get(line.below(&["updates"]))
        .query(&poll)
        .timeout(Duration::from_millis(LONGEST_WAIT_MS + 5_000));
    let (status, body) = outcome::answered(request.send().await)
        .await
        .map_err(|error| error.to_string())?;
    if !status.is_success() {
        return Err(status.to_string());
    }
    let updates: Updates = serde_json::from_slice(&body).map_err(|error| error.to_string())?;
    Ok(updates.updates)
}

/// Stores a batch and returns the offset that confirms it. Different places are stored side by side, one place in order.
async fn take_in(line: &Line, inbox: &Arc<dyn Inbox>, offset: u64, updates: Vec<Update>) -> u64 {
    let confirmed = updates
        .iter()
        .map(|update| update.update + 1)
        .max()
        .unwrap_or(offset);
    let mut places: HashMap<_, Vec<Update>> = HashMap::new();
    for update in updates {
        places
            .entry((
                update.chat.clone(),
                update.thread.clone(),
                update.user.clone(),
            ))
            .or_default()
            .push(update);
    }
    join_all(places.into_values().map(|place| async move {
        for update in place {
            store(line, inbox, update).await;
        }
    }))
    .await;
    confirmed
}

/// Returns once it is stored, or can never be.
async fn store(line: &Line, inbox: &Arc<dyn Inbox>, update: Update) {
    let mut backoff = Backoff::new();
    let inbound = inbound(line, update);
    loop {
        match inbox.accept(inbound.clone()).await {
            Ok(_new_or_repeat) => return,
            Err(error @ (AcceptError::Stopping | AcceptError::Store(_))) => {
                tracing::debug!(account = %line.account, %error, "not stored, and so not confirmed");
                backoff.wait().await;
            }
            Err(
                error @ (AcceptError::TooLong { .. }
                | AcceptError::UnknownAccount(_)
                | AcceptError::UnknownWindow(_)),
            ) => {
                tracing::warn!(account = %line.account, %error, "left out a message that can never be stored");
                return;
            }
        }
    }
}

fn inbound(line: &Line, update: Update) -> Inbound {
    let raw = serde_json::to_string(&update).ok();
    let account = line.account.clone();
    let origin = Origin {
        profile: account.profile,
        platform: account.platform,
        account: account.account,
        chat_type: update.chat_type,
        chat: update.chat,
        thread: update.thread,
        user: update.user,
        anchor: Some(update.message),
    };
    Inbound {
        origin,
        platform_id: update.update.to_string(),
        author: update.author,
        text: update.text,
        window: update.window,
        raw,
        quoted: None,
        attachments: Vec::new(),
        together: None,
    }
}
