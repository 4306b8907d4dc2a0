//! What people see while an answer is made: that somebody is at it, and what there is of it.
//!
//! **Invariant:** nothing here is a delivery and nothing here can fail a turn. All of it ends with the turn, however that ends, and no preview
//! leaves once the turn's end was handed in, so the answer is never followed by half of itself.
//! **Absent on purpose:** background turns and sub-agents: they are quiet (OWN-67). Retries: the next preview shows more anyway.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use homing_domain::ids::{ConversationId, TurnId, WindowId};
use homing_domain::origin::Origin;
use homing_ports::agent::Partial;
use homing_ports::platform::{Live as Shows, Platform, Preview, SendError, Stage};
use homing_ports::store::{Change, Committed};
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::AnswerTo;
use crate::inside::Inside;

/// A preview that takes longer is given up: the answer waits for it.
const PREVIEW_LIMIT: Duration = Duration::from_secs(15);

/// What is shown of a turn. Clones are the same.
#[derive(Clone)]
pub(crate) struct Live(Arc<Shared>);

/// Typing and previews go on for as long as this is held.
pub(super) struct Lease {
    stop: DropGuard,
    over: CancellationToken,
}

struct Shared {
    inside: Arc<Inside>,
    platform: Arc<dyn Platform>,
    conversation: ConversationId,
    turn: TurnId,
    origin: Origin,
    window: Option<WindowId>,
    partial: watch::Receiver<Partial>,
    shown: Mutex<Option<Shown>>,
    /// Fires when the last preview has been answered.
    over: CancellationToken,
}

/// The message that shows it.
#[derive(Clone)]
struct Shown {
    message: String,
    /// Its id means nothing in another one.
    chat: String,
    stored: bool,
}

impl std::fmt::Debug for Live {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Live")
            .field("turn", &self.0.turn)
            .finish_non_exhaustive()
    }
}

impl Lease {
    /// Ends it, and waits for a preview that is under way.
    pub async fn end(self) {
        let Lease { stop, over } = self;
        drop(stop);
        over.cancelled().await;
    }
}

impl Live {
    /// Begins to show a foreground turn where its answer will go; `None` where nothing can be shown. `before` is the message that showed an
    /// earlier turn on the same question.
    pub(super) fn begin(
        inside: &Arc<Inside>,
        conversation: ConversationId,
        turn: TurnId,
        answer: &AnswerTo,
        cancel: &CancellationToken,
        before: Option<String>,
        partial: watch::Receiver<Partial>,
    ) -> Option<(Live, Lease)> {
        let platform = inside.directory.platform(&answer.origin.account_name())?;
        let live = platform.capabilities().live;
        if live == Shows::default() {
            return None;
        }
        let stop = cancel.child_token();
        let over = CancellationToken::new();
        let shared = Arc::new(Shared {
            inside: inside.clone(),
            platform,
            conversation,
            turn,
            origin: answer.origin.clone(),
            window: answer.window,
            partial: partial.clone(),
            shown: Mutex::new(before.map(|message| Shown {
                message,
                chat: answer.origin.chat.clone(),
                stored: true,
            })),
            over: over.clone(),
        });
        if let Some(every) = live.typing_every {
            tokio::spawn(type_on(shared.clone(), every, stop.clone()));
        }
        match live.preview_every {
            Some(every) => drop(tokio::spawn(preview(
                shared.clone(),
                every,
                partial,
                stop.clone(),
            ))),
            None => over.cancel(),
        }
        let lease = Lease {
            stop: stop.drop_guard(),
            over,
        };
        Some((Live(shared), lease))
    }

    /// The message whose place the answer takes. Final once the turn's end was handed in.
    pub(super) fn shown(&self) -> Option<String> {
        let chat = self.0.inside.moves.follow(self.0.origin.clone()).chat;
        let shown = self.0.shown_at(&chat)?;
        Some(shown.message)
    }

    /// No answer will follow: what is shown says so, once, after the last preview.
    pub(super) fn stopped(self) {
        let inside = self.0.inside.clone();
        inside.counters.add(&inside.counters.sends);
        tokio::spawn(async move {
            self.0.over.cancelled().await;
            if self.shown().is_some() {
                let text = stopped(&self.0.partial.borrow());
                // Said in the log; there is nothing to be done about it.
                let _settled = self.0.show(text, Stage::Stopped).await;
            }
            inside.counters.done(&inside.counters.sends);
        });
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Option<Shown>> {
        // Whole after every operation.
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn shown_at(&self, chat: &str) -> Option<Shown> {
        self.lock().clone().filter(|shown| shown.chat == chat)
    }

    /// Waits; `false` once it is to stop.
    async fn pause(&self, pause: Duration, stop: &CancellationToken) -> bool {
        let until = self.inside.now().plus(pause);
        let slept = stop.run_until_cancelled(self.inside.clock.sleep_until(until));
        slept.await.is_some()
    }

    async fn show(&self, text: String, stage: Stage) -> Result<(), SendError> {
        let origin = self.inside.moves.follow(self.origin.clone());
        let chat = origin.chat.clone();
        let before = self.shown_at(&chat);
        let preview = Preview {
            turn: self.turn,
            origin,
            window: self.window,
            text,
            shown: before.as_ref().map(|shown| shown.message.clone()),
            stage,
        };
        let answered = tokio::time::timeout(PREVIEW_LIMIT, self.platform.preview(preview)).await;
        let answered = answered.unwrap_or_else(|_| Err(SendError::Uncertain("no answer".into())));
        match answered {
            Ok(None) => Ok(()),
            Ok(Some(message)) => {
                self.keep(message, chat, before).await;
                Ok(())
            }
            Err(error) => {
                tracing::debug!(turn.id = %self.turn, %error, "not shown");
                Err(error)
            }
        }
    }

    /// Stored when it is first known: after a crash, what is said then takes its place.
    async fn keep(&self, message: String, chat: String, before: Option<Shown>) {
        if before.is_some_and(|before| before.stored && before.message == message) {
            return;
        }
        let change = Change::Previewed {
            turn: self.turn,
            message: message.clone(),
        };
        let committed = self.inside.commit(self.conversation, vec![change]).await;
        let stored = match committed {
            // Over meanwhile: nobody will ask the store for it.
            Ok(Committed::Done | Committed::Unmet { .. }) => true,
            Err(error) => {
                tracing::debug!(turn.id = %self.turn, %error, "the message that shows it is not stored yet");
                false
            }
        };
        *self.lock() = Some(Shown {
            message,
            chat,
            stored,
        });
    }
}

/// Says again and again that somebody is at it.
async fn type_on(shared: Arc<Shared>, every: Duration, stop: CancellationToken) {
    loop {
        let origin = shared.inside.moves.follow(shared.origin.clone());
        let typing = shared.platform.typing(&origin);
        let Some(typed) = stop.run_until_cancelled(typing).await else {
            return;
        };
        let pause = match typed {
            Ok(()) => every,
            Err(error) => {
                tracing::debug!(turn.id = %shared.turn, %error, "typing is not shown");
                after(&error, every)
            }
        };
        if !shared.pause(pause, &stop).await {
            return;
        }
    }
}

/// Shows what is new, at most once in `every`. The first after that time: what is answered sooner needs no preview.
async fn preview(
    shared: Arc<Shared>,
    every: Duration,
    mut partial: watch::Receiver<Partial>,
    stop: CancellationToken,
) {
    let _over = shared.over.clone().drop_guard();
    let mut last = None;
    let mut pause = every;
    loop {
        if !shared.pause(pause, &stop).await {
            return;
        }
        let text = loop {
            let text = going(&partial.borrow_and_update());
            if text.is_some() && text != last {
                break text;
            }
            match stop.run_until_cancelled(partial.changed()).await {
                Some(Ok(())) => {}
                // Stopped, or the agent is done.
                Some(Err(_)) | None => return,
            }
        };
        last.clone_from(&text);
        pause = match shared.show(text.unwrap_or_default(), Stage::Going).await {
            Ok(()) => every,
            Err(error) => after(&error, every),
        };
    }
}

fn after(error: &SendError, every: Duration) -> Duration {
    match error {
        SendError::RateLimited(wait) => every.max(*wait),
        _ => every,
    }
}

/// What there is, with a sign that more is to come. Pure.
fn going(partial: &Partial) -> Option<String> {
    let text = partial.text.trim_end();
    match (text, partial.doing.as_deref()) {
        ("", None) => None,
        ("", Some(doing)) => Some(format!("{doing} …")),
        (text, None) => Some(format!("{text} …")),
        (text, Some(doing)) => Some(format!("{text}\n\n{doing} …")),
    }
}

/// What there was when it was stopped. Pure.
fn stopped(partial: &Partial) -> String {
    match partial.text.trim_end() {
        "" => "Stopped.".to_owned(),
        text => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn partial(text: &str, doing: Option<&str>) -> Partial {
        Partial {
            text: text.to_owned(),
            doing: doing.map(str::to_owned),
            ..Partial::default()
        }
    }

    #[test]
    fn a_preview_says_that_more_is_to_come_and_what_is_done_meanwhile() {
        let said = |text, doing| going(&partial(text, doing));
        assert_eq!(said("", None), None);
        assert_eq!(said(" \n", None), None);
        assert_eq!(said("Well\n", None).as_deref(), Some("Well …"));
        assert_eq!(said("", Some("terminal")).as_deref(), Some("terminal …"));
        assert_eq!(
            said("Well", Some("terminal")).as_deref(),
            Some("Well\n\nterminal …")
        );
    }

    #[test]
    fn what_was_stopped_is_never_empty() {
        assert_eq!(stopped(&partial("Well ", None)), "Well");
        assert_eq!(stopped(&partial("", Some("terminal"))), "Stopped.");
    }
}
