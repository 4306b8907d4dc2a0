//! A table as text of one width per column.

use pulldown_cmark::Alignment;
use unicode_segmentation::UnicodeSegmentation;

/// Cells are not padded further than this: one long cell must not make all the others long.
const WIDEST: usize = 40;
/// A table that padding would make so many times longer, and by more than `PADDING_FREE` bytes, is not padded.
const PADDING_FACTOR: usize = 4;
const PADDING_FREE: usize = 16 * 1024;

#[derive(Debug, Default)]
pub(super) struct Table {
    alignments: Vec<Alignment>,
    /// The first is the head.
    rows: Vec<Vec<String>>,
    /// What cells link to: a text of one width has no links.
    pub links: Vec<(String, String)>,
}

impl Table {
    pub fn new(alignments: Vec<Alignment>) -> Table {
        Table {
            alignments,
            ..Table::default()
        }
    }

    pub fn begin_row(&mut self) {
        self.rows.push(Vec::new());
    }

    pub fn begin_cell(&mut self) {
        if let Some(row) = self.rows.last_mut() {
            row.push(String::new());
        }
    }

    /// Cells have one line.
    pub fn write(&mut self, text: &str) {
        if let Some(cell) = self.cell() {
            cell.push_str(&text.replace('\n', " "));
        }
    }

    /// How much of the cell is written.
    pub fn written(&mut self) -> usize {
        self.cell().map_or(0, |cell| cell.len())
    }

    /// What the cell says since then, as a link.
    pub fn link(&mut self, since: usize, address: String) {
        let text = self.cell().map(|cell| cell[since..].trim().to_owned());
        self.links.push((text.unwrap_or_default(), address));
    }

    fn cell(&mut self) -> Option<&mut String> {
        self.rows.last_mut()?.last_mut()
    }

    pub fn render(&self) -> String {
        let widths = self.widths();
        let mut text = String::new();
        for (index, row) in self.rows.iter().enumerate() {
            self.render_row(row, &widths, &mut text);
            if index == 0 {
                let rules: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
                text.push_str(&rules.join("─┼─"));
                text.push('\n');
            }
        }
        text
    }

    fn render_row(&self, row: &[String], widths: &[usize], text: &mut String) {
        for (column, cell) in row.iter().enumerate() {
            let cell = cell.trim();
            let width = widths.get(column).copied().unwrap_or_default();
            let missing = width.saturating_sub(columns(cell));
            let before = match self.alignments.get(column) {
                Some(Alignment::Right) => missing,
                Some(Alignment::Center) => missing / 2,
                Some(Alignment::Left | Alignment::None) | None => 0,
            };
            if column > 0 {
                text.push_str(" │ ");
            }
            text.extend(std::iter::repeat_n(' ', before));
            text.push_str(cell);
            if column + 1 < row.len() {
                text.extend(std::iter::repeat_n(' ', missing - before));
            }
        }
        text.push('\n');
    }

    fn widths(&self) -> Vec<usize> {
        let count = self.rows.iter().map(Vec::len).max().unwrap_or_default();
        let mut widths = vec![1; count];
        let mut written = 0;
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                let wanted = columns(cell.trim());
                // A cell that is wider stands out alone.
                *width = (*width).max(wanted.min(WIDEST));
                written += cell.len() + 1;
            }
        }
        let padded = widths.iter().sum::<usize>() * self.rows.len();
        if padded > PADDING_FREE && padded / PADDING_FACTOR > written {
            widths.fill(1);
        }
        widths
    }
}

/// How wide a text of one width is, about: characters of East Asia and emoji take two columns.
fn columns(text: &str) -> usize {
    if text.is_ascii() {
        return text.len();
    }
    text.graphemes(true).map(grapheme_columns).sum()
}

fn grapheme_columns(grapheme: &str) -> usize {
    match grapheme.chars().next() {
        Some(
            '\u{1100}'..='\u{115f}'
            | '\u{2e80}'..='\u{a4cf}'
            | '\u{ac00}'..='\u{d7a3}'
            | '\u{f900}'..='\u{faff}',
        ) => 2,
        Some('\u{fe30}'..='\u{fe6f}' | '\u{ff00}'..='\u{ff60}' | '\u{ffe0}'..='\u{ffe6}') => 2,
        Some('\u{1f300}'..='\u{1faff}' | '\u{20000}'..='\u{3fffd}') => 2,
        Some(_) => 1,
        None => 0,
    }
}
