//! What a process takes for commands of what is written to its standard input, and whether that is dangerous.
//!
//! A shell that was started with an open input runs what is written to it later. So the command that started it says what reads there (`Walk::readers`),
//! and each text is judged together with what was written before it and is not over: half a line, an open quote, a here-document without its end.
//!
//! **Invariant:** no way to cut a text into writes hides what the whole of it would have been asked about. What a shell is told to start may read
//! what comes after it, so readers are added and never taken away.
//! **Absent on purpose:** the text's way to the process, and memory: who writes keeps the [`Input`] of a process, or says that it is not known any more
//! ([`Input::forgotten`]). Programs that are no shells, languages, databases, editors or pagers are given what is theirs, and nobody is asked.

use super::call::{Argument, Findings};
use super::walk::{ShellState, Walk};
use super::{Danger, LONGEST, MOST, Rule, rules, shell};

/// What a program takes its input for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reads {
    /// A shell's commands.
    Commands,
    /// The same, of a shell that may know no comments where people type, as zsh and csh.
    Typed,
    /// Code of another language, line by line.
    Code,
    Sql,
    /// Commands of Redis and its kin.
    Keys,
    /// Calls of MongoDB.
    Documents,
    /// Its own commands, with a way to run others, as in editors and pagers.
    Escapes,
}

/// What the program that a process runs makes of its standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    readers: Vec<Reader>,
    terminal: bool,
    known: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Reader {
    reads: Reads,
    /// Of a shell.
    state: ShellState,
    /// What was written, and is not over.
    open: String,
}

/// What a text comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heard {
    /// The reasons to ask before it is written, at most [`MOST`].
    pub dangers: Vec<Danger>,
    /// What was written before and is continued by it. The reasons are about both.
    pub before: String,
    /// What the process makes of its input once this is written.
    pub after: Input,
}

/// Keys that a terminal takes itself: interrupt, end of input, suspend, quit.
const KEYS: [char; 4] = ['\u{3}', '\u{4}', '\u{1a}', '\u{1c}'];

impl Input {
    /// Of a process that has just been started with this command, and nothing was written to it. `terminal` if it has one.
    pub fn of(command: &str, terminal: bool) -> Input {
        let readers = Walk::readers(command).into_iter();
        Input {
            readers: readers
                .map(|(reads, folder)| Reader::new(reads, folder))
                .collect(),
            terminal,
            known: true,
        }
    }

    /// Of a process to which something was written that is not known any more.
    #[must_use]
    pub fn forgotten(self) -> Input {
        Input {
            known: false,
            terminal: true,
            ..self
        }
    }

    /// Whether anything that is written to it is run, as far as its command says.
    pub fn is_run(&self) -> bool {
        !self.readers.is_empty()
    }

    /// Judges a text before it is written.
    pub fn hear(&self, text: &str) -> Heard {
        if text.is_empty() {
            return self.unheard(self.known);
        }
        if self.terminal && text.chars().all(|character| KEYS.contains(&character)) {
            // They run nothing. What they make of a line that is not over is not known.
            let is_over = self.readers.iter().all(|reader| reader.open.is_empty());
            return self.unheard(self.known && is_over);
        }
        let mut heard = Heard {
            dangers: Vec::new(),
            before: String::new(),
            after: Input {
                readers: Vec::new(),
                ..self.clone()
            },
        };
        if self.is_run() && !self.known {
            let why = "What was written to it before is not known any more, and this may complete it. A new process could be asked about less.";
            heard.add(Rule::HiddenCode, why, text);
        }
        let mut more = Vec::new();
        for reader in &self.readers {
            if reader.open.len() > heard.before.len() {
                heard.before.clone_from(&reader.open);
            }
            let whole = format!("{}{text}", reader.open);
            // On a terminal a carriage return ends the line, as the key does.
            let whole = match self.terminal {
                true => whole.replace('\r', "\n"),
                false => whole,
            };
            if whole.len() > LONGEST {
                heard.add(Rule::HiddenCode, TOO_LONG, text);
                heard.after.known = false;
                heard.after.readers.push(Reader::new(reader.reads, None));
                continue;
            }
            let after = reader.hear(whole, self.terminal, &mut heard, &mut more);
            heard.after.readers.push(after);
        }
        for reader in more {
            let readers = &mut heard.after.readers;
            let is_new =
                |known: &Reader| known.reads != reader.reads || known.state != reader.state;
            if readers.len() < MOST && readers.iter().all(is_new) {
                readers.push(reader);
            }
        }
        heard
    }

    fn unheard(&self, known: bool) -> Heard {
        Heard {
            dangers: Vec::new(),
            before: String::new(),
            after: Input {
                known,
                ..self.clone()
            },
        }
    }
}

const TOO_LONG: &str = "What was written to it and is not over is too long to be understood.";

impl Heard {
    fn add(&mut self, rule: Rule, why: &str, part: &str) {
        self.push(Danger {
            rule,
            why: why.to_owned(),
            part: shell::excerpt(part),
        });
    }

    fn push(&mut self, danger: Danger) {
        if self.dangers.len() < MOST && !self.dangers.contains(&danger) {
            self.dangers.push(danger);
        }
    }
}

impl Reader {
    fn new(reads: Reads, folder: Option<String>) -> Reader {
        Reader {
            reads,
            state: ShellState {
                folder,
                ..ShellState::default()
            },
            open: String::new(),
        }
    }

    /// Judges all that is not over together with what is written now. Gives back the reader as it is afterwards.
    fn hear(
        &self,
        whole: String,
        terminal: bool,
        heard: &mut Heard,
        more: &mut Vec<Reader>,
    ) -> Reader {
        if matches!(self.reads, Reads::Commands | Reads::Typed) {
            return self.hear_commands(whole, terminal, heard, more);
        }
        let mut findings = Findings::default();
        match self.reads {
            // A continued line is one.
            Reads::Code => rules::code(&Argument::new(whole.replace("\\\n", " ")), &mut findings),
            Reads::Sql => rules::sql(&whole, &mut findings),
            Reads::Keys => rules::keys(&whole, &mut findings),
            Reads::Documents => rules::documents(&whole, &mut findings),
            Reads::Escapes => {
                rules::code(&Argument::new(whole.as_str()), &mut findings);
                for command in whole.lines().flat_map(|line| line.split('!').skip(1)) {
                    super::look(command)
                        .into_iter()
                        .for_each(|danger| heard.push(danger));
                }
            }
            Reads::Commands | Reads::Typed => {}
        }
        for (rule, why) in findings.dangers {
            heard.add(rule, &why, &whole);
        }
        let settled = match self.reads {
            Reads::Sql => after_statement(&whole),
            _ => after_line(&whole),
        };
        Reader {
            open: whole[settled..].to_owned(),
            ..Reader::new(self.reads, None)
        }
    }

    fn hear_commands(
        &self,
        whole: String,
        terminal: bool,
        heard: &mut Heard,
        more: &mut Vec<Reader>,
    ) -> Reader {
        let written = Walk::written(&whole, &self.state);
        written
            .dangers
            .into_iter()
            .for_each(|danger| heard.push(danger));
        more.extend(
            written
                .reads
                .into_iter()
                .map(|(reads, folder)| Reader::new(reads, folder)),
        );
        if repeats(&whole) {
            let why = "A shell puts an earlier command, or a part of one, in the place of `!`.";
            heard.add(Rule::HiddenCode, why, &whole);
        }
        if terminal && whole.contains('\t') {
            let why = "A shell completes what stands before a tab by itself.";
            heard.add(Rule::HiddenCode, why, &whole);
        }
        let mut settled = written.settled;
        if self.reads == Reads::Typed && whole.contains('#') {
            let without = Walk::written(&whole.replace('#', " "), &self.state);
            without
                .dangers
                .into_iter()
                .for_each(|danger| heard.push(danger));
            settled.retain(|at| without.settled.binary_search(at).is_ok());
        }
        let settled = settled.last().copied().unwrap_or(0);
        let state = match settled == whole.len() {
            true => written.state,
            false => Walk::written(&whole[..settled], &self.state).state,
        };
        Reader {
            state,
            open: whole[settled..].to_owned(),
            ..self.clone()
        }
    }
}

/// An interactive shell's `!`, as its manual says where it means nothing.
fn repeats(text: &str) -> bool {
    let mut before = '\n';
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let next = characters.peek().copied().unwrap_or('\n');
        let means_it = !next.is_whitespace() && !matches!(next, '=' | '(' | '"' | '\'');
        if character == '!' && means_it && !matches!(before, '\\' | '$' | '{' | '[' | '#') {
            return true;
        }
        // `^old^new`, at the beginning of a line.
        if character == '^' && before == '\n' {
            return true;
        }
        before = character;
    }
    false
}

/// Behind the last end of a line that is none of the continued ones.
fn after_line(text: &str) -> usize {
    let mut end = text.len();
    while let Some(at) = text[..end].rfind('\n') {
        if !text[..at].ends_with('\\') {
            return at + 1;
        }
        end = at;
    }
    0
}

/// Behind the last statement, and the lines after it that are the client's own.
fn after_statement(text: &str) -> usize {
    let statement = text.rfind(';').map_or(0, |at| at + 1);
    let is_over = |line: &&str| {
        let begins = line.trim_start();
        line.ends_with('\n') && (begins.is_empty() || begins.starts_with(['\\', '.']))
    };
    let lines = text[statement..].split_inclusive('\n');
    statement + lines.take_while(is_over).map(str::len).sum::<usize>()
}
