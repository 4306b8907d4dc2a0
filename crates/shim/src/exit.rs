//! `exit`: how it ended, and `ack`: the store knows.

use crate::folder;
use crate::record::{Record, RecordError, Writer};
use crate::started::moment;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exit {
    pub ending: Ending,
    /// Milliseconds since the Unix epoch.
    pub at: i64,
    /// Bytes ever written by it until then.
    pub output_total: u64,
    /// Processes it left behind, alive.
    pub left: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    Code(i32),
    Signal(i32),
    /// Written by a gateway that found neither an end nor a supervisor; the reason is the domain's name for it.
    Lost(String),
    /// It was never executed, and why.
    NotRun(String),
}

impl Exit {
    pub fn to_text(&self) -> String {
        let mut writer = Writer::new();
        match &self.ending {
            Ending::Code(code) => writer.text("code", &code.to_string()),
            Ending::Signal(signal) => writer.text("signal", &signal.to_string()),
            Ending::Lost(reason) => writer.text("lost", reason),
            Ending::NotRun(why) => writer.text("not_run", why),
        }
        writer.number("at", self.at.max(0) as u64);
        writer.number("output", self.output_total);
        writer.number("left", self.left);
        writer.finish()
    }

    pub fn parse(content: &[u8]) -> Result<Self, RecordError> {
        let record = Record::parse(folder::EXIT, content)?;
        Ok(Self {
            ending: ending(&record)?,
            at: moment(&record, "at")?,
            output_total: record.number("output")?,
            left: record.number("left")?,
        })
    }
}

/// Exactly one of the four; anything else must not be rounded to one of them.
fn ending(record: &Record) -> Result<Ending, RecordError> {
    let has = |key: &'static str| record.all(key).next().map(|_| key);
    let mut kinds = [has("code"), has("signal"), has("lost"), has("not_run")]
        .into_iter()
        .flatten();
    match (kinds.next(), kinds.next()) {
        (Some("code"), None) => Ok(Ending::Code(signed(record, "code")?)),
        (Some("signal"), None) => Ok(Ending::Signal(signed(record, "signal")?)),
        (Some("lost"), None) => Ok(Ending::Lost(record.text("lost")?.to_owned())),
        (Some("not_run"), None) => Ok(Ending::NotRun(record.text("not_run")?.to_owned())),
        (_, Some(second)) => Err(record.error(second, "it says how it ended twice")),
        (_, None) => Err(record.error("code", "it does not say how it ended")),
    }
}

fn signed(record: &Record, key: &str) -> Result<i32, RecordError> {
    record
        .text(key)?
        .parse()
        .map_err(|_| record.error(key, &format!("`{key}` must be a number")))
}

/// The content of `ack`.
pub fn acknowledgement(at: i64) -> String {
    let mut writer = Writer::new();
    writer.number("at", at.max(0) as u64);
    writer.finish()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use proptest::prelude::*;

    fn an_ending() -> impl Strategy<Value = Ending> {
        prop_oneof![
            any::<i32>().prop_map(Ending::Code),
            any::<i32>().prop_map(Ending::Signal),
            ".*".prop_map(Ending::Lost),
            ".*".prop_map(Ending::NotRun),
        ]
    }

    proptest! {
        #[test]
        fn it_comes_back(ending in an_ending(), at in 0..i64::MAX, output_total in any::<u64>(), left in any::<u64>()) {
            let exit = Exit { ending, at, output_total, left };
            prop_assert_eq!(Exit::parse(exit.to_text().as_bytes()).unwrap(), exit);
        }

        #[test]
        fn nothing_panics(content in "(format=1\n)?((code|signal|lost|at|output|left)=[ -~]{0,8}\n){0,6}(end=[0-9]\n)?") {
            let _ = Exit::parse(content.as_bytes());
        }
    }

    #[test]
    fn no_ending_or_two_are_errors_not_code_0() {
        for lines in [
            "at=1\noutput=0\nleft=0\nend=4\n",
            "code=0\nsignal=9\nat=1\noutput=0\nleft=0\nend=6\n",
            "code=\nat=1\noutput=0\nleft=0\nend=5\n",
        ] {
            assert!(
                Exit::parse(format!("format=1\n{lines}").as_bytes()).is_err(),
                "{lines}"
            );
        }
    }
}
