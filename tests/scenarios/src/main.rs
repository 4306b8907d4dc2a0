//! `homing-scenarios FILE…`; by itself it also starts `homing-scenarios host` and `homing-scenarios steer`.

#![expect(
    clippy::print_stderr,
    reason = "the boundary of a program: what went wrong is printed once"
)]

use std::process::ExitCode;

use clap::Parser as _;
use homing_scenarios::runner::{self, Options};
use homing_scenarios::{host, steer};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("host") => report(host::main().map(|()| 0)),
        Some("steer") => ExitCode::from(steer::main(&arguments[1..])),
        _ => report(run(Options::parse())),
    }
}

fn run(options: Options) -> anyhow::Result<u8> {
    tracing_subscriber::fmt()
        .with_env_filter(
            tracing_subscriber::EnvFilter::try_from_default_env()
                .unwrap_or_else(|_| "warn,homing_scenarios=info".into()),
        )
        .with_writer(std::io::stderr)
        .init();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    Ok(runtime.block_on(runner::run(options)).code())
}

fn report(outcome: anyhow::Result<u8>) -> ExitCode {
    match outcome {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::from(2)
        }
    }
}
