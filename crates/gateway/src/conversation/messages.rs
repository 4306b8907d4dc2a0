//! People's messages: commands at once, everything else one foreground turn after another.

use std::sync::Arc;

use homing_domain::command::{self, Parsed};
use homing_domain::ids::{ConversationId, LineageId, MessageId, OutboxId, SessionId, TurnId};
use homing_domain::origin::AccountName;
use homing_domain::owner::Owner;
use homing_domain::session::Current;
use homing_ports::agent::{
    Agent, AgentError, Toolbox, TurnAbout, TurnAnswer, TurnRequest, TurnStream,
};
use homing_ports::crash;
use homing_ports::platform::{Extras, OutgoingKind, Rendered};
use homing_ports::store::{Change, NewMessage, NewOutgoing, Role, StoreError, TurnEnd, TurnKind};
use homing_tools::{Bound, Counting, SessionTools};
use tokio_util::sync::CancellationToken;

use super::attachments::{self, Expected};
use super::background::earliest;
use super::live::{Lease, Live};
use super::said::{CutShort, told_with};
use super::together::{self, Written};
use super::{About, AnswerTo, Conversation, RunningTurn, Wake};
use crate::inside::Inside;

/// Waiting messages that are looked at in one step.
const READ: u32 = 1_000;

impl Conversation {
    /// Commands are carried out wherever they stand in the queue: `/stop` must not wait for what it stops. Other messages keep their order.
    pub(super) async fn read_messages(&mut self) -> Result<(), StoreError> {
        if self.at_rest.messages {
            return Ok(());
        }
        // Before the reading: a part that comes while it is read must not be found late by a later clock.
        let now = self.inside.now();
        let waiting = self.inside.store.inbound_waiting(self.id, READ).await?;
        let mut queued = waiting;
        queued.retain(|inbound| inbound.turn.is_none());
        let count = queued.len();
        let mut first = None;
        let mut plain = Vec::new();
        self.whole_at = None;
        for written in together::join(queued) {
            if let Some(at) = written.whole_at.filter(|at| *at > now) {
                earliest(&mut self.whole_at, at);
                first.get_or_insert(None);
                continue;
            }
            match command::parse(&written.row.text, &[]) {
                Parsed::Command(invocation) => {
                    // A command may have emptied or moved the queue: what was read before it is read again.
                    if !self.is_compressing_for(written.row.id) {
                        self.carry_out(written, invocation).await?;
                        return Box::pin(self.read_messages()).await;
                    }
                }
                Parsed::ForAnotherBot => {
                    let handled = written.parts();
                    let handled = handled.map(|inbound| Change::FinishInbound { inbound });
                    self.commit_own(handled.collect()).await?;
                }
                Parsed::NotACommand => {
                    if self.answers_question(&written).await? {
                        return Box::pin(self.read_messages()).await;
                    }
                    plain.push(written.clone());
                    first.get_or_insert(Some(written));
                }
            }
        }
        match first.flatten() {
            Some(written) if self.is_free() => {
                let is_alone = written.parts().count() == count;
                self.start_foreground(written).await?;
                self.at_rest.messages = is_alone && self.turn.is_some();
                Ok(())
            }
            Some(_) if self.while_busy(&plain).await? => Box::pin(self.read_messages()).await,
            // What comes after a message that is not whole yet waits behind it.
            Some(_) | None => {
                self.at_rest.messages = count == 0;
                Ok(())
            }
        }
    }

    async fn start_foreground(&mut self, written: Written) -> Result<(), StoreError> {
        let inbound = &written.row;
        let turn = self.inside.ids.next::<TurnId>();
        self.release_stopped().await?;
        let mut changes = Vec::with_capacity(5);
        // OWN-10: the first message makes the session.
        let current = match self.row.current {
            Some(current) => current,
            None => self.first_session(&mut changes),
        };
        let files = attachments::expected(
            &self.inside.settings,
            self.id,
            inbound.id,
            inbound.attachments.clone(),
        );
        changes.extend(
            written
                .parts()
                .map(|inbound| Change::TakeInbound { inbound, turn }),
        );
        changes.extend([
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
                text: attachments::mention(&inbound.text, &files),
                data: attachments::came_with(inbound, &files).write(),
            }),
        ]);
        let before = self.shown_before.get(&inbound.id).cloned();
        changes.extend(
            before
                .clone()
                .map(|message| Change::Previewed { turn, message }),
        );
        let moved = self.row.current.is_none();
        if !self.commit_own(changes).await? {
            return Ok(());
        }
        if moved {
            self.row.current = Some(current);
            self.row.generation += 1;
        }
        self.shown_before.remove(&inbound.id);
        crash::point("message-taken");
        let answer = AnswerTo {
            origin: inbound.origin.clone(),
            window: inbound.window,
        };
        let cancel = CancellationToken::new();
        let (stream, said) = TurnStream::new();
        let live = Live::begin(
            &self.inside,
            self.id,
            turn,
            &answer,
            &cancel,
            before,
            said.clone(),
        );
        let (live, lease) = live.unzip();
        let running = RunningTurn {
            turn,
            session: current.session,
            lineage: current.lineage,
            cancel,
            about: About::Person {
                answer: answer.clone(),
            },
            said,
            live,
        };
        let Written { row: inbound, .. } = written;
        let about = TurnAbout::Person {
            author: inbound.author,
            text: inbound.text,
            quoted: inbound.quoted,
            files: Vec::new(),
        };
        let stage = Stage {
            stream,
            lease,
            files,
        };
        self.run_turn(running, answer, about, stage);
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
    pub(super) fn run_turn(
        &mut self,
        running: RunningTurn,
        answer: AnswerTo,
        about: TurnAbout,
        stage: Stage,
    ) {
        let Stage {
            stream,
            lease,
            files,
        } = stage;
        let account = answer.origin.account_name();
        let (turn, cancel) = (running.turn, running.cancel.clone());
        let counting = Counting::of(turn);
        self.counting = Some(counting.clone());
        let mut request = TurnRequest {
            turn,
            key: self.row.key.clone(),
            session: running.session,
            window: answer.window,
            model: self.row.model.clone(),
            about,
            stream,
            used: counting.meter(),
        };
        let owner = Owner {
            conversation: self.id,
            session: running.session,
            lineage: running.lineage,
            origin: answer.origin,
            window: answer.window,
            delegation: None,
        };
        let tools = self.tools(owner, cancel.clone(), counting.clone());
        let agent = self.inside.directory.agent(&self.row.key.profile);
        let (inside, conversation) = (self.inside.clone(), self.id);
        inside.counters.add(&inside.counters.turns);
        self.turn = Some(running);
        tokio::spawn(async move {
            receive(
                &inside,
                conversation,
                &account,
                &mut request,
                files,
                &cancel,
            )
            .await;
            let result = match (agent, tools) {
                (Some(agent), Some(tools)) => ask(agent, request, tools, cancel).await,
                (None, _) => Err(AgentError::Failed(format!(
                    "no agent is configured for profile `{}`",
                    request.key.profile
                ))),
                (_, None) => Err(AgentError::Failed("the gateway is not ready yet".into())),
            };
            // No preview may come after the answer.
            if let Some(lease) = lease {
                lease.end().await;
            }
            let ended = Wake::TurnEnded {
                turn,
                counting,
                result,
            };
            inside.mailboxes.wake(&inside, conversation, ended);
            inside.counters.done(&inside.counters.turns);
        });
    }

    fn tools(
        &self,
        owner: Owner,
        cancel: CancellationToken,
        counting: Counting,
    ) -> Option<Arc<dyn Toolbox>> {
        let workshop = self.inside.workshop.get()?.clone();
        let bound = Bound::Turn(counting.turn());
        let key = self.row.key.to_string();
        let tools = SessionTools::new(workshop, owner, key, bound, cancel);
        Some(Arc::new(tools.counting(counting)))
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
            About::Person { answer } => self.end_foreground(&running, answer, result).await,
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
        self.forget_questions();
        self.forget_offers();
        done
    }

    async fn end_foreground(
        &mut self,
        running: &RunningTurn,
        answer: &AnswerTo,
        result: &Result<TurnAnswer, AgentError>,
    ) -> Result<(), StoreError> {
        if let Err(AgentError::TooLong) = result
            && self.begins_again_shorter(running, answer).await?
        {
            return Ok(());
        }
        let (end, error, text, entry) = match result {
            Ok(said) => {
                let is_empty = said.text.is_empty() && said.data.is_none();
                let (text, data) = (said.text.clone(), said.data.clone());
                let entry =
                    (!is_empty).then(|| self.append(running, Role::Agent, text.clone(), data));
                (TurnEnd::Done, None, text, entry)
            }
            Err(AgentError::Cancelled) => {
                let entry = self.said_by(running, CutShort::Stopped).await?;
                (TurnEnd::Cancelled, None, String::new(), entry)
            }
            Err(error) => {
                let why = explain_failure(error);
                tracing::warn!(conversation.id = %self.id, turn.id = %running.turn, error = %why, "a turn has failed");
                let failed = format!("That did not work: {why}");
                let said = running.said.borrow();
                let entry = told_with(said.unrecorded(), &failed);
                let entry = self.append(running, Role::Agent, entry, None);
                let text = told_with(&said.text, &failed);
                (TurnEnd::Failed, Some(why), text, Some(entry))
            }
        };
        let mut changes = vec![
            Change::RequireGeneration(self.row.generation),
            Change::EndTurn {
                turn: running.turn,
                end,
                error,
            },
            Change::FinishInboundOf { turn: running.turn },
        ];
        changes.extend(entry);
        let said = self.outgoing(
            Some(running.lineage),
            Some(running.turn),
            OutgoingKind::Answer,
            answer,
            &text,
        );
        let answered = !said.is_empty();
        let shown = running.live.as_ref().and_then(Live::shown);
        self.commit_and_send(changes, replacing(shown, said))
            .await?;
        if let Some(live) = running.live.clone().filter(|_| !answered) {
            live.stopped();
        }
        Ok(())
    }

    pub(super) fn append(
        &self,
        running: &RunningTurn,
        role: Role,
        text: String,
        data: Option<String>,
    ) -> Change {
        Change::Append(NewMessage {
            id: self.inside.ids.next::<MessageId>(),
            session: running.session,
            turn: Some(running.turn),
            role,
            author: None,
            text,
            data,
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
        // A turn may be older than a move of its place (OWN-72).
        let to = AnswerTo {
            origin: self.inside.moves.follow(to.origin.clone()),
            window: to.window,
        };
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
                ..to.origin
            },
            OutgoingKind::Answer | OutgoingKind::Reply => to.origin,
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

/// What a turn runs with beside its question.
pub(super) struct Stage {
    pub stream: TurnStream,
    /// What people see of it ends with this.
    pub lease: Option<Lease>,
    /// To be copied before the agent is asked.
    pub files: Vec<Expected>,
}

impl Stage {
    /// Nobody sees it (OWN-67).
    pub fn quiet(stream: TurnStream) -> Self {
        Self {
            stream,
            lease: None,
            files: Vec::new(),
        }
    }
}

/// The first part of an answer takes the place of what showed it before.
pub(super) fn replacing(shown: Option<String>, mut said: Vec<NewOutgoing>) -> Vec<NewOutgoing> {
    if let Some(first) = said.first_mut() {
        first.extras.replaces = shown;
    }
    said
}

/// Copies the files of a turn's message, and tells the history which are missing.
async fn receive(
    inside: &Arc<Inside>,
    conversation: ConversationId,
    account: &AccountName,
    request: &mut TurnRequest,
    expected: Vec<Expected>,
    cancel: &CancellationToken,
) {
    let TurnAbout::Person { files, .. } = &mut request.about else {
        return;
    };
    if expected.is_empty() {
        return;
    }
    let platform = inside.directory.platform(account);
    *files = attachments::fetch(inside, platform, &expected, cancel).await;
    let Some(text) = attachments::missing(&expected, files) else {
        return;
    };
    let note = Change::Append(NewMessage {
        id: inside.ids.next::<MessageId>(),
        session: request.session,
        turn: Some(request.turn),
        role: Role::System,
        author: None,
        text,
        data: None,
    });
    let changes = vec![Change::RequireTurn(request.turn), note];
    // Unmet if the turn was stopped meanwhile. The agent is told by its request in any case.
    if let Err(error) = inside.commit(conversation, changes).await {
        tracing::warn!(turn.id = %request.turn, %error, "the history does not say which files are missing");
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
