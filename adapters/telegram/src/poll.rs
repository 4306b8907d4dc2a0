//! Long polling: fetch a batch, commit it, and only then ask for the next, which confirms it.
//!
//! **Invariant:** an offset is sent, and written down, only after everything below it is committed. Nothing but a revoked token ends the loop.

use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::{Value, json};
use teloxide_core::payloads::DeleteWebhook;
use tokio_util::sync::CancellationToken;

use crate::api::Failure;
use crate::intake::Intake;
use crate::outcome;
use crate::reading::KINDS;
use crate::telegram::{ServeError, Shared};

/// Whether the gateway knows that this account can send.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Line {
    /// The next poll returns at once, only to see whether someone answers.
    Away,
    Announced,
}

pub(crate) async fn run(
    shared: &Shared,
    intake: &Intake,
    shutdown: &CancellationToken,
) -> Result<(), ServeError> {
    let stopped = shutdown.cancelled();
    tokio::select! {
        () = stopped => Ok(()),
        result = poll(shared, intake) => result,
    }
}

async fn poll(shared: &Shared, intake: &Intake) -> Result<(), ServeError> {
    let pace = &shared.settings.pace;
    let mut away = Backoff::new(pace.first_wait, pace.longest_wait);
    let mut conflict = Backoff::new(pace.first_conflict_wait, pace.longest_conflict_wait);
    let mut line = Line::Away;
    remove_webhook(shared).await?;
    loop {
        let fetched = tokio::select! {
            fetched = fetch(shared, line) => fetched,
            () = shared.doubt.notified() => {
                line = Line::Away;
                continue;
            }
        };
        match fetched {
            Ok(updates) => {
                away.reset();
                conflict.reset();
                if line == Line::Away {
                    line = Line::Announced;
                    intake.ready();
                }
                take_in(shared, intake, updates).await;
            }
            Err(failure) if failure.is_unauthorized() => {
                return Err(ServeError::Token(failure.to_string()));
            }
            Err(failure) => {
                line = Line::Away;
                shared.is_up.store(false, Ordering::Relaxed);
                match outcome::conflict(&failure) {
                    Some(kind) => {
                        if shared.is_news(format!("conflict {kind:?}")) {
                            shared.tell(kind.advice()).await;
                        }
                        conflict.wait(None).await;
                    }
                    None => {
                        tracing::info!(account = %shared.settings.account, %failure, "no updates for now");
                        away.wait(failure.said().and_then(|said| said.retry_after))
                            .await;
                    }
                }
            }
        }
    }
}

/// Polling is what is configured here: a webhook of former times goes.
async fn remove_webhook(shared: &Shared) -> Result<(), ServeError> {
    match shared.api.tell(&DeleteWebhook::new()).await {
        Ok(_) => Ok(()),
        Err(failure) if failure.is_unauthorized() => Err(ServeError::Token(failure.to_string())),
        Err(failure) => {
            tracing::info!(%failure, "whether a webhook is set is not known; polling will tell");
            Ok(())
        }
    }
}

async fn fetch(shared: &Shared, line: Line) -> Result<Vec<Value>, Failure> {
    let wait = match line {
        Line::Away => Duration::ZERO,
        Line::Announced => shared.settings.pace.poll,
    };
    // Not teloxide's request: its offset is too small for the numbers that Telegram may choose.
    let mut request = json!({"limit": 100, "timeout": wait.as_secs(), "allowed_updates": KINDS});
    if let Some(offset) = shared.offset() {
        request["offset"] = json!(offset);
    }
    let limit = wait + shared.settings.pace.answer;
    match shared
        .api
        .call_within("getUpdates", &request, limit)
        .await?
    {
        Value::Array(updates) => Ok(updates),
        _ => Err(Failure::Unreadable("getUpdates answers no list".into())),
    }
}

/// Returns once all are committed, in their order.
async fn take_in(shared: &Shared, intake: &Intake, mut updates: Vec<Value>) {
    updates.sort_by_key(|update| update["update_id"].as_i64());
    intake.look_ahead(&updates);
    let pace = &shared.settings.pace;
    let mut backoff = Backoff::new(pace.first_wait, pace.longest_wait);
    for update in &updates {
        while let Err(error) = intake.take(update).await {
            tracing::warn!(account = %shared.settings.account, %error, "Telegram keeps it until then");
            backoff.wait(None).await;
        }
        backoff.reset();
    }
    let newest = updates
        .iter()
        .filter_map(|update| update["update_id"].as_i64())
        .max();
    if let Some(newest) = newest {
        shared.confirm(newest.saturating_add(1)).await;
    }
}

/// Doubles from the first wait to the longest; a little less by chance, so that two programs do not keep step.
#[derive(Debug)]
pub(crate) struct Backoff {
    first: Duration,
    longest: Duration,
    next: Duration,
}

impl Backoff {
    pub fn new(first: Duration, longest: Duration) -> Backoff {
        Backoff {
            first,
            longest,
            next: first,
        }
    }

    pub fn reset(&mut self) {
        self.next = self.first;
    }

    /// At least as long as was asked for.
    pub async fn wait(&mut self, asked: Option<Duration>) {
        let wait = self.next.mul_f64(jitter()).max(asked.unwrap_or_default());
        self.next = (self.next * 2).min(self.longest);
        tokio::time::sleep(wait).await;
    }
}

/// Between three quarters and one.
fn jitter() -> f64 {
    use std::hash::{BuildHasher, RandomState};
    let random = RandomState::new().hash_one(0_u8);
    0.75 + 0.25 * (random as f64 / u64::MAX as f64)
}
