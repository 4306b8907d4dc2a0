//! `homing-bench`: how fast, how small. Each bench is one subject of `benches`, made of real parts: a store on disk, shims, a gateway, and the
//! simulated platform over HTTP.
//!
//! **Invariant:** every figure was measured in this run, and says what it is: what was not measured is not printed. A bench is bounded in count and in
//! time, listens on loopback only, and ends nothing that it did not start.
//! **Absent on purpose:** verdicts. A figure stands beside its aim; whether that is good enough is for the reader.

mod benches;
mod journal;
mod line;
mod machine;
mod place;
mod report;
mod rows;
mod samples;
mod stamp;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Parser;

use benches::Name;
use place::Place;

/// Measures Homing on this machine. Build it in release mode, together with what it measures:
/// `cargo build --release -p homing-bench -p homing`.
#[derive(Debug, Parser)]
struct Arguments {
    /// What to measure; several are measured one after another
    #[arg(value_enum, value_name = "NAME", required_unless_present = "list")]
    names: Vec<Name>,
    /// One JSON object a bench, for programs
    #[arg(long)]
    json: bool,
    /// List the names
    #[arg(long)]
    list: bool,
    /// The gateway's binary, for `start`; without it, the `homing` beside this program
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// A part of the work of `soak`: 0.02 is 2,000 messages and 200 processes
    #[arg(long, value_name = "PART", default_value_t = 1.0)]
    scale: f64,
    /// Where stores and run folders are made; not on a tmpfs, whose fsync costs nothing
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
}

fn main() -> ExitCode {
    if std::env::args_os()
        .nth(1)
        .is_some_and(|first| first == stamp::MODE)
    {
        return stamp::main();
    }
    let arguments = Arguments::parse();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&error);
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> anyhow::Result<()> {
    if arguments.list {
        return report::list();
    }
    let place = Place::open(arguments.folder.as_deref(), arguments.binary.as_deref())?;
    if cfg!(debug_assertions) {
        note("this is a debug build; its figures say little");
    }
    if place.is_in_memory()? {
        note(
            "the bench's folder is on a tmpfs, where an fsync costs nothing; name another with --folder",
        );
    }
    for name in &arguments.names {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .thread_name(machine::GATEWAY)
            .enable_all()
            .build()
            .context("starting the runtime")?;
        let figures = runtime
            .block_on(name.run(&place, arguments.scale))
            .with_context(|| format!("measuring `{}`", name.text()))?;
        runtime.shutdown_background();
        report::print(*name, &figures, arguments.json)?;
    }
    Ok(())
}

#[expect(
    clippy::print_stderr,
    reason = "a remark for the person at the terminal, beside the figures"
)]
fn note(text: &str) {
    eprintln!("homing-bench: {text}");
}

/// The whole chain once, one line a link.
#[expect(
    clippy::print_stderr,
    reason = "the last thing a command line does with an error"
)]
fn complain(error: &anyhow::Error) {
    eprintln!("homing-bench: {error}");
    for cause in error.chain().skip(1) {
        eprintln!("  because: {cause}");
    }
}
