//! People's messages: commands at once, everything else one foreground turn after another.

use std::sync::Arc;

use homing_domain::command::{self, Parsed};
use homing_domain::ids::{InboundId, LineageId, MessageId, OutboxId, SessionId, TurnId};
use homing_domain::owner::Owner;
use homing_domain::session::Current;
use homing_ports::agent::{
    Agent, AgentError, Toolbox, TurnAbout, TurnAnswer, TurnRequest, TurnStream,
};
use homing_ports::crash;
use homing_ports::platform::{Extras, OutgoingKind, Rendered};
use homing_ports::store::{
    Change, InboundRow, NewMessage, NewOutgoing, Role, StoreError, TurnEnd, TurnKind,
};
use homing_tools::{Bound, SessionTools};
use tokio_util::sync::CancellationToken;

use super::{About, AnswerTo, Conversation, RunningTurn, Wake};

/// Waiting messages that are looked at in one step.
const READ: u32 = 1_000;

impl Conversation {
    /// Commands are carried out wherever they stand in the queue: `/stop` must not wait for what it stops. Other messages keep their order.
    pub(super) async fn read_messages(&mut self) -> Result<(), StoreError> {
        let waiting = self.inside.store.inbound_waiting(self.id, READ).await?;
        let mut first = None;
        for inbound in waiting.into_iter().filter(|inbound| inbound.turn.is_none()) {
            match command::parse(&inbound.text, &[]) {
                Parsed::Command(invocation) => {
                    // A command may have emptied or moved the queue: what was read before it is read again.
                    if !self.is_compressing_for(inbound.id) {
                        self.carry_out(inbound, invocation).await?;
                        return Box::pin(self.read_messages()).await;
                    }
                }
                Parsed::ForAnotherBot => {
                    self.commit_own(vec![Change::FinishInbound {
                        inbound: inbound.id,
                    }])
                    .await?;
                }
                Parsed::NotACommand => {
                    first.get_or_insert(inbound);
                }
            }
        }
        match first {
            Some(inbound) if self.is_free() => self.start_foreground(inbound).await,
            Some(_) | None => Ok(()),
        }
    }

    async fn start_foreground(&mut self, inbound: InboundRow) -> Result<(), StoreError> {
        let turn = self.inside.ids.next::<TurnId>();
        self.release_stopped().await?;
        let mut changes = Vec::with_capacity(5);
        // OWN-10: the first message makes the session.
        let current = match self.row.current {
            Some(current) => current,
            None => self.first_session(&mut changes),
        };
        changes.extend([
            Change::TakeInbound {
                inbound: inbound.id,
                turn,
            },
            Change::StartTurn {
                turn,
                session: current.session,
                lineage: current.lineage,
                kind: TurnKind::Foreground,
            },
            Change::Append(NewMessage {
                id: self.inside.ids.next::<MessageId>(),
                session: current.session,
                turn: Some(turn),
                role: Role::Person,
                author: inbound
                    .author
                    .clone()
                    .or_else(|| inbound.origin.user.clone()),
                text: inbound.text.clone(),
                data: None,
            }),
        ]);
        let moved = self.row.current.is_none();
        if !self.commit_own(changes).await? {
            return Ok(());
        }
        if moved {
            self.row.current = Some(current);
            self.row.generation += 1;
        }
        crash::point("message-taken");
        let answer = AnswerTo {
            origin: inbound.origin.clone(),
            window: inbound.window,
        };
        let running = RunningTurn {
            turn,
            session: current.session,
            lineage: current.lineage,
            cancel: CancellationToken::new(),
            about: About::Person {
                inbound: inbound.id,
                answer: answer.clone(),
            },
        };
        self.run_turn(
            running,
            answer,
            TurnAbout::Person {
                author: inbound.author,
                text: inbound.text,
                quoted: inbound.quoted,
                files: Vec::new(),
            },
        );
        Ok(())
    }

    /// A new lineage with its first session, current from the commit of `changes` on.
    pub(super) fn first_session(&self, changes: &mut Vec<Change>) -> Current {
        let (lineage, session) = (
            self.inside.ids.next::<LineageId>(),
            self.inside.ids.next::<SessionId>(),
        );
        let current = Current { session, lineage };
        changes.push(Change::StartLineage {
            lineage,
            session,
            parent: None,
            title: None,
        });
        changes.push(Change::Point(Some(current)));
        current
    }

    /// Starts the agent in a task of its own; its end comes back as a wake.
    pub(super) fn run_turn(&mut self, running: RunningTurn, answer: AnswerTo, about: TurnAbout) {
        let (turn, cancel) = (running.turn, running.cancel.clone());
        let request = TurnRequest {
            turn,
            key: self.row.key.clone(),
            session: running.session,
            window: answer.window,
            model: self.row.model.clone(),
            about,
            stream: TurnStream::unread(),
        };
        let owner = Owner {
            conversation: self.id,
            session: running.session,
            lineage: running.lineage,
            origin: answer.origin,
            window: answer.window,
            delegation: None,
        };
        let tools = self.tools(owner, Bound::Turn(turn), cancel.clone());
        let agent = self.inside.directory.agent(&self.row.key.profile);
        let (inside, conversation) = (self.inside.clone(), self.id);
        inside.counters.add(&inside.counters.turns);
        self.turn = Some(running);
        tokio::spawn(async move {
            let result = match (agent, tools) {
                (Some(agent), Some(tools)) => ask(agent, request, tools, cancel).await,
                (None, _) => Err(AgentError::Failed(format!(
                    "no agent is configured for profile `{}`",
                    request.key.profile
                ))),
                (_, None) => Err(AgentError::Failed("the gateway is not ready yet".into())),
            };
            inside
                .mailboxes
                .wake(&inside, conversation, Wake::TurnEnded { turn, result });
            inside.counters.done(&inside.counters.turns);
        });
    }

    pub(super) fn tools(
        &self,
        owner: Owner,
        bound: Bound,
        cancel: CancellationToken,
    ) -> Option<Arc<dyn Toolbox>> {
        let workshop = self.inside.workshop.get()?.clone();
        Some(Arc::new(SessionTools::new(
            workshop,
            owner,
            self.row.key.to_string(),
            bound,
            cancel,
        )))
    }

    pub(super) async fn end_turn(
        &mut self,
        turn: TurnId,
        result: &Result<TurnAnswer, AgentError>,
    ) -> Result<(), StoreError> {
        // A turn that was cancelled is over for this conversation; what it says now is not heard.
        let Some(running) = self.turn.take_if(|running| running.turn == turn) else {
            return Ok(());
        };
        crash::point("turn-ended-before-commit");
        let done = match &running.about {
            About::Person { inbound, answer } => {
                self.end_foreground(&running, *inbound, answer, result)
                    .await
            }
            About::Background {
                told,
                block,
                answer,
            } => {
                self.end_background(&running, told, block, answer, result)
                    .await
            }
        };
        crash::point("turn-ended-after-commit");
        if done.is_err() {
            self.turn = Some(running);
        }
        done
    }

    async fn end_foreground(
        &mut self,
        running: &RunningTurn,
        inbound: InboundId,
        answer: &AnswerTo,
        result: &Result<TurnAnswer, AgentError>,
    ) -> Result<(), StoreError> {
        let (end, error, text) = match result {
            Ok(said) => (TurnEnd::Done, None, said.text.clone()),
            Err(AgentError::Cancelled) => (TurnEnd::Cancelled, None, String::new()),
            Err(error) => {
                let said = explain_failure(error);
                tracing::warn!(conversation.id = %self.id, turn.id = %running.turn, error = %said, "a turn has failed");
                (
                    TurnEnd::Failed,
                    Some(said.clone()),
                    format!("That did not work: {said}"),
                )
            }
        };
        let mut changes = vec![
            Change::RequireGeneration(self.row.generation),
            Change::EndTurn {
                turn: running.turn,
                end,
                error,
            },
            Change::FinishInbound { inbound },
        ];
        if !text.is_empty() {
            changes.push(self.append(running, Role::Agent, text.clone()));
        }
        self.commit_and_send(
            changes,
            self.outgoing(
                Some(running.lineage),
                Some(running.turn),
                OutgoingKind::Answer,
                answer,
                &text,
            ),
        )
        .await
    }

    pub(super) fn append(&self, running: &RunningTurn, role: Role, text: String) -> Change {
        Change::Append(NewMessage {
            id: self.inside.ids.next::<MessageId>(),
            session: running.session,
            turn: Some(running.turn),
            role,
            author: None,
            text,
            data: None,
        })
    }

    /// A text as the messages it leaves as: cut to what the platform takes.
    pub(super) fn outgoing(
        &self,
        lineage: Option<LineageId>,
        turn: Option<TurnId>,
        kind: OutgoingKind,
        to: &AnswerTo,
        text: &str,
    ) -> Vec<NewOutgoing> {
        let platform = self.inside.directory.platform(&to.origin.account_name());
        let parts = match platform {
            Some(platform) => platform.render(text),
            // It waits for an account that is not configured now; it is cut when somebody can say where.
            None if text.is_empty() => Vec::new(),
            None => vec![Rendered::from(text.to_owned())],
        };
        let origin = match kind {
            // An answer to nobody's message anchors to none (public bug 52694).
            OutgoingKind::Background | OutgoingKind::Notice => homing_domain::origin::Origin {
                anchor: None,
                ..to.origin.clone()
            },
            OutgoingKind::Answer | OutgoingKind::Reply => to.origin.clone(),
        };
        let part = |Rendered { text, markup }| NewOutgoing {
            id: self.inside.ids.next::<OutboxId>(),
            lineage,
            turn,
            kind,
            origin: origin.clone(),
            window: to.window,
            text,
            extras: Extras {
                markup,
                ..Extras::default()
            },
        };
        parts.into_iter().map(part).collect()
    }
}

/// Asks the agent; one that breaks is a failed turn, not a failed gateway.
async fn ask(
    agent: Arc<dyn Agent>,
    request: TurnRequest,
    tools: Arc<dyn Toolbox>,
    cancel: CancellationToken,
) -> Result<TurnAnswer, AgentError> {
    let asked = tokio::spawn(async move { agent.turn(request, tools, cancel).await });
    asked
        .await
        .unwrap_or_else(|error| Err(AgentError::Failed(format!("the agent broke off: {error}"))))
}

/// The chain of an agent's error in one line.
pub(crate) fn explain_failure(error: &AgentError) -> String {
    match error {
        AgentError::Tool(source) => source.to_string(),
        AgentError::Cancelled
        | AgentError::Failed(_)
        | AgentError::TooLong
        | AgentError::Model { .. } => error.to_string(),
    }
}
