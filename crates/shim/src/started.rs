//! `started`: who looks after it and who runs. On disk before the program is executed.

use crate::folder;
use crate::machine::Identity;
use crate::record::{Record, RecordError, Writer};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Started {
    pub supervisor: Identity,
    pub program: Identity,
    /// The boot of the machine in which the two identities mean something.
    pub boot: String,
    /// Milliseconds since the Unix epoch.
    pub at: i64,
    /// Why the program is not in the cgroup that its spec names, if it is not.
    pub outside: Option<String>,
}

impl Started {
    pub fn to_text(&self) -> String {
        let identity = |one: Identity| format!("{} {}", one.pid, one.start_time);
        let mut writer = Writer::new();
        writer.text("supervisor", &identity(self.supervisor));
        writer.text("program", &identity(self.program));
        writer.text("boot", &self.boot);
        writer.number("at", self.at.max(0) as u64);
        if let Some(why) = &self.outside {
            writer.text("outside", why);
        }
        writer.finish()
    }

    pub fn parse(content: &[u8]) -> Result<Self, RecordError> {
        let record = Record::parse(folder::STARTED, content)?;
        Ok(Self {
            supervisor: identity(&record, "supervisor")?,
            program: identity(&record, "program")?,
            boot: record.text("boot")?.to_owned(),
            at: moment(&record, "at")?,
            outside: record
                .optional("outside")?
                .map(|why| String::from_utf8_lossy(why).into_owned()),
        })
    }
}

fn identity(record: &Record, key: &str) -> Result<Identity, RecordError> {
    let [pid, start_time] = record.numbers(key)?;
    match i32::try_from(pid) {
        // 0 and 1 are never ours; as a signal's target they would be our own group, or the machine.
        Ok(pid) if pid > 1 => Ok(Identity { pid, start_time }),
        _ => Err(record.error(key, "no such process id")),
    }
}

pub(crate) fn moment(record: &Record, key: &str) -> Result<i64, RecordError> {
    i64::try_from(record.number(key)?).map_err(|_| record.error(key, "no such time"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_comes_back(pids in [2..i32::MAX, 2..i32::MAX], starts in any::<[u64; 2]>(), at in 0..i64::MAX, boot in "[0-9a-f-]{0,36}", outside in proptest::option::of(".*")) {
            let started = Started {
                supervisor: Identity { pid: pids[0], start_time: starts[0] },
                program: Identity { pid: pids[1], start_time: starts[1] },
                boot,
                at,
                outside,
            };
            prop_assert_eq!(Started::parse(started.to_text().as_bytes()).unwrap(), started);
        }
    }

    #[test]
    fn a_pid_that_would_signal_everybody_is_refused() {
        for pid in ["0", "1", "4294967295", "-1"] {
            let text = format!("format=1\nsupervisor=9 9\nprogram={pid} 9\nboot=b\nat=1\nend=5\n");
            assert!(
                Started::parse(text.as_bytes())
                    .unwrap_err()
                    .to_string()
                    .starts_with("`started`, line 3"),
                "{pid}"
            );
        }
    }
}
