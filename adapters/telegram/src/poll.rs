//! Long polling: fetch a batch, commit it, and only then ask for the next, which confirms it.
//!
//! **Invariant:** an offset is sent, and written down, only after everything below it is committed. Messages of one place are committed in their order. Nothing but a revoked token ends the loop.

use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use teloxide_core::payloads::DeleteWebhook;
use tokio_util::sync::CancellationToken;

use crate::api::Failure;
use crate::intake::Intake;
use crate::outcome;
use crate::place::Place;
use crate::reading::{self, KINDS, News};
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

/// Returns once all are committed: of each place in their order.
async fn take_in(shared: &Shared, intake: &Intake, mut updates: Vec<Value>) {
    updates.sort_by_key(|update| update["update_id"].as_i64());
    intake.look_ahead(&updates);
    let places = updates.iter().map(place_of_message);
    for lanes in steps(updates.iter().zip(places)) {
        // Together, so that the store can commit them together.
        let lanes = lanes
            .iter()
            .map(|lane| take_one_by_one(shared, intake, lane));
        join_all(lanes).await;
    }
    let newest = updates
        .iter()
        .filter_map(|update| update["update_id"].as_i64())
        .max();
    if let Some(newest) = newest {
        shared.confirm(newest.saturating_add(1)).await;
    }
}

fn place_of_message(update: &Value) -> Option<Place> {
    match reading::read(update) {
        News::Written(message) => Some(message.place),
        _ => None,
    }
}

async fn take_one_by_one(shared: &Shared, intake: &Intake, updates: &[&Value]) {
    let pace = &shared.settings.pace;
    let mut backoff = Backoff::new(pace.first_wait, pace.longest_wait);
    for update in updates {
        while let Err(error) = intake.take(update).await {
            tracing::warn!(account = %shared.settings.account, %error, "Telegram keeps it until then");
            backoff.wait(None).await;
        }
        backoff.reset();
    }
}

/// What is taken at the same time, step by step: messages, a lane for each place. What is no message, such as an edit or a group that moves, is a step of
/// its own: it may be about anything before it. Pure.
fn steps<T, P: PartialEq>(updates: impl Iterator<Item = (T, Option<P>)>) -> Vec<Vec<Vec<T>>> {
    let mut steps: Vec<Vec<(Option<P>, Vec<T>)>> = Vec::new();
    for (update, place) in updates {
        let last = steps.last_mut().filter(|last| {
            let is_of_messages = |(place, _): &(Option<P>, Vec<T>)| place.is_some();
            place.is_some() && last.iter().all(is_of_messages)
        });
        let Some(lanes) = last else {
            steps.push(vec![(place, vec![update])]);
            continue;
        };
        match lanes.iter_mut().find(|(theirs, _)| *theirs == place) {
            Some((_, lane)) => lane.push(update),
            None => lanes.push((place, vec![update])),
        }
    }
    let lanes = |step: Vec<(Option<P>, Vec<T>)>| step.into_iter().map(|(_, lane)| lane).collect();
    steps.into_iter().map(lanes).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_do_not_wait_for_each_other_and_what_is_no_message_waits_for_all() {
        let updates = [
            (1, Some('a')),
            (2, Some('b')),
            (3, Some('a')),
            (4, None),
            (5, None),
            (6, Some('b')),
            (7, Some('b')),
            (8, Some('c')),
        ];
        assert_eq!(
            steps(updates.into_iter()),
            [
                vec![vec![1, 3], vec![2]],
                vec![vec![4]],
                vec![vec![5]],
                vec![vec![6, 7], vec![8]],
            ]
        );
        assert!(steps(std::iter::empty::<(u8, Option<char>)>()).is_empty());
    }
}
