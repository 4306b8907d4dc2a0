//! Commands: lists, pipelines, groups, functions, redirections.

use super::words::Reader;
use super::{
    Assignment, Command, Dialect, Group, Pipeline, Redirect, RedirectKind, Simple, Trouble, Word,
    excerpt,
};

type Read<T> = Result<T, Trouble>;

impl<'a> Reader<'a> {
    /// All of the text.
    pub fn script(&mut self, list: &mut Vec<Pipeline>) -> Read<()> {
        self.list(&[], list)?;
        // A body may be missing; its line may have no end.
        if self.waiting.is_empty() {
            Ok(())
        } else {
            self.at = self.text.len().saturating_sub(1);
            self.newline()
        }
    }

    /// Up to the `)` of a substitution.
    pub fn substitution(&mut self) -> Read<Vec<Pipeline>> {
        let mut list = Vec::new();
        self.list(&[")"], &mut list)?;
        Ok(list)
    }

    /// Pipelines up to one of the words or signs of `until`, which is taken and given back. With none, up to the end.
    fn list(&mut self, until: &[&'static str], list: &mut Vec<Pipeline>) -> Read<&'static str> {
        let mut separated = true;
        // Where in the list those begin that a `&` would put into the background.
        let mut begin = list.len();
        loop {
            self.skip_blanks();
            if let Some(end) = self.ends(until) {
                return Ok(end);
            }
            match self.peek() {
                None if until.is_empty() => return Ok(""),
                None => return Err(Trouble::Open),
                Some(b'\n') => {
                    self.newline()?;
                    begin = list.len();
                    if until.is_empty() && !self.cut_short {
                        self.settled.push(self.at);
                    }
                }
                Some(b';') if !self.rest().starts_with(";;") => {
                    self.at += 1;
                    begin = list.len();
                }
                Some(b'&') if self.take("&&") => {}
                Some(b'&') if !self.rest().starts_with("&>") => {
                    self.at += 1;
                    into_background(list, begin);
                    begin = list.len();
                }
                Some(b'|') if self.take("||") => {}
                Some(_) if separated => {
                    let pipeline = self.deeper(Reader::pipeline)?;
                    list.push(pipeline);
                    separated = false;
                    continue;
                }
                Some(_) => return Err(Trouble::Misplaced),
            }
            separated = true;
        }
    }

    fn ends(&mut self, until: &[&'static str]) -> Option<&'static str> {
        let sign = |end: &&&'static str| end.starts_with([')', ';']);
        if let Some(end) = until.iter().filter(sign).find(|end| self.take(end)) {
            return Some(end);
        }
        let word = self.bare_word();
        let end = until.iter().find(|end| **end == word)?;
        self.at += end.len();
        Some(end)
    }

    /// The word that begins here, if it has no quotes and expansions.
    fn bare_word(&self) -> &'a str {
        let rest = self.rest();
        let end = rest
            .find([' ', '\t', '\n', '\r', ';', '&', '|', '(', ')', '<', '>'])
            .unwrap_or(rest.len());
        &rest[..end]
    }

    fn take_word(&mut self, word: &str) -> bool {
        let found = self.bare_word() == word;
        if found {
            self.at += word.len();
        }
        found
    }

    fn pipeline(&mut self) -> Read<Pipeline> {
        let mut pipeline = Vec::new();
        loop {
            self.skip_lines()?;
            while self.take_word("!") {
                self.skip_blanks();
            }
            pipeline.push(self.command()?);
            self.skip_blanks();
            let piped = !self.rest().starts_with("||") && (self.take("|&") || self.take("|"));
            if !piped {
                return Ok(pipeline);
            }
        }
    }

    fn skip_lines(&mut self) -> Read<()> {
        self.skip_blanks();
        while self.peek() == Some(b'\n') {
            self.newline()?;
            self.skip_blanks();
        }
        Ok(())
    }

    fn command(&mut self) -> Read<Command> {
        let from = self.at;
        let mut group = Group::default();
        match self.bare_word() {
            "" if self.rest().starts_with("((") => match self.arithmetic_command()? {
                Some(word) => group.words.push(word),
                None => self.subshell(&mut group)?,
            },
            "" if self.peek() == Some(b'(') => self.subshell(&mut group)?,
            "{" => self.block("{", "}", &mut group)?,
            "if" => self.branches(&mut group)?,
            word @ ("while" | "until") => {
                self.at += word.len();
                self.list(&["do"], &mut group.body)?;
                self.list(&["done"], &mut group.body)?;
            }
            word @ ("for" | "select") => {
                self.at += word.len();
                self.for_loop(&mut group)?;
            }
            "case" => self.case(&mut group)?,
            "[[" => self.comparison(&mut group)?,
            "function" => {
                self.at += "function".len();
                return self.named_function();
            }
            "time" if self.times_a_group() => {
                self.at += "time".len();
                self.skip_blanks();
                return self.deeper(Reader::command);
            }
            "then" | "else" | "elif" | "fi" | "do" | "done" | "esac" | "in" | "}" => {
                return Err(Trouble::Misplaced);
            }
            _ => return self.simple(),
        }
        self.skip_blanks();
        while let Some(redirect) = self.redirect()? {
            group.redirects.push(redirect);
            self.skip_blanks();
        }
        group.excerpt = excerpt(&self.text[from..self.at]);
        Ok(Command::Group(group))
    }

    fn times_a_group(&self) -> bool {
        let rest = self.rest()["time".len()..].trim_start_matches([' ', '\t']);
        let begins = |word: &str| {
            rest.strip_prefix(word)
                .is_some_and(|after| after.starts_with(char::is_whitespace))
        };
        rest.starts_with('(')
            || ["{", "if", "while", "until", "for", "case"]
                .iter()
                .any(|word| begins(word))
    }

    fn subshell(&mut self, group: &mut Group) -> Read<()> {
        let from = self.at;
        self.at += 1;
        group.subshell = true;
        let read = self.list(&[")"], &mut group.body);
        if read.is_err() && self.dialect == Dialect::Dash && self.is_calculated(from) {
            return Err(Trouble::Refused);
        }
        read.map(drop)
    }

    fn block(&mut self, opening: &str, closing: &'static str, group: &mut Group) -> Read<()> {
        self.at += opening.len();
        self.list(&[closing], &mut group.body)?;
        Ok(())
    }

    fn branches(&mut self, group: &mut Group) -> Read<()> {
        self.at += "if".len();
        loop {
            self.list(&["then"], &mut group.body)?;
            match self.list(&["elif", "else", "fi"], &mut group.body)? {
                "elif" => {}
                "else" => {
                    self.list(&["fi"], &mut group.body)?;
                    return Ok(());
                }
                _ => return Ok(()),
            }
        }
    }

    fn for_loop(&mut self, group: &mut Group) -> Read<()> {
        self.skip_blanks();
        if self.take("((") {
            let Some(end) = self.rest().find("))") else {
                self.at = self.text.len();
                return Err(Trouble::Open);
            };
            // What is calculated may hold substitutions.
            let inside = &self.rest()[..end];
            if inside.contains(['`', '\'', '"', '\\'])
                || inside.contains("$(")
                || inside.contains("${")
            {
                return Err(Trouble::Misplaced);
            }
            self.at += end + 2;
        } else {
            let name = self.word()?.ok_or(Trouble::Misplaced)?;
            group.variable = Some(name.bare().ok_or(Trouble::Misplaced)?.to_owned());
            self.skip_lines()?;
            if self.take_word("in") {
                self.words_of_a_line(group)?;
            }
        }
        self.skip_blanks();
        self.take(";");
        self.skip_lines()?;
        if self.take_word("do") {
            self.list(&["done"], &mut group.body)?;
        } else if self.take_word("{") {
            self.list(&["}"], &mut group.body)?;
        } else {
            return Err(Trouble::Misplaced);
        }
        Ok(())
    }

    fn words_of_a_line(&mut self, group: &mut Group) -> Read<()> {
        loop {
            self.skip_blanks();
            match self.word()? {
                Some(word) => group.words.push(word),
                None => return Ok(()),
            }
        }
    }

    fn case(&mut self, group: &mut Group) -> Read<()> {
        self.at += "case".len();
        self.skip_blanks();
        group.words.push(self.word()?.ok_or(Trouble::Misplaced)?);
        self.skip_lines()?;
        if !self.take_word("in") {
            return Err(Trouble::Misplaced);
        }
        loop {
            self.skip_lines()?;
            if self.take_word("esac") {
                return Ok(());
            }
            self.take("(");
            self.patterns(group)?;
            if self.list(&[";;&", ";;", ";&", "esac"], &mut group.body)? == "esac" {
                return Ok(());
            }
        }
    }

    fn patterns(&mut self, group: &mut Group) -> Read<()> {
        loop {
            self.skip_blanks();
            group.words.push(self.word()?.ok_or(Trouble::Misplaced)?);
            self.skip_blanks();
            if self.take(")") {
                return Ok(());
            }
            if !self.take("|") {
                return Err(Trouble::Misplaced);
            }
        }
    }

    /// `[[ … ]]`, where signs compare.
    fn comparison(&mut self, group: &mut Group) -> Read<()> {
        self.at += "[[".len();
        loop {
            self.skip_lines()?;
            if self.take_word("]]") {
                return Ok(());
            }
            if let Some(word) = self.word()? {
                group.words.push(word);
                continue;
            }
            match self.peek() {
                None | Some(b';') => return Err(Trouble::Open),
                Some(_) => self.at += 1,
            }
        }
    }

    fn named_function(&mut self) -> Read<Command> {
        self.skip_blanks();
        let name = self.word()?.ok_or(Trouble::Misplaced)?;
        let name = name.bare().ok_or(Trouble::Misplaced)?.to_owned();
        self.skip_blanks();
        if self.take("(") {
            self.skip_blanks();
            if !self.take(")") {
                return Err(Trouble::Misplaced);
            }
        }
        self.function_body(name)
    }

    fn function_body(&mut self, name: String) -> Read<Command> {
        self.skip_lines()?;
        let body = Box::new(self.deeper(Reader::command)?);
        Ok(Command::Function { name, body })
    }

    fn simple(&mut self) -> Read<Command> {
        let from = self.at;
        let mut simple = Simple::default();
        loop {
            self.skip_blanks();
            if let Some(redirect) = self.redirect()? {
                simple.redirects.push(redirect);
                continue;
            }
            let Some(word) = self.word()? else { break };
            if simple.words.is_empty() {
                match into_assignment(word) {
                    Ok(assignment) => simple.assignments.push(assignment),
                    Err(word) => simple.words.push(word),
                }
            } else {
                simple.words.push(word);
            }
        }
        if self.peek() == Some(b'(') {
            return self.function_after(&simple);
        }
        if simple.words.is_empty() && simple.assignments.is_empty() && simple.redirects.is_empty() {
            return Err(Trouble::Misplaced);
        }
        simple.excerpt = excerpt(&self.text[from..self.at]);
        Ok(Command::Simple(simple))
    }

    /// `name ( )`, after the name.
    fn function_after(&mut self, simple: &Simple) -> Read<Command> {
        let name = match simple.words.as_slice() {
            [name] => name.bare().ok_or(Trouble::Misplaced)?.to_owned(),
            _ => return Err(Trouble::Misplaced),
        };
        self.at += 1;
        self.skip_blanks();
        if !self.take(")") {
            return Err(Trouble::Misplaced);
        }
        self.function_body(name)
    }

    fn redirect(&mut self) -> Read<Option<Redirect>> {
        let digits = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        let after = &self.rest()[digits..];
        let both = digits == 0 && after.starts_with("&>");
        if !both && (!after.starts_with(['<', '>']) || after[1..].starts_with('(')) {
            return Ok(None);
        }
        self.at += digits;
        let sign = [
            "<<<", "<<-", "<<", "<>", "<&", "<", ">>", ">|", ">&", ">", "&>>", "&>",
        ]
        .into_iter()
        .find(|sign| self.take(sign))
        .ok_or(Trouble::Misplaced)?;
        self.skip_blanks();
        let target = self.word()?.ok_or(Trouble::Misplaced)?;
        let kind = match sign {
            "<<<" => RedirectKind::HereString,
            "<<" | "<<-" => return self.here_document_later(&target, sign == "<<-").map(Some),
            ">&" | "<&" if is_descriptor(&target) => RedirectKind::Duplicate,
            "<" | "<&" => RedirectKind::Read,
            _ => RedirectKind::Write,
        };
        Ok(Some(Redirect { kind, target }))
    }
}

/// What a `&` ends runs in a shell of its own.
fn into_background(list: &mut Vec<Pipeline>, begin: usize) {
    let body = list.split_off(begin);
    if !body.is_empty() {
        list.push(vec![Command::Group(Group {
            body,
            subshell: true,
            ..Group::default()
        })]);
    }
}

fn is_descriptor(word: &Word) -> bool {
    word.bare().is_some_and(|text| {
        text == "-"
            || text
                .trim_end_matches('-')
                .bytes()
                .all(|byte| byte.is_ascii_digit())
    })
}

/// `name=value` or `name+=value`; an element of an array is one, too.
fn into_assignment(mut word: Word) -> Result<Assignment, Word> {
    use super::Piece;
    let Some(Piece::Text {
        text,
        quoted: false,
    }) = word.pieces.first_mut()
    else {
        return Err(word);
    };
    let Some((name, value)) = text.split_once('=') else {
        return Err(word);
    };
    let plain = name.strip_suffix('+').unwrap_or(name);
    let base = plain.split('[').next().unwrap_or_default();
    let is_name = base
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && base.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    if !is_name {
        return Err(word);
    }
    let (name, value) = (name.to_owned(), value.to_owned());
    *text = value;
    Ok(Assignment { name, value: word })
}
