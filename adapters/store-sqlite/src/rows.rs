//! From database rows to the port's rows.
//!
//! **Invariant:** columns are read in the order of the lists in [`columns`](crate::columns); what does not parse is
//! [`StoreError::Damaged`] with table and id, never a default.

use std::str::FromStr;

use homing_domain::ids::*;
use homing_domain::notification::{Kind, State};
use homing_domain::origin::Origin;
use homing_domain::owner::Owner;
use homing_domain::process::{Consumption, Ending, LostReason, ProcessState};
use homing_domain::session::{Boundary, Current, EndReason};
use homing_domain::time::Timestamp;
use homing_domain::watch::Limiter;
use homing_ports::platform::OutgoingKind;
use homing_ports::store::*;
use serde::de::DeserializeOwned;
use sqlx::sqlite::{Sqlite, SqliteRow};
use sqlx::{Decode, Row, Type};

/// A row read from left to right.
pub(crate) struct Fields<'r> {
    row: &'r SqliteRow,
    next: usize,
    table: &'static str,
    id: i64,
}

impl<'r> Fields<'r> {
    pub(crate) fn of(row: &'r SqliteRow) -> Self {
        Fields {
            row,
            next: 0,
            table: "result",
            id: 0,
        }
    }

    /// A row of `table` begins here with its id, for the sake of error messages.
    pub(crate) fn begin(&mut self, table: &'static str) -> StoreResult<i64> {
        self.table = table;
        self.id = 0;
        self.id = self.take()?;
        Ok(self.id)
    }

    pub(crate) fn take<T: Decode<'r, Sqlite> + Type<Sqlite>>(&mut self) -> StoreResult<T> {
        let column = self.next;
        self.next += 1;
        self.row
            .try_get(column)
            .map_err(|error| self.damaged(&error.to_string()))
    }

    fn damaged(&self, why: &str) -> StoreError {
        StoreError::Damaged(format!("{} {}: {why}", self.table, self.id))
    }

    fn name<T>(&mut self, parse: impl Fn(&str) -> Option<T>) -> StoreResult<T> {
        let text: &str = self.take()?;
        parse(text).ok_or_else(|| self.damaged(&format!("`{text}` is not a known name")))
    }

    fn name_or_none<T>(&mut self, parse: impl Fn(&str) -> Option<T>) -> StoreResult<Option<T>> {
        let text: Option<&str> = self.take()?;
        text.map(|text| {
            parse(text).ok_or_else(|| self.damaged(&format!("`{text}` is not a known name")))
        })
        .transpose()
    }

    fn json<T: DeserializeOwned>(&mut self) -> StoreResult<T> {
        let text: &str = self.take()?;
        serde_json::from_str(text).map_err(|error| self.damaged(&error.to_string()))
    }

    /// NULL is what there is nothing of.
    fn json_or_none<T: DeserializeOwned>(&mut self) -> StoreResult<Option<T>> {
        let text: Option<&str> = self.take()?;
        text.map(|text| {
            serde_json::from_str(text).map_err(|error| self.damaged(&error.to_string()))
        })
        .transpose()
    }

    fn parsed<T: FromStr<Err: std::fmt::Display>>(&mut self) -> StoreResult<T> {
        let text: &str = self.take()?;
        text.parse()
            .map_err(|error: T::Err| self.damaged(&error.to_string()))
    }

    pub(crate) fn count(&mut self) -> StoreResult<u64> {
        let number: i64 = self.take()?;
        u64::try_from(number).map_err(|_| self.damaged("a negative count"))
    }

    fn small(&mut self) -> StoreResult<u32> {
        let number: i64 = self.take()?;
        u32::try_from(number).map_err(|_| self.damaged("a count out of range"))
    }

    fn moment(&mut self) -> StoreResult<Timestamp> {
        self.take().map(Timestamp)
    }

    fn moment_or_none(&mut self) -> StoreResult<Option<Timestamp>> {
        Ok(self.take::<Option<i64>>()?.map(Timestamp))
    }

    pub(crate) fn id<T>(&mut self, make: impl Fn(i64) -> T) -> StoreResult<T> {
        self.take().map(make)
    }

    fn id_or_none<T>(&mut self, make: impl Fn(i64) -> T) -> StoreResult<Option<T>> {
        Ok(self.take::<Option<i64>>()?.map(make))
    }

    /// Both or neither; the schema holds that, and this says so if it did not.
    fn both<A, B>(&self, left: Option<A>, right: Option<B>) -> StoreResult<Option<(A, B)>> {
        match (left, right) {
            (Some(left), Some(right)) => Ok(Some((left, right))),
            (None, None) => Ok(None),
            _ => Err(self.damaged("half of a pair is missing")),
        }
    }

    /// The next `columns` columns as a row of another table, or `None` if an outer join found none there.
    pub(crate) fn joined<T>(
        &mut self,
        columns: usize,
        read: fn(&mut Self) -> StoreResult<T>,
    ) -> StoreResult<Option<T>> {
        let there: Option<i64> = self
            .row
            .try_get(self.next)
            .map_err(|error| self.damaged(&error.to_string()))?;
        if there.is_some() {
            return read(self).map(Some);
        }
        self.next += columns;
        Ok(None)
    }
}

pub(crate) fn conversation(fields: &mut Fields<'_>) -> StoreResult<ConversationRow> {
    let id = ConversationId::from_column(fields.begin("conversations")?);
    let key = fields.parsed()?;
    let origin = fields.json()?;
    let session = fields.id_or_none(SessionId::from_column)?;
    let lineage = fields.id_or_none(LineageId::from_column)?;
    let current = fields
        .both(session, lineage)?
        .map(|(session, lineage)| Current { session, lineage });
    Ok(ConversationRow {
        id,
        key,
        origin,
        current,
        generation: fields.count()?,
        model: fields.take()?,
        created_at: fields.moment()?,
        active_at: fields.moment()?,
    })
}

pub(crate) fn session(fields: &mut Fields<'_>) -> StoreResult<SessionRow> {
    let id = SessionId::from_column(fields.begin("sessions")?);
    let conversation = fields.id(ConversationId::from_column)?;
    let lineage = fields.id(LineageId::from_column)?;
    let continues = fields.id_or_none(SessionId::from_column)?;
    let parent = fields.id_or_none(SessionId::from_column)?;
    let title = fields.take()?;
    let summary = fields.take()?;
    let kept_from = fields.id_or_none(MessageId::from_column)?;
    let started_at = fields.moment()?;
    let ended_by = fields.name_or_none(end_reason)?;
    let ended_at = fields.moment_or_none()?;
    let ended = fields.both(ended_by, ended_at)?;
    Ok(SessionRow {
        id,
        conversation,
        lineage,
        continues,
        parent,
        title,
        summary,
        kept_from,
        started_at,
        ended,
        messages: fields.count()?,
    })
}

fn end_reason(text: &str) -> Option<EndReason> {
    match text {
        "compressed" => Some(EndReason::Compressed),
        other => Boundary::parse(other).map(Boundary::end_reason),
    }
}

pub(crate) const LINEAGE_COLUMNS: usize = 5;
pub(crate) fn lineage(fields: &mut Fields<'_>) -> StoreResult<LineageRow> {
    let id = LineageId::from_column(fields.begin("lineages")?);
    let conversation = fields.id(ConversationId::from_column)?;
    let tip = fields.id(SessionId::from_column)?;
    let closed_by = fields.name_or_none(Boundary::parse)?;
    let closed_at = fields.moment_or_none()?;
    Ok(LineageRow {
        id,
        conversation,
        tip,
        closed: fields.both(closed_by, closed_at)?,
    })
}

pub(crate) fn message(fields: &mut Fields<'_>) -> StoreResult<MessageRow> {
    Ok(MessageRow {
        id: MessageId::from_column(fields.begin("messages")?),
        session: fields.id(SessionId::from_column)?,
        turn: fields.id_or_none(TurnId::from_column)?,
        role: fields.name(Role::parse)?,
        author: fields.take()?,
        text: fields.take()?,
        data: fields.take()?,
        at: fields.moment()?,
    })
}

pub(crate) fn inbound(fields: &mut Fields<'_>) -> StoreResult<InboundRow> {
    Ok(InboundRow {
        id: InboundId::from_column(fields.begin("inbound")?),
        conversation: fields.id(ConversationId::from_column)?,
        origin: fields.json()?,
        author: fields.take()?,
        text: fields.take()?,
        window: fields.id_or_none(WindowId::from_column)?,
        turn: fields.id_or_none(TurnId::from_column)?,
        received_at: fields.moment()?,
        attempts: fields.small()?,
        quoted: fields.take()?,
        attachments: fields.json_or_none()?.unwrap_or_default(),
        together: fields.json_or_none()?,
    })
}

pub(crate) fn turn(fields: &mut Fields<'_>) -> StoreResult<TurnRow> {
    Ok(TurnRow {
        id: TurnId::from_column(fields.begin("turns")?),
        conversation: fields.id(ConversationId::from_column)?,
        session: fields.id(SessionId::from_column)?,
        lineage: fields.id(LineageId::from_column)?,
        kind: fields.name(|text| {
            [TurnKind::Foreground, TurnKind::Background]
                .into_iter()
                .find(|kind| kind.name() == text)
        })?,
        tools: fields.small()?,
        preview: fields.take()?,
        started_at: fields.moment()?,
    })
}

fn owner(fields: &mut Fields<'_>) -> StoreResult<Owner> {
    Ok(Owner {
        conversation: fields.id(ConversationId::from_column)?,
        session: fields.id(SessionId::from_column)?,
        lineage: fields.id(LineageId::from_column)?,
        origin: fields.json()?,
        window: fields.id_or_none(WindowId::from_column)?,
        delegation: fields.id_or_none(DelegationId::from_column)?,
    })
}

pub(crate) const PROCESS_COLUMNS: usize = 29;
pub(crate) fn process(fields: &mut Fields<'_>) -> StoreResult<ProcessRow> {
    let id = ProcessId::from_column(fields.begin("processes")?);
    let owner = owner(fields)?;
    let kind = fields.name(ProcessKind::parse)?;
    let command = fields.take()?;
    let directory = fields.take()?;
    let notify = fields.take()?;
    let watch = fields.json()?;
    let state = fields.name(ProcessState::parse)?;
    let code: Option<i32> = fields.take()?;
    let signal: Option<i32> = fields.take()?;
    let lost = fields.name_or_none(LostReason::parse)?;
    let ending = code
        .map(Ending::Code)
        .or(signal.map(Ending::Signal))
        .or(lost.map(Ending::Lost));
    Ok(ProcessRow {
        id,
        owner,
        kind,
        command,
        directory,
        notify,
        watch,
        state,
        ending,
        failure: fields.take()?,
        created_at: fields.moment()?,
        ended_at: fields.moment_or_none()?,
        output_total: fields.count()?,
        output_tail: fields.take()?,
        consumed: fields.name_or_none(Consumption::parse)?,
        watched: Watched {
            scanned: fields.count()?,
            limiter: Limiter {
                window: fields.moment_or_none()?,
                waiting: fields.small()?,
                full_windows: fields.small()?,
                told: fields.small()?,
                switched_off: fields.take()?,
            },
            lines: fields.json()?,
        },
    })
}

pub(crate) const DELEGATION_COLUMNS: usize = 15;
pub(crate) fn delegation(fields: &mut Fields<'_>) -> StoreResult<DelegationRow> {
    Ok(DelegationRow {
        id: DelegationId::from_column(fields.begin("delegations")?),
        owner: owner(fields)?,
        session: fields.id(SessionId::from_column)?,
        lineage: fields.id(LineageId::from_column)?,
        task: fields.take()?,
        batch: fields.id_or_none(DelegationId::from_column)?,
        state: fields.name(DelegationState::parse)?,
        result: fields.take()?,
        created_at: fields.moment()?,
        ended_at: fields.moment_or_none()?,
    })
}

pub(crate) fn notification(fields: &mut Fields<'_>) -> StoreResult<NotificationRow> {
    let id = NotificationId::from_column(fields.begin("notifications")?);
    let conversation = fields.id(ConversationId::from_column)?;
    let process = fields.id_or_none(ProcessId::from_column)?;
    let delegation = fields.id_or_none(DelegationId::from_column)?;
    let source = match (process, delegation) {
        (Some(process), None) => Source::Process(process),
        (None, Some(delegation)) => Source::Delegation(delegation),
        _ => return Err(fields.damaged("it has not exactly one source")),
    };
    Ok(NotificationRow {
        id,
        conversation,
        source,
        kind: fields.name(Kind::parse)?,
        sequence: fields.small()?,
        state: fields.name(State::parse)?,
        reason: fields.take()?,
        content: fields.take()?,
        more: fields.small()?,
        held_since: fields.moment_or_none()?,
        attempts: fields.small()?,
        turn: fields.id_or_none(TurnId::from_column)?,
        session: fields.id_or_none(SessionId::from_column)?,
        created_at: fields.moment()?,
        settled_at: fields.moment_or_none()?,
    })
}

/// A notification, then whether its owner's session is there, then lineage, process and delegation from outer joins.
pub(crate) fn open_notification(fields: &mut Fields<'_>) -> StoreResult<OpenNotification> {
    let notification = notification(fields)?;
    let session: Option<i64> = fields.take()?;
    let lineage = fields.joined(LINEAGE_COLUMNS, lineage)?;
    let process = fields.joined(PROCESS_COLUMNS, process)?;
    let delegation = fields.joined(DELEGATION_COLUMNS, delegation)?;
    let stamp = process
        .as_ref()
        .map(|process| &process.owner)
        .or(delegation.as_ref().map(|delegation| &delegation.owner));
    // OWN-39: a stamp that names a session or lineage that is not there proves nothing.
    let owner = stamp
        .filter(|_| session.is_some() && lineage.is_some())
        .cloned();
    Ok(OpenNotification {
        notification,
        owner,
        lineage,
        process,
        delegation,
    })
}

pub(crate) fn decision(fields: &mut Fields<'_>) -> StoreResult<DecisionRow> {
    fields.begin("decisions")?;
    Ok(DecisionRow {
        at: fields.moment()?,
        from: fields.name(State::parse)?,
        to: fields.name(State::parse)?,
        reason: fields.take()?,
        facts: fields.take()?,
    })
}

pub(crate) fn outbox(fields: &mut Fields<'_>) -> StoreResult<OutboxRow> {
    Ok(OutboxRow {
        id: OutboxId::from_column(fields.begin("outbox")?),
        conversation: fields.id(ConversationId::from_column)?,
        lineage: fields.id_or_none(LineageId::from_column)?,
        turn: fields.id_or_none(TurnId::from_column)?,
        kind: fields.name(OutgoingKind::parse)?,
        origin: fields.json::<Origin>()?,
        window: fields.id_or_none(WindowId::from_column)?,
        text: fields.take()?,
        extras: fields.json_or_none()?.unwrap_or_default(),
        state: fields.name(OutboxState::parse)?,
        attempt: fields.small()?,
        not_before: fields.moment()?,
        reason: fields.take()?,
        platform_message: fields.take()?,
        created_at: fields.moment()?,
        settled_at: fields.moment_or_none()?,
    })
}

fn asker(fields: &mut Fields<'_>) -> StoreResult<Asker> {
    let turn = fields.id_or_none(TurnId::from_column)?;
    let delegation = fields.id_or_none(DelegationId::from_column)?;
    match (turn, delegation) {
        (Some(turn), None) => Ok(Asker::Turn(turn)),
        (None, Some(delegation)) => Ok(Asker::Delegation(delegation)),
        _ => Err(fields.damaged("it is not exactly one that asks")),
    }
}

pub(crate) fn approval(fields: &mut Fields<'_>) -> StoreResult<ApprovalRow> {
    Ok(ApprovalRow {
        id: ApprovalId::from_column(fields.begin("approvals")?),
        conversation: fields.id(ConversationId::from_column)?,
        session: fields.id(SessionId::from_column)?,
        lineage: fields.id(LineageId::from_column)?,
        asker: asker(fields)?,
        person: fields.take()?,
        command: fields.take()?,
        why: fields.take()?,
        state: fields.name(ApprovalState::parse)?,
        created_at: fields.moment()?,
        expires_at: fields.moment()?,
        settled_at: fields.moment_or_none()?,
    })
}

pub(crate) fn window(fields: &mut Fields<'_>) -> StoreResult<WindowRow> {
    Ok(WindowRow {
        id: WindowId::from_column(fields.begin("windows")?),
        conversation: fields.id(ConversationId::from_column)?,
        opened_at: fields.moment()?,
        active_at: fields.moment()?,
        closed_at: fields.moment_or_none()?,
    })
}
