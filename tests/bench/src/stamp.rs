//! The very short program: says what time it is and ends.
//!
//! **Invariant:** the time is read as late as possible; between it and the end of the program is one write.

use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;

use crate::machine;

/// First argument that makes a program of this binary.
pub const MODE: &str = "stamp";
/// Stands before the time. The command line does not contain it, so that a text is only taken for an answer if the program wrote it.
const MARK: &str = "ended-at=";

/// `stamp [MILLISECONDS]`: waits that long, stamps, ends.
pub fn main() -> ExitCode {
    let wait = std::env::args().nth(2).and_then(|text| text.parse().ok());
    if let Some(wait) = wait {
        std::thread::sleep(Duration::from_millis(wait));
    }
    let mut out = std::io::stdout();
    let text = format!("{MARK}{}\n", machine::monotonic_ns());
    match out.write_all(text.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// What a person writes to start one.
pub fn request(wait: Option<Duration>) -> anyhow::Result<String> {
    let program = std::env::current_exe().context("finding this program")?;
    let wait = wait.map_or(String::new(), |wait| wait.as_millis().to_string());
    Ok(format!("!bg exec '{}' {MODE} {wait}", program.display())
        .trim_end()
        .to_owned())
}

/// The time that a program wrote, if a message tells one.
pub fn read(message: &str) -> Option<u64> {
    let (_, rest) = message.split_once(MARK)?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_program_wrote_is_a_stamp() {
        assert_eq!(
            read("it ended.\n```\nended-at=1234567\n```"),
            Some(1_234_567)
        );
        let request = request(Some(Duration::from_millis(20))).unwrap_or_default();
        assert!(
            request.ends_with("stamp 20") && read(&request).is_none(),
            "{request}"
        );
    }
}
