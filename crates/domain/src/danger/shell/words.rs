//! Words: quotes, expansions, substitutions.

use std::collections::HashSet;

use super::documents::Waiting;
use super::{DEEPEST, Dialect, HOLE, Piece, Trouble, Word};

pub(super) struct Reader<'a> {
    pub text: &'a str,
    pub at: usize,
    pub depth: usize,
    /// Here-documents that begin after the line that is being read.
    pub waiting: Vec<Waiting>,
    pub bodies: Vec<Word>,
    /// Behind the line ends at which nothing was open.
    pub settled: Vec<usize>,
    /// The text ended before a here-document did.
    pub cut_short: bool,
    /// A text inside of this one cannot be read, whatever comes after.
    pub broken: bool,
    pub dialect: Dialect,
    /// There was something that other dialects read in another way.
    pub forked: bool,
    /// Where `((` begins no arithmetic.
    pub subshells: HashSet<usize>,
}

/// What ends a text with expansions.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
    End,
    Quote,
    /// The `}` of `${`.
    Brace,
    /// The same inside of double quotes, where shells do not agree about single ones.
    QuotedBrace,
}

impl Until {
    const fn sign(self) -> Option<u8> {
        match self {
            Until::End => None,
            Until::Quote => Some(b'"'),
            Until::Brace | Until::QuotedBrace => Some(b'}'),
        }
    }
}

impl<'a> Reader<'a> {
    pub fn new(text: &'a str, depth: usize, dialect: Dialect) -> Reader<'a> {
        Reader {
            text,
            at: 0,
            depth,
            waiting: Vec::new(),
            bodies: Vec::new(),
            settled: Vec::new(),
            cut_short: false,
            broken: false,
            dialect,
            forked: false,
            subshells: HashSet::new(),
        }
    }

    /// Nothing else is wrong than that the text is over.
    pub fn waits_for_more(&self, trouble: Option<Trouble>) -> bool {
        match trouble {
            None | Some(Trouble::TooDeep) => false,
            Some(_) => !self.broken && self.at >= self.text.len(),
        }
    }

    pub fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    pub fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    pub fn take(&mut self, sign: &str) -> bool {
        let found = self.rest().starts_with(sign);
        if found {
            self.at += sign.len();
        }
        found
    }

    pub fn deeper<T>(
        &mut self,
        read: impl FnOnce(&mut Reader<'a>) -> Result<T, Trouble>,
    ) -> Result<T, Trouble> {
        if self.depth >= DEEPEST {
            return Err(Trouble::TooDeep);
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// Spaces, tabs, continued lines and comments.
    pub fn skip_blanks(&mut self) {
        loop {
            match self.peek() {
                Some(b' ' | b'\t') => self.at += 1,
                Some(b'\r') if self.rest().starts_with("\r\n") => self.at += 1,
                Some(b'\\') if self.rest().starts_with("\\\n") => self.at += 2,
                Some(b'#') => self.at += self.rest().find('\n').unwrap_or(self.rest().len()),
                _ => return,
            }
        }
    }

    /// Reads another text with a reader of its own.
    pub fn within<T>(
        &mut self,
        text: &str,
        read: impl FnOnce(&mut Reader<'_>) -> Result<T, Trouble>,
    ) -> Result<T, Trouble> {
        if self.depth >= DEEPEST {
            return Err(Trouble::TooDeep);
        }
        let mut inner = Reader::new(text, self.depth + 1, self.dialect);
        inner.bodies = std::mem::take(&mut self.bodies);
        let result = read(&mut inner);
        self.bodies = inner.bodies;
        self.forked |= inner.forked;
        self.broken |= result
            .as_ref()
            .is_err_and(|trouble| *trouble != Trouble::Refused);
        result
    }

    /// A word; `None` if none begins here.
    pub fn word(&mut self) -> Result<Option<Word>, Trouble> {
        let mut pieces = Vec::new();
        let mut begun = false;
        while let Some(byte) = self.peek() {
            match byte {
                b'<' | b'>' if self.rest()[1..].starts_with('(') => {
                    self.at += 2;
                    let list = self.deeper(Reader::substitution)?;
                    pieces.push(Piece::File { list });
                }
                b'(' if begun && ends_with_equals(&pieces) => {
                    self.at += 1;
                    let inside = self.deeper(Reader::array)?;
                    pieces.push(variable("", true, inside, false));
                }
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>' => break,
                b'\r' if self.rest().starts_with("\r\n") => break,
                b'\\' => self.escaped(&mut pieces),
                b'\'' => self.single_quoted(&mut pieces)?,
                b'"' => self.double_quoted(&mut pieces)?,
                b'`' => pieces.push(self.backquoted(false)?),
                b'$' => self.dollar(&mut pieces, false)?,
                _ => self.plain(&mut pieces, false),
            }
            begun = true;
        }
        Ok(begun.then_some(Word { pieces }))
    }

    /// `(a b c)` after a `name=`.
    fn array(&mut self) -> Result<Vec<Piece>, Trouble> {
        let mut inside = Vec::new();
        loop {
            self.skip_blanks();
            match self.peek() {
                None => return Err(Trouble::Open),
                Some(b'\n') => self.newline()?,
                Some(b')') => {
                    self.at += 1;
                    return Ok(inside);
                }
                Some(_) => inside.extend(self.word()?.ok_or(Trouble::Misplaced)?.pieces),
            }
        }
    }

    pub fn escaped(&mut self, pieces: &mut Vec<Piece>) {
        self.at += 1;
        let Some(character) = self.rest().chars().next() else {
            return push(pieces, "\\", true);
        };
        self.at += character.len_utf8();
        if character != '\n' {
            push(pieces, character.encode_utf8(&mut [0; 4]), true);
        }
    }

    pub fn single_quoted(&mut self, pieces: &mut Vec<Piece>) -> Result<(), Trouble> {
        self.at += 1;
        let Some(end) = self.rest().find('\'') else {
            self.at = self.text.len();
            return Err(Trouble::OpenQuote);
        };
        push(pieces, &self.rest()[..end], true);
        self.at += end + 1;
        Ok(())
    }

    pub fn double_quoted(&mut self, pieces: &mut Vec<Piece>) -> Result<(), Trouble> {
        self.at += 1;
        push(pieces, "", true);
        pieces.extend(self.deeper(|reader| reader.expansions(Until::Quote))?);
        Ok(())
    }

    /// Text with expansions up to its end, which is taken.
    pub fn expansions(&mut self, until: Until) -> Result<Vec<Piece>, Trouble> {
        let mut pieces = Vec::new();
        while let Some(byte) = self.peek() {
            match byte {
                _ if Some(byte) == until.sign() => {
                    self.at += 1;
                    return Ok(pieces);
                }
                b'\\' => match self.text.as_bytes().get(self.at + 1) {
                    Some(b'\n') => self.at += 2,
                    Some(b'$' | b'`' | b'"' | b'\\' | b'}') => self.escaped(&mut pieces),
                    _ => {
                        push(&mut pieces, "\\", true);
                        self.at += 1;
                    }
                },
                b'`' => pieces.push(self.backquoted(true)?),
                b'$' => self.dollar(&mut pieces, true)?,
                // Inside of `${…}` quotes mean what they always do.
                b'\'' if until == Until::Brace => self.single_quoted(&mut pieces)?,
                b'\'' if until == Until::QuotedBrace => self.disputed_quote(&mut pieces)?,
                b'"' if until.sign() == Some(b'}') => self.double_quoted(&mut pieces)?,
                _ => self.plain(&mut pieces, true),
            }
        }
        match until {
            Until::End => Ok(pieces),
            Until::Quote => Err(Trouble::OpenQuote),
            Until::Brace | Until::QuotedBrace => Err(Trouble::Open),
        }
    }

    /// As in `"${name:-'}"`.
    fn disputed_quote(&mut self, pieces: &mut Vec<Piece>) -> Result<(), Trouble> {
        self.forked = true;
        if self.dialect != Dialect::Bash {
            self.plain(pieces, true);
            return Ok(());
        }
        // Bash runs nothing of a text in which it is not closed.
        self.single_quoted(pieces).map_err(|_| Trouble::Refused)
    }

    /// Characters that mean nothing, and holes.
    pub fn plain(&mut self, pieces: &mut Vec<Piece>, quoted: bool) {
        let rest = self.rest();
        let length = rest
            .find(|character: char| SPECIAL.contains(&character) || character == HOLE)
            .unwrap_or(rest.len());
        if length > 0 {
            push(pieces, &rest[..length], quoted);
            self.at += length;
        } else if rest.starts_with(HOLE) {
            pieces.push(Piece::Hole);
            self.at += HOLE.len_utf8();
        } else {
            push(pieces, &rest[..1], quoted);
            self.at += 1;
        }
    }

    pub fn backquoted(&mut self, quoted: bool) -> Result<Piece, Trouble> {
        self.at += 1;
        let mut source = String::new();
        loop {
            let rest = self.rest();
            let Some(length) = rest.find(['`', '\\']) else {
                self.at = self.text.len();
                return Err(Trouble::Open);
            };
            source.push_str(&rest[..length]);
            self.at += length + 1;
            if rest[length..].starts_with('`') {
                break;
            }
            match self.peek() {
                Some(escaped @ (b'`' | b'\\' | b'$')) => {
                    source.push(char::from(escaped));
                    self.at += 1;
                }
                Some(b'"') if quoted => {
                    source.push('"');
                    self.at += 1;
                }
                _ => source.push('\\'),
            }
        }
        let mut list = Vec::new();
        self.within(&source, |reader| reader.script(&mut list))?;
        Ok(Piece::Output { list })
    }

    pub fn dollar(&mut self, pieces: &mut Vec<Piece>, quoted: bool) -> Result<(), Trouble> {
        self.at += 1;
        match self.peek() {
            Some(b'(') if self.take("((") => {
                let inside = self.deeper(Reader::arithmetic)?;
                pieces.push(variable("", true, inside, quoted));
            }
            Some(b'(') => {
                self.at += 1;
                let list = self.deeper(Reader::substitution)?;
                pieces.push(Piece::Output { list });
            }
            Some(b'{') => {
                self.at += 1;
                let indirect = self.take("!") || self.take("#");
                let name = self.variable_name();
                let bare = !indirect && self.peek() == Some(b'}');
                let until = match quoted && self.gives_a_word() {
                    true => Until::QuotedBrace,
                    false => Until::Brace,
                };
                let inside = self.deeper(|reader| reader.expansions(until))?;
                pieces.push(variable(&name, !bare, inside, quoted));
            }
            Some(b'[') => self.old_arithmetic(pieces, quoted)?,
            Some(b'\'') if !quoted => {
                self.forked = true;
                match self.dialect {
                    Dialect::Dash => push(pieces, "$", quoted),
                    Dialect::Bash | Dialect::Posix => self.ansi_quoted(pieces)?,
                }
            }
            Some(b'"') if !quoted => self.double_quoted(pieces)?,
            Some(byte) if is_parameter(byte) => {
                let name = self.variable_name();
                pieces.push(variable(&name, false, Vec::new(), quoted));
            }
            _ => push(pieces, "$", quoted),
        }
        Ok(())
    }

    /// Whether what follows the name is a word to take its place, and no pattern: in those all shells know single quotes.
    fn gives_a_word(&self) -> bool {
        let rest = self.rest();
        let rest = rest.strip_prefix(':').unwrap_or(rest);
        rest.starts_with(['-', '=', '?', '+'])
    }

    /// A name, a digit, or one of the special signs.
    fn variable_name(&mut self) -> String {
        let rest = self.rest();
        let mut length = rest
            .bytes()
            .take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
            .count();
        let first = rest.bytes().next();
        if first.is_some_and(|first| is_parameter(first) && (length == 0 || first.is_ascii_digit()))
        {
            length = 1;
        }
        self.at += length;
        rest[..length].to_owned()
    }

    /// `$'…'`, with escapes as in C.
    fn ansi_quoted(&mut self, pieces: &mut Vec<Piece>) -> Result<(), Trouble> {
        self.at += 1;
        let mut text = String::new();
        loop {
            match self.next_character()? {
                '\'' => break,
                '\\' => text.push(self.ansi_escape()?),
                other => text.push(other),
            }
        }
        push(pieces, &text, true);
        Ok(())
    }

    fn next_character(&mut self) -> Result<char, Trouble> {
        let next = self.rest().chars().next().ok_or(Trouble::OpenQuote)?;
        self.at += next.len_utf8();
        Ok(next)
    }

    fn ansi_escape(&mut self) -> Result<char, Trouble> {
        let escape = self.next_character()?;
        Ok(match escape {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'a' | 'b' | 'e' | 'E' | 'f' | 'v' | 'c' => '\u{1b}',
            'x' => self.number(16, 2, 0),
            'u' => self.number(16, 4, 0),
            'U' => self.number(16, 8, 0),
            '0'..='7' => self.number(8, 2, escape.to_digit(8).unwrap_or(0)),
            other => other,
        })
    }

    fn number(&mut self, radix: u32, most: usize, first: u32) -> char {
        let mut value = first;
        for _ in 0..most {
            let next = self.rest().chars().next();
            let Some(digit) = next.and_then(|next| next.to_digit(radix)) else {
                break;
            };
            self.at += 1;
            value = value.wrapping_mul(radix).wrapping_add(digit);
        }
        char::from_u32(value).unwrap_or(char::REPLACEMENT_CHARACTER)
    }
}

pub(super) fn variable(name: &str, changed: bool, inside: Vec<Piece>, quoted: bool) -> Piece {
    Piece::Variable {
        name: name.to_owned(),
        changed,
        inside,
        quoted,
    }
}

/// Adds to the last piece if it is of the same kind.
pub(super) fn push(pieces: &mut Vec<Piece>, text: &str, quoted: bool) {
    match pieces.last_mut() {
        Some(Piece::Text {
            text: last,
            quoted: same,
        }) if *same == quoted => last.push_str(text),
        _ => pieces.push(Piece::Text {
            text: text.to_owned(),
            quoted,
        }),
    }
}

fn ends_with_equals(pieces: &[Piece]) -> bool {
    matches!(pieces, [Piece::Text { text, quoted: false }] if text.ends_with('='))
}

const fn is_parameter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'_' | b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!')
}

const SPECIAL: &[char] = &[
    ' ', '\t', '\n', '\r', ';', '&', '|', '(', ')', '<', '>', '\\', '\'', '"', '`', '$', '}',
];
