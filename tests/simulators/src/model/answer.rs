//! What the simulated model says to a request, and everything that may go wrong with it.

use std::time::Duration;

use serde_json::{Value, json};

/// One answer. Made by what it is about ([`Answer::text`], [`Answer::error`], …), then changed.
#[derive(Debug, Clone)]
pub struct Answer {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    /// Before anything is sent, the head included.
    pub(super) wait: Duration,
    pub(super) content: Content,
    pub(super) fault: Option<(usize, Step)>,
}

#[derive(Debug, Clone)]
pub(super) enum Content {
    Said(Box<Said>),
    Steps(Vec<Step>),
}

/// What goes over the wire, and what happens to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    Bytes(Vec<u8>),
    Wait(Duration),
    /// Nothing more comes until the client leaves.
    Hold,
    /// The connection breaks.
    Break,
}

/// A tool call that the model makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    pub id: String,
    pub name: String,
    /// As the model writes them; they need be no JSON.
    pub arguments: String,
}

impl Call {
    pub fn new(id: &str, name: &str, arguments: &Value) -> Call {
        Call {
            id: id.into(),
            name: name.into(),
            arguments: arguments.to_string(),
        }
    }
}

/// How a server sends tool calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dialect {
    /// OpenAI's: numbered, the arguments in pieces.
    #[default]
    Pieces,
    /// Each whole, all with number 0 (ollama#15457).
    AllAtZero,
    /// Each whole, without a number (ollama#7881).
    Unnumbered,
    /// Whole, with neither number nor id, the arguments as an object.
    Bare,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Said {
    pub reasoning: String,
    pub text: String,
    pub calls: Vec<Call>,
    pub dialect: Dialect,
    pub finish: Option<String>,
    pub usage: SaidUsage,
    /// Characters in a piece; 0: all in one.
    pub piece: usize,
    pub pause: Duration,
    pub is_whole: bool,
    pub without_finish: bool,
    pub without_done: bool,
}

#[derive(Debug, Clone, Default)]
pub(super) enum SaidUsage {
    /// What the simulator counts.
    #[default]
    Counted,
    Given(Value),
    None,
}

/// What it is about.
impl Answer {
    pub fn text(text: &str) -> Answer {
        Answer::said(Said {
            text: text.into(),
            piece: 4,
            ..Said::default()
        })
    }

    pub fn calls(calls: impl IntoIterator<Item = Call>) -> Answer {
        Answer::said(Said {
            calls: calls.into_iter().collect(),
            piece: 4,
            ..Said::default()
        })
    }

    /// A refusal in OpenAI's shape.
    pub fn error(status: u16, code: &str, message: &str) -> Answer {
        let error = json!({"error": {"message": message, "type": "simulated_error", "param": null, "code": code}});
        Answer::raw(status, "application/json", &error.to_string())
    }

    /// Any answer at all.
    pub fn raw(status: u16, content_type: &str, body: &str) -> Answer {
        Answer::steps(vec![Step::Bytes(body.into())])
            .status(status)
            .header("content-type", content_type)
    }

    /// A stream of events with exactly these bytes and happenings.
    pub fn steps(steps: Vec<Step>) -> Answer {
        Answer {
            status: 200,
            headers: Vec::new(),
            wait: Duration::ZERO,
            content: Content::Steps(steps),
            fault: None,
        }
    }

    /// The connection breaks before the answer.
    pub fn hang_up() -> Answer {
        Answer::steps(vec![Step::Break])
    }

    /// Neither a head nor anything else comes until the client leaves.
    pub fn silence() -> Answer {
        Answer::steps(Vec::new()).after(Duration::MAX)
    }

    /// More text than fits anywhere, in pieces of 64 KiB.
    pub fn flood(bytes: usize) -> Answer {
        let mut answer = Answer::text(&"x".repeat(bytes));
        answer.change(|said| said.piece = 64 * 1024);
        answer
    }

    fn said(said: Said) -> Answer {
        Answer {
            content: Content::Said(Box::new(said)),
            ..Answer::steps(Vec::new())
        }
    }
}

/// How it is given. What concerns the model's words does nothing to raw answers.
impl Answer {
    fn change(&mut self, change: impl FnOnce(&mut Said)) {
        if let Content::Said(said) = &mut self.content {
            change(said);
        }
    }

    fn with(mut self, change: impl FnOnce(&mut Said)) -> Answer {
        self.change(change);
        self
    }

    #[must_use]
    pub fn status(mut self, status: u16) -> Answer {
        self.status = status;
        self
    }

    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Answer {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// The head comes after so long.
    #[must_use]
    pub fn after(mut self, wait: Duration) -> Answer {
        self.wait = wait;
        self
    }

    /// Text before, or besides, the calls.
    #[must_use]
    pub fn saying(self, text: &str) -> Answer {
        self.with(|said| said.text = text.into())
    }

    #[must_use]
    pub fn thinking(self, reasoning: &str) -> Answer {
        self.with(|said| said.reasoning = reasoning.into())
    }

    #[must_use]
    pub fn dialect(self, dialect: Dialect) -> Answer {
        self.with(|said| said.dialect = dialect)
    }

    /// In pieces of so many characters, with a pause between two.
    #[must_use]
    pub fn pieces(self, characters: usize, pause: Duration) -> Answer {
        self.with(|said| (said.piece, said.pause) = (characters, pause))
    }

    #[must_use]
    pub fn finish(self, word: &str) -> Answer {
        self.with(|said| said.finish = Some(word.into()))
    }

    #[must_use]
    pub fn usage(self, usage: Value) -> Answer {
        self.with(|said| said.usage = SaidUsage::Given(usage))
    }

    #[must_use]
    pub fn without_usage(self) -> Answer {
        self.with(|said| said.usage = SaidUsage::None)
    }

    /// One JSON object, although a stream was asked for.
    #[must_use]
    pub fn whole(self) -> Answer {
        self.with(|said| said.is_whole = true)
    }

    #[must_use]
    pub fn without_finish(self) -> Answer {
        self.with(|said| said.without_finish = true)
    }

    #[must_use]
    pub fn without_done(self) -> Answer {
        self.with(|said| said.without_done = true)
    }

    /// After so many pieces the connection breaks.
    #[must_use]
    pub fn breaks_after(mut self, pieces: usize) -> Answer {
        self.fault = Some((pieces, Step::Break));
        self
    }

    /// After so many pieces nothing more comes.
    #[must_use]
    pub fn holds_after(mut self, pieces: usize) -> Answer {
        self.fault = Some((pieces, Step::Hold));
        self
    }
}
