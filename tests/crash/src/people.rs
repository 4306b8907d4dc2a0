//! What people write, and the ledger of it.
//!
//! **Invariant:** what a person wrote is in the ledger before the simulated platform has it. Labels are numbers that are used once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use homing_domain::key::ChatType;
use homing_simulators::{Post, Server};

use crate::host::account;
use crate::programs::{End, Program};
use crate::random::Random;

/// The chat that all threads are in.
const CHAT: &str = "-100";

#[derive(Debug, Clone)]
pub struct Written {
    /// The conversation: its thread, counted from 1.
    pub thread: u64,
    pub text: String,
    pub what: What,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// Answered under this label.
    Message { label: String },
    /// `/new TITLE`.
    New { title: String },
    /// Any other command.
    Command,
}

#[derive(Debug, Clone, Copy)]
pub struct Launched {
    pub program: Program,
    pub thread: u64,
}

/// Everything that was written, oldest first, and the programs in it.
#[derive(Debug, Clone, Default)]
pub struct Ledger {
    pub written: Vec<Written>,
    pub programs: BTreeMap<String, Launched>,
    /// Programs that somebody asked to stop.
    pub to_be_killed: BTreeSet<String>,
    numbers: u64,
}

impl Ledger {
    fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }
}

/// The people of one simulated platform.
#[derive(Debug, Clone)]
pub struct People {
    server: Arc<Server>,
    ledger: Arc<Mutex<Ledger>>,
    pub threads: u64,
}

impl People {
    pub fn new(server: Arc<Server>, threads: u64) -> People {
        People {
            server,
            ledger: Arc::default(),
            threads,
        }
    }

    pub fn ledger(&self) -> Ledger {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, thread: u64, text: String, what: What) {
        let post = Post {
            chat_type: ChatType::Thread,
            chat: CHAT.into(),
            thread: Some(thread.to_string()),
            user: Some("7".into()),
            author: Some("somebody".into()),
            window: None,
            text: text.clone(),
        };
        // Under the lock, so that the ledger's order is the platform's.
        let mut ledger = self.lock();
        ledger.written.push(Written { thread, text, what });
        self.server.post(&account(), post);
    }

    fn message(&self, thread: u64, verb: &str, rest: &str) -> String {
        let label = format!("m{}", self.lock().number());
        let text = format!("{verb} {label} {rest}").trim_end().to_owned();
        let message = label.clone();
        self.write(thread, text, What::Message { label });
        message
    }

    pub fn say(&self, thread: u64) {
        self.message(thread, "say", "");
    }

    /// Starts a program; with `verb` `both`, the turn also waits for it. The message's label, and the program's.
    pub fn start(
        &self,
        thread: u64,
        verb: &str,
        end: End,
        sleeps_ms: u64,
        lines: u64,
    ) -> (String, String) {
        let number = self.lock().number();
        let program = Program {
            number,
            end,
            sleeps_ms,
            lines,
        };
        let launched = Launched { program, thread };
        self.lock().programs.insert(program.label(), launched);
        let message = self.message(thread, verb, &program.words());
        (message, program.label())
    }

    /// `wait`, `kill` or `log` of a program that was started in this thread.
    pub fn use_program(&self, thread: u64, verb: &str, label: &str) {
        if verb == "kill" {
            self.lock().to_be_killed.insert(label.to_owned());
        }
        self.message(thread, verb, label);
    }

    pub fn command(&self, thread: u64, text: &str) {
        self.write(thread, text.to_owned(), What::Command);
    }

    pub fn new_session(&self, thread: u64) {
        let title = format!("n{}", self.lock().number());
        self.write(thread, format!("/new {title}"), What::New { title });
    }

    /// Something random.
    pub fn act(&self, random: &mut Random) {
        let thread = 1 + random.below(self.threads);
        match random.below(100) {
            0..45 => {
                let (end, sleeps, lines) = program(random);
                let verb = if random.one_in(4) { "both" } else { "start" };
                self.start(thread, verb, end, sleeps, lines);
            }
            45..60 => self.say(thread),
            60..66 => self.new_session(thread),
            66..72 => self.command(thread, "/branch"),
            72..80 => self.resume(thread, random),
            80..86 => self.command(thread, "/compress"),
            86..98 => self.use_random_program(thread, random),
            98 => self.command(thread, "/ps"),
            _ => self.command(thread, "/status"),
        }
    }

    fn use_random_program(&self, thread: u64, random: &mut Random) {
        let newest: Vec<String> = {
            let ledger = self.lock();
            let here = ledger
                .programs
                .values()
                .filter(|launched| launched.thread == thread);
            here.rev()
                .take(5)
                .map(|launched| launched.program.label())
                .collect()
        };
        let verb = *random
            .pick(&["wait", "wait", "kill", "log"])
            .unwrap_or(&"wait");
        match random.pick(&newest) {
            Some(label) => self.use_program(thread, verb, label),
            None => self.say(thread),
        }
    }

    fn resume(&self, thread: u64, random: &mut Random) {
        let known = self.sessions_named_in(thread);
        match random.pick(&known) {
            Some(session) => self.command(thread, &format!("/resume {session}")),
            None => self.say(thread),
        }
    }

    /// Session ids that were posted in this thread, oldest first.
    pub fn sessions_named_in(&self, thread: u64) -> Vec<String> {
        let thread = thread.to_string();
        let posts = self.server.sent();
        let here = posts
            .iter()
            .filter(|sent| sent.body.thread.as_deref() == Some(&thread));
        here.flat_map(|sent| sent.body.text.split(|letter: char| !is_of_an_id(letter)))
            .filter(|word| word.starts_with("ses_"))
            .map(str::to_owned)
            .collect()
    }
}

fn is_of_an_id(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

fn program(random: &mut Random) -> (End, u64, u64) {
    let end = match random.below(10) {
        0..4 => End::Code(0),
        4..9 => End::Code(u8::try_from(1 + random.below(120)).unwrap_or(1)),
        _ => End::Killed,
    };
    let sleeps = match random.below(4) {
        0 => 0,
        1 => random.below(50),
        2 => random.below(400),
        _ => random.below(1_200),
    };
    let lines = match random.below(8) {
        0 => 700,
        _ => random.below(6),
    };
    (end, sleeps, lines)
}
