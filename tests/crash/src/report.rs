//! What is printed: one line of figures, and the faults behind them.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "printing what was found is what this program is for"
)]

use serde::Serialize;
use serde_json::Value;

#[derive(Serialize)]
struct Line<'a> {
    name: &'a str,
    figures: &'a Value,
}

/// Figures as one line of JSON, or as a line each.
pub fn figures(name: &str, figures: &impl Serialize, json: bool) -> anyhow::Result<()> {
    let figures = serde_json::to_value(figures)?;
    if json {
        let line = Line {
            name,
            figures: &figures,
        };
        println!("{}", serde_json::to_string(&line)?);
        return Ok(());
    }
    println!("{name}");
    for (figure, value) in figures.as_object().into_iter().flatten() {
        println!("  {figure:<24}{value}");
    }
    Ok(())
}

/// Faults that are printed of one round.
const SHOWN: usize = 30;

pub fn faults(about: &str, faults: &[String]) {
    for fault in faults.iter().take(SHOWN) {
        eprintln!("{about}: {fault}");
    }
    if faults.len() > SHOWN {
        eprintln!("{about}: and {} more", faults.len() - SHOWN);
    }
}

pub fn note(text: &str) {
    eprintln!("{text}");
}
