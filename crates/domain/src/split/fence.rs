//! Code fences: the lines of backticks or tildes between which a text is code.

use super::{Limit, Unit};

/// An open fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fence<'a> {
    /// Its first line, without trailing whitespace.
    pub opening: &'a str,
    indentation: &'a str,
    marker: &'a str,
    /// Closed at the end of a part and opened again in the next. Not so if those two lines would fill most of it.
    pub carried: bool,
}

/// What a line is to the fences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Line<'a> {
    Text,
    Opens(Fence<'a>),
    Closes,
}

impl<'a> Line<'a> {
    /// Reads the line that `text` begins with.
    pub fn read(text: &'a str, fence: Option<Fence<'a>>, limit: Limit) -> Line<'a> {
        match fence {
            Some(fence) if fence.closing_line_of(text).is_some() => Line::Closes,
            Some(_) => Line::Text,
            None => Fence::opened_by(text, limit).map_or(Line::Text, Line::Opens),
        }
    }

    pub fn fence_after(self, before: Option<Fence<'a>>) -> Option<Fence<'a>> {
        match self {
            Line::Text => before,
            Line::Opens(fence) => Some(fence),
            Line::Closes => None,
        }
    }
}

impl<'a> Fence<'a> {
    fn opened_by(text: &'a str, limit: Limit) -> Option<Fence<'a>> {
        let (indentation, marker) = marker_of(text)?;
        let content = first_line(text).trim_end_matches(['\n', '\r']);
        // Backticks with a backtick behind them are code within a line.
        if marker.starts_with('`') && content[indentation.len() + marker.len()..].contains('`') {
            return None;
        }
        let both = limit.unit.measure(content)
            + limit.unit.measure(indentation)
            + limit.unit.measure(marker)
            + "\n\n".len();
        Some(Fence {
            opening: content.trim_end(),
            indentation,
            marker,
            carried: both <= limit.max / 2,
        })
    }

    /// The line that `text` begins with, if it closes this fence.
    pub fn closing_line_of(&self, text: &'a str) -> Option<&'a str> {
        let (indentation, marker) = marker_of(text)?;
        if !marker.starts_with(self.marker) {
            return None;
        }
        let line = first_line(text);
        line[indentation.len() + marker.len()..]
            .trim()
            .is_empty()
            .then_some(line)
    }

    pub fn closing(&self) -> String {
        format!("{}{}", self.indentation, self.marker)
    }

    /// What closing costs, with its line break.
    pub fn closing_length(fence: Option<Fence<'_>>, unit: Unit) -> usize {
        match fence {
            Some(fence) if fence.carried => {
                unit.measure(fence.indentation) + unit.measure(fence.marker) + 1
            }
            Some(_) | None => 0,
        }
    }
}

/// Whether a line that begins so would be taken for a fence. Looks at three characters only: this is asked again and again inside long lines.
pub(super) fn poses_as_fence(text: &str) -> bool {
    let unindented = text.trim_start_matches([' ', '\t']);
    unindented.starts_with("```") || unindented.starts_with("~~~")
}

/// The indentation and the three or more backticks or tildes that `text` begins with.
fn marker_of(text: &str) -> Option<(&str, &str)> {
    let unindented = text.trim_start_matches([' ', '\t']);
    let first = unindented
        .chars()
        .next()
        .filter(|first| matches!(first, '`' | '~'))?;
    let after = unindented.trim_start_matches(first);
    let marker = &unindented[..unindented.len() - after.len()];
    (marker.len() >= 3).then_some((&text[..text.len() - unindented.len()], marker))
}

/// With its line break.
fn first_line(text: &str) -> &str {
    text.split_inclusive('\n').next().unwrap_or_default()
}
