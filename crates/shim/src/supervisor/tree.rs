//! Ending everything the program has started.
//!
//! We are a subreaper: whatever the tree does with sessions and double forks, its chain of parents ends at us, so walking the parents finds all
//! of it. SIGKILL is repeated until no child is left, because one may be born between the look and the signal. Something that forks faster
//! than we kill is left after [`MOST_ROUNDS`] and counted in the exit record.
//!
//! Where the program has a cgroup, `cgroup.kill` does it in one step that nothing can outrun. The walk still follows, for what has moved to
//! another cgroup, and for kernels that do not have that file.

use std::io;
use std::path::PathBuf;

use homing_shim::cgroup::Cgroup;
use homing_shim::machine::{self, Identity};
use libc::{SIGKILL, SIGTERM};

use super::sys;

/// Milliseconds between two rounds of SIGKILL.
const PAUSE: u64 = 10;
/// Rounds until the rest is declared left.
pub const MOST_ROUNDS: u32 = 500;
/// Milliseconds between rounds after that: only sleeps in the kernel that nothing can end are left.
const LONG_PAUSE: u64 = 1_000;

#[derive(Debug)]
pub struct Tree {
    supervisor: i32,
    /// The program's group, as long as the program is not reaped; afterwards the number may be somebody else's.
    group: Option<i32>,
    cgroup: Option<Cgroup>,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    LeftAlone,
    Asked { deadline: u64 },
    Killing { rounds: u32, next: u64 },
}

impl Tree {
    pub fn new(program: i32, cgroup: Option<PathBuf>) -> Self {
        Self {
            supervisor: std::process::id() as i32,
            group: Some(program),
            cgroup: cgroup.map(Cgroup::new),
            state: State::LeftAlone,
        }
    }

    pub fn program_is_reaped(&mut self) {
        self.group = None;
    }

    /// SIGTERM to the group; if the program has ended, to each of what it left.
    pub fn ask_to_end(&mut self, grace_ms: u64, now: u64) {
        let deadline = now.saturating_add(grace_ms);
        self.state = match self.state {
            State::LeftAlone if grace_ms == 0 => State::Killing {
                rounds: 0,
                next: now,
            },
            State::LeftAlone => State::Asked { deadline },
            // Asked again: sooner is possible, later is not.
            State::Asked { deadline: before } => State::Asked {
                deadline: before.min(deadline),
            },
            State::Killing { .. } => return,
        };
        if grace_ms > 0 {
            self.signal_softly();
        }
    }

    fn signal_softly(&self) {
        match self.group {
            Some(group) => drop(sys::signal_group(group, SIGTERM)),
            None => self
                .everything()
                .into_iter()
                .for_each(|one| drop(machine::signal(one, SIGTERM))),
        }
    }

    /// When to look again, whether or not anything happens.
    pub fn due(&self) -> Option<u64> {
        match self.state {
            State::LeftAlone => None,
            State::Asked { deadline } => Some(deadline),
            State::Killing { next, .. } => Some(next),
        }
    }

    pub fn kill_if_due(&mut self, now: u64) {
        if self.due().is_none_or(|due| due > now) {
            return;
        }
        let rounds = match self.state {
            State::Killing { rounds, .. } => rounds.saturating_add(1),
            State::LeftAlone | State::Asked { .. } => 1,
        };
        self.kill_round();
        let pause = if rounds < MOST_ROUNDS {
            PAUSE
        } else {
            LONG_PAUSE
        };
        self.state = State::Killing {
            rounds,
            next: now + pause,
        };
    }

    fn kill_round(&self) {
        if let Some(cgroup) = &self.cgroup {
            drop(cgroup.kill());
        }
        if let Some(group) = self.group {
            drop(sys::signal_group(group, SIGKILL));
        }
        for one in self.everything() {
            drop(signal_hard(one));
        }
    }

    /// Is a kill under way that has not come to its end? Then the program's end is not yet the end.
    pub fn still_ending(&self) -> bool {
        match self.state {
            State::LeftAlone => false,
            State::Asked { .. } => true,
            State::Killing { rounds, .. } => rounds < MOST_ROUNDS,
        }
    }

    /// All of the tree that is alive.
    pub fn everything(&self) -> Vec<Identity> {
        let mut all = self.cgroup.as_ref().map_or_else(Vec::new, Cgroup::members);
        for one in machine::descendants(&[self.supervisor]) {
            if !all.contains(&one) {
                all.push(one);
            }
        }
        all
    }

    /// Removes the cgroup once its last member is reaped. What stays, a gateway removes later.
    pub fn clear_up(&self) {
        if let Some(cgroup) = &self.cgroup {
            drop(cgroup.remove_soon());
        }
    }
}

fn signal_hard(one: Identity) -> io::Result<()> {
    machine::signal(one, SIGKILL).map(drop)
}
