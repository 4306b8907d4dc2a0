//! Reads Markdown and writes what it says.

use super::Kind;
use super::document::{Document, clean};
use super::link;
use super::table::Table;
use super::writer::Writer;
use pulldown_cmark::{
    BlockQuoteKind, CodeBlockKind, Event, LinkType, Options, Parser, Tag, TagEnd,
};
use std::collections::HashSet;
use std::ops::Range;

/// The parser looks at every quote and list around a line, for each line. A document where that is more work than this is shown as it is.
const MOST_NESTING: usize = 8_000_000;
const LONGEST_LANGUAGE: usize = 40;
const RULE: &str = "──────────";

pub(super) fn read(markdown: &str) -> Document {
    let markdown = clean(markdown);
    if nesting(&markdown) > MOST_NESTING {
        return Document::plain(&markdown);
    }
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_GFM;
    let parser = Parser::new_ext(&markdown, options);
    let definitions = definitions(&parser);
    let mut reader = Reader::new(&markdown);
    for (event, range) in parser.into_offset_iter() {
        reader.take(event, range);
    }
    reader.finish(definitions)
}

/// At most so many looks at what is around a line.
fn nesting(markdown: &str) -> usize {
    let (mut lines, mut deepest) = (0, 0);
    for line in markdown.split('\n') {
        lines += 1;
        deepest = deepest.max(opened_by(line));
    }
    lines * deepest
}

/// At most so many quotes and lists are open after the beginning of this line.
fn opened_by(line: &str) -> usize {
    let (mut depth, mut indentation) = (0, 0);
    let mut rest = line.chars().peekable();
    while let Some(character) = rest.next() {
        let spaced = rest.peek().is_none_or(|next| next.is_whitespace());
        match character {
            ' ' | '\t' => indentation += 1,
            '>' => depth += 1,
            '-' | '+' | '*' | '.' | ')' if spaced => depth += 1,
            '0'..='9' => {}
            _ => break,
        }
    }
    // Without a mark of its own, a line opens nothing. With one, two columns may be one list.
    if depth == 0 {
        0
    } else {
        depth + indentation / 2
    }
}

struct Definition {
    label: String,
    address: String,
}

/// Those that no link uses would be lost: agents list their sources so.
fn definitions(parser: &Parser<'_>) -> Vec<Definition> {
    let mut found: Vec<(usize, Definition)> = parser
        .reference_definitions()
        .iter()
        .map(|(label, definition)| {
            let definition_of = Definition {
                label: label.to_owned(),
                address: definition.dest.to_string(),
            };
            (definition.span.start, definition_of)
        })
        .collect();
    found.sort_by_key(|(at, _)| *at);
    found
        .into_iter()
        .map(|(_, definition)| definition)
        .collect()
}

struct Reader<'a> {
    markdown: &'a str,
    writer: Writer,
    /// The next number of each list that we are in.
    lists: Vec<Option<u64>>,
    links: Vec<OpenLink>,
    code_block: Option<CodeBlock>,
    table: Option<Table>,
    /// Whether each strikethrough that we are in is one.
    struck: Vec<bool>,
    addresses: HashSet<String>,
}

struct OpenLink {
    address: String,
    /// Where its text begins.
    start: usize,
}

struct CodeBlock {
    language: Option<String>,
    code: String,
}

impl<'a> Reader<'a> {
    fn new(markdown: &'a str) -> Reader<'a> {
        Reader {
            markdown,
            writer: Writer::default(),
            lists: Vec::new(),
            links: Vec::new(),
            code_block: None,
            table: None,
            struck: Vec::new(),
            addresses: HashSet::new(),
        }
    }

    fn take(&mut self, event: Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(tag) => self.start(tag, &range),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&text, range.start),
            Event::Code(code) => match &mut self.table {
                Some(table) => table.write(&clean(&code)),
                None => self.writer.code(&code),
            },
            Event::InlineMath(text) | Event::DisplayMath(text) | Event::InlineHtml(text) => {
                self.literal(&text)
            }
            Event::Html(html) => {
                self.literal(html.trim_end_matches('\n'));
                self.writer.break_lines(1);
            }
            Event::FootnoteReference(label) => self.literal(&format!("[{label}]")),
            Event::SoftBreak | Event::HardBreak => self.writer.break_lines(1),
            Event::Rule => {
                self.writer.break_block();
                self.writer.literal(RULE);
                self.writer.break_block();
            }
            Event::TaskListMarker(done) => self.writer.mark_task(done),
        }
    }

    fn text(&mut self, text: &str, at: usize) {
        if let Some(block) = &mut self.code_block {
            block.code.push_str(text);
        } else if let Some(table) = &mut self.table {
            table.write(&clean(text));
        } else {
            let escaped = self.markdown[..at].ends_with('\\');
            self.writer.prose(text, escaped);
        }
    }

    fn literal(&mut self, text: &str) {
        match &mut self.table {
            Some(table) => table.write(&clean(text)),
            None => self.writer.literal(text),
        }
    }

    fn start(&mut self, tag: Tag<'_>, range: &Range<usize>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.writer.break_block(),
            Tag::Heading { .. } => {
                self.writer.break_block();
                self.writer.open(Kind::Bold);
            }
            Tag::BlockQuote(kind) => {
                self.writer.break_block();
                self.writer.open(Kind::Blockquote);
                self.writer.mark(kind.map_or("", label));
            }
            Tag::CodeBlock(kind) => {
                let language = match kind {
                    CodeBlockKind::Fenced(info) => language(&info),
                    CodeBlockKind::Indented => None,
                };
                let code = String::new();
                self.code_block = Some(CodeBlock { language, code });
            }
            Tag::List(first) => {
                self.writer.break_block();
                self.lists.push(first);
                self.writer.lists = self.lists.len();
            }
            Tag::Item => self.start_item(),
            Tag::FootnoteDefinition(label) => {
                self.writer.break_block();
                self.writer.mark(&format!("[{label}] "));
            }
            Tag::Table(alignments) => self.table = Some(Table::new(alignments)),
            Tag::TableHead | Tag::TableRow => self.in_table(Table::begin_row),
            Tag::TableCell => self.in_table(Table::begin_cell),
            Tag::Emphasis => self.open_style(Kind::Italic),
            Tag::Strong => self.open_style(Kind::Bold),
            Tag::Strikethrough => self.start_strikethrough(range),
            Tag::Link {
                link_type: LinkType::Email,
                dest_url,
                ..
            } => self.start_link(format!("mailto:{dest_url}")),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.start_link(clean(&dest_url).into_owned())
            }
            Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Superscript
            | Tag::Subscript
            | Tag::MetadataBlock(_) => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.writer.break_block(),
            TagEnd::Heading(_) | TagEnd::BlockQuote(_) => {
                self.writer.catch_up_marker();
                self.writer.close();
                self.writer.break_block();
            }
            TagEnd::CodeBlock => {
                if let Some(block) = self.code_block.take() {
                    self.writer.code_block(&block.code, block.language);
                }
            }
            TagEnd::List(_) => {
                self.lists.pop();
                self.writer.lists = self.lists.len();
                self.writer.break_block();
            }
            TagEnd::Item | TagEnd::FootnoteDefinition => {
                self.writer.catch_up_marker();
                self.writer.break_block();
            }
            TagEnd::Table => self.end_table(),
            TagEnd::Emphasis | TagEnd::Strong => self.close_style(),
            TagEnd::Strikethrough => match self.struck.pop() {
                Some(true) => self.close_style(),
                Some(false) => self.literal("~"),
                None => {}
            },
            TagEnd::Link | TagEnd::Image => self.end_link(),
            TagEnd::TableHead
            | TagEnd::TableRow
            | TagEnd::TableCell
            | TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::Superscript
            | TagEnd::Subscript
            | TagEnd::MetadataBlock(_) => {}
        }
    }

    fn start_item(&mut self) {
        self.writer.break_block();
        match self.lists.last_mut() {
            Some(Some(number)) => {
                self.writer.mark(&format!("{number}. "));
                *number = number.saturating_add(1);
            }
            Some(None) | None => self.writer.mark("• "),
        }
    }

    /// One tilde is "about" far more often than it strikes anything.
    fn start_strikethrough(&mut self, range: &Range<usize>) {
        let is_one = self.markdown[range.start..].starts_with("~~");
        self.struck.push(is_one);
        if is_one {
            self.open_style(Kind::Strikethrough);
        } else {
            self.literal("~");
        }
    }

    fn open_style(&mut self, kind: Kind) {
        if self.table.is_none() {
            self.writer.open(kind);
        }
    }

    fn close_style(&mut self) {
        if self.table.is_none() {
            self.writer.close();
        }
    }

    fn in_table(&mut self, change: impl FnOnce(&mut Table)) {
        if let Some(table) = &mut self.table {
            change(table);
        }
    }

    fn end_table(&mut self) {
        let Some(table) = self.table.take() else {
            return;
        };
        self.writer.code_block(&table.render(), None);
        for (text, address) in table.links {
            self.writer.break_lines(1);
            self.start_link(address);
            self.writer.literal(&text);
            self.end_link();
        }
        self.writer.break_block();
    }

    fn start_link(&mut self, address: String) {
        let start = match &mut self.table {
            Some(table) => table.written(),
            None => {
                if link::is_taken(&address) {
                    let url = address.clone();
                    self.writer.open(Kind::TextLink { url });
                }
                self.writer.position()
            }
        };
        self.links.push(OpenLink { address, start });
    }

    fn end_link(&mut self) {
        let Some(OpenLink { address, start }) = self.links.pop() else {
            return;
        };
        // An image in a link: the link is the outer one.
        let within_link = !self.links.is_empty();
        if let Some(table) = &mut self.table {
            if !within_link {
                table.link(start, address);
            }
            return;
        }
        let shown = link::shown(&address);
        let text = self.writer.since(start).trim();
        let (is_blank, is_shown) = (text.is_empty(), text == shown);
        if link::is_taken(&address) {
            if is_blank {
                self.writer.literal(shown);
            }
            self.writer.close();
        } else if is_blank {
            self.writer.literal(shown);
        } else if !is_shown && !within_link && !shown.is_empty() {
            self.writer.literal(&format!(" ({shown})"));
        }
        self.addresses.insert(address);
    }

    fn finish(mut self, definitions: Vec<Definition>) -> Document {
        let unused = definitions
            .into_iter()
            .filter(|definition| !self.addresses.contains(&*clean(&definition.address)))
            .collect::<Vec<_>>();
        self.writer.break_block();
        for Definition { label, address } in unused {
            self.writer.break_lines(1);
            self.writer.literal(&format!("[{label}]: {address}"));
        }
        self.writer.finish()
    }
}

fn label(kind: BlockQuoteKind) -> &'static str {
    match kind {
        BlockQuoteKind::Note => "Note: ",
        BlockQuoteKind::Tip => "Tip: ",
        BlockQuoteKind::Important => "Important: ",
        BlockQuoteKind::Warning => "Warning: ",
        BlockQuoteKind::Caution => "Caution: ",
    }
}

/// The first word of what is written behind the fence.
fn language(info: &str) -> Option<String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '#' | '.' | '_');
    let end = info.find(|c| !is_name(c)).unwrap_or(info.len());
    let name = &info[..end.min(LONGEST_LANGUAGE)];
    (!name.is_empty()).then(|| name.to_owned())
}
