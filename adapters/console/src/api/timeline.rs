//! What was said in a conversation, as one list: its history, what left beside the history, and what waits to be read.
//!
//! **Invariant:** every text appears once. Replies and notices are outbox rows and may be in the history as well (`Role::System`): the
//! outbox row is shown, for it knows whether it arrived; the history row is left out.
//! **Absent on purpose:** a store. This is a pure function of rows, so its cases are plain tests.

use std::collections::{HashMap, HashSet};

use homing_domain::ids::TurnId;
use homing_domain::time::Timestamp;
use homing_ports::platform::OutgoingKind;
use homing_ports::store::{InboundRow, MessageRow, OutboxRow, OutboxState, Role};
use serde::Serialize;

/// A reply's two rows are written in one commit; more apart than this they are two replies.
const SAME_MOMENT_MS: u64 = 5_000;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Item {
    pub id: String,
    pub kind: ItemKind,
    pub text: String,
    pub at: i64,
    pub author: Option<String>,
    pub session: Option<String>,
    pub turn: Option<String>,
    /// The result of background work, told by the agent.
    pub background: bool,
    /// The window that is alerted.
    pub window: Option<String>,
    /// How sending it went, where that is not simply done.
    pub delivery: Option<Delivery>,
    /// What can be answered with a click.
    pub buttons: Vec<Answer>,
    /// The name of a file that comes with it; `outbox/{id}/file` has it.
    pub file: Option<String>,
}

/// A button: clicking it is as good as writing what it says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Answer {
    pub label: String,
    pub says: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ItemKind {
    Person,
    Agent,
    /// A notification block, as the agent sees it.
    Notification,
    /// What a tool answered to the agent.
    Tool,
    /// A command's answer, or Homing's own word in the history.
    Reply,
    Notice,
    /// A person's message that no turn has taken yet.
    Waiting,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Delivery {
    pub state: &'static str,
    pub reason: Option<String>,
}

/// The newest `limit` items, oldest first.
pub(super) fn merge(
    history: &[MessageRow],
    outbox: &[OutboxRow],
    waiting: &[InboundRow],
    limit: usize,
) -> Vec<Item> {
    let turns = Turns::of(history, outbox);
    let is_beside = |row: &&OutboxRow| {
        matches!(row.kind, OutgoingKind::Reply | OutgoingKind::Notice) || row.extras.file.is_some()
    };
    // An agent that only called tools said nothing: what they answered follows.
    let silent = |row: &MessageRow| row.role == Role::Agent && row.text.trim().is_empty();
    let beside: Vec<&OutboxRow> = outbox.iter().filter(is_beside).collect();
    let told =
        |row: &MessageRow| row.role == Role::System && beside.iter().any(|item| is_same(row, item));
    let read: HashSet<TurnId> = history
        .iter()
        .filter(|row| row.role == Role::Person)
        .filter_map(|row| row.turn)
        .collect();
    let unread = |row: &&InboundRow| row.turn.is_none_or(|turn| !read.contains(&turn));

    let mut said_in: HashMap<TurnId, Vec<&str>> = HashMap::new();
    let mut items: Vec<Item> = Vec::with_capacity(history.len() + beside.len());
    for row in history.iter().filter(|row| !told(row) && !silent(row)) {
        let before = match (row.role, row.turn) {
            (Role::Agent, Some(turn)) => said_in.entry(turn).or_default(),
            _ => &mut Vec::new(),
        };
        let text = beyond(row, before);
        before.push(&row.text);
        items.push(turns.said(row, text));
    }
    items.extend(beside.iter().map(|row| left(row)));
    // Stable, and ids grow with time: rows of one moment stay in the order they were made.
    items.sort_by_key(|item| item.at);
    items.extend(waiting.iter().filter(unread).map(waits));
    items.split_off(items.len().saturating_sub(limit))
}

/// What an answer says beyond what its turn had said before it: people elsewhere read the answer as one message, here each part stands where it was said.
fn beyond<'a>(row: &'a MessageRow, before: &[&str]) -> &'a str {
    let mut rest = row.text.as_str();
    for said in before {
        match rest.trim_start().strip_prefix(said.trim()) {
            Some(after) => rest = after,
            // An answer of its own.
            None => return &row.text,
        }
    }
    match rest.trim() {
        "" => &row.text,
        _ if before.is_empty() => rest,
        _ => rest.trim_start(),
    }
}

/// A long reply leaves in parts, so its outbox rows may be pieces of what stands in the history.
fn is_same(message: &MessageRow, item: &OutboxRow) -> bool {
    let apart = message.at.millis().abs_diff(item.created_at.millis());
    apart <= SAME_MOMENT_MS && message.text.contains(item.text.trim())
}

/// What the outbox knows of the turns in the history.
struct Turns<'a> {
    background: HashSet<TurnId>,
    /// The most troubled item of each.
    sent: HashMap<TurnId, &'a OutboxRow>,
}

impl<'a> Turns<'a> {
    fn of(history: &[MessageRow], outbox: &'a [OutboxRow]) -> Turns<'a> {
        let told = history
            .iter()
            .filter(|row| row.role == Role::Notification)
            .filter_map(|row| row.turn);
        let answered = outbox
            .iter()
            .filter(|row| row.kind == OutgoingKind::Background)
            .filter_map(|row| row.turn);
        let background = told.chain(answered).collect();
        let mut sent: HashMap<TurnId, &OutboxRow> = HashMap::new();
        let answers = outbox
            .iter()
            .filter(|row| matches!(row.kind, OutgoingKind::Answer | OutgoingKind::Background));
        for (turn, row) in answers.filter_map(|row| Some((row.turn?, row))) {
            let worst = sent.entry(turn).or_insert(row);
            if trouble(row.state) > trouble(worst.state) {
                *worst = row;
            }
        }
        Turns { background, sent }
    }

    fn said(&self, row: &MessageRow, text: &str) -> Item {
        let agent = row.role == Role::Agent;
        let sent = row
            .turn
            .filter(|_| agent)
            .and_then(|turn| self.sent.get(&turn));
        Item {
            id: row.id.to_string(),
            kind: match row.role {
                Role::Person => ItemKind::Person,
                Role::Agent => ItemKind::Agent,
                Role::Notification => ItemKind::Notification,
                Role::Tool => ItemKind::Tool,
                Role::System => ItemKind::Reply,
            },
            text: text.to_owned(),
            at: row.at.millis(),
            author: row.author.clone(),
            session: Some(row.session.to_string()),
            turn: row.turn.map(|turn| turn.to_string()),
            background: agent && row.turn.is_some_and(|turn| self.background.contains(&turn)),
            window: sent
                .and_then(|sent| sent.window)
                .map(|window| window.to_string()),
            delivery: sent.and_then(|sent| delivery(sent)),
            buttons: Vec::new(),
            file: None,
        }
    }
}

fn left(row: &OutboxRow) -> Item {
    let kind = match row.kind {
        OutgoingKind::Reply => ItemKind::Reply,
        OutgoingKind::Notice => ItemKind::Notice,
        // A file that the agent sent.
        OutgoingKind::Answer | OutgoingKind::Background => ItemKind::Agent,
    };
    let buttons = row.extras.buttons.iter().flatten();
    Item {
        buttons: buttons
            .map(|button| Answer {
                label: button.label.clone(),
                says: button.says.clone(),
            })
            .collect(),
        file: row.extras.file.as_ref().map(|file| file.name.clone()),
        turn: row.turn.map(|turn| turn.to_string()),
        window: row.window.map(|window| window.to_string()),
        delivery: delivery(row),
        ..item(row.id.to_string(), kind, &row.text, row.created_at)
    }
}

fn waits(row: &InboundRow) -> Item {
    let kind = if row.turn.is_none() {
        ItemKind::Waiting
    } else {
        ItemKind::Person
    };
    Item {
        author: row.author.clone(),
        ..item(row.id.to_string(), kind, &row.text, row.received_at)
    }
}

fn item(id: String, kind: ItemKind, text: &str, at: Timestamp) -> Item {
    Item {
        id,
        kind,
        text: text.to_owned(),
        at: at.millis(),
        author: None,
        session: None,
        turn: None,
        background: false,
        window: None,
        delivery: None,
        buttons: Vec::new(),
        file: None,
    }
}

fn delivery(row: &OutboxRow) -> Option<Delivery> {
    (row.state != OutboxState::Sent).then(|| Delivery {
        state: row.state.name(),
        reason: row.reason.clone(),
    })
}

fn trouble(state: OutboxState) -> u8 {
    match state {
        OutboxState::Sent => 0,
        OutboxState::Queued | OutboxState::Sending => 1,
        OutboxState::Uncertain => 2,
        OutboxState::Cancelled => 3,
        OutboxState::Dead => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use homing_domain::ids::{ConversationId, InboundId, MessageId, OutboxId, SessionId};
    use homing_domain::origin::Origin;

    fn place() -> Origin {
        crate::threads::origin("main", "calm-otter")
    }

    fn said(at: i64, role: Role, turn: Option<u64>, text: &str) -> MessageRow {
        let turn = turn.map(TurnId::from_number);
        MessageRow {
            id: MessageId::from_number(at as u64),
            session: SessionId::from_number(1),
            turn,
            role,
            author: None,
            text: text.into(),
            at: Timestamp(at),
            data: None,
        }
    }

    fn sent(
        at: i64,
        kind: OutgoingKind,
        turn: Option<u64>,
        state: OutboxState,
        text: &str,
    ) -> OutboxRow {
        OutboxRow {
            id: OutboxId::from_number(at as u64),
            conversation: ConversationId::from_number(1),
            lineage: None,
            turn: turn.map(TurnId::from_number),
            kind,
            origin: place(),
            window: None,
            text: text.into(),
            state,
            attempt: 1,
            not_before: Timestamp(at),
            reason: None,
            platform_message: None,
            created_at: Timestamp(at),
            settled_at: None,
            extras: Default::default(),
        }
    }

    fn inbound(at: i64, turn: Option<u64>, text: &str) -> InboundRow {
        InboundRow {
            id: InboundId::from_number(at as u64),
            conversation: ConversationId::from_number(1),
            origin: place(),
            author: None,
            text: text.into(),
            window: None,
            turn: turn.map(TurnId::from_number),
            received_at: Timestamp(at),
            attempts: 0,
            quoted: None,
            attachments: Vec::new(),
            together: None,
        }
    }

    fn told(items: &[Item]) -> Vec<(ItemKind, &str)> {
        items
            .iter()
            .map(|item| (item.kind, item.text.as_str()))
            .collect()
    }

    #[test]
    fn every_text_appears_once_in_the_order_it_was_said() {
        let history = [
            said(10, Role::Person, Some(1), "/ps"),
            said(20, Role::System, None, "first part\nsecond part"),
            said(30, Role::System, None, "only in the history"),
            said(90_000, Role::System, None, "first part"),
        ];
        let outbox = [
            sent(
                40,
                OutgoingKind::Notice,
                None,
                OutboxState::Sent,
                "a notice",
            ),
            sent(
                21,
                OutgoingKind::Reply,
                None,
                OutboxState::Sent,
                "second part",
            ),
            sent(
                20,
                OutgoingKind::Reply,
                None,
                OutboxState::Sent,
                "first part",
            ),
        ];
        let items = merge(&history, &outbox, &[], 100);
        let expected = [
            (ItemKind::Person, "/ps"),
            (ItemKind::Reply, "first part"),
            (ItemKind::Reply, "second part"),
            (ItemKind::Reply, "only in the history"),
            (ItemKind::Notice, "a notice"),
            (ItemKind::Reply, "first part"),
        ];
        assert_eq!(told(&items), expected);
        assert_eq!(told(&merge(&history, &outbox, &[], 2)), expected[4..]);
    }

    #[test]
    fn the_answer_of_background_work_is_marked_and_trouble_with_it_is_shown() {
        let history = [
            said(10, Role::Notification, Some(1), "block"),
            said(11, Role::Agent, Some(1), "it is done"),
            said(12, Role::Agent, Some(2), "hello"),
        ];
        let outbox = [
            sent(
                12,
                OutgoingKind::Answer,
                Some(2),
                OutboxState::Sent,
                "hello",
            ),
            sent(
                11,
                OutgoingKind::Background,
                Some(1),
                OutboxState::Sent,
                "it is",
            ),
            sent(
                11,
                OutgoingKind::Background,
                Some(1),
                OutboxState::Dead,
                " done",
            ),
        ];
        let items = merge(&history, &outbox, &[], 100);
        assert_eq!(
            items.iter().map(|item| item.background).collect::<Vec<_>>(),
            [false, true, false]
        );
        assert_eq!(
            items[1].delivery.as_ref().map(|delivery| delivery.state),
            Some("dead")
        );
        assert_eq!(items[2].delivery, None);
    }

    #[test]
    fn an_answer_does_not_repeat_what_its_turn_said_before_a_tool() {
        let history = [
            said(10, Role::Agent, Some(1), "I look at it."),
            said(11, Role::Tool, Some(1), "exit code 0"),
            said(12, Role::Agent, Some(1), " And at the log."),
            said(
                13,
                Role::Agent,
                Some(1),
                "I look at it.\n\nAnd at the log.\n\n  It is built.",
            ),
            said(
                14,
                Role::Agent,
                Some(2),
                "I look at it. It is another turn.",
            ),
            said(15, Role::Agent, Some(3), "One."),
            said(16, Role::Agent, Some(3), "Something else."),
            said(17, Role::Agent, Some(4), "The same."),
            said(18, Role::Agent, Some(4), "The same."),
        ];
        let items = merge(&history, &[], &[], 100);
        let texts: Vec<&str> = items.iter().map(|item| item.text.as_str()).collect();
        assert_eq!(
            texts,
            [
                "I look at it.",
                "exit code 0",
                " And at the log.",
                "It is built.",
                "I look at it. It is another turn.",
                "One.",
                "Something else.",
                "The same.",
                "The same.",
            ]
        );
    }

    #[test]
    fn what_waits_comes_last_and_what_a_turn_has_read_does_not_wait() {
        let history = [said(10, Role::Person, Some(1), "read")];
        let waiting = [
            inbound(10, Some(1), "read"),
            inbound(5, Some(2), "taken"),
            inbound(11, None, "queued"),
        ];
        let items = merge(&history, &[], &waiting, 100);
        assert_eq!(
            told(&items),
            [
                (ItemKind::Person, "read"),
                (ItemKind::Person, "taken"),
                (ItemKind::Waiting, "queued")
            ]
        );
    }
}
