//! Runs a target.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::mutate::Mutator;

/// What a parser made of an input. A target that never accepts anything checks nothing, and fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    Accepted,
    Refused,
}

impl Reading {
    pub const fn of(accepted: bool) -> Reading {
        if accepted {
            Reading::Accepted
        } else {
            Reading::Refused
        }
    }
}

/// How long a target runs unless `HOMING_FUZZ_SECONDS` says otherwise.
const USUAL: Duration = Duration::from_secs(1);
/// At least so many mutations, however slow they are.
const AT_LEAST: u64 = 200;

/// Checks the seeds in `corpus/<target>`, then their mutations. `check` panics if something is wrong.
///
/// # Panics
/// If a check does, if there are no seeds, or if the parser never accepted anything.
pub fn fuzz(target: &str, mut check: impl FnMut(&[u8]) -> Reading) {
    let seeds = seeds(target);
    assert!(!seeds.is_empty(), "there are no seeds in corpus/{target}");
    let mut executions = Executions {
        target: target.to_owned(),
        done: 0,
        accepted: 0,
    };
    for (_, seed) in &seeds {
        executions.one(seed, &mut check);
    }
    let contents: Vec<Vec<u8>> = seeds.into_iter().map(|(_, content)| content).collect();
    let mut mutator = Mutator::new(&contents, start(target));
    let ends = Instant::now() + time();
    let mut mutations = 0;
    while mutations < AT_LEAST || Instant::now() < ends {
        executions.one(&mutator.next_input(), &mut check);
        mutations += 1;
    }
    executions.print();
    assert!(
        executions.accepted > 0,
        "{target}: nothing was ever accepted"
    );
}

fn time() -> Duration {
    let asked = std::env::var("HOMING_FUZZ_SECONDS").ok();
    asked
        .and_then(|text| text.parse().ok())
        .map_or(USUAL, Duration::from_secs)
}

/// Each target goes through mutations of its own.
fn start(target: &str) -> u64 {
    target.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// In the order of their names, so that each run is the same.
fn seeds(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("corpus")
        .join(target);
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
        .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default();
    files.sort();
    files
        .into_iter()
        .filter_map(|file| std::fs::read(&file).ok().map(|content| (file, content)))
        .collect()
}

struct Executions {
    target: String,
    done: u64,
    accepted: u64,
}

impl Executions {
    fn one(&mut self, input: &[u8], check: &mut impl FnMut(&[u8]) -> Reading) {
        let said = SaidIfItPanics {
            target: &self.target,
            number: self.done,
            input,
        };
        let reading = check(input);
        std::mem::forget(said);
        self.done += 1;
        self.accepted += u64::from(reading == Reading::Accepted);
    }

    fn print(&self) {
        let line = format!(
            "fuzz {}: {} executions, {} accepted\n",
            self.target, self.done, self.accepted
        );
        // Nobody may listen.
        let _unheard = std::io::stdout().write_all(line.as_bytes());
    }
}

/// The panic's own message says what was wrong; this says with which input.
struct SaidIfItPanics<'a> {
    target: &'a str,
    number: u64,
    input: &'a [u8],
}

impl Drop for SaidIfItPanics<'_> {
    fn drop(&mut self) {
        let text = format!(
            "fuzz {}: execution {} failed on this input; keep it in tests/fuzz/corpus/{}\n{}\n",
            self.target,
            self.number,
            self.target,
            self.input.escape_ascii()
        );
        let _unheard = std::io::stderr().write_all(text.as_bytes());
    }
}
