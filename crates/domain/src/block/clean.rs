//! From what a program wrote to a terminal to text that can be read.

use std::iter::Peekable;
use std::str::Chars;

/// Text as a terminal would show it at the end: escape sequences gone, overwritten progress lines gone, control characters gone but `\n` and `\t`.
/// Bytes that are not UTF-8 become `U+FFFD`. Characters that are there to be not seen (direction overrides, tags) are left out, too.
pub fn clean(output: &[u8]) -> String {
    let output = String::from_utf8_lossy(output);
    let mut characters = output.chars().peekable();
    let mut screen = Screen::default();
    while let Some(character) = characters.next() {
        match character {
            '\u{1b}' => {
                let sequence = skip_escape(&mut characters);
                screen.obey(sequence);
            }
            '\u{9b}' => {
                let sequence = skip_control_sequence(&mut characters);
                screen.obey(sequence);
            }
            '\n' => screen.end_line(),
            '\r' => screen.returned = true,
            '\u{8}' => {
                screen.line.pop();
            }
            '\u{2028}' | '\u{2029}' => screen.put(' '),
            '\t' => screen.put('\t'),
            unseen if unseen.is_control() || is_invisible(unseen) => {}
            seen => screen.put(seen),
        }
    }
    screen.lines + &screen.line
}

#[derive(Default)]
struct Screen {
    lines: String,
    line: String,
    /// The cursor is at the beginning of `line`: what comes next overwrites it. As a whole, for a progress line says all of itself each time.
    returned: bool,
}

impl Screen {
    fn put(&mut self, character: char) {
        if std::mem::take(&mut self.returned) {
            self.line.clear();
        }
        self.line.push(character);
    }
    /// The only sequence that changes what is read: erasing a line from its beginning.
    fn obey(&mut self, sequence: Option<char>) {
        if self.returned && sequence == Some('K') {
            self.line.clear();
        }
    }
    fn end_line(&mut self) {
        self.lines.push_str(&self.line);
        self.lines.push('\n');
        self.line.clear();
        self.returned = false;
    }
}

/// After ESC. Gives the final character of a control sequence.
fn skip_escape(characters: &mut Peekable<Chars<'_>>) -> Option<char> {
    match characters.peek()? {
        '[' => {
            characters.next();
            skip_control_sequence(characters)
        }
        ']' | 'P' | 'X' | '^' | '_' => {
            skip_string(characters);
            None
        }
        ' '..='/' => {
            while characters
                .next_if(|next| (' '..='/').contains(next))
                .is_some()
            {}
            characters.next_if(|next| ('0'..='~').contains(next));
            None
        }
        '0'..='~' => {
            characters.next();
            None
        }
        _ => None,
    }
}

/// Parameters and the final character; anything else ends it and is read as text.
fn skip_control_sequence(characters: &mut Peekable<Chars<'_>>) -> Option<char> {
    while characters
        .next_if(|next| (' '..='?').contains(next))
        .is_some()
    {}
    characters.next_if(|next| ('@'..='~').contains(next))
}

/// A title, a link or a picture, up to BEL or ESC \. One that is never ended must not hide what follows: it ends with its line.
fn skip_string(characters: &mut Peekable<Chars<'_>>) {
    while let Some(character) = characters.next_if(|next| *next != '\n') {
        match character {
            '\u{7}' | '\u{9c}' => return,
            '\u{1b}' => {
                characters.next_if_eq(&'\\');
                return;
            }
            _ => {}
        }
    }
}

const fn is_invisible(character: char) -> bool {
    matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}
