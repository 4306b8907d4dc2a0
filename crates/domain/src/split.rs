//! Cuts a long text into messages that a platform takes.
//!
//! **Invariant:** no part is longer than the limit or blank, no grapheme is cut unless it alone is longer than the limit, and nothing is lost but
//! whitespace at the cuts. A part that ends inside a code fence closes it, and the next opens it again in the same words. The work is linear.
//! **Absent on purpose:** Markdown. Besides fences, a part may begin inside emphasis or a list; a platform that minds falls back to plain text.
//!
//! Three concessions, all for limits far below any platform's: a limit below one character (4 bytes, 2 UTF-16 units) is raised to it; a fence whose
//! opening and closing lines need more than half of the limit is treated as ordinary lines; where a part is nothing but backticks, it is cut between them.

mod borders;
mod fence;

use borders::{Border, Cut, Passed};
use fence::{Fence, Line};

/// What a platform counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unit {
    /// UTF-16 code units (Telegram).
    Utf16,
    /// Unicode scalar values (Discord, Slack).
    Chars,
    /// UTF-8 bytes.
    Bytes,
}

impl Unit {
    pub fn measure(self, text: &str) -> usize {
        match self {
            Unit::Bytes => text.len(),
            Unit::Utf16 | Unit::Chars => text
                .chars()
                .map(|character| self.measure_char(character))
                .sum(),
        }
    }
    const fn measure_char(self, character: char) -> usize {
        match self {
            Unit::Utf16 => character.len_utf16(),
            Unit::Chars => 1,
            Unit::Bytes => character.len_utf8(),
        }
    }
    const fn largest_char(self) -> usize {
        match self {
            Unit::Utf16 => 2,
            Unit::Chars => 1,
            Unit::Bytes => 4,
        }
    }
}

/// The longest message a platform takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Limit {
    pub unit: Unit,
    pub max: usize,
}

/// The parts of `text`, in order; none for a blank text. Cuts are made where the largest of paragraph, line, sentence and word ends, as long as that leaves
/// the part a third full. The two ends of the text count as cuts: blank lines there are not kept.
///
/// A carriage return ends a line like a line feed, and is written as one.
pub fn split(text: &str, limit: Limit) -> Vec<String> {
    if text.contains('\r') {
        return split_lines(&text.replace("\r\n", "\n").replace('\r', "\n"), limit);
    }
    split_lines(text, limit)
}

fn split_lines(text: &str, limit: Limit) -> Vec<String> {
    let limit = Limit {
        unit: limit.unit,
        max: limit.max.max(limit.unit.largest_char()),
    };
    let mut rest = Rest {
        text,
        line_begun: false,
        fence: None,
        limit,
    };
    let mut parts = Vec::new();
    while rest.reach_content() {
        let part = rest.take_part();
        if !part.trim().is_empty() {
            parts.push(part);
        }
    }
    parts
}

/// What is still to be cut.
struct Rest<'a> {
    text: &'a str,
    /// The text begins in the middle of a line, which thus cannot be a fence.
    line_begun: bool,
    /// The fence that the text begins in. If it is carried, the part before has closed it.
    fence: Option<Fence<'a>>,
    limit: Limit,
}

impl<'a> Rest<'a> {
    /// Leaves out what the next part need not begin with. False at the end.
    fn reach_content(&mut self) -> bool {
        loop {
            let content = self.text.find(|character: char| !character.is_whitespace());
            // The indentation of a line is not blank: only whole lines are.
            if let Some(newline) = self.text[..content.unwrap_or(self.text.len())].rfind('\n') {
                self.text = &self.text[newline + 1..];
                self.line_begun = false;
            }
            if content.is_none() || !self.leave_closed_fence() {
                return content.is_some();
            }
        }
    }

    /// The closing line of a fence that is closed already would open another.
    fn leave_closed_fence(&mut self) -> bool {
        let closing = match self.fence {
            Some(fence) if fence.carried && !self.line_begun => fence.closing_line_of(self.text),
            Some(_) | None => None,
        };
        let Some(line) = closing else { return false };
        self.text = &self.text[line.len()..];
        self.fence = None;
        true
    }

    fn take_part(&mut self) -> String {
        let carried = |fence: Option<Fence<'a>>| fence.filter(|fence| fence.carried);
        let mut part =
            carried(self.fence).map_or(String::new(), |fence| format!("{}\n", fence.opening));
        let cut = self.choose(self.limit.max - self.limit.unit.measure(&part));
        part.push_str(&self.text[..cut.end]);
        if let Some(fence) = carried(cut.fence) {
            part.push('\n');
            part.push_str(&fence.closing());
        }
        self.text = &self.text[cut.next..];
        self.line_begun = cut.inside_line;
        self.fence = cut.fence;
        part
    }

    /// Walks over the lines that fit into `room`, then decides between the borders it has passed and those inside the line that does not fit.
    fn choose(&self, room: usize) -> Cut<'a> {
        let unit = self.limit.unit;
        let window = self.window(room);
        let mut passed = Passed::new(room / 3);
        let mut fence = self.fence;
        let (mut at, mut used) = (0, 0);
        let (mut after_break, mut after_opening) = (false, false);
        for line in window.split_inclusive('\n') {
            let from_here = &self.text[at..];
            let read = if at == 0 && self.line_begun {
                Line::Text
            } else {
                Line::read(from_here, fence, self.limit)
            };
            if at > 0 && !after_opening {
                let border = if after_break || matches!(read, Line::Opens(_)) {
                    Border::Paragraph
                } else {
                    Border::Line
                };
                passed.offer(border, used, Cut::between_lines(self.text, at, fence));
            }
            let content = line.trim_end_matches(['\n', '\r']);
            let after = read.fence_after(fence);
            if used + unit.measure(content) + Fence::closing_length(after, unit) > room {
                let left = room.saturating_sub(used + Fence::closing_length(fence, unit));
                return self.cut_at_line(&passed, read, fence, at, content.len(), left);
            }
            after_break =
                matches!(read, Line::Closes) || (fence.is_none() && content.trim().is_empty());
            after_opening = matches!(read, Line::Opens(opened) if opened.carried);
            used += unit.measure(line);
            at += line.len();
            fence = after;
        }
        Cut::between_lines(self.text, self.text.len(), fence)
    }

    /// More than fits into `room`, and no more of the text than that needs: what follows is looked at once, not once for each part.
    fn window(&self, room: usize) -> &'a str {
        const LARGEST_UNIT_BYTES: usize = 4;
        let wanted = (room + 2) * LARGEST_UNIT_BYTES;
        &self.text[..self.text.ceil_char_boundary(wanted)]
    }

    /// The line at `at` does not fit into what is `left`: cuts before it, or inside.
    fn cut_at_line(
        &self,
        passed: &Passed<'a>,
        read: Line<'a>,
        fence: Option<Fence<'a>>,
        at: usize,
        length: usize,
        left: usize,
    ) -> Cut<'a> {
        let carried = |fence: Option<Fence<'a>>| fence.is_some_and(|fence| fence.carried);
        let after = read.fence_after(fence);
        match read {
            // Room for our own closing line was kept, and it stands for this one.
            Line::Closes if carried(fence) => return Cut::between_lines(self.text, at, fence),
            Line::Opens(_) if carried(after) => {
                return passed
                    .good()
                    .or(passed.last)
                    .unwrap_or(Cut::between_lines(self.text, at, fence));
            }
            Line::Text | Line::Opens(_) | Line::Closes => {}
        }
        if let Some(cut) = passed.good() {
            return cut;
        }
        let wanted = passed.enough.saturating_sub(passed.last_used);
        let inside = borders::inside_line(&self.text[at..], length, left, wanted, self.limit.unit);
        match (inside.sentence.or(inside.word), passed.last) {
            (None, Some(cut)) => cut,
            (Some(found), _) => found.at(at, after),
            (None, None) => inside.grapheme.at(at, after),
        }
    }
}

#[cfg(test)]
mod tests;
