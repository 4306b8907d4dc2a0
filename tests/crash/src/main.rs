//! `homing-crash loop | points | planted | audit`; by itself it also starts `homing-crash host`.

#![expect(
    clippy::print_stderr,
    reason = "the boundary of a program: what went wrong is printed once"
)]

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Parser;
use homing_crash::crash_loop::{self, Kill};
use homing_crash::planted::Planted;
use homing_crash::{audit, host, planted, points};

/// Kills gateways, and looks at what is left. Exit code 1: something was found.
#[derive(Debug, Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// Where data folders are made.
    #[arg(long, global = true)]
    place: Option<PathBuf>,
    /// Figures as one line of JSON.
    #[arg(long, global = true)]
    json: bool,
    /// The same work and the same moments again, as far as the machine lets them.
    #[arg(long, global = true)]
    seed: Option<u64>,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Random work and random kills, then all is checked.
    Loop {
        #[arg(long, default_value_t = 60)]
        seconds: u64,
        #[arg(long, value_enum, default_value = "gateway")]
        kill: Kill,
    },
    /// A story that dies at every named point.
    Points { names: Vec<String> },
    /// Known-bad gateways, which must be found.
    Planted { names: Vec<Planted> },
    /// Nothing is sent before what says so is on disk.
    Audit {
        #[arg(long, value_enum, default_value = "on")]
        sync: audit::Sync,
    },
    /// A gateway, for one of the above.
    #[command(hide = true)]
    Host(host::Options),
}

fn main() -> ExitCode {
    match run(Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: Arguments) -> anyhow::Result<bool> {
    let Arguments {
        command,
        place,
        json,
        seed,
    } = arguments;
    if let Command::Host(options) = command {
        return host::main(options).map(|()| true);
    }
    let place = place.unwrap_or_else(std::env::temp_dir);
    let seed = seed.unwrap_or_else(of_the_clock);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    runtime.block_on(async {
        match command {
            Command::Loop { seconds, kill } => {
                crash_loop::run(crash_loop::Options {
                    seconds,
                    kill,
                    seed,
                    place,
                    json,
                })
                .await
            }
            Command::Points { names } => points::run(&place, &names, json).await,
            Command::Planted { names } => planted::run(seed, &place, &names, json).await,
            Command::Audit { sync } => audit::run(&place, sync, json).await,
            Command::Host(_) => Ok(true),
        }
    })
}

fn of_the_clock() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(1, |since| since.as_secs() % 1_000_000)
}
