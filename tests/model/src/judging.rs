//! Notifications, as `crates/gateway/src/conversation/background.rs` treats them, with the real facts and the real verdict.

use std::time::Duration;

use homing_domain::ids::{
    ConversationId, LineageId, NotificationId, ProcessId, SessionId, WindowId,
};
use homing_domain::key::ChatType;
use homing_domain::notification::{Kind, State as Standing};
use homing_domain::origin::Origin;
use homing_domain::outbox::OutboxState;
use homing_domain::owner::Owner;
use homing_domain::process::{Consumption, ProcessState};
use homing_domain::session::Current;
use homing_domain::time::Timestamp;
use homing_domain::verdict::{self, Policy, Verdict};
use homing_ports::store::{
    LineageRow, NotificationRow, OpenNotification, ProcessKind, ProcessRow, Source, Watched,
    WindowRow,
};
use homing_watcher::facts::{self, Present};

use crate::bug::Bug;
use crate::state::{
    ASKED, Held, Item, LINEAGES, Lineage, NOTIFICATIONS, OTHER, Seen, Set, State, Turn, Unfinished,
    What,
};

/// Background turns that may fail on a notification. One less than the gateway's, for a smaller model.
const TRIES: u8 = 2;
const NOW: Timestamp = Timestamp(20 * 86_400_000);

impl State {
    /// Settles what needs no turn.
    pub(crate) fn judge(&mut self, bug: Bug) -> bool {
        let mut anything = false;
        for number in self.waiting_for_a_verdict(bug) {
            let verdict = self.verdict(number, bug);
            self.check_verdict(number, verdict);
            let to = match verdict {
                Verdict::Deliver { .. } | Verdict::Retry(_) => continue,
                Verdict::Hold(_) => Standing::Held,
                Verdict::Drop(_) => Standing::Dropped,
                Verdict::Consume(_) => Standing::Consumed,
                Verdict::Notice(_) => {
                    self.enqueue(What::Told(Set::one(number)), None);
                    Standing::Noticed
                }
            };
            anything |= self.store.works[number].standing != Some(to);
            self.decide(number, to);
        }
        // A verdict that changes nothing may be wrong all the same.
        anything || self.broken.any()
    }

    /// One turn for all that wait for the same window.
    pub(crate) fn begin_background(&mut self, bug: Bug) -> bool {
        if !self.memory.as_ref().is_some_and(|memory| memory.is_free()) {
            return false;
        }
        let mut told = Set::default();
        let mut addressed = None;
        for number in self.waiting_for_a_verdict(bug) {
            let verdict = self.verdict(number, bug);
            let Verdict::Deliver { window } = verdict else {
                continue;
            };
            if *addressed.get_or_insert(window) == window {
                self.check_verdict(number, verdict);
                told = told.with(number);
            }
        }
        if told.is_empty() {
            return false;
        }
        let Some(lineage) = self.current_or_first() else {
            return false;
        };
        for number in told.numbers() {
            self.decide(number, Standing::Claimed);
        }
        self.set_turn(Some(Turn::Background { lineage, told }));
        true
    }

    /// The answer goes into the history and into the outbox in one step.
    pub(crate) fn end_background(&mut self, bug: Bug) -> bool {
        let Some((lineage, told)) = self.take_background() else {
            return false;
        };
        match bug {
            Bug::AcknowledgeFirst => {
                self.mark_delivered(told);
                self.leave_unfinished(Unfinished::Enter { lineage, told });
            }
            Bug::HistoryFirst => {
                self.enter_history(lineage, told);
                self.leave_unfinished(Unfinished::Mark { told });
            }
            Bug::CheckThenSend => {
                self.mark_delivered(told);
                self.record_history(lineage, told);
                self.leave_unfinished(Unfinished::Send(Item {
                    what: What::Told(told),
                    lineage: Some(lineage),
                    state: OutboxState::Queued,
                    arrived: false,
                }));
            }
            _ => {
                self.enter_history(lineage, told);
                self.mark_delivered(told);
            }
        }
        true
    }

    pub(crate) fn enter_history(&mut self, lineage: usize, told: Set) {
        self.record_history(lineage, told);
        self.enqueue(What::Told(told), Some(lineage));
    }

    fn record_history(&mut self, lineage: usize, told: Set) {
        for number in told.numbers() {
            let right = self.may_tell(number, lineage);
            self.expect(crate::rules::Rule::OwnLineageOnly, right);
            let entries = &mut self.store.history[number][lineage];
            *entries = (*entries + 1).min(2);
        }
    }

    pub(crate) fn mark_delivered(&mut self, told: Set) {
        for number in told.numbers() {
            self.decide(number, Standing::Delivered);
        }
    }

    /// Again, then as a plain notice.
    pub(crate) fn fail_background(&mut self) -> bool {
        let Some((lineage, told)) = self.take_background() else {
            return false;
        };
        let mut given_up = Set::default();
        for number in told.numbers() {
            self.store.works[number].attempts += 1;
            if self.store.works[number].attempts >= TRIES {
                given_up = given_up.with(number);
                self.decide(number, Standing::Noticed);
            } else {
                self.decide(number, Standing::Pending);
            }
        }
        if !given_up.is_empty() {
            self.enqueue(What::Told(given_up), Some(lineage));
        }
        true
    }

    fn take_background(&mut self) -> Option<(usize, Set)> {
        let memory = self.memory.as_mut()?;
        let Some(Turn::Background { lineage, told }) = memory.turn else {
            return None;
        };
        memory.turn = None;
        Some((lineage, told))
    }

    fn waiting_for_a_verdict(&self, bug: Bug) -> impl Iterator<Item = usize> + use<> {
        let told = match self.memory.as_ref().and_then(|memory| memory.turn) {
            Some(Turn::Background { told, .. }) => told,
            Some(Turn::Foreground { .. }) | None => self.told_unfinished(),
        };
        let works = self.store.works;
        (0..NOTIFICATIONS).filter(move |number| {
            let open = works[*number]
                .standing
                .filter(|standing| !standing.is_final());
            let seen = bug != Bug::HeldIsNotJudged || open != Some(Standing::Held);
            open.is_some() && seen && !told.has(*number)
        })
    }

    /// What a planted bug is still at.
    fn told_unfinished(&self) -> Set {
        match self.memory.as_ref().and_then(|memory| memory.unfinished) {
            Some(Unfinished::Enter { told, .. } | Unfinished::Mark { told }) => told,
            Some(Unfinished::Send(_) | Unfinished::Stop(_)) | None => Set::default(),
        }
    }

    /// Moves a notification; the only way to.
    pub(crate) fn decide(&mut self, number: usize, to: Standing) {
        let work = &mut self.store.works[number];
        let settled = work.standing.is_some_and(Standing::is_final);
        work.standing = Some(to);
        work.held = match (to, work.held) {
            (to, _) if to.is_final() => Held::Never,
            (Standing::Held, Held::Never) => Held::Recently,
            (_, held) => held,
        };
        self.expect(crate::rules::Rule::SettledStays, !settled);
    }

    fn verdict(&self, number: usize, bug: Bug) -> Verdict {
        let policy = Policy {
            after_auto_reset: self.setting.after_auto_reset,
            when_away: self.setting.when_away,
            ..Policy::default()
        };
        // The most recently active first, and that is another one than asked.
        let windows: Vec<WindowRow> = [OTHER, ASKED]
            .into_iter()
            .filter(|window| self.store.windows[*window])
            .map(window_row)
            .collect();
        let facts = facts::facts(
            &self.open(number, bug, policy.hold_for),
            &Present {
                current: self.store.current.map(|lineage| self.current_row(lineage)),
                compressing: self
                    .memory
                    .as_ref()
                    .is_some_and(|memory| memory.compressing),
                windows: &windows,
                profile_known: true,
                account_known: true,
                now: NOW,
            },
        );
        verdict::judge(&facts, &policy)
    }

    fn current_row(&self, lineage: usize) -> Current {
        Current {
            session: self.tip(lineage),
            lineage: LineageId::from_number(1 + lineage as u64),
        }
    }

    fn tip(&self, lineage: usize) -> SessionId {
        let compressions = match self.store.lineages[lineage] {
            Lineage::Open { tip } => tip,
            Lineage::Unused | Lineage::Closed(_) => 0,
        };
        SessionId::from_number(1 + lineage as u64 + LINEAGES as u64 * u64::from(compressions))
    }

    /// The rows that the store would answer with.
    fn open(&self, number: usize, bug: Bug, hold_for: Duration) -> OpenNotification {
        let work = &self.store.works[number];
        let owned_by = match (bug, self.store.current) {
            (Bug::FollowsTheKey, Some(current)) => current,
            _ => work.owner,
        };
        let held_since = match (work.held, bug) {
            (Held::Never, _) => None,
            (Held::TooLong, Bug::RenewsHolds) | (Held::Recently, _) => Some(NOW),
            (Held::TooLong, _) => Some(Timestamp(NOW.0 - hold_for.as_millis() as i64)),
        };
        let owner = Owner {
            conversation: ConversationId::from_number(1),
            session: self.tip(owned_by),
            lineage: LineageId::from_number(1 + owned_by as u64),
            origin: nowhere(),
            window: (self.setting.windowed && number == 1).then(|| WindowId::from_number(1)),
            delegation: None,
        };
        let process = ProcessId::from_number(1 + number as u64);
        OpenNotification {
            notification: NotificationRow {
                id: NotificationId::from_number(1 + number as u64),
                conversation: owner.conversation,
                source: Source::Process(process),
                kind: Kind::Completed,
                sequence: 0,
                state: work.standing.unwrap_or(Standing::Pending),
                reason: None,
                content: String::new(),
                more: 0,
                held_since,
                attempts: work.attempts.into(),
                turn: None,
                session: None,
                created_at: Timestamp(0),
                settled_at: None,
            },
            lineage: Some(LineageRow {
                id: owner.lineage,
                conversation: owner.conversation,
                tip: owner.session,
                closed: match self.store.lineages[owned_by] {
                    Lineage::Closed(boundary) => Some((boundary, NOW)),
                    Lineage::Unused | Lineage::Open { .. } => None,
                },
            }),
            process: Some(process_row(process, owner.clone(), work.consumed)),
            owner: Some(owner),
            delegation: None,
        }
    }
}

fn window_row(window: usize) -> WindowRow {
    WindowRow {
        id: WindowId::from_number(1 + window as u64),
        conversation: ConversationId::from_number(1),
        opened_at: Timestamp(0),
        active_at: Timestamp(0),
        closed_at: None,
    }
}

fn process_row(id: ProcessId, owner: Owner, consumed: Option<Seen>) -> ProcessRow {
    ProcessRow {
        id,
        owner,
        kind: ProcessKind::Task,
        command: String::new(),
        directory: String::new(),
        notify: true,
        watch: Vec::new(),
        state: ProcessState::Exited,
        ending: None,
        created_at: Timestamp(0),
        ended_at: None,
        output_total: 0,
        output_tail: Vec::new(),
        failure: None,
        consumed: consumed.map(|seen| match seen {
            Seen::ByLineage(_) => Consumption::Waited,
            Seen::WhileTold => Consumption::ReadToEnd,
            Seen::Stopped => Consumption::PersonKilled,
        }),
        watched: Watched::default(),
    }
}

/// No text is allocated: the model makes some millions of these.
fn nowhere() -> Origin {
    Origin {
        profile: String::new(),
        platform: String::new(),
        account: None,
        chat_type: ChatType::Dm,
        chat: String::new(),
        thread: None,
        user: None,
        anchor: None,
    }
}
