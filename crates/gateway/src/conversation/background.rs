//! Notifications: judged, told in background turns, or settled without one (OWN-30…68).

use homing_domain::ids::{TurnId, WindowId};
use homing_domain::notification::State;
use homing_domain::owner::Owner;
use homing_domain::session::Current;
use homing_domain::time::Timestamp;
use homing_domain::verdict::{self, DropReason, Facts, Place, Verdict};
use homing_ports::agent::{AboutItem, AgentError, Partial, TurnAbout, TurnAnswer, TurnStream};
use homing_ports::crash;
use homing_ports::platform::OutgoingKind;
use homing_ports::store::{
    Change, Decision, NewOutgoing, OpenNotification, Role, Source, StoreError, TurnEnd, TurnKind,
    WindowRow,
};
use homing_watcher::facts::{self, Present, Said};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::messages::{Stage, explain_failure};
use super::sending::backoff;
use super::{About, AnswerTo, Claimed, Conversation, RunningTurn};
use crate::telling;

/// Background turns that may fail on a notification before it is told as a plain notice (OWN-68).
const TRIES: u32 = 3;
/// Why something is pending again: its turn was cancelled for another reason, or by a person's `/stop`.
pub(super) const CANCELLED: &str = "turn_cancelled";
pub(super) const STOPPED: &str = "turn_stopped";

/// A notification whose verdict is to deliver it.
struct Deliverable {
    open: OpenNotification,
    window: Option<WindowId>,
    facts: String,
}

impl Conversation {
    /// Judges everything that is open, settles what needs no turn, and starts a background turn for the rest if nothing runs.
    pub(super) async fn judge(&mut self) -> Result<(), StoreError> {
        if self.at_rest.notifications {
            return Ok(());
        }
        let open = self.inside.store.open_notifications(self.id).await?;
        if open.is_empty() {
            self.judge_at = None;
            self.at_rest.notifications = true;
            return Ok(());
        }
        let asks_windows = open.iter().any(|open| {
            open.owner
                .as_ref()
                .is_some_and(|owner| owner.window.is_some())
        });
        let windows = match asks_windows {
            true => self.inside.store.open_windows(self.id).await?,
            false => Vec::new(),
        };
        let (mut changes, mut said, mut deliver) = (Vec::new(), Vec::new(), Vec::new());
        let mut again: Option<Timestamp> = None;
        let theirs = |open: &OpenNotification| self.is_being_told(open) || self.is_waited_for(open);
        for open in open.into_iter().filter(|open| !theirs(open)) {
            let facts = self.facts(&open, &windows);
            match verdict::judge(&facts, &self.inside.settings.verdict) {
                Verdict::Deliver { window } => deliver.push(Deliverable {
                    open,
                    window,
                    facts: Said(&facts).to_string(),
                }),
                Verdict::Retry(_) => {
                    earliest(&mut again, facts.now.plus(self.inside.settings.retry_first))
                }
                Verdict::Hold(hold) => {
                    earliest(
                        &mut again,
                        facts
                            .held_since
                            .unwrap_or(facts.now)
                            .plus(self.inside.settings.verdict.hold_for),
                    );
                    let held_so = open.notification.state == State::Held
                        && open.notification.reason.as_deref() == Some(hold.name());
                    if !held_so {
                        changes.push(decide(&open, State::Held, Some(hold.name()), &facts));
                    }
                }
                Verdict::Drop(reason) => {
                    tracing::info!(notification.id = %open.notification.id, reason = reason.name(), "a notification is dropped");
                    changes.push(decide(&open, State::Dropped, Some(reason.name()), &facts));
                }
                Verdict::Consume(how) => {
                    changes.push(decide(&open, State::Consumed, Some(how.name()), &facts))
                }
                Verdict::Notice(place) => {
                    changes.push(decide(
                        &open,
                        State::Noticed,
                        Some("after_auto_reset"),
                        &facts,
                    ));
                    said.extend(self.notice(&open, place).await?);
                }
            }
        }
        self.judge_at = again;
        crash::point("judged-before-commit");
        if !changes.is_empty() {
            self.commit_and_send(changes, said).await?;
        }
        self.start_background(deliver).await
    }

    fn is_being_told(&self, open: &OpenNotification) -> bool {
        match self.turn.as_ref().map(|running| &running.about) {
            Some(About::Background { told, .. }) => told
                .iter()
                .any(|claimed| claimed.notification == open.notification.id),
            Some(About::Person { .. }) | None => false,
        }
    }

    /// A tool waits for this result, and has it then.
    fn is_waited_for(&self, open: &OpenNotification) -> bool {
        match open.notification.source {
            Source::Delegation(id) => self.inside.delegations.is_waited_for(id),
            Source::Process(_) => false,
        }
    }

    fn facts(&self, open: &OpenNotification, windows: &[WindowRow]) -> Facts {
        let account = open.owner.as_ref().map(|owner| owner.origin.account_name());
        facts::facts(
            open,
            &Present {
                current: self.row.current,
                compressing: self.compressing.is_some(),
                windows,
                profile_known: self.inside.directory.agent(&self.row.key.profile).is_some(),
                account_known: account
                    .is_none_or(|account| self.inside.directory.platform(&account).is_some()),
                now: self.inside.now(),
            },
        )
    }

    /// The plain text of one notification, to the thread that started the work or to the operator.
    async fn notice(
        &self,
        open: &OpenNotification,
        place: Place,
    ) -> Result<Vec<NewOutgoing>, StoreError> {
        let home = self
            .inside
            .settings
            .home
            .as_ref()
            .map(homing_domain::origin::Origin::from_key);
        let origin = match place {
            Place::Thread => Some(self.origin_of(open.owner.as_ref())),
            Place::Home => home,
        };
        let Some(origin) = origin else {
            return Ok(Vec::new());
        };
        let store = self.inside.store.as_ref();
        let text = telling::tell(store, &[open], "").await?.plain;
        let to = AnswerTo {
            origin,
            window: None,
        };
        Ok(self.outgoing(None, None, OutgoingKind::Notice, &to, &text))
    }

    /// OWN-5: the owner's own origin, else the conversation's.
    fn origin_of(&self, owner: Option<&Owner>) -> homing_domain::origin::Origin {
        owner.map_or_else(|| self.row.origin.clone(), |owner| owner.origin.clone())
    }

    /// One background turn for all that wait for the same window (OWN-63). The others follow when it is over.
    async fn start_background(&mut self, mut deliver: Vec<Deliverable>) -> Result<(), StoreError> {
        let Some(window) = deliver.first().map(|first| first.window) else {
            return Ok(());
        };
        if !self.is_free() || self.background_waits_for_person {
            return Ok(());
        }
        if let Some(at) = self
            .background_not_before
            .filter(|at| *at > self.inside.now())
        {
            earliest(&mut self.judge_at, at);
            return Ok(());
        }
        deliver.retain(|one| one.window == window);
        let opens: Vec<&OpenNotification> = deliver.iter().map(|one| &one.open).collect();
        let texts = telling::tell(self.inside.store.as_ref(), &opens, &self.fence()).await?;
        let mut changes = Vec::new();
        let current = match self.row.current {
            Some(current) => current,
            // `after_auto_reset = "deliver"` and nobody has spoken since.
            None => self.first_session(&mut changes),
        };
        let turn = self.inside.ids.next::<TurnId>();
        changes.push(Change::StartTurn {
            turn,
            session: current.session,
            lineage: current.lineage,
            kind: TurnKind::Background,
        });
        for one in &deliver {
            changes.extend(claim(one, turn));
        }
        let moved = self.row.current.is_none();
        if !self.commit_own(changes).await? {
            return Ok(());
        }
        if moved {
            self.row.current = Some(current);
            self.row.generation += 1;
        }
        crash::point("claim-committed");
        let told: Vec<Claimed> = deliver
            .iter()
            .map(|one| Claimed {
                notification: one.open.notification.id,
                attempts: one.open.notification.attempts,
                facts: one.facts.clone(),
            })
            .collect();
        let items = opens
            .iter()
            .map(|open| AboutItem {
                notification: open.notification.id,
                source: open.notification.source,
                kind: open.notification.kind,
            })
            .collect();
        let answer = AnswerTo {
            origin: self.origin_of(deliver.first().and_then(|one| one.open.owner.as_ref())),
            window,
        };
        let (stream, said) = TurnStream::new();
        let about = About::Background {
            told,
            block: texts.block.clone(),
            answer: answer.clone(),
        };
        let running = background_turn(turn, current, about, said);
        self.run_turn(
            running,
            answer,
            TurnAbout::Background {
                items,
                block: texts.block,
                plain: texts.plain,
            },
            Stage::quiet(stream),
        );
        Ok(())
    }

    /// A marker that output cannot know.
    fn fence(&self) -> String {
        let number: u64 = self.inside.ids.number() ^ self.inside.ids.number().rotate_left(32);
        format!("{number:016x}")
    }

    /// The answer goes into the history and into the outbox in one step, once (OWN-64, 65).
    pub(super) async fn end_background(
        &mut self,
        running: &RunningTurn,
        told: &[Claimed],
        block: &str,
        answer: &AnswerTo,
        result: &Result<TurnAnswer, AgentError>,
    ) -> Result<(), StoreError> {
        match result {
            Ok(said) => self.deliver(running, told, block, answer, said).await,
            Err(AgentError::TooLong) if self.is_told_again_shorter() => {
                self.tell_again_shorter(running).await
            }
            Err(error) => self.background_failed(running, told, answer, error).await,
        }
    }

    async fn deliver(
        &mut self,
        running: &RunningTurn,
        told: &[Claimed],
        block: &str,
        answer: &AnswerTo,
        said_by_agent: &TurnAnswer,
    ) -> Result<(), StoreError> {
        let mut changes = vec![
            Change::RequireGeneration(self.row.generation),
            Change::EndTurn {
                turn: running.turn,
                end: TurnEnd::Done,
                error: None,
            },
            self.append(running, Role::Notification, block.to_owned(), None),
        ];
        for claimed in told {
            changes.push(Change::EnterHistory {
                lineage: running.lineage,
                session: running.session,
                notification: claimed.notification,
            });
            changes.push(from_claimed(
                claimed,
                State::Delivered,
                None,
                Some(running.turn),
                false,
            ));
        }
        let (text, data) = (&said_by_agent.text, said_by_agent.data.clone());
        if !text.is_empty() || data.is_some() {
            changes.push(self.append(running, Role::Agent, text.clone(), data));
        }
        let said = self.outgoing(
            Some(running.lineage),
            Some(running.turn),
            OutgoingKind::Background,
            answer,
            text,
        );
        self.background_not_before = None;
        self.too_long_in_background = 0;
        self.commit_and_send(changes, said).await.map(drop)
    }

    /// OWN-68: again, then as a plain notice. Never silently gone.
    async fn background_failed(
        &mut self,
        running: &RunningTurn,
        told: &[Claimed],
        answer: &AnswerTo,
        error: &AgentError,
    ) -> Result<(), StoreError> {
        let reason = explain_failure(error);
        tracing::warn!(conversation.id = %self.id, turn.id = %running.turn, error = %reason, "a background turn has failed");
        let mut changes = vec![Change::EndTurn {
            turn: running.turn,
            end: TurnEnd::Failed,
            error: Some(reason),
        }];
        let (given_up, again): (Vec<&Claimed>, Vec<&Claimed>) = told
            .iter()
            .partition(|claimed| claimed.attempts + 1 >= TRIES);
        changes.extend(
            again.iter().map(|claimed| {
                from_claimed(claimed, State::Pending, Some("turn_failed"), None, true)
            }),
        );
        changes.extend(given_up.iter().map(|claimed| {
            from_claimed(
                claimed,
                State::Noticed,
                Some("turn_failed"),
                Some(running.turn),
                true,
            )
        }));
        let mut said = Vec::new();
        if !given_up.is_empty() {
            let open = self.inside.store.open_notifications(self.id).await?;
            let raw: Vec<&OpenNotification> = open
                .iter()
                .filter(|open| {
                    given_up
                        .iter()
                        .any(|claimed| claimed.notification == open.notification.id)
                })
                .collect();
            let store = self.inside.store.as_ref();
            let text = telling::tell(store, &raw, "").await?.plain;
            said = self.outgoing(
                Some(running.lineage),
                Some(running.turn),
                OutgoingKind::Notice,
                answer,
                &text,
            );
        }
        let tries = told
            .iter()
            .map(|claimed| claimed.attempts + 1)
            .max()
            .unwrap_or(1);
        let pause = backoff(
            tries,
            self.inside.settings.retry_first,
            self.inside.settings.retry_longest,
        );
        self.background_not_before = Some(self.inside.now().plus(pause));
        self.commit_and_send(changes, said).await.map(drop)
    }

    /// The running background turn is over because its lineage is: what it was to tell is dropped (OWN-64).
    pub(super) fn drop_claimed(&self) -> Vec<Change> {
        match self.turn.as_ref().map(|running| &running.about) {
            Some(About::Background { told, .. }) => {
                let reason = DropReason::ResetDuringTurn.name();
                told.iter()
                    .map(|claimed| from_claimed(claimed, State::Dropped, Some(reason), None, false))
                    .collect()
            }
            Some(About::Person { .. }) | None => Vec::new(),
        }
    }

    /// The running background turn is over, but its lineage is not: what it was to tell waits again, and that is all the reason says.
    pub(super) fn release_claimed(&self, reason: &str) -> Vec<Change> {
        self.turn
            .as_ref()
            .map(|running| released(running, reason))
            .unwrap_or_default()
    }

    /// The person has written: what they stopped may be told again. A step of its own, so that a match that is just being told with
    /// its process's end does not hold up their message.
    pub(super) async fn release_stopped(&mut self) -> Result<(), StoreError> {
        if !self.background_waits_for_person {
            return Ok(());
        }
        let open = self.inside.store.open_notifications(self.id).await?;
        for open in open.iter().filter(|open| waits_for_person(open)) {
            let released = Change::Decide(Decision {
                notification: open.notification.id,
                from: State::Pending,
                to: State::Pending,
                reason: Some(CANCELLED.into()),
                facts: "the person who stopped the telling has written again".into(),
                turn: None,
                failed_attempt: false,
            });
            let _unmet_if_settled = self.commit(vec![released]).await?;
        }
        self.background_waits_for_person = false;
        Ok(())
    }
}

fn background_turn(
    turn: TurnId,
    current: Current,
    about: About,
    said: watch::Receiver<Partial>,
) -> RunningTurn {
    RunningTurn {
        turn,
        session: current.session,
        lineage: current.lineage,
        cancel: CancellationToken::new(),
        about,
        said,
        live: None,
    }
}

/// What this turn was to tell waits again.
pub(super) fn released(running: &RunningTurn, reason: &str) -> Vec<Change> {
    match &running.about {
        About::Background { told, .. } => told
            .iter()
            .map(|claimed| from_claimed(claimed, State::Pending, Some(reason), None, false))
            .collect(),
        About::Person { .. } => Vec::new(),
    }
}

/// A person stopped the turn that told it. This stands in the store, so that a restart does not tell it before their next message.
pub(super) fn waits_for_person(open: &OpenNotification) -> bool {
    open.notification.state == State::Pending
        && open.notification.reason.as_deref() == Some(STOPPED)
}

pub(super) fn earliest(at: &mut Option<Timestamp>, candidate: Timestamp) {
    *at = Some(at.map_or(candidate, |at| at.min(candidate)));
}

fn decide(open: &OpenNotification, to: State, reason: Option<&str>, facts: &Facts) -> Change {
    Change::Decide(Decision {
        notification: open.notification.id,
        from: open.notification.state,
        to,
        reason: reason.map(str::to_owned),
        facts: Said(facts).to_string(),
        turn: None,
        failed_attempt: false,
    })
}

/// To claimed, by way of pending: a hold is released first.
fn claim(one: &Deliverable, turn: TurnId) -> Vec<Change> {
    let step = |from: State, to: State, reason: Option<&str>, turn| {
        Change::Decide(Decision {
            notification: one.open.notification.id,
            from,
            to,
            reason: reason.map(str::to_owned),
            facts: one.facts.clone(),
            turn,
            failed_attempt: false,
        })
    };
    let claimed = step(State::Pending, State::Claimed, None, Some(turn));
    match one.open.notification.state {
        State::Pending => vec![claimed],
        from => vec![step(from, State::Pending, Some("released"), None), claimed],
    }
}

fn from_claimed(
    claimed: &Claimed,
    to: State,
    reason: Option<&str>,
    turn: Option<TurnId>,
    failed_attempt: bool,
) -> Change {
    Change::Decide(Decision {
        notification: claimed.notification,
        from: State::Claimed,
        to,
        reason: reason.map(str::to_owned),
        facts: claimed.facts.clone(),
        turn,
        failed_attempt,
    })
}
