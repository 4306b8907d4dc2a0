//! Words to arguments: variables that are known, splitting, braces. What is not known becomes a hole.

use std::collections::{HashMap, HashSet};

use super::call::{Argument, Flow};
use super::shell::{HOLE, Piece, Word};
use super::walk::Walk;

/// Bytes that all expansions of a command may make, together. A variable can be doubled again and again.
const BUDGET: usize = 8 * super::LONGEST;
const MOST_BRACES: usize = 64;

#[derive(Debug, Clone)]
pub(super) enum Value {
    Text(String),
    /// What a loop goes through.
    Each(Vec<Argument>),
}

/// Variables that this command gives a value once, so that the value is certain.
#[derive(Debug, Default)]
pub(super) struct Variables {
    values: HashMap<String, Value>,
    mentioned: HashSet<String>,
    mentioned_again: HashSet<String>,
    /// What was done before is not known, and may have given them other values.
    uncertain: bool,
}

impl Variables {
    /// Counts how often a name stands without a `$`. A second time may be `read name`, or any other way to change it; quotes do not hide it.
    pub fn of(source: &str) -> Variables {
        let mut variables = Variables::default();
        let text: String = source
            .chars()
            .filter(|character| !matches!(character, '\'' | '"' | '\\'))
            .collect();
        let mut rest = text.as_str();
        while let Some(start) =
            rest.find(|first: char| first.is_ascii_alphanumeric() || first == '_')
        {
            let before = &rest[..start];
            rest = &rest[start..];
            let end = rest
                .find(|next: char| !next.is_ascii_alphanumeric() && next != '_')
                .unwrap_or(rest.len());
            let (name, after) = rest.split_at(end);
            rest = after;
            let used = ["$", "${", "${#", "${!"]
                .iter()
                .any(|sign| before.ends_with(sign));
            if !used && !variables.mentioned.insert(name.to_owned()) {
                variables.mentioned_again.insert(name.to_owned());
            }
        }
        variables
    }

    /// Of a text that comes after others.
    pub fn uncertain(source: &str) -> Variables {
        Variables {
            uncertain: true,
            ..Variables::of(source)
        }
    }

    pub fn set(&mut self, name: &str, value: Value) {
        if !self.uncertain && !self.mentioned_again.contains(name) {
            self.values.insert(name.to_owned(), value);
        }
    }

    fn get(&self, name: &str) -> Option<&Value> {
        self.values.get(name)
    }

    /// What every shell knows, unless it is changed here.
    fn given(&self, name: &str) -> Option<&'static str> {
        match name {
            "IFS" => Some(" "),
            "$" | "!" | "?" | "#" | "UID" | "EUID" | "RANDOM" | "LINENO" | "SECONDS" => {
                Some("1000")
            }
            _ if self.mentioned.contains(name) => None,
            "HOME" => Some("~"),
            "PWD" => Some("."),
            "TMPDIR" => Some("/tmp"),
            // Who started the shell is the gateway's.
            "PPID" => Some("PPID"),
            "USER" | "LOGNAME" => Some("user"),
            _ => None,
        }
    }
}

/// The arguments that are being made of one word.
#[derive(Default)]
struct Fields {
    done: Vec<Argument>,
    open: Argument,
    begun: bool,
    braces: bool,
}

impl Fields {
    fn push(&mut self, text: &str) {
        self.open.text.push_str(text);
        self.begun = true;
    }

    fn split(&mut self) {
        if self.begun {
            self.done.push(std::mem::take(&mut self.open));
            self.begun = false;
        }
    }

    fn push_split(&mut self, text: &str) {
        let mut fields = text.split([' ', '\t', '\n']);
        if let Some(first) = fields.next().filter(|first| !first.is_empty()) {
            self.push(first);
        }
        for field in fields {
            self.split();
            if !field.is_empty() {
                self.push(field);
            }
        }
    }

    fn push_hole(&mut self) {
        self.open.text.push(HOLE);
        self.begun = true;
    }

    fn finish(mut self) -> Vec<Argument> {
        let braces = self.braces;
        self.split();
        if !braces {
            return self.done;
        }
        self.done.iter().flat_map(in_braces).collect()
    }
}

impl Walk {
    pub fn expand_all(&mut self, words: &[Word]) -> Vec<Argument> {
        words.iter().flat_map(|word| self.expand(word)).collect()
    }

    /// The arguments that a word becomes. Substitutions in it are looked at.
    pub fn expand(&mut self, word: &Word) -> Vec<Argument> {
        if let Some(Value::Each(each)) =
            only_variable(word).and_then(|name| self.variables.get(name))
        {
            let each = each.clone();
            for argument in &each {
                self.spend(argument.text.len());
            }
            return if self.is_spent() {
                vec![Argument::unknown()]
            } else {
                each
            };
        }
        let mut fields = Fields::default();
        for piece in &word.pieces {
            self.expand_piece(piece, &mut fields);
        }
        fields.finish()
    }

    /// The word as one text, as in an assignment.
    pub fn expand_whole(&mut self, word: &Word) -> Argument {
        let arguments = self.expand(word);
        let glob = arguments.iter().any(|argument| argument.glob);
        let file = arguments.iter().find_map(|argument| argument.file.clone());
        let one_of_many = arguments.iter().any(|argument| argument.one_of_many);
        let texts: Vec<&str> = arguments
            .iter()
            .map(|argument| argument.text.as_str())
            .collect();
        Argument {
            text: if one_of_many {
                HOLE.to_string()
            } else {
                texts.join(" ")
            },
            glob,
            one_of_many: false,
            file,
        }
    }

    fn expand_piece(&mut self, piece: &Piece, fields: &mut Fields) {
        match piece {
            Piece::Text { text, quoted } => {
                self.spend(text.len());
                if !quoted {
                    fields.open.glob |= text.contains(['*', '?', '[']);
                    fields.braces |= text.contains('{');
                }
                fields.push(text);
            }
            Piece::Hole => fields.push_hole(),
            Piece::Output { list } => match self.output_of(list) {
                Some(text) => fields.push(text),
                None => fields.push_hole(),
            },
            Piece::File { list } => {
                fields.open.file = Some(self.apart(|walk| walk.list(list, &Flow::unknown())));
                fields.push_hole();
            }
            Piece::Variable {
                name,
                changed,
                inside,
                quoted,
            } => {
                self.expand_variable(name, *changed, *quoted, fields);
                // For the substitutions in it; the result is not known.
                let mut unused = Fields::default();
                for piece in inside {
                    self.expand_piece(piece, &mut unused);
                }
            }
        }
    }

    fn expand_variable(&mut self, name: &str, changed: bool, quoted: bool, fields: &mut Fields) {
        if name == "IFS" && !quoted {
            fields.split();
        } else if changed {
            fields.push_hole();
        } else if let Some(Value::Text(value)) = self.variables.get(name) {
            let value = value.clone();
            self.spend(value.len());
            if self.is_spent() || value.is_empty() {
                fields.push_hole();
            } else if quoted {
                fields.push(&value);
            } else {
                fields.open.glob |= value.contains(['*', '?', '[']);
                fields.push_split(&value);
            }
        } else if let Some(given) = self.variables.given(name) {
            fields.push(given);
        } else {
            fields.push_hole();
        }
    }

    pub fn spend(&mut self, bytes: usize) {
        self.spent = self.spent.saturating_add(bytes + 1);
    }

    pub fn is_spent(&self) -> bool {
        self.spent > BUDGET
    }
}

/// The name, if a word is one variable and nothing else: `$name` or `"$name"`.
fn only_variable(word: &Word) -> Option<&str> {
    match word.pieces.as_slice() {
        [
            Piece::Variable {
                name,
                changed: false,
                ..
            },
        ] => Some(name),
        [
            Piece::Text { text, .. },
            Piece::Variable {
                name,
                changed: false,
                ..
            },
        ] if text.is_empty() => Some(name),
        _ => None,
    }
}

/// `a{b,c}d` becomes two; more than one pair of braces is not understood.
fn in_braces(argument: &Argument) -> Vec<Argument> {
    let unchanged = || vec![argument.clone()];
    let text = &argument.text;
    let Some((before, rest)) = text.split_once('{') else {
        return unchanged();
    };
    let Some((inside, after)) = rest.split_once('}') else {
        return unchanged();
    };
    if !inside.contains(',') && !inside.contains("..") {
        return unchanged();
    }
    if inside.contains('{')
        || after.contains('{')
        || inside.contains("..")
        || inside.matches(',').count() >= MOST_BRACES
    {
        return vec![Argument {
            text: format!("{before}{HOLE}"),
            ..argument.clone()
        }];
    }
    inside
        .split(',')
        .map(|one| Argument {
            text: format!("{before}{one}{after}"),
            one_of_many: true,
            ..argument.clone()
        })
        .collect()
}
