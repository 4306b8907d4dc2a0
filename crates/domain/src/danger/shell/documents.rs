//! Here-documents: what announces one, and where it ends.

use super::words::{Reader, Until};
use super::{Dialect, Piece, Redirect, RedirectKind, Trouble, Word};

pub(super) struct Waiting {
    pub body: usize,
    pub delimiter: String,
    pub quoted: bool,
    pub strip_tabs: bool,
}

impl Reader<'_> {
    pub fn here_document_later(
        &mut self,
        target: &Word,
        strip_tabs: bool,
    ) -> Result<Redirect, Trouble> {
        let mut delimiter = String::new();
        let mut quoted_anywhere = false;
        for piece in &target.pieces {
            let Piece::Text { text, quoted } = piece else {
                return Err(Trouble::Misplaced);
            };
            delimiter.push_str(text);
            quoted_anywhere |= quoted;
        }
        // It is a part of the word where lines end in two characters.
        if self.rest().starts_with("\r\n") {
            delimiter.push('\r');
        }
        let body = self.bodies.len();
        self.bodies.push(Word::default());
        self.waiting.push(Waiting {
            body,
            delimiter,
            quoted: quoted_anywhere,
            strip_tabs,
        });
        Ok(Redirect {
            kind: RedirectKind::HereDocument(body),
            target: Word::default(),
        })
    }

    /// The end of a line, and the here-documents that were announced on it.
    pub fn newline(&mut self) -> Result<(), Trouble> {
        self.at += 1;
        for waiting in std::mem::take(&mut self.waiting) {
            self.here_document(&waiting)?;
        }
        Ok(())
    }

    /// Lines with an escaped end are joined before they are compared with the delimiter, unless it is quoted.
    fn here_document(&mut self, waiting: &Waiting) -> Result<(), Trouble> {
        let mut content = String::new();
        let mut ended = false;
        let mut line = String::new();
        let mut line_begins = 0;
        let mut joined = false;
        while self.at < self.text.len() && !ended {
            let rest = self.rest();
            let more = &rest[..rest.find('\n').map_or(rest.len(), |end| end + 1)];
            self.at += more.len();
            let more = match waiting.strip_tabs && line.is_empty() {
                true => more.trim_start_matches('\t'),
                false => more,
            };
            content.push_str(more);
            line.push_str(more);
            if !waiting.quoted && is_continued(&line) {
                line.truncate(line.len() - "\\\n".len());
                joined |= !line.is_empty();
                continue;
            }
            ended = line.strip_suffix('\n').unwrap_or(&line) == waiting.delimiter;
            if ended && joined {
                // Dash looks for the delimiter where lines begin.
                self.forked = true;
                ended = self.dialect != Dialect::Dash;
            }
            if ended {
                content.truncate(line_begins);
                // Without the end of its line it may become another one.
                self.cut_short |= !line.ends_with('\n');
            }
            line.clear();
            line_begins = content.len();
            joined = false;
        }
        let pieces = if waiting.quoted {
            vec![Piece::Text {
                text: content,
                quoted: true,
            }]
        } else {
            match self.within(&content, |reader| reader.expansions(Until::End)) {
                // Where it ends is known nevertheless.
                Err(Trouble::Refused) => vec![Piece::Hole],
                read => read?,
            }
        };
        if let Some(body) = self.bodies.get_mut(waiting.body) {
            body.pieces = pieces;
        }
        match ended {
            true => Ok(()),
            false => Err(Trouble::OpenDocument),
        }
    }
}

/// Its end is escaped by a backslash that is not escaped itself.
fn is_continued(line: &str) -> bool {
    let Some(line) = line.strip_suffix('\n') else {
        return false;
    };
    let backslashes = line.len() - line.trim_end_matches('\\').len();
    backslashes % 2 == 1
}
