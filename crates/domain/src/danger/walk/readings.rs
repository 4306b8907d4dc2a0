//! A text as each shell reads it that may be the one that runs it: what any of them would run is looked at.
//!
//! **Invariant:** as long as nothing is met that shells read in different ways, there is one reading.

use super::super::call::Flow;
use super::super::expand::Variables;
use super::super::input::Reads;
use super::super::shell::{self, Dialect};
use super::super::{Danger, MOST, Rule};
use super::{Aliases, Walk};

/// What a shell keeps from one text to the next.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShellState {
    /// Where it is, as far as that is known.
    pub folder: Option<String>,
    pub aliases: Aliases,
}

/// What is found in a text that is written to a shell.
#[derive(Debug)]
pub struct Written {
    pub dangers: Vec<Danger>,
    /// What reads the text that comes after it.
    pub reads: Vec<(Reads, Option<String>)>,
    /// Where its lines begin before which all is over, in their order.
    pub settled: Vec<usize>,
    /// How the shell is after it.
    pub state: ShellState,
}

impl Walk {
    pub fn over(command: &str) -> Vec<Danger> {
        let readings = readings(|dialect| {
            let mut walk = Walk::new(Variables::of(command), dialect);
            walk.source(command, &Flow::default());
            walk
        });
        let mut dangers = Vec::new();
        for walk in refused_by_few(readings, command) {
            add_new(&mut dangers, walk.finish(command));
        }
        dangers
    }

    /// What takes the standard input of a command for what.
    pub fn readers(command: &str) -> Vec<(Reads, Option<String>)> {
        let readings = readings(|dialect| {
            let mut walk = Walk::new(Variables::of(command), dialect);
            walk.source(command, &Flow::open());
            walk
        });
        let mut reads = Vec::new();
        for walk in readings {
            add_new(&mut reads, walk.reads);
        }
        reads
    }

    /// A text that comes after others, and may end in the middle.
    pub fn written(text: &str, before: &ShellState) -> Written {
        let mut settled: Option<Vec<usize>> = None;
        let readings = readings(|dialect| {
            let mut walk = Walk::new(Variables::uncertain(text), dialect);
            walk.folder.clone_from(&before.folder);
            walk.aliases = before.aliases.clone();
            walk.spend(text.len());
            let mut script = shell::read(text, 0, dialect);
            let own = std::mem::take(&mut script.settled);
            match &mut settled {
                None => settled = Some(own),
                Some(common) => common.retain(|at| own.binary_search(at).is_ok()),
            }
            if script.waits {
                script.trouble = None;
            }
            walk.script(script, text, &Flow::open());
            walk
        });
        let mut written = Written {
            dangers: Vec::new(),
            reads: Vec::new(),
            settled: settled.unwrap_or_default(),
            state: ShellState::default(),
        };
        for (index, mut walk) in refused_by_few(readings, text).into_iter().enumerate() {
            let state = &mut written.state;
            let folder = walk.folder.take();
            if index == 0 {
                state.folder = folder;
            } else if state.folder != folder {
                state.folder = None;
                let why = "Where a shell is after it depends on which shell that is.";
                walk.add(Rule::HiddenCode, why, &shell::excerpt(text));
            }
            state.aliases.add_all(std::mem::take(&mut walk.aliases));
            add_new(&mut written.reads, std::mem::take(&mut walk.reads));
            add_new(&mut written.dangers, walk.finish(text));
        }
        written
    }
}

fn readings(mut read: impl FnMut(Dialect) -> Walk) -> Vec<Walk> {
    let first = read(Dialect::Bash);
    let forked = first.forked;
    let mut all = vec![first];
    if forked {
        all.extend([Dialect::Posix, Dialect::Dash].map(read));
    }
    all
}

/// What one shell refuses another reads. Where none does, nobody knows whether that is so.
fn refused_by_few(mut readings: Vec<Walk>, text: &str) -> Vec<Walk> {
    if readings.iter().all(|walk| walk.refused)
        && let Some(first) = readings.first_mut()
    {
        first.misunderstood(shell::Trouble::Refused, &shell::excerpt(text));
    }
    readings
}

fn add_new<T: PartialEq>(all: &mut Vec<T>, more: Vec<T>) {
    for one in more {
        if all.len() < MOST && !all.contains(&one) {
            all.push(one);
        }
    }
}
