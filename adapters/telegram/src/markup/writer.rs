//! Writes the text of a document, and remembers what is marked in it.
//!
//! **Invariant:** spans nest; none is within another of its kind, so that their depth is bounded by the number of kinds, however deep the Markdown is.
//! Line breaks are written when something follows them.

use super::Kind;
use super::document::{Document, Span, clean};
use super::settle::{BARS, settle};

/// Lists are not indented further than this.
const DEEPEST_INDENTATION: usize = 8;
/// Quotes of more than this are shown folded.
const LONG_QUOTE_LINES: usize = 8;
const LONG_QUOTE_CHARS: usize = 600;

#[derive(Debug, Default)]
pub(super) struct Writer {
    text: String,
    spans: Vec<Span>,
    open: Vec<Open>,
    /// The kinds that are open; few, where `open` may be as deep as the Markdown.
    kinds: Vec<Kind>,
    /// Line breaks before what comes next.
    breaks: usize,
    /// The bullet or number that comes next.
    marker: String,
    /// Where the line begins that has nothing but indentation yet.
    line_start: usize,
    /// How many lists we are in.
    pub lists: usize,
    /// Bars that may begin a spoiler, outside of everything open.
    bars: Option<usize>,
    spoiler_bars: Vec<usize>,
}

#[derive(Debug)]
struct Open {
    start: usize,
    /// Has a kind; not if there is one of that kind around it.
    marked: bool,
    /// Bars directly in it that may begin a spoiler.
    bars: Option<usize>,
}

impl Writer {
    /// What comes next begins a line, after `count - 1` empty ones.
    pub fn break_lines(&mut self, count: usize) {
        let at_start = self.text.len() == self.line_start && self.breaks == 0;
        if !at_start && self.marker.is_empty() {
            self.breaks = self.breaks.max(count);
        }
    }

    /// Between paragraphs and the like; lists are written without empty lines.
    pub fn break_block(&mut self) {
        // A spoiler does not reach from one paragraph into another.
        match self.open.last_mut() {
            Some(open) => open.bars = None,
            None => self.bars = None,
        }
        self.break_lines(if self.lists == 0 { 2 } else { 1 });
    }

    /// Something to stand before what comes next, on the same line.
    pub fn mark(&mut self, marker: &str) {
        self.marker.push_str(marker);
    }

    /// A task box stands for the bullet.
    pub fn mark_task(&mut self, done: bool) {
        if let Some(before) = self.marker.strip_suffix("• ") {
            self.marker.truncate(before.len());
        }
        self.mark(if done { "☑ " } else { "☐ " });
    }

    /// Writes what has been put off.
    pub fn catch_up(&mut self) {
        self.catch_up_indented(true);
    }

    /// A bullet with nothing behind it is written all the same.
    pub fn catch_up_marker(&mut self) {
        if !self.marker.is_empty() {
            self.marker.truncate(self.marker.trim_end().len());
            self.catch_up();
        }
    }

    fn catch_up_indented(&mut self, indented: bool) {
        if self.breaks > 0 {
            let newlines = std::mem::take(&mut self.breaks);
            self.text.extend(std::iter::repeat_n('\n', newlines));
            let lists = self.lists - usize::from(self.lists > 0 && !self.marker.is_empty());
            if indented {
                let depth = lists.min(DEEPEST_INDENTATION);
                self.text.extend(std::iter::repeat_n("  ", depth));
            }
            self.line_start = self.text.len();
        }
        let marker = std::mem::take(&mut self.marker);
        self.text.push_str(&clean(&marker));
    }

    /// Where the next text will be, for `since`.
    pub fn position(&mut self) -> usize {
        self.catch_up();
        self.text.len()
    }

    pub fn since(&self, position: usize) -> &str {
        &self.text[position..]
    }

    /// As it is.
    pub fn literal(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.catch_up();
        self.text.push_str(&clean(text));
    }

    /// Bars in it may be those of a spoiler. `escaped`: its first character is not.
    pub fn prose(&mut self, text: &str, escaped: bool) {
        let text = clean(text);
        let mut from = 0;
        while let Some(found) = text[from..].find('|') {
            let at = from + found;
            let after = text[at..].trim_start_matches('|');
            let end = text.len() - after.len();
            if end - at == BARS.len() && !(escaped && at == 0) {
                self.literal(&text[from..at]);
                self.write_bars(after.chars().next());
            } else {
                self.literal(&text[from..end]);
            }
            from = end;
        }
        self.literal(&text[from..]);
    }

    fn write_bars(&mut self, next: Option<char>) {
        let at = self.position();
        let ends_word = next.is_none_or(|next| !next.is_alphanumeric());
        let before = self.text.chars().next_back();
        let slot = self.open.last().map_or(self.bars, |open| open.bars);
        let opening = slot.filter(|opening| {
            let hidden = &self.text[opening + BARS.len()..];
            ends_word
                && !hidden.is_empty()
                && !hidden.starts_with(char::is_whitespace)
                && !hidden.ends_with(char::is_whitespace)
        });
        let may_open = before.is_none_or(|before| !before.is_alphanumeric());
        let left = match opening {
            Some(start) => {
                self.spoiler_bars.extend([start, at]);
                self.spans.push(Span {
                    start: start + BARS.len(),
                    end: at,
                    kind: Kind::Spoiler,
                });
                None
            }
            None if may_open => Some(at),
            None => slot,
        };
        match self.open.last_mut() {
            Some(open) => open.bars = left,
            None => self.bars = left,
        }
        self.text.push_str(BARS);
    }

    pub fn code(&mut self, code: &str) {
        let start = self.position();
        self.literal(code);
        // Telegram has no code within links.
        if !self.is_open(|kind| matches!(kind, Kind::TextLink { .. })) {
            self.record(start, Kind::Code);
        }
    }

    /// On lines of its own, and not indented.
    pub fn code_block(&mut self, code: &str, language: Option<String>) {
        self.catch_up_marker();
        self.break_block();
        if !code.trim().is_empty() {
            self.catch_up_indented(false);
            let start = self.text.len();
            self.text.push_str(&clean(code.trim_end()));
            self.record(start, Kind::Pre { language });
        }
        self.break_block();
    }

    pub fn open(&mut self, kind: Kind) {
        let start = self.position();
        let within_own =
            self.is_open(|open| std::mem::discriminant(open) == std::mem::discriminant(&kind));
        self.open.push(Open {
            start,
            marked: !within_own,
            bars: None,
        });
        if !within_own {
            self.kinds.push(kind);
        }
    }

    /// Ends what was opened last.
    pub fn close(&mut self) {
        let Some(open) = self.open.pop() else { return };
        let kind = if open.marked { self.kinds.pop() } else { None };
        match kind {
            Some(Kind::Blockquote) if is_long(&self.text[open.start..]) => {
                self.record(open.start, Kind::ExpandableBlockquote);
            }
            Some(kind) => self.record(open.start, kind),
            None => {}
        }
    }

    pub fn finish(mut self) -> Document {
        while !self.open.is_empty() {
            self.close();
        }
        settle(&self.text, self.spans, self.spoiler_bars)
    }

    pub fn is_open(&self, wanted: impl Fn(&Kind) -> bool) -> bool {
        self.kinds.iter().any(wanted)
    }

    fn record(&mut self, start: usize, kind: Kind) {
        self.spans.push(Span {
            start,
            end: self.text.len(),
            kind,
        });
    }
}

fn is_long(quote: &str) -> bool {
    quote.lines().nth(LONG_QUOTE_LINES).is_some() || quote.chars().nth(LONG_QUOTE_CHARS).is_some()
}
