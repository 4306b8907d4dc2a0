//! Aliases: names that stand for the beginning of a command.
//!
//! **Invariant:** from its definition on, a name is looked at as itself and as all that it was ever an alias for, whether or not the shell expands aliases.
//! What would change how the text after it is read is a danger where it is defined.

use std::collections::BTreeMap;

use super::super::call::{Argument, Call, Flow};
use super::super::shell::{self, Command, Pipeline, Simple};
use super::super::{Rule, wrappers};
use super::Walk;

/// Bytes of all names and values that are remembered, together.
const MOST_BYTES: usize = 8 * 1024;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Aliases {
    values: BTreeMap<String, Vec<String>>,
    bytes: usize,
}

impl Aliases {
    /// Whether there was room for it.
    fn add(&mut self, name: &str, value: &str) -> bool {
        let values = self.values.get(name);
        if values.is_some_and(|values| values.iter().any(|known| known == value)) {
            return true;
        }
        let bytes = self.bytes + name.len() + value.len() + 1;
        if bytes > MOST_BYTES {
            return false;
        }
        self.bytes = bytes;
        let values = self.values.entry(name.to_owned()).or_default();
        values.push(value.to_owned());
        true
    }

    /// Those of another reading of the same text.
    pub fn add_all(&mut self, other: Aliases) {
        for (name, values) in other.values {
            for value in values {
                self.add(&name, &value);
            }
        }
    }
}

impl Walk {
    pub fn define_aliases(&mut self, call: &Call<'_>, part: &str) {
        if call.name == "alias" {
            for (name, value) in wrappers::aliases(call) {
                self.define_alias(&name, &value, part);
            }
        }
    }

    /// Bash keeps its aliases in a variable.
    pub fn define_alias_by(&mut self, variable: &str, value: &Argument, part: &str) {
        let name = variable.strip_prefix("BASH_ALIASES[");
        if let Some(name) = name.and_then(|name| name.strip_suffix(']')) {
            self.nested(&value.text, &Flow::default());
            self.define_alias(name, &value.text, part);
        }
    }

    fn define_alias(&mut self, name: &str, value: &str, part: &str) {
        if changes_what_follows(value) {
            let why = "The alias changes how the text after it is read.";
            self.add(Rule::HiddenCode, why, part);
        }
        if !self.aliases.add(name, value) {
            let why = "There are more aliases than can be followed.";
            self.add(Rule::HiddenCode, why, part);
        }
    }

    /// What a name stands for, with its arguments.
    pub fn alias(&mut self, name: &str, rest: &[Argument], input: &Flow, part: &str) -> Flow {
        // Inside of what it stands for, a name means itself.
        let Some(values) = self.aliases.values.remove(name) else {
            return Flow::default();
        };
        self.depth += 1;
        let mut output = Flow::default();
        for value in &values {
            let flow = match matches!(name, "cd" | "pushd") {
                // It has gone there already.
                true => self.apart(|walk| walk.aliased(value, rest, input, part)),
                false => self.aliased(value, rest, input, part),
            };
            output = output.and(flow);
        }
        self.depth -= 1;
        self.aliases
            .values
            .entry(name.to_owned())
            .or_default()
            .extend(values);
        output
    }

    fn aliased(&mut self, value: &str, rest: &[Argument], input: &Flow, part: &str) -> Flow {
        self.spend(value.len());
        let mut script = shell::read(value, self.depth, self.dialect);
        let goes_on = !value.trim_end().ends_with([';', '&', '|', '\n']);
        let last = take_last(&mut script.list).filter(|_| goes_on);
        let simple = Simple {
            excerpt: part.to_owned(),
            ..last.unwrap_or_default()
        };
        let mut output = Flow::default();
        if !script.list.is_empty() || !goes_on {
            output = self.nested(value, input);
        }
        let more = match simple.words.is_empty() {
            true => without_assignments(rest),
            false => rest,
        };
        let outer = std::mem::replace(&mut self.bodies, script.bodies.into());
        output = output.and(self.simple(&simple, more, input));
        self.bodies = outer;
        output
    }
}

/// The command that arguments after the text are given to.
fn take_last(list: &mut Vec<Pipeline>) -> Option<Simple> {
    let mut pipeline = list.pop()?;
    let last = pipeline.pop();
    if !pipeline.is_empty() {
        list.push(pipeline);
    }
    match last? {
        Command::Simple(simple) => Some(simple),
        other => {
            list.push(vec![other]);
            None
        }
    }
}

fn without_assignments(arguments: &[Argument]) -> &[Argument] {
    let count = arguments
        .iter()
        .take_while(|argument| argument.text.contains('='));
    &arguments[count.count()..]
}

/// By a comment, or a backslash that escapes what comes next.
fn changes_what_follows(value: &str) -> bool {
    let mut before = ' ';
    for character in value.chars() {
        if character == '#' && (before.is_whitespace() || ";&|()".contains(before)) {
            return true;
        }
        before = character;
    }
    value.ends_with('\\')
}
