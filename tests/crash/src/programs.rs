//! The programs that are run: each says in its own command what it will do, so that its end can be compared with it.
//!
//! **Invariant:** a label names one program and is used once. A program appends it to the journal of runs as its first act, with `O_APPEND`.

use homing_domain::process::Ending;

/// The variable that names the journal of runs.
pub const JOURNAL: &str = "HOMING_CRASH_RUNS";
/// What the store keeps of an output.
const KEPT: usize = 8 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Program {
    /// Its label is `w` and this.
    pub number: u64,
    pub end: End,
    pub sleeps_ms: u64,
    pub lines: u64,
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
        format!("{} {end} {} {}", self.label(), self.sleeps_ms, self.lines)
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
        })
    }

    /// For `/bin/sh`. The first word after the colon is the label.
    pub fn command(&self) -> String {
        let Program {
            number,
            sleeps_ms,
            lines,
            ..
        } = self;
        let sleep = match sleeps_ms {
            0 => String::new(),
            ms => format!("sleep {}.{:03}; ", ms / 1000, ms % 1000),
        };
        let end = match self.end {
            End::Code(code) => format!("exit {code}"),
            End::Killed => "kill -KILL $$".to_owned(),
        };
        format!(
            ": w{number}; echo w{number} >>\"${JOURNAL}\"; {sleep}i=0; \
             while [ $i -lt {lines} ]; do echo \"output w{number} $i\"; i=$((i+1)); done; {end}"
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
        let whole: String = (0..self.lines)
            .map(|line| format!("output {} {line}\n", self.label()))
            .collect();
        let mut bytes = whole.into_bytes();
        bytes.split_off(bytes.len().saturating_sub(KEPT))
    }
}

/// The label in a command of [`Program::command`].
pub fn label_in(command: &str) -> Option<&str> {
    command.strip_prefix(": ")?.split(';').next()
}

#[cfg(test)]
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
            };
            assert_eq!(Program::parse(&program.words()), Some(program));
            assert_eq!(label_in(&program.command()), Some("w12"));
            assert!(program.command().contains("sleep 1.050;"));
            assert_eq!(program.output_tail(), b"output w12 0\noutput w12 1\n");
        }
    }
}
