//! Plays scenarios side by side and prints a line for each, in the order of the files.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "printing is this program's job"
)]

use std::path::PathBuf;
use std::sync::Arc;

use clap::Parser;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use crate::agents::{NotOfAModel, told_of_a_model};
use crate::load::{self, Malformed};
use crate::model::Scenario;
use crate::protocol::WhichAgent;
use crate::scene::{self, Failed, Folder, Staging};
use crate::telegram::{Casting, NotOfTelegram, Whose};

/// Plays scenario files against a real gateway. Exits 0 if all scenarios passed, 1 if any failed, 2 if a file or an option cannot be used.
#[derive(Debug, Parser)]
#[command(name = "homing-scenarios")]
pub struct Options {
    /// Files with lists of scenarios (JSON).
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Only scenarios whose name contains this text.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// `sqlite` or `postgres://…`.
    #[arg(long, default_value = "sqlite")]
    store: String,
    /// Platforms whose conversations are run through their real adapters, against a simulator of the platform's own protocol.
    #[arg(long, value_name = "PLATFORM", value_delimiter = ',')]
    real: Vec<String>,
    /// Run every conversation that can be on this platform through its real adapter, whichever platform the files name.
    #[arg(long, value_name = "PLATFORM", conflicts_with = "real")]
    platform: Option<String>,
    /// Who answers.
    #[arg(long, value_enum, default_value_t)]
    agent: WhichAgent,
    /// How many are played at a time; most of a scenario is waiting.
    #[arg(long, default_value = "4", value_parser = clap::value_parser!(u16).range(1..=64))]
    jobs: u16,
    /// Keep each scenario's folder, with the store and the gateway's log, and print where it is.
    #[arg(long)]
    keep: bool,
}

/// How a run ended, as the exit code says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    AllPassed,
    SomeFailed,
    /// Nothing was run.
    Unusable,
}

impl Ended {
    pub const fn code(self) -> u8 {
        match self {
            Ended::AllPassed => 0,
            Ended::SomeFailed => 1,
            Ended::Unusable => 2,
        }
    }
}

pub async fn run(options: Options) -> Ended {
    let scenarios = match chosen(&options) {
        Ok(scenarios) => scenarios,
        Err(problems) => {
            problems.iter().for_each(|problem| eprintln!("{problem}"));
            return Ended::Unusable;
        }
    };
    let at_once = Arc::new(Semaphore::new(options.jobs.into()));
    let folder = if options.keep {
        Folder::Kept
    } else {
        Folder::Removed
    };
    let mut playing = Vec::new();
    for scenario in scenarios {
        let name = scenario.name.clone();
        let run = match staged(scenario, &options, folder) {
            Ok((scenario, staging)) => {
                Run::Playing(tokio::spawn(play(scenario, Arc::clone(&at_once), staging)))
            }
            Err(not) => Run::Not(not),
        };
        playing.push((name, run));
    }
    let mut counts = Counts::default();
    for (name, run) in playing {
        let outcome = match run {
            Run::Not(not) => {
                println!("{} {name}: {not}", not.of());
                counts.add(&not);
                continue;
            }
            Run::Playing(outcome) => outcome.await.unwrap_or_else(|error| {
                Err(Failed {
                    step: 0,
                    why: format!("expected the runner to go on, seen {error}"),
                })
            }),
        };
        if let Err(Failed { step, why }) = outcome {
            println!("FAILED {name}: step {step}: {}", one_line(&why));
            counts.failed += 1;
        } else {
            println!("ok {name}");
            counts.passed += 1;
        }
    }
    if let Some(line) = counts.line(&options) {
        println!("{line}");
    }
    match counts.failed {
        0 => Ended::AllPassed,
        _ => Ended::SomeFailed,
    }
}

enum Run {
    Playing(JoinHandle<Result<(), Failed>>),
    Not(Not),
}

/// Why a scenario is not played.
#[derive(Debug, thiserror::Error)]
enum Not {
    #[error(transparent)]
    OfTelegram(#[from] NotOfTelegram),
    #[error(transparent)]
    OfAModel(#[from] NotOfAModel),
}

impl Not {
    const fn of(&self) -> &'static str {
        match self {
            Not::OfTelegram(_) => "not of telegram",
            Not::OfAModel(_) => "not of a model",
        }
    }
}

#[derive(Default)]
struct Counts {
    passed: usize,
    failed: usize,
    not_of_telegram: usize,
    not_of_a_model: usize,
}

impl Counts {
    const fn add(&mut self, not: &Not) {
        match not {
            Not::OfTelegram(_) => self.not_of_telegram += 1,
            Not::OfAModel(_) => self.not_of_a_model += 1,
        }
    }

    /// Where scenarios may be left out, how many were.
    fn line(&self, options: &Options) -> Option<String> {
        let left_out = [
            (options.platform.is_some(), self.not_of_telegram, "telegram"),
            (
                options.agent == WhichAgent::OpenAi,
                self.not_of_a_model,
                "a model",
            ),
        ];
        let left_out: Vec<String> = left_out
            .into_iter()
            .filter(|(may_be, _, _)| *may_be)
            .map(|(_, count, of)| format!(", {count} not of {of}"))
            .collect();
        let Counts { passed, failed, .. } = self;
        (!left_out.is_empty())
            .then(|| format!("{passed} passed, {failed} failed{}", left_out.concat()))
    }
}

/// The scenario as it is to be played, and how.
fn staged(
    scenario: Scenario,
    options: &Options,
    folder: Folder,
) -> Result<(Scenario, Staging), Not> {
    let scenario = match options.agent {
        WhichAgent::Scripted => scenario,
        WhichAgent::OpenAi => told_of_a_model(&scenario)?,
    };
    let staging = Staging {
        folder,
        casting: cast(&scenario, options)?,
        agent: options.agent,
    };
    Ok((scenario, staging))
}

async fn play(scenario: Scenario, at_once: Arc<Semaphore>, staging: Staging) -> Result<(), Failed> {
    // The semaphore is never closed.
    let _turn = at_once.acquire().await;
    scene::play(&scenario, &staging).await
}

/// What goes over Telegram. A scenario without anything on a platform that is only to be real is played as it is.
fn cast(scenario: &Scenario, options: &Options) -> Result<Option<Casting>, NotOfTelegram> {
    match (&options.platform, options.real.is_empty()) {
        (Some(_), _) => Casting::of(scenario, Whose::All).map(Some),
        (None, false) => Ok(Casting::of(scenario, Whose::Own).ok()),
        (None, true) => Ok(None),
    }
}

/// The scenarios to play, or everything that is in the way.
fn chosen(options: &Options) -> Result<Vec<Scenario>, Vec<String>> {
    usable(options).map_err(|problem| vec![problem])?;
    let all = load::load(&options.files).map_err(|problems| {
        problems
            .iter()
            .map(Malformed::to_string)
            .collect::<Vec<_>>()
    })?;
    let Some(text) = &options.only else {
        return Ok(all);
    };
    let chosen: Vec<_> = all
        .into_iter()
        .filter(|scenario| scenario.name.contains(text))
        .collect();
    if chosen.is_empty() {
        Err(vec![format!(
            "--only: no scenario's name contains \"{text}\""
        )])
    } else {
        Ok(chosen)
    }
}

/// The platform whose adapter is there.
const TELEGRAM: &str = "telegram";

fn usable(options: &Options) -> Result<(), String> {
    let real = options.real.iter().map(|platform| ("--real", platform));
    let all = options
        .platform
        .iter()
        .map(|platform| ("--platform", platform));
    if let Some((option, platform)) = real.chain(all).find(|(_, platform)| *platform != TELEGRAM) {
        return Err(format!(
            "{option}: the adapter of `{platform}` is not there yet; `{TELEGRAM}` is"
        ));
    }
    match options.store.as_str() {
        "sqlite" => Ok(()),
        store if store.starts_with("postgres://") || store.starts_with("postgresql://") => {
            Err("--store: the PostgreSQL store is not there yet".into())
        }
        store => Err(format!(
            "--store: `{store}` is neither `sqlite` nor `postgres://…`"
        )),
    }
}

fn one_line(text: &str) -> String {
    text.replace('\n', " | ")
}
