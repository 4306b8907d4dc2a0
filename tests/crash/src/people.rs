//! What people write, what their consoles do, and the ledger of it.
//!
//! **Invariant:** what a person wrote is in the ledger before the simulated platform has it. Labels are numbers that are used once.

mod acts;
mod ledger;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use homing_domain::ids::{WindowId, compose};
use homing_domain::key::ChatType;
use homing_ports::{Clock as _, SystemClock};
use homing_simulators::{Post, Server};

use crate::accounts::{account, kind_of};
use crate::programs::{End, Program};
pub use ledger::{Launched, Ledger, Started, What, Window, Written};

/// The chat that all threads are in.
const CHAT: &str = "-100";

/// Where somebody writes: a conversation's thread, perhaps in a console window that shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub thread: u64,
    pub window: Option<WindowId>,
}

impl From<u64> for Place {
    fn from(thread: u64) -> Place {
        Place {
            thread,
            window: None,
        }
    }
}

/// What is done to a gateway beside writing to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    Open,
    Touch,
    Close,
    /// The idle policy proposes to end the session.
    Idle,
    /// The daily policy does.
    Daily,
}

impl Operation {
    const ALL: [(Operation, &str); 5] = [
        (Operation::Open, "@window open"),
        (Operation::Touch, "@window touch"),
        (Operation::Close, "@window close"),
        (Operation::Idle, "@reset idle"),
        (Operation::Daily, "@reset daily"),
    ];

    fn text(self) -> &'static str {
        let named = Operation::ALL.iter().find(|(one, _)| *one == self);
        named.map_or("", |(_, text)| text)
    }

    pub fn parse(text: &str) -> Option<Operation> {
        let named = Operation::ALL.iter().find(|(_, one)| *one == text)?;
        Some(named.0)
    }
}

/// The people of the simulated platforms.
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

    fn number(&self) -> u64 {
        self.lock().number()
    }

    fn post(&self, at: Place, text: String) {
        let post = Post {
            chat_type: ChatType::Thread,
            chat: CHAT.into(),
            thread: Some(at.thread.to_string()),
            user: Some("7".into()),
            author: Some("somebody".into()),
            window: at.window,
            text,
        };
        self.server.post(&account(kind_of(at.thread)), post);
    }

    fn write(&self, at: Place, text: String, what: What) {
        // Under the lock, so that the ledger's order is the platform's.
        let mut ledger = self.lock();
        ledger.written.push(Written {
            thread: at.thread,
            window: at.window,
            text: text.clone(),
            what,
        });
        self.post(at, text);
        drop(ledger);
    }

    fn message(&self, at: Place, verb: &str, rest: &str) -> String {
        let label = format!("m{}", self.number());
        let text = format!("{verb} {label} {rest}").trim_end().to_owned();
        let message = label.clone();
        self.write(at, text, What::Message { label });
        message
    }

    pub fn say(&self, at: impl Into<Place>) {
        self.message(at.into(), "say", "");
    }

    /// Starts a program; with `verb` `both`, the turn also waits for it. The message's label, and the program's.
    pub fn start(
        &self,
        at: impl Into<Place>,
        verb: &str,
        end: End,
        sleeps_ms: u64,
        lines: u64,
    ) -> (String, String) {
        let program = Program {
            number: self.number(),
            end,
            sleeps_ms,
            lines,
            matches: 0,
        };
        let message = self.launch(at.into(), verb, Started::Directly, program);
        (message, program.label())
    }

    /// The label of the message that asks for it.
    fn launch(&self, at: Place, verb: &str, started: Started, program: Program) -> String {
        let launched = Launched {
            program,
            at,
            started,
        };
        self.lock().programs.insert(program.label(), launched);
        self.message(at, verb, &program.words())
    }

    /// `wait`, `kill` or `log` of a program that was started in this thread.
    pub fn use_program(&self, at: impl Into<Place>, verb: &str, label: &str) {
        if verb == "kill" {
            self.lock().to_be_killed.insert(label.to_owned());
        }
        self.message(at.into(), verb, label);
    }

    pub fn command(&self, at: impl Into<Place>, text: &str) {
        self.write(at.into(), text.to_owned(), What::Command);
    }

    pub fn new_session(&self, at: impl Into<Place>) {
        let title = format!("n{}", self.number());
        self.write(at.into(), format!("/new {title}"), What::New { title });
    }

    /// A window that shows this thread from now on.
    pub fn open_window(&self, thread: u64) -> WindowId {
        let window = WindowId::from_number(compose(SystemClock.now().millis(), self.number()));
        let opened = Window {
            thread,
            closed: false,
        };
        self.lock().windows.insert(window, opened);
        self.operate(thread, Some(window), Operation::Open);
        window
    }

    /// Nothing is written in it afterwards.
    pub fn close_window(&self, thread: u64, window: WindowId) {
        if let Some(known) = self.lock().windows.get_mut(&window) {
            known.closed = true;
        }
        self.operate(thread, Some(window), Operation::Close);
    }

    pub fn operate(&self, thread: u64, window: Option<WindowId>, operation: Operation) {
        self.post(Place { thread, window }, operation.text().to_owned());
    }

    /// Ids of a kind that were posted in this thread, oldest first: `ses`, `prc`, `dlg`.
    pub fn ids_named_in(&self, thread: u64, kind: &str) -> Vec<String> {
        let thread = thread.to_string();
        let begins = format!("{kind}_");
        let posts = self.server.sent();
        let here = posts
            .iter()
            .filter(|sent| sent.body.thread.as_deref() == Some(&thread));
        here.flat_map(|sent| sent.body.text.split(|letter: char| !is_of_an_id(letter)))
            .filter(|word| word.starts_with(&begins))
            .map(str::to_owned)
            .collect()
    }
}

fn is_of_an_id(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_is_read_as_it_was_written() {
        for (operation, text) in Operation::ALL {
            assert_eq!(operation.text(), text);
            assert_eq!(Operation::parse(text), Some(operation));
        }
        assert_eq!(Operation::parse("say m1"), None);
    }
}
