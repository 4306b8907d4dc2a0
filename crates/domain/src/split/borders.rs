//! Where a text may be cut, from the best place to the last resort.

use super::Unit;
use super::fence::{Fence, poses_as_fence};
use unicode_segmentation::GraphemeCursor;

/// A cut: the part ends at `end`, the next begins at `next`, and only whitespace is between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cut<'a> {
    pub end: usize,
    pub next: usize,
    /// The fence that is open here.
    pub fence: Option<Fence<'a>>,
    pub inside_line: bool,
}

impl<'a> Cut<'a> {
    /// Before the line that begins at `at`.
    pub fn between_lines(text: &str, at: usize, fence: Option<Fence<'a>>) -> Cut<'a> {
        Cut {
            end: text[..at].trim_end().len(),
            next: at,
            fence,
            inside_line: false,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Border {
    Paragraph,
    Line,
}

/// The borders between lines that a part could end at.
pub(super) struct Passed<'a> {
    /// How full a part should be.
    pub enough: usize,
    paragraph: Option<Cut<'a>>,
    line: Option<Cut<'a>>,
    /// The last of them, however little comes before.
    pub last: Option<Cut<'a>>,
    pub last_used: usize,
}

impl<'a> Passed<'a> {
    pub fn new(enough: usize) -> Passed<'a> {
        Passed {
            enough,
            paragraph: None,
            line: None,
            last: None,
            last_used: 0,
        }
    }

    pub fn offer(&mut self, border: Border, used: usize, cut: Cut<'a>) {
        (self.last, self.last_used) = (Some(cut), used);
        if used < self.enough {
            return;
        }
        match border {
            Border::Paragraph => self.paragraph = Some(cut),
            Border::Line => self.line = Some(cut),
        }
    }

    /// The best that leaves the part full enough.
    pub fn good(&self) -> Option<Cut<'a>> {
        self.paragraph.or(self.line)
    }
}

/// A cut inside a line, counted from the line's beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    end: usize,
    next: usize,
}

impl Place {
    pub fn at<'a>(self, line: usize, fence: Option<Fence<'a>>) -> Cut<'a> {
        Cut {
            end: line + self.end,
            next: line + self.next,
            fence,
            inside_line: true,
        }
    }
}

/// The last places of each kind inside a line.
pub(super) struct Inside {
    /// Only with `wanted` before it.
    pub sentence: Option<Place>,
    pub word: Option<Place>,
    pub grapheme: Place,
}

/// Looks through the line that `text` begins with, `length` bytes of it, as far as `left` reaches.
pub(super) fn inside_line(
    text: &str,
    length: usize,
    left: usize,
    wanted: usize,
    unit: Unit,
) -> Inside {
    let (mut sentence, mut word) = (None, None);
    let (mut used, mut reach) = (0, 0);
    // A beginning of nothing but whitespace or fence characters is no word.
    let mut has_words = false;
    let mut gap = None;
    for (at, character) in text[..length].char_indices() {
        if character.is_whitespace() {
            gap.get_or_insert((at, used));
        } else {
            let (end, used_there) = gap.take().unwrap_or((at, used));
            let place = Place { end, next: at };
            let is_sentence = used_there >= wanted && ends_sentence(&text[..end], end < at);
            if has_words && (end < at || is_sentence) && is_allowed(text, place) {
                word = Some(place);
                sentence = if is_sentence { word } else { sentence };
            }
        }
        if used + unit.measure_char(character) > left {
            break;
        }
        used += unit.measure_char(character);
        reach = at + character.len_utf8();
        has_words |= !character.is_whitespace() && !matches!(character, '`' | '~');
    }
    if let Some((end, used_there)) = gap {
        let place = Place {
            end,
            next: skip_whitespace(text, end),
        };
        if has_words && is_allowed(text, place) {
            word = Some(place);
            sentence = if used_there >= wanted && ends_sentence(&text[..end], true) {
                word
            } else {
                sentence
            };
        }
    }
    let grapheme = last_grapheme(text, reach);
    Inside {
        sentence,
        word,
        grapheme: Place {
            end: grapheme,
            next: skip_whitespace(text, grapheme),
        },
    }
}

/// To the next word or the end of the line. The last space may carry an accent, and then it is not one to leave out.
fn skip_whitespace(text: &str, from: usize) -> usize {
    let word = text[from..]
        .trim_start_matches(|character: char| character.is_whitespace() && character != '\n');
    let space = &text[from..text.len() - word.len()];
    let last = space.chars().next_back().map_or(0, char::len_utf8);
    let after = from + space.len();
    if is_grapheme_border(text, after) {
        after
    } else {
        after - last
    }
}

/// Not inside a grapheme (a space may carry an accent), and not so that the rest of the line would look like a fence.
fn is_allowed(text: &str, place: Place) -> bool {
    is_grapheme_border(text, place.end)
        && is_grapheme_border(text, place.next)
        && !poses_as_fence(&text[place.next..])
}

/// Full stops count where a space follows; those of Chinese and Japanese need none.
fn ends_sentence(text: &str, spaced: bool) -> bool {
    const CLOSERS: [char; 10] = ['"', '\'', ')', ']', '”', '’', '»', '*', '_', '」'];
    let text = text.trim_end_matches(CLOSERS);
    text.ends_with(['。', '！', '？']) || (spaced && text.ends_with(['.', '!', '?', '…']))
}

fn is_grapheme_border(text: &str, at: usize) -> bool {
    GraphemeCursor::new(at, text.len(), true)
        .is_boundary(text, 0)
        .unwrap_or(true)
}

/// The last border of graphemes up to `reach`, preferably one whose rest does not look like a fence; `reach` itself if one grapheme is all there is.
fn last_grapheme(text: &str, reach: usize) -> usize {
    let back_from = |at: usize| {
        GraphemeCursor::new(at, text.len(), true)
            .prev_boundary(text, 0)
            .ok()
            .flatten()
            .unwrap_or(0)
    };
    let nearest = if is_grapheme_border(text, reach) {
        reach
    } else {
        back_from(reach)
    };
    let mut at = nearest;
    while at > 0 && poses_as_fence(&text[at..]) {
        let before_space = text[..at].trim_end().len();
        at = if before_space < at {
            before_space
        } else {
            back_from(at)
        };
    }
    [at, nearest, reach]
        .into_iter()
        .find(|place| *place > 0)
        .unwrap_or(reach)
}
