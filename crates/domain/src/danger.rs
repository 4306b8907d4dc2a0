//! Is this shell command dangerous, and why? What an agent wants to run with `/bin/sh -c` is looked at before, so that a person can be asked.
//!
//! **This is a question to a person, not a sandbox.** It recognises what is known to do harm, and says when it cannot tell. It does not know what a
//! program does that is named like an ordinary one (`make`, `./run.sh`, `python script.py`), and whoever wants to deceive it for long enough will.
//! What must not happen has to be made impossible elsewhere: by the user that the gateway runs as, and by the machine it runs on.
//!
//! The text is read as a shell reads it (`shell`), followed through quotes, substitutions, pipes, variables and wrappers such as `sudo`, `xargs`
//! and `sh -c` (`walk`, `expand`, `wrappers`), and every command that is found is judged with its arguments (`rules`). What is written to a command
//! that runs already is judged by what it takes its standard input for (`input`).
//!
//! **Invariant:** looking is total, its time is linear in the text, and it fails closed: what cannot be read, is longer or deeper than the bounds, or
//! only becomes a command when it runs, is itself a danger ([`Rule::HiddenCode`]).
//! **Absent on purpose:** who may answer, for how long an answer is good, and anything that runs.

mod call;
mod expand;
mod grant;
mod input;
mod paths;
mod rule;
mod rules;
mod shell;
mod walk;
mod wrappers;

#[cfg(test)]
mod tests;

pub use grant::grant_key;
pub use input::{Heard, Input};
pub use rule::Rule;

/// Bytes of the longest command that is looked at. Linux hands no longer argument to a program.
pub const LONGEST: usize = 128 * 1024;
/// A person reads no more reasons than this.
pub const MOST: usize = 16;

/// A reason to ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Danger {
    pub rule: Rule,
    /// A sentence for a person.
    pub why: String,
    /// The beginning of the simple command that it is about, with characters that deceive written as escapes.
    pub part: String,
}

/// All of a command or text for the person who is asked about it: characters that cannot be seen, or move others, are written as escapes.
pub fn readable(text: &str) -> String {
    shell::readable(text)
}

/// The reasons to ask before `command` is run by `/bin/sh -c`, at most [`MOST`], in the order in which they are found. None if it is harmless.
pub fn look(command: &str) -> Vec<Danger> {
    if command.len() > LONGEST {
        return vec![Danger {
            rule: Rule::HiddenCode,
            why: format!(
                "The command is {} bytes long, more than the {LONGEST} that are looked at.",
                command.len()
            ),
            part: shell::excerpt(command),
        }];
    }
    walk::Walk::over(command)
}
