//! What a shell would make of a text: commands, their words, and what stands inside of those.
//!
//! **Invariant:** reading is total, linear in the text, and bounded in depth. What is not understood is an error, never skipped; what was read before
//! the error is kept, because a shell executes it before it notices.
//! Shells do not agree about every text, and it is not known which of them is `sh`. So a text is read as one [`Dialect`]; where others would go on in
//! another way, the script says so (`forked`).
//! **Absent on purpose:** expansion, and the order in which commands run. Bodies of loops and branches are a list like any other.

mod arithmetic;
mod commands;
mod documents;
mod words;

use words::Reader;

/// Stands for text that only exists when the command runs.
pub(super) const HOLE: char = '\u{e000}';
/// Substitutions, groups and backquotes inside of each other.
pub(super) const DEEPEST: usize = 40;
const EXCERPT: usize = 160;

/// Which shell reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Bash,
    /// Bash where it is `sh`, and most other shells: a single quote in `"${name:-'}"` is a character like any other.
    Posix,
    /// Knows no `$'…'`, no `((…))` and no `$[…]`, either.
    Dash,
}

/// Why a text cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Trouble {
    #[error("a quote is opened and not closed")]
    OpenQuote,
    #[error("something is opened and not closed")]
    Open,
    #[error("a word or sign stands where it has no meaning")]
    Misplaced,
    #[error("a here-document is begun and not ended")]
    OpenDocument,
    #[error("it is nested too deeply")]
    TooDeep,
    /// No danger by itself: what is before it is all that such a shell runs, and another one reads on.
    #[error("no shell reads it to its end")]
    Refused,
}

#[derive(Debug, Default)]
pub(super) struct Script {
    pub list: Vec<Pipeline>,
    /// The contents of here-documents, in their order.
    pub bodies: Vec<Word>,
    pub trouble: Option<Trouble>,
    /// Where lines begin before which all is complete, in their order.
    pub settled: Vec<usize>,
    /// Its trouble is that it ends inside of something; more may come that completes it.
    pub waits: bool,
    /// Other dialects may read it in another way.
    pub forked: bool,
}

pub(super) type Pipeline = Vec<Command>;

#[derive(Debug)]
pub(super) enum Command {
    Simple(Simple),
    Group(Group),
    Function { name: String, body: Box<Command> },
}

#[derive(Debug, Default)]
pub(super) struct Simple {
    pub assignments: Vec<Assignment>,
    pub words: Vec<Word>,
    pub redirects: Vec<Redirect>,
    pub excerpt: String,
}

/// A subshell, a block, a loop, a branch.
#[derive(Debug, Default)]
pub(super) struct Group {
    pub body: Vec<Pipeline>,
    /// It is `( )`, or stands before a `&`.
    pub subshell: bool,
    /// What a loop goes through, what a `case` looks at, what `[[ ]]` compares.
    pub words: Vec<Word>,
    /// That of `for`.
    pub variable: Option<String>,
    pub redirects: Vec<Redirect>,
    pub excerpt: String,
}

#[derive(Debug)]
pub(super) struct Assignment {
    pub name: String,
    pub value: Word,
}

#[derive(Debug)]
pub(super) struct Redirect {
    pub kind: RedirectKind,
    pub target: Word,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RedirectKind {
    Read,
    Write,
    /// `2>&1`.
    Duplicate,
    /// `<<<`.
    HereString,
    /// `<<`, with the index of its body.
    HereDocument(usize),
}

#[derive(Debug, Default)]
pub(super) struct Word {
    pub pieces: Vec<Piece>,
}

#[derive(Debug)]
pub(super) enum Piece {
    Text {
        text: String,
        quoted: bool,
    },
    /// `$name`; with an empty name, arithmetic. `changed` if it is more than the bare value.
    Variable {
        name: String,
        changed: bool,
        inside: Vec<Piece>,
        quoted: bool,
    },
    /// `$(…)` and backquotes.
    Output {
        list: Vec<Pipeline>,
    },
    /// `<(…)` and `>(…)`.
    File {
        list: Vec<Pipeline>,
    },
    Hole,
}

impl Word {
    /// What it says, if it is text only and holds no quotes.
    fn bare(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [
                Piece::Text {
                    text,
                    quoted: false,
                },
            ] => Some(text),
            _ => None,
        }
    }
}

pub(super) fn read(text: &str, depth: usize, dialect: Dialect) -> Script {
    let mut reader = Reader::new(text, depth, dialect);
    let mut list = Vec::new();
    let trouble = reader.script(&mut list).err();
    Script {
        list,
        trouble,
        waits: reader.waits_for_more(trouble),
        settled: reader.settled,
        forked: reader.forked,
        bodies: reader.bodies,
    }
}

/// All of `text` in characters that a person can see; those that cannot be seen, or move others, are written as escapes.
pub(super) fn readable(text: &str) -> String {
    let mut seen = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            _ if is_deceptive(character) => seen.extend(character.escape_default()),
            _ => seen.push(character),
        }
    }
    seen
}

/// The beginning of `text` on one line, in characters that a person can see.
pub(super) fn excerpt(text: &str) -> String {
    let mut short = String::new();
    let text = text.trim();
    for (index, character) in text.chars().enumerate() {
        if index == EXCERPT {
            short.push('…');
            break;
        }
        match character {
            HOLE => short.push('…'),
            ' ' => short.push(' '),
            _ if is_deceptive(character) || character.is_whitespace() => {
                short.extend(character.escape_default());
            }
            _ => short.push(character),
        }
    }
    short
}

/// Not seen, or makes other characters be seen elsewhere.
pub(super) fn is_deceptive(character: char) -> bool {
    character.is_control() && !matches!(character, '\n' | '\t')
        || matches!(character, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
        || character.is_whitespace() && !character.is_ascii()
}
