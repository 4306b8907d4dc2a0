//! One command with its arguments, as the rules see it.

use std::rc::Rc;

use super::Rule;
use super::input::Reads;
use super::paths::{self, Place};
use super::shell::HOLE;

/// A word after expansion. Where its text only exists at run time, it has a [`HOLE`].
#[derive(Debug, Clone, Default)]
pub(super) struct Argument {
    pub text: String,
    /// Has unquoted `*`, `?` or `[`.
    pub glob: bool,
    /// One of several that a loop goes through: known as an argument, not as a command.
    pub one_of_many: bool,
    /// It is `<(…)`: what reads it reads this.
    pub file: Option<Flow>,
}

impl Argument {
    pub fn new(text: impl Into<String>) -> Argument {
        Argument {
            text: text.into(),
            ..Argument::default()
        }
    }

    pub fn unknown() -> Argument {
        Argument::new(HOLE)
    }

    pub fn is_exact(&self) -> bool {
        !self.text.contains(HOLE)
    }
}

/// What comes out of a command and goes into the next.
#[derive(Debug, Clone, Default)]
pub(super) struct Flow {
    /// There is something to be read at all.
    pub piped: bool,
    /// It is the standard input of the whole command, which may be written to while it runs.
    pub open: bool,
    /// What it is, word by word.
    pub text: Option<Rc<str>>,
    /// It came from the network.
    pub remote: bool,
    /// There is a key or a password in it.
    pub secret: bool,
}

impl Flow {
    pub fn text(text: &str) -> Flow {
        Flow {
            piped: true,
            text: Some(text.into()),
            ..Flow::default()
        }
    }

    /// What is written to it is not known yet.
    pub fn open() -> Flow {
        Flow {
            open: true,
            ..Flow::default()
        }
    }

    /// Something comes, and nothing is known of it.
    pub fn unknown() -> Flow {
        Flow {
            piped: true,
            ..Flow::default()
        }
    }

    pub fn and(self, other: Flow) -> Flow {
        Flow {
            piped: self.piped || other.piped,
            open: self.open || other.open,
            text: match (self.text, other.text) {
                (None, text) if !self.piped => text,
                (text, None) if !other.piped => text,
                _ => None,
            },
            remote: self.remote || other.remote,
            secret: self.secret || other.secret,
        }
    }
}

/// What the rules have to say about a command.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub dangers: Vec<(Rule, String)>,
    /// What it takes its standard input for.
    pub reads: Vec<Reads>,
}

impl Findings {
    pub fn add(&mut self, rule: Rule, why: impl Into<String>) {
        self.dangers.push((rule, why.into()));
    }

    /// Only what may be written to later matters; what is piped in is known, or asked about, already.
    pub fn reads(&mut self, input: &Flow, reads: Reads) {
        if input.open {
            self.reads.push(reads);
        }
    }

    pub fn add_if(&mut self, holds: bool, rule: Rule, why: &str) {
        if holds {
            self.add(rule, why);
        }
    }
}

#[derive(Debug)]
pub(super) struct Call<'a> {
    /// Without its folder, in lower case.
    pub name: &'a str,
    /// Without the name.
    pub arguments: &'a [Argument],
    pub input: &'a Flow,
    pub folder: Option<&'a str>,
}

impl<'a> Call<'a> {
    pub fn texts(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.arguments.iter().map(|argument| argument.text.as_str())
    }

    pub fn first(&self) -> &'a str {
        self.arguments
            .first()
            .map_or("", |argument| argument.text.as_str())
    }

    pub fn has(&self, word: &str) -> bool {
        self.texts().any(|text| text == word)
    }

    pub fn has_any(&self, words: &[&str]) -> bool {
        self.texts().any(|text| words.contains(&text))
    }

    /// Arguments before `--`.
    fn options(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.texts()
            .take_while(|text| *text != "--")
            .filter(|text| text.starts_with('-'))
    }

    /// `-x`, also among others as in `-vx`.
    pub fn short(&self, letter: char) -> bool {
        self.options()
            .any(|option| !option.starts_with("--") && option.contains(letter))
    }

    /// `--name`, `--name=value`, and what is short for it.
    pub fn long(&self, name: &str) -> bool {
        self.options().any(|option| {
            let Some(word) = option.strip_prefix("--") else {
                return false;
            };
            let word = word.split('=').next().unwrap_or_default();
            !word.is_empty() && (word == name || word.len() >= 3 && name.starts_with(word))
        })
    }

    /// Arguments that are no options.
    pub fn operands(&self) -> impl Iterator<Item = &'a Argument> + use<'a> {
        let mut all = false;
        self.arguments.iter().filter(move |argument| {
            if all || !argument.text.starts_with('-') || argument.text == "-" {
                return true;
            }
            all = argument.text == "--";
            false
        })
    }

    pub fn operand(&self, index: usize) -> &'a str {
        self.operands()
            .nth(index)
            .map_or("", |argument| argument.text.as_str())
    }

    /// The value of `-x value`, `-xvalue`, `--name value` or `--name=value`, each time it is given.
    pub fn values(&self, names: &[&str]) -> Vec<&'a str> {
        let mut values = Vec::new();
        let mut texts = self.texts();
        while let Some(text) = texts.next() {
            for name in names {
                let Some(rest) = text.strip_prefix(name) else {
                    continue;
                };
                if rest.is_empty() {
                    values.extend(texts.next());
                } else if let Some(value) = rest.strip_prefix('=') {
                    values.push(value);
                } else if !name.starts_with("--") {
                    values.push(rest);
                } else {
                    continue;
                }
                break;
            }
        }
        values
    }

    /// The value of the short option `letter`, also behind others as in `-fsSLo value`, each time it is given. `valued` are the letters that take one.
    ///
    /// Every word is looked at, also if it is the value of the one before: at worst, an option is seen that is none.
    pub fn short_values(&self, letter: char, valued: &str) -> Vec<&'a str> {
        let mut values = Vec::new();
        for (index, text) in self.texts().enumerate() {
            let Some(letters) = text.strip_prefix('-').filter(|rest| !rest.starts_with('-')) else {
                continue;
            };
            let Some(at) = letters.find(|one| valued.contains(one)) else {
                continue;
            };
            match letters[at..].strip_prefix(letter) {
                Some("") => {
                    values.extend(self.arguments.get(index + 1).map(|next| next.text.as_str()))
                }
                Some(value) => values.push(value.strip_prefix('=').unwrap_or(value)),
                None => {}
            }
        }
        values
    }

    /// The same with other arguments.
    pub fn with(&self, arguments: &'a [Argument]) -> Call<'a> {
        Call { arguments, ..*self }
    }

    /// The same without the options before the first operand.
    pub fn after_options(&self, short: &str, long: &[&str]) -> Call<'a> {
        self.with(after_options(self.arguments, short, long))
    }

    /// The options before the first operand, and `--` if it ends them.
    pub fn own_options(&self, short: &str, long: &[&str]) -> Call<'a> {
        let rest = after_options(self.arguments, short, long);
        self.with(&self.arguments[..self.arguments.len() - rest.len()])
    }

    pub fn place(&self, text: &str) -> Place {
        paths::place(&paths::normal(text, self.folder))
    }
}

/// What follows the options, given which of them take a value. Long ones may be cut short, as far as no flag is called like that.
pub(super) fn after_options<'a>(
    arguments: &'a [Argument],
    short: &str,
    long: &[&str],
) -> &'a [Argument] {
    let is_valued = |name: &str| {
        long.iter()
            .any(|known| *known == name || name.len() >= 4 && known.starts_with(name))
    };
    let mut at = 0;
    while let Some(argument) = arguments.get(at) {
        let text = argument.text.as_str();
        if text == "--" {
            return &arguments[at + 1..];
        }
        if let Some(name) = text.strip_prefix("--") {
            at += 1 + usize::from(is_valued(name));
        } else if let Some(letters) = text.strip_prefix('-').filter(|letters| !letters.is_empty()) {
            let valued = letters
                .char_indices()
                .find(|(_, letter)| short.contains(*letter));
            let is_last =
                |(index, letter): (usize, char)| index + letter.len_utf8() == letters.len();
            at += 1 + usize::from(valued.is_some_and(is_last));
        } else {
            break;
        }
    }
    arguments.get(at..).unwrap_or_default()
}
