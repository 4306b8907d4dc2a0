//! Figures, and how they are printed.
#![expect(
    clippy::print_stdout,
    reason = "printing figures is what this program is for"
)]

use std::io::{self, Write as _};

use clap::ValueEnum as _;
use serde::ser::{Serialize, SerializeMap as _, Serializer};

use crate::benches::Name;

/// What a bench measured, in the order it is told.
#[derive(Debug, Default)]
pub struct Figures(Vec<(String, f64)>);

impl Figures {
    pub fn add(&mut self, name: impl Into<String>, value: f64) {
        self.0.push((name.into(), value));
    }

    /// What is told behind these.
    pub fn append(&mut self, others: Figures) {
        self.0.extend(others.0);
    }
}

impl Serialize for Figures {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, &rounded(*value))?;
        }
        map.end()
    }
}

#[derive(serde::Serialize)]
struct Line<'a> {
    name: &'static str,
    figures: &'a Figures,
}

pub fn print(name: Name, figures: &Figures, json: bool) -> anyhow::Result<()> {
    if json {
        let line = serde_json::to_string(&Line {
            name: name.text(),
            figures,
        })?;
        println!("{line}");
        return Ok(io::stdout().flush()?);
    }
    println!("{}: {}", name.text(), name.about());
    let width = figures
        .0
        .iter()
        .map(|(figure, _)| figure.len())
        .max()
        .unwrap_or(0);
    for (figure, value) in &figures.0 {
        let aim = name
            .aims()
            .iter()
            .find(|(aimed, _)| aimed == figure)
            .map_or("", |(_, aim)| aim);
        println!(
            "{}",
            format!("  {figure:<width$}  {:>12}  {aim}", shown(*value)).trim_end()
        );
    }
    Ok(())
}

pub fn list() -> anyhow::Result<()> {
    for name in Name::value_variants() {
        println!("{:<14} {}", name.text(), name.about());
    }
    Ok(())
}

/// Three digits behind the point are more than any of these is good for. What is not a number is said as `null`.
fn rounded(value: f64) -> Option<f64> {
    value.is_finite().then(|| (value * 1e3).round() / 1e3)
}

fn shown(value: f64) -> String {
    match rounded(value) {
        None => "none".into(),
        Some(value) if value.fract() == 0.0 => format!("{value:.0}"),
        Some(value) if value.abs() >= 100.0 => format!("{value:.0}"),
        Some(value) => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_keep_their_order_and_the_unmeasured_is_null() {
        let mut figures = Figures::default();
        figures.add("p99_ms", 12.345_678);
        figures.add("lost", 0.0);
        figures.add("a", f64::NAN);
        let text = serde_json::to_string(&figures).unwrap_or_default();
        assert_eq!(text, r#"{"p99_ms":12.346,"lost":0.0,"a":null}"#);
    }
}
