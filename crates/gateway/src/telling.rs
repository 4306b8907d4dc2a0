//! Notifications as texts: the fenced block for the agent, the short form for people.

use homing_domain::block::{self, Batch, Bounds, DelegationEnd, Told};
use homing_domain::process::ProcessState;
use homing_ports::store::{DelegationState, OpenNotification, Source, Store, StoreError};

/// Bytes of what sub-agents found that are told.
const FOUND: usize = 8_000;

/// The block for the agent and the text for people.
pub(crate) struct Texts {
    pub block: String,
    pub plain: String,
}

/// `fence` is a random marker.
pub(crate) async fn tell(
    store: &dyn Store,
    items: &[&OpenNotification],
    fence: &str,
) -> Result<Texts, StoreError> {
    let mut parts = Vec::with_capacity(items.len());
    for open in items {
        parts.push(Parts::of(store, open).await?);
    }
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
    Ok(Texts {
        block: block::render(&told, fence, bounds),
        plain: block::plain(&told, bounds),
    })
}

/// What `Told` borrows.
struct Parts {
    id: String,
    command: String,
    lines: Vec<String>,
    /// Where several are told together.
    batch: Option<Batch>,
}

impl Parts {
    async fn of(store: &dyn Store, open: &OpenNotification) -> Result<Self, StoreError> {
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
        Ok(Self {
            id,
            command: command.unwrap_or_default(),
            lines,
            batch: batch(store, open).await?,
        })
    }
}

async fn batch(store: &dyn Store, open: &OpenNotification) -> Result<Option<Batch>, StoreError> {
    let Some(first) = open.delegation.as_ref().and_then(|one| one.batch) else {
        return Ok(None);
    };
    let rows = store.batch(first).await?;
    let ends = rows.iter().filter_map(|row| ended(row.state));
    Ok((rows.len() > 1).then(|| Batch::of(ends)))
}

/// `None`: it runs.
const fn ended(state: DelegationState) -> Option<DelegationEnd> {
    match state {
        DelegationState::Finished => Some(DelegationEnd::Finished),
        DelegationState::Failed => Some(DelegationEnd::Failed),
        DelegationState::Interrupted => Some(DelegationEnd::Interrupted),
        DelegationState::Running => None,
    }
}

fn told<'a>(open: &'a OpenNotification, parts: &'a Parts) -> Told<'a> {
    let mut told = Told::new(open.notification.kind, &parts.id, &parts.command);
    if let Some(delegation) = &open.delegation {
        told.delegation = ended(delegation.state);
        told.batch = parts.batch;
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
