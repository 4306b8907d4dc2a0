//! Carrying out a slash command: the command decides, this commits its changes, its answer and the message's end in one step.

use homing_domain::command::{self, Invocation};
use homing_domain::ids::{InboundId, LineageId, ProcessId};
use homing_ports::crash;
use homing_ports::platform::OutgoingKind;
use homing_ports::store::{Change, Committed, InboundRow, StoreError, TurnEnd};

use super::background::{CANCELLED, STOPPED};
use super::compression::Asker;
use super::said::CutShort;
use super::together::Written;
use super::{About, AnswerTo, Conversation, Wake};
use crate::commands::{self, Call, Choice, Effect, Outcome, Running, Step};

impl Conversation {
    pub(super) async fn carry_out(
        &mut self,
        written: Written,
        invocation: Invocation,
    ) -> Result<(), StoreError> {
        let Written {
            row: inbound,
            others,
            ..
        } = written;
        let Some(command) = commands::find(&invocation.name) else {
            let reply = unknown(&invocation.name);
            return self.reply(&inbound, &others, Step::reply(reply)).await;
        };
        let outcome = {
            let waiting = self
                .inside
                .store
                .inbound_waiting(self.id, super::sending::LOOKAHEAD)
                .await?;
            let call = Call {
                inside: &self.inside,
                row: &self.row,
                inbound: &inbound,
                invocation: &invocation,
                command,
                running: self.running(),
                waiting: waiting
                    .iter()
                    .filter(|row| row.turn.is_none() && row.id < inbound.id)
                    .map(|row| row.id)
                    .collect(),
                compressing: self.is_compressing(),
            };
            (command.run)(&call).await?
        };
        match outcome {
            Outcome::Step(step) => self.reply(&inbound, &others, step).await,
            Outcome::Choice(choice) => self.reply_with_choice(&inbound, &others, &choice).await,
            Outcome::Compress => {
                // Its answer comes later and finishes the first part: the others are handled now.
                if !others.is_empty() && !self.commit_own(finished(&others)).await? {
                    return Ok(());
                }
                self.compress(Asker::Person(Box::new(inbound))).await
            }
        }
    }

    fn running(&self) -> Option<Running> {
        self.turn.as_ref().map(|running| match running.about {
            About::Person { .. } => Running::Foreground { turn: running.turn },
            About::Background { .. } => Running::Background {
                turn: running.turn,
                drop: self.drop_claimed(),
                release: self.release_claimed(CANCELLED),
                stop: self.release_claimed(STOPPED),
            },
        })
    }

    /// A reply with buttons under its last part. Nothing else changes.
    async fn reply_with_choice(
        &mut self,
        inbound: &InboundRow,
        others: &[InboundId],
        choice: &Choice,
    ) -> Result<(), StoreError> {
        let to = AnswerTo {
            origin: inbound.origin.clone(),
            window: inbound.window,
        };
        let mut said = self.outgoing(None, None, OutgoingKind::Reply, &to, &choice.reply);
        if let Some(last) = said.last_mut() {
            last.extras.buttons = choice.buttons();
        }
        let mut handled = finished(&[inbound.id]);
        handled.extend(finished(others));
        self.commit_and_send(handled, said).await.map(drop)
    }

    /// `others` are the further parts of what the person wrote.
    async fn reply(
        &mut self,
        inbound: &InboundRow,
        others: &[InboundId],
        step: Step,
    ) -> Result<(), StoreError> {
        // A command that turned out to be a message stays where it is in the queue.
        let is_message = step.changes.iter().any(|change| {
            matches!(
                change,
                Change::RewriteInbound { .. } | Change::RepeatInbound { .. }
            )
        });
        let mut handled = match is_message {
            true => Vec::new(),
            false => finished(&[inbound.id]),
        };
        handled.extend(finished(others));
        let to = AnswerTo {
            origin: inbound.origin.clone(),
            window: inbound.window,
        };
        let said = self.outgoing(None, None, OutgoingKind::Reply, &to, &step.reply);
        if step.changes.is_empty() && step.effects.is_empty() {
            return self.commit_and_send(handled, said).await.map(drop);
        }
        let mut changes = step.changes;
        if step
            .effects
            .iter()
            .any(|effect| matches!(effect, Effect::CancelTurn))
        {
            changes.extend(self.said_until_now(CutShort::Stopped).await?);
        }
        let goes_elsewhere = changes
            .iter()
            .any(|change| matches!(change, Change::Point(_)));
        let closed: Vec<LineageId> = changes
            .iter()
            .filter_map(|change| match change {
                Change::CloseLineage { lineage, .. } => Some(*lineage),
                _ => None,
            })
            .collect();
        changes.extend(handled);
        changes.extend(said.into_iter().map(Change::Enqueue));
        crash::point("command-before-commit");
        if !closed.is_empty() {
            crash::point("reset-before-commit");
        }
        if let Committed::Unmet { what, .. } = self.commit(changes).await? {
            tracing::warn!(conversation.id = %self.id, what, "a command met a state that it did not expect");
            self.read_again().await?;
            let text = format!(
                "That changed while I was at it ({what}); nothing was done. Please try again."
            );
            let said = self.outgoing(None, None, OutgoingKind::Reply, &to, &text);
            let handled = [finished(&[inbound.id]), finished(others)].concat();
            return self.commit_and_send(handled, said).await.map(drop);
        }
        crash::point("command-after-commit");
        for lineage in closed {
            crash::point("reset-after-commit");
            self.lineage_is_closed(lineage);
        }
        // From here on the store is ahead of what is remembered, until it is read again.
        self.stale = true;
        // What was stopped stays with the session that is left, or ends with it: it holds up nothing of the next one.
        self.background_waits_for_person &= !goes_elsewhere;
        let mut carried_out = Ok(());
        for effect in step.effects {
            let done = self.carry_out_effect(effect).await;
            carried_out = carried_out.and(done);
        }
        // What this freed is judged, whatever else cannot be done now.
        self.wake_me(Wake::Notifications);
        carried_out?;
        self.read_again().await?;
        self.send_soon().await;
        Ok(())
    }

    async fn carry_out_effect(&mut self, effect: Effect) -> Result<(), StoreError> {
        match effect {
            Effect::CancelTurn => {
                if let Some(running) = self.turn.take() {
                    self.forget_questions();
                    self.forget_offers();
                    running.call_off();
                }
            }
            Effect::Answered(approval, answer) => self.question_is_settled(approval, answer),
            Effect::Queue(inbound) => drop(self.wishes.queue.insert(inbound)),
            Effect::Steer(inbound) => drop(self.wishes.steer.insert(inbound)),
            Effect::PauseBackground => self.background_waits_for_person = true,
            Effect::TellAgain {
                conversation,
                outbox,
            } => self
                .inside
                .mailboxes
                .wake(&self.inside, conversation, Wake::TellAgain(outbox)),
            Effect::AbandonCompression => self.abandon_compression().await?,
            Effect::CancelDelegation(delegation) => {
                self.inside.delegations.cancel(delegation);
                self.forget_questions_of(delegation);
            }
            Effect::Moved(process) => {
                if let Some(watcher) = self.inside.watcher.get() {
                    watcher.has_moved_to_background(process);
                }
            }
            Effect::Kill(process) => {
                if let Some(watcher) = self.inside.watcher.get() {
                    watcher.see_to_the_end(process, self.inside.settings.kill_grace);
                }
            }
        }
        Ok(())
    }

    /// Its end was wanted and nobody could bring it about: the person hears of it, and its end is news again (OWN-38).
    pub(super) async fn not_stopped(
        &mut self,
        process: ProcessId,
        why: &str,
    ) -> Result<(), StoreError> {
        let row = self.inside.store.process(process).await?;
        let Some(row) = row.filter(|row| row.state.is_live()) else {
            return Ok(());
        };
        let text = format!(
            "{process} could not be stopped: {why}. It still runs: /ps shows it, /kill {process} tries once more."
        );
        let to = AnswerTo {
            origin: row.owner.origin,
            window: row.owner.window,
        };
        let said = self.outgoing(None, None, OutgoingKind::Notice, &to, &text);
        self.commit_and_send(vec![Change::NotStopped { process }], said)
            .await
            .map(drop)
    }
}

/// Handled, each of them.
fn finished(messages: &[InboundId]) -> Vec<Change> {
    let one = |inbound: &InboundId| Change::FinishInbound { inbound: *inbound };
    messages.iter().map(one).collect()
}

/// Why a running turn ends before its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EndedBy {
    Boundary,
    /// The conversation goes to another session; the one left behind stays open.
    Leaving,
    /// `/stop`: what it was telling waits for the person.
    Stop,
}

/// What ends a running turn, whatever it is: to be committed with the reason for it.
pub(crate) fn end_running(running: &Running, why: EndedBy) -> Vec<Change> {
    let end = |turn| Change::EndTurn {
        turn,
        end: TurnEnd::Cancelled,
        error: None,
    };
    match running {
        Running::Foreground { turn } => {
            vec![end(*turn), Change::FinishInboundOf { turn: *turn }]
        }
        Running::Background {
            turn,
            drop,
            release,
            stop,
        } => {
            let claimed = match why {
                EndedBy::Boundary => drop,
                EndedBy::Leaving => release,
                EndedBy::Stop => stop,
            };
            [vec![end(*turn)], claimed.clone()].concat()
        }
    }
}

fn unknown(name: &str) -> String {
    match command::suggest(name, &commands::names()) {
        Some(close) => {
            format!("There is no command /{name}. Did you mean /{close}? /help lists all.")
        }
        None => format!("There is no command /{name}. /help lists all."),
    }
}
