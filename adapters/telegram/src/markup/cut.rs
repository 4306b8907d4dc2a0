//! Cuts a document into parts.
//!
//! **Invariant:** every cut moves forward, and looks at no more of the text than two parts hold.

use super::document::{Document, Span, is_unseen};
use super::{ENTITIES, Entity, Kind, Part};
use homing_domain::split::Unit;
use unicode_segmentation::UnicodeSegmentation;

/// UTF-8 needs at most so many bytes for a UTF-16 unit.
const BYTES_PER_UNIT: usize = 3;
/// So far is looked into whitespace for an empty line.
const GAP_CHARS: usize = 64;

/// `first` and `following`: how many UTF-16 units the first part may have, and each of the others.
pub(super) fn cut(document: &Document, first: usize, following: usize) -> Vec<Part> {
    let mut rest = Rest {
        document,
        from: 0,
        open: Vec::new(),
        coming: 0,
    };
    let mut parts = Vec::new();
    let mut limit = first;
    while rest.reach_content() {
        let end = rest.choose(limit);
        let part = rest.part(end);
        if !part.text.chars().all(is_unseen) {
            parts.push(part);
            limit = following;
        }
        rest.move_to(end);
    }
    parts
}

/// What is still to be cut.
struct Rest<'a> {
    document: &'a Document,
    from: usize,
    /// Spans that we are in the middle of, the outer first.
    open: Vec<&'a Span>,
    /// The index of the first span that begins here or later.
    coming: usize,
}

/// What a cut would be in the middle of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Of nothing, or of a quote.
    Open,
    CodeBlock,
    /// Of an entity that would be continued in the next part.
    Inline,
    /// Of a link that need not be cut.
    WholeLink,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Border {
    Paragraph,
    Line,
    Sentence,
    Word,
    Grapheme,
}

/// How much of what fits is before a cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd)]
enum Fill {
    Little,
    /// A third.
    Enough,
    /// Two thirds.
    Most,
}

impl<'a> Rest<'a> {
    fn text(&self) -> &'a str {
        &self.document.text
    }

    fn move_to(&mut self, at: usize) {
        self.from = at;
        let spans = &self.document.spans;
        while let Some(span) = spans.get(self.coming).filter(|span| span.start < at) {
            self.open.push(span);
            self.coming += 1;
        }
        self.open.retain(|span| span.end > at);
    }

    /// Leaves out whitespace, but not the indentation of a line of code. False at the end.
    fn reach_content(&mut self) -> bool {
        while let Some(character) = self.text()[self.from..].chars().next() {
            if !character.is_whitespace() {
                return true;
            }
            if let Some(block) = self.code_block() {
                self.reach_line_of_code(block);
                return true;
            }
            self.move_to(self.from + character.len_utf8());
        }
        false
    }

    /// The code block that we are in, or at the beginning of.
    fn code_block(&self) -> Option<&'a Span> {
        let at = self.from;
        let beginning = self.document.spans[self.coming..].iter();
        let here = beginning.take_while(|span| span.start == at);
        let mut around = self.open.iter().copied().chain(here);
        around.find(|span| matches!(span.kind, Kind::Pre { .. }))
    }

    fn reach_line_of_code(&mut self, block: &Span) {
        let inside = &self.text()[self.from..block.end];
        let content = inside.len() - inside.trim_start().len();
        let begins_line = self.from == block.start || self.text()[..self.from].ends_with('\n');
        match inside[..content].rfind('\n') {
            Some(newline) => self.move_to(self.from + newline + 1),
            None if begins_line => {}
            None => self.move_to(self.from + content),
        }
    }

    /// Where the part that begins here ends.
    fn choose(&self, limit: usize) -> usize {
        let furthest = self.furthest(limit);
        if furthest == self.text().len() {
            return furthest;
        }
        let fits = Unit::Utf16.measure(&self.text()[self.from..furthest]);
        let window = self.from + (limit + 1) * BYTES_PER_UNIT;
        let window = &self.text()[self.from..self.text().ceil_char_boundary(window)];
        let graphemes: Vec<(usize, &str)> = window
            .grapheme_indices(true)
            .take_while(|(index, _)| self.from + index <= furthest)
            .collect();
        let last = self.from + graphemes.last().map_or(0, |(index, _)| *index);
        let mut around = self.open.clone();
        let mut coming = self.document.spans[self.coming..].iter().peekable();
        let (mut used, mut before) = (0, None);
        let mut best = None;
        for (index, grapheme) in graphemes {
            let at = self.from + index;
            around.extend(std::iter::from_fn(|| {
                coming.next_if(|span| span.start < at)
            }));
            around.retain(|span| span.end > at);
            let border = before.and_then(|before| border(before, &window[index..]));
            let fill = Fill::of(used, fits);
            let score = border.and_then(|border| score(self.place(&around, last), border, fill));
            if let Some(score) = score
                && best.is_none_or(|(highest, _)| score >= highest)
            {
                best = Some((score, at));
            }
            used += Unit::Utf16.measure(grapheme);
            before = grapheme.chars().next_back();
        }
        // A grapheme that is longer than a part has no border inside.
        best.map_or(furthest, |(_, at)| at)
    }

    /// The last place that the limits of units and entities allow.
    fn furthest(&self, limit: usize) -> usize {
        let mut used = 0;
        let over = self.text()[self.from..]
            .char_indices()
            .find(|(_, character)| {
                used += character.len_utf16();
                used > limit
            });
        let by_units = over.map_or(self.text().len(), |(index, _)| self.from + index);
        // Those around count as well: they are continued. Kinds do not nest in themselves, so that fewer than the limit begin at one place.
        let one_too_many = self.coming + ENTITIES - self.open.len();
        let by_entities = self.document.spans.get(one_too_many);
        by_entities.map_or(by_units, |span| span.start.min(by_units))
    }

    /// `last`: where the last cut would be.
    fn place(&self, around: &[&Span], last: usize) -> Place {
        let mut place = Place::Open;
        for span in around {
            match span.kind {
                Kind::Blockquote | Kind::ExpandableBlockquote => {}
                Kind::Pre { .. } => return Place::CodeBlock,
                Kind::TextLink { .. } if span.start > self.from || span.end <= last => {
                    return Place::WholeLink;
                }
                _ => place = Place::Inline,
            }
        }
        place
    }

    fn part(&self, end: usize) -> Part {
        let text = self.text()[self.from..end].trim_end();
        let end = self.from + text.len();
        let coming = self.document.spans[self.coming..].iter();
        let coming = coming.take_while(|span| span.start < end);
        let spans: Vec<Span> = self
            .open
            .iter()
            .copied()
            .chain(coming)
            .filter_map(|span| {
                let inside = Span {
                    start: span.start.max(self.from),
                    end: span.end.min(end),
                    kind: span.kind.clone(),
                };
                inside.trimmed(self.text())
            })
            .collect();
        Part {
            entities: self.entities(spans),
            text: text.to_owned(),
        }
    }

    /// With offsets in UTF-16 units from here.
    fn entities(&self, spans: Vec<Span>) -> Vec<Entity> {
        let mut bounds: Vec<usize> = spans
            .iter()
            .flat_map(|span| [span.start, span.end])
            .collect();
        bounds.sort_unstable();
        let (mut at, mut units) = (self.from, 0);
        let mut measured = Vec::with_capacity(bounds.len());
        for bound in bounds {
            units += Unit::Utf16.measure(&self.text()[at..bound]);
            at = bound;
            measured.push((bound, units));
        }
        let units_at = |bound: usize| {
            let index = measured.partition_point(|(other, _)| *other < bound);
            measured.get(index).map_or(0, |(_, units)| *units)
        };
        spans
            .into_iter()
            .map(|span| Entity {
                offset: units_at(span.start),
                length: units_at(span.end) - units_at(span.start),
                kind: span.kind,
            })
            .collect()
    }
}

impl Fill {
    const fn of(used: usize, fits: usize) -> Fill {
        if used * 3 >= fits * 2 {
            Fill::Most
        } else if used * 3 >= fits {
            Fill::Enough
        } else {
            Fill::Little
        }
    }
}

/// What ends before `after`. None within whitespace: that is left out at a cut anyway.
fn border(before: char, after: &str) -> Option<Border> {
    let blank = |character: char| character.is_whitespace();
    if before.is_whitespace() {
        return None;
    }
    if !after.starts_with(blank) {
        let ends = matches!(before, '。' | '！' | '？' | '．' | '」');
        let goes_on = after.starts_with(['」', '』', '）', '”', '。', '！', '？']);
        return Some(if ends && !goes_on {
            Border::Sentence
        } else {
            Border::Grapheme
        });
    }
    let gap = after
        .chars()
        .take(GAP_CHARS)
        .take_while(|character| blank(*character));
    Some(match gap.filter(|character| *character == '\n').count() {
        0 if matches!(before, '.' | '!' | '?' | '…' | '。' | '！' | '？') => Border::Sentence,
        0 => Border::Word,
        1 => Border::Line,
        _ => Border::Paragraph,
    })
}

/// The highest wins, and the last of these. None where a cut is not allowed.
fn score(place: Place, border: Border, fill: Fill) -> Option<u8> {
    Some(match (place, border, fill) {
        (Place::WholeLink, _, _) => return None,
        (Place::Inline, Border::Grapheme, _) => 0,
        (_, Border::Grapheme, _) => 1,
        (Place::Open, _, Fill::Little) => 3,
        (_, _, Fill::Little) => 2,
        (Place::Open, Border::Paragraph, _) => 12,
        (Place::Open, Border::Line, _) => 11,
        (Place::CodeBlock, Border::Paragraph | Border::Line, _) => 10,
        (Place::Open, Border::Sentence, _) => 9,
        (Place::Open, Border::Word, Fill::Most) => 8,
        (Place::Open, Border::Word, Fill::Enough) => 6,
        (Place::Inline, Border::Word, _) | (Place::CodeBlock, _, _) => 4,
        (Place::Inline, _, _) => 5,
    })
}
