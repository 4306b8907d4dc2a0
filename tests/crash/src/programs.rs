//! The programs that are run: each says in its own command what it will do, so that its end can be compared with it.
//!
//! **Invariant:** a label names one program and is used once. A program appends it to the journal of runs as its first act, with `O_APPEND`.

use homing_domain::process::Ending;

/// The variable that names the journal of runs.
pub const JOURNAL: &str = "HOMING_CRASH_RUNS";
/// What the store keeps of an output.
const KEPT: usize = 8 * 1024;
/// Matches that are printed at once, and the pause after them.
const BURST: u64 = 4;
const PAUSE: &str = "0.06";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Program {
    /// Its label is `w` and this.
    pub number: u64,
    pub end: End,
    pub sleeps_ms: u64,
    pub lines: u64,
    /// Lines that its watch pattern matches. The last of them is the last of its output, and has no end.
    pub matches: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Code(u8),
    /// SIGKILL, by itself.
    Killed,
}

impl Program {
    pub fn label(&self) -> String {
        format!("w{}", self.number)
    }

    /// As words of a message.
    pub fn words(&self) -> String {
        let end = match self.end {
            End::Code(code) => code.to_string(),
            End::Killed => "killed".to_owned(),
        };
        format!(
            "{} {end} {} {} {}",
            self.label(),
            self.sleeps_ms,
            self.lines,
            self.matches
        )
    }

    pub fn parse(words: &str) -> Option<Program> {
        let mut words = words.split(' ');
        let number = words.next()?.strip_prefix('w')?.parse().ok()?;
        let end = match words.next()? {
            "killed" => End::Killed,
            code => End::Code(code.parse().ok()?),
        };
        Some(Program {
            number,
            end,
            sleeps_ms: words.next()?.parse().ok()?,
            lines: words.next()?.parse().ok()?,
            matches: words.next()?.parse().ok()?,
        })
    }

    /// What its output is watched for.
    pub fn pattern(&self) -> String {
        format!("match {} ", self.label())
    }

    /// For `/bin/sh`. The first word after the colon is the label.
    pub fn command(&self) -> String {
        let Program {
            number,
            sleeps_ms,
            lines,
            matches,
            ..
        } = self;
        let sleep = match sleeps_ms {
            0 => String::new(),
            ms => format!("sleep {}.{:03}; ", ms / 1000, ms % 1000),
        };
        let (early, last) = match matches {
            0 => (String::new(), String::new()),
            many => (
                format!(
                    "m=1; while [ $m -lt {many} ]; do echo \"match w{number} $m\"; \
                     [ $((m % {BURST})) -ne 0 ] || sleep {PAUSE}; m=$((m+1)); done; "
                ),
                format!("printf %s \"match w{number} {many}\"; "),
            ),
        };
        let end = match self.end {
            End::Code(code) => format!("exit {code}"),
            End::Killed => "kill -KILL $$".to_owned(),
        };
        format!(
            ": w{number}; echo w{number} >>\"${JOURNAL}\"; {early}{sleep}i=0; \
             while [ $i -lt {lines} ]; do echo \"output w{number} $i\"; i=$((i+1)); done; {last}{end}"
        )
    }

    pub fn ending(&self) -> Ending {
        match self.end {
            End::Code(code) => Ending::Code(i32::from(code)),
            End::Killed => Ending::Signal(9),
        }
    }

    /// The end of its output, as much as the store keeps.
    pub fn output_tail(&self) -> Vec<u8> {
        let label = self.label();
        let early = (1..self.matches).map(|number| format!("match {label} {number}\n"));
        let lines = (0..self.lines).map(|line| format!("output {label} {line}\n"));
        let last = (self.matches > 0).then(|| format!("match {label} {}", self.matches));
        let whole: String = early.chain(lines).chain(last).collect();
        let mut bytes = whole.into_bytes();
        bytes.split_off(bytes.len().saturating_sub(KEPT))
    }
}

/// The label in a command of [`Program::command`].
pub fn label_in(command: &str) -> Option<&str> {
    command.strip_prefix(": ")?.split(';').next()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn a_program_says_what_it_will_do() {
        for end in [End::Code(7), End::Killed] {
            let program = Program {
                number: 12,
                end,
                sleeps_ms: 1_050,
                lines: 2,
                matches: 0,
            };
            assert_eq!(Program::parse(&program.words()), Some(program));
            assert_eq!(label_in(&program.command()), Some("w12"));
            assert!(program.command().contains("sleep 1.050;"));
            assert_eq!(program.output_tail(), b"output w12 0\noutput w12 1\n");
        }
    }

    #[test]
    fn a_program_prints_what_is_said_of_it() {
        let program = Program {
            number: 3,
            end: End::Code(0),
            sleeps_ms: 0,
            lines: 1,
            matches: 6,
        };
        let output = std::process::Command::new("/bin/sh")
            .args(["-c", &program.command()])
            .env(JOURNAL, "/dev/null")
            .output()
            .unwrap();
        assert!(output.status.success());
        assert_eq!(output.stdout, program.output_tail());
        assert!(output.stdout.ends_with(b"output w3 0\nmatch w3 6"));
    }
}
