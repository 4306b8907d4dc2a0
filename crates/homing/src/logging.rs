//! Logs for two readers: lines for people on a terminal, JSON for programs with `HOMING_LOG_FORMAT=json`. Filtered by `HOMING_LOG`.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

/// What is logged unless `HOMING_LOG` says otherwise.
const DEFAULT_FILTER: &str = "info";

pub fn start() {
    let filter =
        EnvFilter::try_from_env("HOMING_LOG").unwrap_or_else(|_| EnvFilter::new(DEFAULT_FILTER));
    let json = std::env::var("HOMING_LOG_FORMAT").is_ok_and(|format| format == "json");
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_target(false);
    // A second subscriber in one process is a mistake that only tests make; the first one stays.
    let _first_stays = match json {
        true => lines.json().flatten_event(true).try_init(),
        false => lines
            .with_ansi(std::io::stderr().is_terminal())
            .compact()
            .try_init(),
    };
}
