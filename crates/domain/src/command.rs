//! The grammar of what people type as commands, the same on every platform.
//!
//! **Slash commands.** `/name`, `/name words`, `/name@bot words`. A name is `[a-z][a-z0-9_-]{0,31}` in either case, directly followed by whitespace,
//! the end, or `@bot`. So `/usr/bin/make all`, `/`, `//` and `/2` are not commands but text. The arguments are the words of the line that the
//! command begins; what stands on later lines is part of [`Invocation::rest`] only, so a remark under a command is not taken for its argument.
//!
//! **Shell requests.** `!command` and its forms, for the agent that runs commands; see [`shell_request`].
//!
//! **Invariant:** every text has exactly one reading, and reading never fails: what is not a command is text.
//! **Absent on purpose:** which commands exist, who may use them, what they do.

use std::str::Chars;

/// A text read as a slash command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Parsed {
    NotACommand,
    /// `/name@bot` for a bot that is not us.
    ForAnotherBot,
    Command(Invocation),
}

/// A command as it was called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invocation {
    /// In lower case.
    pub name: String,
    /// The words of the command's line, quotes resolved.
    pub arguments: Vec<String>,
    /// Everything after the name as it was typed, later lines included, trimmed.
    pub rest: String,
}

/// Characters that the name of a command may have.
pub const NAME_LIMIT: usize = 32;

/// Reads a slash command. `bot_names` are ours, with or without `@`; letter case does not matter. With no names, every `@bot` is another.
pub fn parse(text: &str, bot_names: &[&str]) -> Parsed {
    let Some(body) = text.trim().strip_prefix('/') else {
        return Parsed::NotACommand;
    };
    let end = body
        .find(|character| !is_name_character(character))
        .unwrap_or(body.len());
    let (name, rest) = body.split_at(end);
    if !is_command_name(name) {
        return Parsed::NotACommand;
    }
    let rest = match rest.strip_prefix('@').map(split_word) {
        None => rest,
        Some(("", _)) => return Parsed::NotACommand,
        Some((bot, _)) if !bot.chars().all(is_bot_character) => return Parsed::NotACommand,
        Some((bot, _)) if !is_ours(bot, bot_names) => return Parsed::ForAnotherBot,
        Some((_, rest)) => rest,
    };
    if !rest.is_empty() && !rest.starts_with(char::is_whitespace) {
        return Parsed::NotACommand;
    }
    let line = rest.lines().next().unwrap_or_default();
    Parsed::Command(Invocation {
        name: name.to_ascii_lowercase(),
        arguments: words(line),
        rest: rest.trim().into(),
    })
}

fn is_command_name(name: &str) -> bool {
    name.len() <= NAME_LIMIT && name.starts_with(|first: char| first.is_ascii_alphabetic())
}

fn is_name_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '-')
}

fn is_bot_character(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '-' | '.')
}

fn is_ours(bot: &str, names: &[&str]) -> bool {
    names
        .iter()
        .any(|name| name.trim_start_matches('@').eq_ignore_ascii_case(bot))
}

/// The text up to the first whitespace, and what follows from there.
fn split_word(text: &str) -> (&str, &str) {
    text.split_at(text.find(char::is_whitespace).unwrap_or(text.len()))
}

/// A text read as a request to the agent that runs commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ShellRequest {
    /// `!make test`: run it and answer with the result.
    Run(String),
    /// `!bg make test`: run it in the background and tell when it ends.
    Background(String),
    /// `!watch PATTERN… -- command`: so, and tell when a line matches.
    Watch {
        patterns: Vec<String>,
        command: String,
    },
    /// `!delegate command`: let a sub-agent run it.
    Delegate(String),
    /// `!` or `!help`.
    Help,
    NotShell,
    /// A sentence for the person: what is missing, and how it is written.
    Malformed(&'static str),
}

/// Reads a shell request. The command is taken as it was typed, with all its lines; only what stands before it is interpreted.
///
/// A space after the `!` runs the words as they are: `! watch -n1 date` is the program `watch`. `!!` and `!?` are punctuation.
pub fn shell_request(text: &str) -> ShellRequest {
    let Some(body) = text.trim().strip_prefix('!') else {
        return ShellRequest::NotShell;
    };
    if body.starts_with(['!', '?']) {
        return ShellRequest::NotShell;
    }
    if body.starts_with(char::is_whitespace) {
        return ShellRequest::Run(body.trim_start().into());
    }
    let (form, rest) = split_word(body);
    let rest = rest.trim_start();
    match form {
        "" => ShellRequest::Help,
        "help" if rest.is_empty() => ShellRequest::Help,
        "bg" if rest.is_empty() => {
            ShellRequest::Malformed("`!bg` needs a command, as in `!bg make test`.")
        }
        "bg" => ShellRequest::Background(rest.into()),
        "delegate" if rest.is_empty() => {
            ShellRequest::Malformed("`!delegate` needs a command, as in `!delegate make test`.")
        }
        "delegate" => ShellRequest::Delegate(rest.into()),
        "watch" => watch(rest),
        _ => ShellRequest::Run(body.into()),
    }
}

fn watch(text: &str) -> ShellRequest {
    let mut words = Words::of(text);
    let mut patterns = Vec::new();
    loop {
        match words.next() {
            None => {
                return ShellRequest::Malformed(
                    "`!watch` needs ` -- ` between the patterns and the command, as in `!watch \"build failed\" -- make`. \
                     To run the program `watch`, write a space after the `!`.",
                );
            }
            Some(word) if word.is_separator() => break,
            Some(word) => patterns.push(word.text),
        }
    }
    let command = words.rest().trim();
    if patterns.is_empty() {
        return ShellRequest::Malformed(
            "`!watch` needs a pattern before ` -- `, as in `!watch ERROR -- make`.",
        );
    }
    if patterns.iter().any(String::is_empty) {
        return ShellRequest::Malformed(
            "A pattern of `!watch` is empty and would match every line.",
        );
    }
    if command.is_empty() {
        return ShellRequest::Malformed(
            "`!watch` needs a command after ` -- `, as in `!watch ERROR -- make`.",
        );
    }
    ShellRequest::Watch {
        patterns,
        command: command.into(),
    }
}

/// The words of a line. A `"…"` or `'…'` that begins a word, or follows a `=`, is one word with its spaces; an apostrophe (`don't`) and a quote
/// that is never closed are letters. `\` takes the meaning from a space, a quote or another `\`, and is a letter before anything else, so
/// that `re:\d+` needs no care.
pub fn words(line: &str) -> Vec<String> {
    Words::of(line).map(|word| word.text).collect()
}

struct Word {
    text: String,
    quoted: bool,
}

impl Word {
    /// Telephones turn `--` into a dash.
    fn is_separator(&self) -> bool {
        !self.quoted && matches!(self.text.as_str(), "--" | "—" | "–")
    }
}

struct Words<'a> {
    characters: Chars<'a>,
}

impl<'a> Words<'a> {
    fn of(text: &'a str) -> Words<'a> {
        Words {
            characters: text.chars(),
        }
    }

    /// What has not been read.
    fn rest(&self) -> &'a str {
        self.characters.as_str()
    }

    /// The inside of a quotation that `open` has just begun, if it is ever closed.
    fn quotation(&mut self, open: char) -> Option<String> {
        let closing = closing_quotes(open)?;
        let mut ahead = self.characters.clone();
        let mut inside = String::new();
        while let Some(character) = ahead.next() {
            if closing.contains(&character) {
                self.characters = ahead;
                return Some(inside);
            }
            let escaped = match character {
                '\\' if open != '\'' => {
                    take_if(&mut ahead, |next| next == '\\' || closing.contains(&next))
                }
                _ => None,
            };
            inside.push(escaped.unwrap_or(character));
        }
        None
    }
}

impl Iterator for Words<'_> {
    type Item = Word;

    fn next(&mut self) -> Option<Word> {
        self.characters = self.rest().trim_start().chars();
        let mut word = Word {
            text: String::new(),
            quoted: false,
        };
        let mut may_quote = true;
        let before = self.rest().len();
        while let Some(character) = self.characters.next() {
            if character.is_whitespace() {
                break;
            }
            let inside = if may_quote {
                self.quotation(character)
            } else {
                None
            };
            may_quote = character == '=';
            if let Some(inside) = inside {
                word.text.push_str(&inside);
                word.quoted = true;
                continue;
            }
            let escaped = match character {
                '\\' => take_if(&mut self.characters, |next| {
                    next.is_whitespace() || matches!(next, '\\' | '"' | '\'')
                }),
                _ => None,
            };
            word.quoted |= escaped.is_some();
            word.text.push(escaped.unwrap_or(character));
        }
        (before > 0).then_some(word)
    }
}

/// Telephones write `“…”` where `"…"` was typed.
fn closing_quotes(open: char) -> Option<&'static [char]> {
    match open {
        '"' => Some(&['"']),
        '“' | '„' => Some(&['”', '“']),
        '\'' => Some(&['\'']),
        _ => None,
    }
}

fn take_if(characters: &mut Chars<'_>, wanted: impl Fn(char) -> bool) -> Option<char> {
    let next = characters.clone().next().filter(|next| wanted(*next))?;
    characters.next();
    Some(next)
}

/// The known name that a mistyped one probably meant: one that it begins, or the nearest within one slip (two for names of six letters and more).
pub fn suggest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let name = name.to_lowercase();
    let mut begun = known
        .iter()
        .filter(|candidate| name.chars().count() >= 2 && candidate.starts_with(&name));
    if let (Some(only), None) = (begun.next(), begun.next()) {
        return Some(only);
    }
    let slips = if name.chars().count() >= 6 { 2 } else { 1 };
    let near = known
        .iter()
        .map(|candidate| (distance(&name, candidate), *candidate));
    near.filter(|(distance, _)| *distance <= slips)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Insertions, deletions, replacements and swaps of neighbours that turn one word into the other.
fn distance(from: &str, to: &str) -> usize {
    let from: Vec<char> = from.chars().take(2 * NAME_LIMIT).collect();
    let to: Vec<char> = to.chars().take(2 * NAME_LIMIT).collect();
    let mut above: Vec<usize> = vec![];
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.iter().enumerate() {
        let mut next = vec![i + 1];
        for (j, b) in to.iter().enumerate() {
            let replaced = row[j] + usize::from(a != b);
            let mut best = replaced.min(row[j + 1] + 1).min(next[j] + 1);
            if i > 0 && j > 0 && *a == to[j - 1] && from[i - 1] == *b {
                best = best.min(above[j - 1] + 1);
            }
            next.push(best);
        }
        above = std::mem::replace(&mut row, next);
    }
    row[to.len()]
}

#[cfg(test)]
mod tests;
