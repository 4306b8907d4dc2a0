//! Notifications as texts: the fenced block for the agent, the short form for people.

use homing_domain::block::{self, Bounds, DelegationEnd, Told};
use homing_domain::process::ProcessState;
use homing_ports::store::{DelegationState, OpenNotification, Source};

/// Bytes of what sub-agents found that are told.
const FOUND: usize = 8_000;

/// The block for the agent and the text for people.
pub(crate) struct Texts {
    pub block: String,
    pub plain: String,
}

/// `fence` is a random marker.
pub(crate) fn tell(items: &[&OpenNotification], fence: &str) -> Texts {
    let parts: Vec<Parts> = items.iter().map(|open| Parts::of(open)).collect();
    let told: Vec<Told<'_>> = items
        .iter()
        .zip(&parts)
        .map(|(open, parts)| told(open, parts))
        .collect();
    // What sub-agents found is their whole answer, and of several it is one text.
    let found = items
        .iter()
        .filter(|open| open.delegation.is_some())
        .map(|open| open.notification.content.len())
        .max()
        .unwrap_or(0);
    let usual = Bounds::default();
    let bounds = Bounds {
        output_bytes: usual.output_bytes.max(found.min(FOUND)),
        ..usual
    };
    Texts {
        block: block::render(&told, fence, bounds),
        plain: block::plain(&told, bounds),
    }
}

/// What `Told` borrows.
struct Parts {
    id: String,
    command: String,
    lines: Vec<String>,
}

impl Parts {
    fn of(open: &OpenNotification) -> Self {
        let (id, command) = match open.notification.source {
            Source::Process(id) => (
                id.to_string(),
                open.process.as_ref().map(|process| process.command.clone()),
            ),
            Source::Delegation(id) => (
                id.to_string(),
                open.delegation
                    .as_ref()
                    .map(|delegation| delegation.task.clone()),
            ),
        };
        let content = &open.notification.content;
        let lines = match content.is_empty() {
            true => Vec::new(),
            false => content.lines().map(str::to_owned).collect(),
        };
        Self {
            id,
            command: command.unwrap_or_default(),
            lines,
        }
    }
}

fn told<'a>(open: &'a OpenNotification, parts: &'a Parts) -> Told<'a> {
    let mut told = Told::new(open.notification.kind, &parts.id, &parts.command);
    if let Some(delegation) = &open.delegation {
        told.delegation = match delegation.state {
            DelegationState::Finished => Some(DelegationEnd::Finished),
            DelegationState::Failed => Some(DelegationEnd::Failed),
            DelegationState::Interrupted => Some(DelegationEnd::Interrupted),
            DelegationState::Running => None,
        };
        told.ran_for = delegation
            .ended_at
            .map(|ended| ended.since(delegation.created_at));
        told.output_tail = open.notification.content.as_bytes();
        told.output_total = open.notification.content.len() as u64;
        return told;
    }
    told.matched_lines = &parts.lines;
    told.suppressed = u64::from(open.notification.more);
    if let Some(process) = &open.process {
        told.ending = process.ending;
        told.ran_for = process
            .ended_at
            .map(|ended| ended.since(process.created_at));
        told.output_total = process.output_total;
        if process.state != ProcessState::Running {
            told.output_tail = &process.output_tail;
        }
    }
    told
}
