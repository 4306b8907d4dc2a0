//! What must be true after everything has been brought up again and is quiet.
//!
//! **Invariant:** what is compared with comes from outside of the gateway: the ledger of what was written, what each program does, the journal
//! of what ran, and what the simulated platform has posted. The store is read, never believed alone.

mod answers;
mod delegations;
mod facts;
mod matches;
mod posts;
mod processes;
mod repeats;
mod resets;
mod told;
mod windows;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use homing_domain::ids::ProcessId;
use homing_domain::notification::State;
use homing_domain::time::Timestamp;

use crate::host::clock::Hurried;
use crate::world::World;
use facts::Facts;
use posts::Posts;

/// Figures of one round or of many. Those from `lost` on are faults; `reported_lost` is one beyond the supervisors that were killed.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct Figures {
    pub recorded: u64,
    pub delivered: u64,
    pub noticed: u64,
    pub consumed: u64,
    pub dropped: u64,
    pub held: u64,
    pub ran: u64,
    pub posted: u64,
    /// What a platform that cannot tell got twice, and was told so.
    pub repeats_marked: u64,
    /// Lines that a watch pattern matched.
    pub matches: u64,
    pub delegations: u64,
    /// Of them, those that a crash, a boundary, a window's end or a person cut short.
    pub interrupted: u64,
    pub windows_closed: u64,
    pub automatic_resets: u64,
    pub reported_lost: u64,
    /// Ended without having been told or held, or with another exit code or output than it had; a message never answered by the right result.
    pub lost: u64,
    /// Told in another conversation or to another history, or after the confirmation of the `/new` that closed its lineage.
    pub misrouted: u64,
    pub duplicated: u64,
    pub ran_twice: u64,
    /// The store says delivered or sent, and nothing was posted.
    pub false_delivered: u64,
    pub confirmations_missing: u64,
    /// Sessions that ended by themselves while something lived in them or waited to be told.
    pub resets_too_early: u64,
    /// Messages and commands that were accepted and never answered, though no boundary came after them.
    pub unanswered: u64,
    pub dead_letters: u64,
    /// Errors in the gateway's log: no fault by itself, but nothing here should cause one.
    pub errors_logged: u64,
}

impl Figures {
    pub fn add(&mut self, other: &Figures) {
        let fields = [
            (&mut self.recorded, other.recorded),
            (&mut self.delivered, other.delivered),
            (&mut self.noticed, other.noticed),
            (&mut self.consumed, other.consumed),
            (&mut self.dropped, other.dropped),
            (&mut self.held, other.held),
            (&mut self.ran, other.ran),
            (&mut self.posted, other.posted),
            (&mut self.repeats_marked, other.repeats_marked),
            (&mut self.matches, other.matches),
            (&mut self.delegations, other.delegations),
            (&mut self.interrupted, other.interrupted),
            (&mut self.windows_closed, other.windows_closed),
            (&mut self.automatic_resets, other.automatic_resets),
            (&mut self.reported_lost, other.reported_lost),
            (&mut self.lost, other.lost),
            (&mut self.misrouted, other.misrouted),
            (&mut self.duplicated, other.duplicated),
            (&mut self.ran_twice, other.ran_twice),
            (&mut self.false_delivered, other.false_delivered),
            (&mut self.confirmations_missing, other.confirmations_missing),
            (&mut self.resets_too_early, other.resets_too_early),
            (&mut self.unanswered, other.unanswered),
            (&mut self.dead_letters, other.dead_letters),
            (&mut self.errors_logged, other.errors_logged),
        ];
        for (sum, more) in fields {
            *sum += more;
        }
    }

    /// The sum that must close: what was recorded has become something.
    fn settled(&self) -> u64 {
        self.delivered + self.noticed + self.consumed + self.dropped + self.held
    }
}

/// What was found.
#[derive(Debug, Default)]
pub struct Found {
    pub figures: Figures,
    /// One sentence per fault.
    pub faults: Vec<String>,
    /// What the gateway logged as an error.
    pub errors: Vec<String>,
}

/// Kinds of faults, each with its figure.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fault {
    Lost,
    Misrouted,
    Duplicated,
    RanTwice,
    FalseDelivered,
    ConfirmationMissing,
    ResetTooEarly,
    Unanswered,
    DeadLetter,
    /// Has no figure of its own: the sum does not close, more is reported lost than was killed.
    Books,
}

impl Found {
    pub(crate) fn fault(&mut self, fault: Fault, what: String) {
        let (name, figure) = match fault {
            Fault::Lost => ("lost", Some(&mut self.figures.lost)),
            Fault::Misrouted => ("misrouted", Some(&mut self.figures.misrouted)),
            Fault::Duplicated => ("duplicated", Some(&mut self.figures.duplicated)),
            Fault::RanTwice => ("ran twice", Some(&mut self.figures.ran_twice)),
            Fault::FalseDelivered => ("false delivered", Some(&mut self.figures.false_delivered)),
            Fault::ConfirmationMissing => (
                "confirmation missing",
                Some(&mut self.figures.confirmations_missing),
            ),
            Fault::ResetTooEarly => ("reset too early", Some(&mut self.figures.resets_too_early)),
            Fault::Unanswered => ("unanswered", Some(&mut self.figures.unanswered)),
            Fault::DeadLetter => ("dead letter", Some(&mut self.figures.dead_letters)),
            Fault::Books => ("books", None),
        };
        if let Some(figure) = figure {
            *figure += 1;
        }
        self.faults.push(format!("{name}: {what}"));
    }
}

/// The gateway's clock and the machine's, which supervisors look at, on one scale.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moments(Option<Hurried>);

impl Moments {
    /// Moments are taken before what they are of is written. Two that are nearer to each other than this, on the machine's clock, may have
    /// been in either order.
    const DOUBT: Duration = Duration::from_millis(300);

    fn shown(self, machine: Timestamp) -> Timestamp {
        self.0.map_or(machine, |clock| clock.shows(machine))
    }

    fn machine(self, shown: Timestamp) -> Timestamp {
        self.0.map_or(shown, |clock| clock.machine(shown))
    }

    /// Without a doubt; both are the gateway's.
    fn well_before(self, earlier: Timestamp, later: Timestamp) -> bool {
        self.machine(later).since(self.machine(earlier)) > Moments::DOUBT
    }
}

/// Looks at everything. `shims_killed` are the processes whose supervisors were killed: only those may be lost.
pub async fn check(world: &World, shims_killed: &BTreeSet<ProcessId>) -> anyhow::Result<Found> {
    let ledger = world.people.ledger();
    let facts = Facts::read(&world.reader().await?, &ledger)
        .await
        .context("reading the store")?;
    let posts = Posts::read(&world.server.sent());
    let moments = Moments(world.clock);
    let journal = journal(&world.journal())?;
    let mut found = Found::default();
    found.figures.posted = posts.all.len() as u64;
    found.errors = errors(&world.log())?;
    found.figures.errors_logged = found.errors.len() as u64;
    count(&facts, &mut found);
    processes::check(&facts, &ledger, &journal, shims_killed, &mut found);
    told::check(&facts, &posts, &ledger, &mut found);
    answers::check(&facts, &posts, &ledger, &mut found);
    repeats::check(&posts, &mut found);
    windows::check(&facts, &posts, &ledger, moments, &mut found);
    matches::check(&facts, &ledger, &mut found);
    delegations::check(&facts, &posts, &ledger, moments, &mut found);
    resets::check(&facts, &ledger, moments, &mut found);
    Ok(found)
}

fn journal(path: &Path) -> anyhow::Result<Vec<String>> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(text.lines().map(str::to_owned).collect()),
        // Nothing has run.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error).context("reading the journal of runs"),
    }
}

fn errors(log: &Path) -> anyhow::Result<Vec<String>> {
    let text = std::fs::read(log).context("reading the gateway's log")?;
    let text = String::from_utf8_lossy(&text);
    let errors = text
        .lines()
        .filter(|line| line.contains(" ERROR ") || line.contains("panicked"));
    Ok(errors.map(str::to_owned).collect())
}

fn count(facts: &Facts, found: &mut Found) {
    for notification in facts.notifications.values() {
        let figures = &mut found.figures;
        figures.recorded += 1;
        match notification.state {
            State::Delivered => figures.delivered += 1,
            State::Noticed => figures.noticed += 1,
            State::Consumed => figures.consumed += 1,
            State::Dropped => figures.dropped += 1,
            State::Held => figures.held += 1,
            State::Pending | State::Claimed => {}
        }
    }
    let (recorded, settled) = (found.figures.recorded, found.figures.settled());
    if recorded != settled {
        found.fault(
            Fault::Books,
            format!("{recorded} notifications were recorded, {settled} have settled or are held"),
        );
    }
}
