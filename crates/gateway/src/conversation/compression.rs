//! Compression: the session ends, its lineage goes on (OWN-11). And automatic resets, which end both (OWN-15).

use std::time::Duration;

use homing_domain::ids::{InboundId, SessionId, TurnId};
use homing_domain::notification::State;
use homing_domain::session::{Boundary, Current};
use homing_ports::agent::{AgentError, Summary, SummaryRequest};
use homing_ports::crash;
use homing_ports::platform::OutgoingKind;
use homing_ports::store::{Change, InboundRow, StoreError, TurnEnd, TurnKind};
use homing_tools::Counting;
use tokio::sync::oneshot;

use super::messages::explain_failure;
use super::{AnswerTo, Conversation, Wake};

/// Messages that a summary is made of, at most.
const HISTORY: u32 = 100_000;

/// A compression under way.
#[derive(Debug)]
pub(crate) struct Compressing {
    from: SessionId,
    askers: Vec<Asker>,
}

/// Who wants to know.
#[derive(Debug)]
pub(crate) enum Asker {
    Person(Box<InboundRow>),
    Program(oneshot::Sender<Result<(), String>>),
    /// A turn on these messages, whose history was too long. They are in the queue again.
    Turn {
        messages: Vec<InboundId>,
        to: Box<AnswerTo>,
    },
    /// A background turn, whose history was too long.
    Nobody,
}

/// Somebody who is to be told what a compression came to.
#[derive(Debug)]
pub(crate) struct Told {
    asker: Asker,
    outcome: Result<(), String>,
}

impl Conversation {
    /// Now, or as soon as the turn that runs is over.
    pub(super) fn is_compressing(&self) -> bool {
        self.compressing.is_some() || !self.compress_next.is_empty()
    }

    /// The `/compress` of this message is being carried out already.
    pub(super) fn is_compressing_for(&self, inbound: InboundId) -> bool {
        let running = self
            .compressing
            .iter()
            .flat_map(|compressing| &compressing.askers);
        let told = self.compressed.iter().map(|told| &told.asker);
        running
            .chain(&self.compress_next)
            .chain(told)
            .any(|asker| matches!(asker, Asker::Person(row) if row.id == inbound))
    }

    /// Begins, or waits until the turn that runs is over.
    pub(super) async fn compress(&mut self, asker: Asker) -> Result<(), StoreError> {
        self.compress_next.push(asker);
        self.start_waiting_compression().await
    }

    pub(super) async fn start_waiting_compression(&mut self) -> Result<(), StoreError> {
        self.tell_compressed().await?;
        if self.compress_next.is_empty() || !self.is_free() {
            return Ok(());
        }
        let Some(current) = self.row.current else {
            let askers = std::mem::take(&mut self.compress_next);
            return self
                .answer_all(askers, Err("there is no session to compress yet".into()))
                .await;
        };
        let Some(agent) = self.inside.directory.agent(&self.row.key.profile) else {
            let askers = std::mem::take(&mut self.compress_next);
            return self
                .answer_all(
                    askers,
                    Err("no agent is configured for this profile".into()),
                )
                .await;
        };
        let counting = self.count_summary(current).await?;
        let used = counting.meter();
        self.compressing = Some(Compressing {
            from: current.session,
            askers: std::mem::take(&mut self.compress_next),
        });
        let (inside, conversation, from) = (self.inside.clone(), self.id, current.session);
        let model = self.row.model.clone();
        inside.counters.add(&inside.counters.turns);
        let store = inside.store.clone();
        let summarizing = tokio::spawn(async move {
            let context = store.context(from, HISTORY).await;
            let context = context.map_err(|error| AgentError::Failed(error.to_string()))?;
            let request = SummaryRequest {
                session: from,
                model,
                context,
                used,
            };
            agent.summarize(request).await
        });
        tokio::spawn(async move {
            // An agent that breaks is a failed summary, not a conversation that waits for ever.
            let result = summarizing.await.unwrap_or_else(|error| {
                Err(AgentError::Failed(format!("the agent broke off: {error}")))
            });
            let summarized = Wake::Summarized {
                from,
                counting,
                result,
            };
            inside.mailboxes.wake(&inside, conversation, summarized);
            inside.counters.done(&inside.counters.turns);
        });
        Ok(())
    }

    /// One transaction: the session ends as compressed, its continuation begins, tip and pointer move. A failed summary changes nothing.
    pub(super) async fn continue_compressed(
        &mut self,
        from: SessionId,
        result: &Result<Summary, AgentError>,
    ) -> Result<(), StoreError> {
        // A boundary came first: the summary is of a session that is over.
        if self
            .compressing
            .as_ref()
            .is_none_or(|compressing| compressing.from != from)
        {
            return Ok(());
        }
        let outcome = match (self.row.current, result) {
            (Some(current), Ok(summary)) => {
                let session = self.inside.ids.next::<SessionId>();
                let changes = vec![
                    Change::RequireGeneration(self.row.generation),
                    Change::Continue {
                        lineage: current.lineage,
                        from: current.session,
                        session,
                        summary: summary.text.clone(),
                        kept_from: summary.kept_from,
                    },
                    Change::Point(Some(Current {
                        session,
                        lineage: current.lineage,
                    })),
                ];
                crash::point("compress-before-commit");
                match self.commit_own(changes).await? {
                    true => {
                        crash::point("compress-after-commit");
                        self.row.current = Some(Current {
                            session,
                            lineage: current.lineage,
                        });
                        self.row.generation += 1;
                        Ok(())
                    }
                    false => Err("the conversation has moved on meanwhile".to_owned()),
                }
            }
            (None, _) => Err("there is no session to compress any more".into()),
            (Some(_), Err(error)) => Err(format!(
                "the summary failed, nothing was changed: {}",
                explain_failure(error)
            )),
        };
        let askers = self
            .compressing
            .take()
            .map(|compressing| compressing.askers)
            .unwrap_or_default();
        self.answer_all(askers, outcome).await
    }

    /// What a summary uses is counted for a turn that is over at once: it is there whatever becomes of the summary, and of its session.
    async fn count_summary(&mut self, current: Current) -> Result<Counting, StoreError> {
        let turn = self.inside.ids.next::<TurnId>();
        let changes = vec![
            Change::StartTurn {
                turn,
                session: current.session,
                lineage: current.lineage,
                kind: TurnKind::Background,
            },
            Change::EndTurn {
                turn,
                end: TurnEnd::Done,
                error: None,
            },
        ];
        // Unmet, the session is not what it was: then its summary comes to nothing anyway.
        let _unmet = self.commit_own(changes).await?;
        Ok(Counting::of(turn))
    }

    /// A boundary ends a compression, also one that still waits for a turn: it must not reach the session that comes next. Programs are told
    /// here; people's messages were finished with the boundary, and its answer counts them.
    pub(super) async fn abandon_compression(&mut self) -> Result<(), StoreError> {
        let running = self
            .compressing
            .take()
            .map(|compressing| compressing.askers);
        let waiting = std::mem::take(&mut self.compress_next);
        // Their messages were finished as well.
        self.compressed
            .retain(|told| matches!(told.asker, Asker::Program(_)));
        let programs = running
            .into_iter()
            .flatten()
            .chain(waiting)
            .filter(|asker| matches!(asker, Asker::Program(_)))
            .collect();
        self.answer_all(
            programs,
            Err("the session was ended before the summary was ready".into()),
        )
        .await
    }

    async fn answer_all(
        &mut self,
        askers: Vec<Asker>,
        outcome: Result<(), String>,
    ) -> Result<(), StoreError> {
        let told = askers.into_iter().map(|asker| Told {
            asker,
            outcome: outcome.clone(),
        });
        self.compressed.extend(told);
        self.tell_compressed().await
    }

    /// Each is forgotten once the step that tells them is committed.
    async fn tell_compressed(&mut self) -> Result<(), StoreError> {
        while let Some(told) = self.compressed.pop_front() {
            if let Err(error) = self.tell_one(&told).await {
                self.compressed.push_front(told);
                return Err(error);
            }
            if let Told {
                asker: Asker::Program(answer),
                outcome,
            } = told
            {
                // The asker may have gone.
                let _gone = answer.send(outcome);
            }
        }
        Ok(())
    }

    /// In the conversation, where that is.
    async fn tell_one(&mut self, told: &Told) -> Result<(), StoreError> {
        match (&told.asker, &told.outcome) {
            (Asker::Nobody | Asker::Program(_), _) | (Asker::Turn { .. }, Ok(())) => Ok(()),
            (Asker::Turn { messages, to }, Err(why)) => {
                self.could_not_be_shortened(messages, to, why).await
            }
            (Asker::Person(inbound), outcome) => {
                let text = match outcome {
                    Ok(()) => "Compressed: this conversation goes on with a summary. What runs in the background still reports here.".to_owned(),
                    Err(why) => format!("Not compressed: {why}."),
                };
                let to = AnswerTo {
                    origin: inbound.origin.clone(),
                    window: inbound.window,
                };
                let said = self.outgoing(None, None, OutgoingKind::Reply, &to, &text);
                let handled = Change::FinishInbound {
                    inbound: inbound.id,
                };
                self.commit_and_send(vec![handled], said).await.map(drop)
            }
        }
    }

    /// OWN-15: not while something runs, lives young enough, or waits to be told.
    pub(super) async fn auto_reset(&mut self, why: Boundary) -> Result<bool, StoreError> {
        let Some(current) = self.row.current else {
            return Ok(false);
        };
        let off = self.inside.settings.reset == crate::AutoReset::Off;
        if off || !self.is_free() || self.keeps_alive(current).await? {
            return Ok(false);
        }
        let changes = vec![
            Change::RequireGeneration(self.row.generation),
            Change::CloseLineage {
                lineage: current.lineage,
                boundary: why,
            },
            Change::Point(None),
        ];
        if !self.commit_own(changes).await? {
            return Ok(false);
        }
        tracing::info!(conversation.id = %self.id, why = why.name(), "a session was ended automatically");
        self.background_waits_for_person = false;
        self.read_again().await?;
        Ok(true)
    }

    async fn keeps_alive(&self, current: Current) -> Result<bool, StoreError> {
        let now = self.inside.now();
        let longest: Duration = self.inside.settings.keepalive_max_age;
        if !self
            .inside
            .store
            .running_delegations(current.lineage)
            .await?
            .is_empty()
        {
            return Ok(true);
        }
        let live = self.inside.store.live_processes(current.lineage).await?;
        if live
            .iter()
            .any(|process| now.since(process.created_at) < longest)
        {
            return Ok(true);
        }
        let open = self.inside.store.open_notifications(self.id).await?;
        let waits = |state| matches!(state, State::Pending | State::Claimed | State::Held);
        Ok(open.iter().any(|open| {
            waits(open.notification.state)
                && open
                    .owner
                    .as_ref()
                    .is_some_and(|owner| owner.lineage == current.lineage)
        }))
    }
}
