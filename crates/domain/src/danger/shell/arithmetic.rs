//! Arithmetic: `$((…))`, and `((…))` and `$[…]` where the shell knows them.

use super::words::{Reader, push, variable};
use super::{Dialect, Piece, Trouble, Word};

impl Reader<'_> {
    /// `((…))`, if it is that: two subshells may begin so, too, and in dash they always do.
    pub fn arithmetic_command(&mut self) -> Result<Option<Word>, Trouble> {
        self.forked = true;
        // Read once only, or those inside of each other would be read twice for each level.
        if self.dialect == Dialect::Dash || self.subshells.contains(&self.at) {
            return Ok(None);
        }
        let (from, broken, cut_short) = (self.at, self.broken, self.cut_short);
        let mut waiting = std::mem::take(&mut self.waiting);
        self.at += "((".len();
        match self.deeper(Reader::arithmetic) {
            Ok(inside) => {
                waiting.append(&mut self.waiting);
                self.waiting = waiting;
                let pieces = vec![variable("", true, inside, true)];
                Ok(Some(Word { pieces }))
            }
            Err(Trouble::TooDeep) => Err(Trouble::TooDeep),
            Err(_) => {
                self.at = from;
                self.broken = broken;
                self.cut_short = cut_short;
                self.waiting = waiting;
                self.subshells.insert(from);
                Ok(None)
            }
        }
    }

    /// Whether the text up to here can only be the beginning of arithmetic: words, and a bracket where no command has one.
    pub fn is_calculated(&self, from: usize) -> bool {
        let plain = |character: char| {
            character.is_ascii_alphanumeric() || " _=+-*/%,.:!^~?".contains(character)
        };
        self.peek() == Some(b'(')
            && self.text[from..self.at]
                .strip_prefix("((")
                .is_some_and(|before| before.contains('=') && before.chars().all(plain))
    }

    /// Up to `))`. A subshell directly inside of `$( )` has to be written with a space.
    pub fn arithmetic(&mut self) -> Result<Vec<Piece>, Trouble> {
        let mut inside = Vec::new();
        let mut open = 0_usize;
        while let Some(byte) = self.peek() {
            match byte {
                b'(' => {
                    open += 1;
                    self.at += 1;
                }
                b')' if open > 0 => {
                    open -= 1;
                    self.at += 1;
                }
                b')' if self.take("))") => return Ok(inside),
                b')' => return Err(Trouble::Misplaced),
                b'`' => inside.push(self.backquoted(true)?),
                b'$' => self.dollar(&mut inside, true)?,
                b'\'' => self.quote_in_arithmetic(&mut inside)?,
                b'\\' => self.escaped(&mut inside),
                b'"' => self.double_quoted(&mut inside)?,
                _ => self.plain(&mut inside, true),
            }
        }
        Err(Trouble::Open)
    }

    /// Dash knows no quotes there.
    fn quote_in_arithmetic(&mut self, inside: &mut Vec<Piece>) -> Result<(), Trouble> {
        self.forked = true;
        if self.dialect == Dialect::Dash {
            self.plain(inside, true);
            return Ok(());
        }
        self.single_quoted(inside)
    }

    /// `$[…]`, behind the `$`. In dash that is text.
    pub fn old_arithmetic(&mut self, pieces: &mut Vec<Piece>, quoted: bool) -> Result<(), Trouble> {
        self.forked = true;
        if self.dialect == Dialect::Dash {
            push(pieces, "$", quoted);
            return Ok(());
        }
        self.at += 1;
        let inside = self
            .deeper(Reader::in_brackets)
            .map_err(|trouble| match trouble {
                Trouble::OpenQuote => Trouble::Refused,
                other => other,
            })?;
        pieces.push(variable("", true, inside, quoted));
        Ok(())
    }

    fn in_brackets(&mut self) -> Result<Vec<Piece>, Trouble> {
        let mut inside = Vec::new();
        let mut open = 0_usize;
        while let Some(byte) = self.peek() {
            match byte {
                b']' if open == 0 => {
                    self.at += 1;
                    return Ok(inside);
                }
                b'[' | b']' => {
                    open = if byte == b'[' { open + 1 } else { open - 1 };
                    self.at += 1;
                }
                b'\'' => self.single_quoted(&mut inside)?,
                b'"' => self.double_quoted(&mut inside)?,
                b'`' => inside.push(self.backquoted(true)?),
                b'$' => self.dollar(&mut inside, true)?,
                b'\\' => self.escaped(&mut inside),
                _ => self.at += self.rest().chars().next().map_or(1, char::len_utf8),
            }
        }
        Err(Trouble::Refused)
    }
}
