//! `homing`: the gateway and its command line.
//!
//! **Invariant:** everything that talks to a running gateway says what is wrong and what to do about it, and ends with the exit code that
//! `--help` names: 0 done, 1 it did not work, 2 it was asked for wrongly.
//! **Why a library:** so that tests beside the simulators can build this very program for themselves.

mod anew;
mod arguments;
mod command;
mod control;
mod data;
mod logging;
mod memory;
mod secret;
mod wiring;

use std::process::ExitCode;

use arguments::{Arguments, Command};
use clap::Parser;

/// The program. Its arguments are those of the process.
pub fn main() -> ExitCode {
    let started = std::time::Instant::now();
    let arguments = Arguments::parse();
    let done = match arguments.command.unwrap_or_default() {
        Command::Serve(serve) => command::serve::run(serve, started),
        Command::Ps(ps) => command::ps::run(&ps),
        Command::Log(log) => command::log::run(&log),
        Command::Kill(kill) => command::kill::run(&kill),
        Command::Explain(explain) => command::explain::run(&explain),
        Command::Doctor(doctor) => command::doctor::run(&doctor),
    };
    match done {
        Ok(code) => code,
        Err(error) => {
            complain(&error);
            ExitCode::FAILURE
        }
    }
}

/// The whole chain once, one line a link.
#[expect(
    clippy::print_stderr,
    reason = "the last thing a command line does with an error"
)]
fn complain(error: &anyhow::Error) {
    eprintln!("homing: {error}");
    for cause in error.chain().skip(1) {
        eprintln!("  because: {cause}");
    }
}
