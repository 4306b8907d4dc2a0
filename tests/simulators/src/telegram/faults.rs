//! Troubles that a test asks for.
//!
//! **Invariant:** a fault changes what one request experiences, never what the world's rules are: what took effect is in the world, and what did not is not.

use std::time::Duration;

use serde::Deserialize;

use super::ids::{ChatId, ThreadId, UserId};

/// Which requests meet which trouble. Without restrictions: the next request of any method of any bot.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    pub trouble: Trouble,
    #[serde(default)]
    method: Option<String>,
    #[serde(default)]
    chat: Option<ChatId>,
    #[serde(default)]
    bot: Option<UserId>,
    #[serde(default)]
    which: Which,
    /// How many requests fitted so far.
    #[serde(skip)]
    fitted: u64,
}

/// Which of the fitting requests.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Which {
    Next(u64),
    Every(u64),
    /// Until the faults are cleared.
    All,
}

impl Default for Which {
    fn default() -> Which {
        Which::Next(1)
    }
}

/// Whether a request that is never answered properly was carried out nevertheless.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    Taken,
    None,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trouble {
    /// 429 with `parameters.retry_after`.
    TooManyRequests {
        retry_after: u64,
    },
    /// 500 `Internal Server Error: restart`; the request may have been carried out.
    InternalError(Effect),
    /// 502 with an HTML page, as proxies send it.
    BadGateway(Effect),
    /// Accepted, and never answered.
    Silence(Effect),
    /// The connection is closed without an answer.
    Reset(Effect),
    /// Carried out at once, answered after this many milliseconds.
    Slow(u64),
    /// Carried out; the answer is cut off.
    MalformedJson,
    Unauthorized,
    /// 403 with this text after `Forbidden: `.
    Forbidden(String),
    /// 400 with this text after `Bad Request: `.
    BadRequest(String),
    /// 400 `can't parse entities`, if the request has entities or a parse mode; without them it passes, and the fault waits on.
    EntitiesRefused,
    /// The message lands in this topic, or outside all topics, whatever was asked for.
    Misplaced(Option<ThreadId>),
    /// 409, as if another program polled with this token.
    Conflict,
}

impl Trouble {
    pub fn slow(span: Duration) -> Trouble {
        Trouble::Slow(u64::try_from(span.as_millis()).unwrap_or(u64::MAX))
    }
}

impl Fault {
    pub fn new(trouble: Trouble) -> Fault {
        Fault {
            trouble,
            method: None,
            chat: None,
            bot: None,
            which: Which::default(),
            fitted: 0,
        }
    }

    /// Only requests of this method.
    pub fn method(self, method: impl Into<String>) -> Fault {
        Fault {
            method: Some(method.into()),
            ..self
        }
    }

    /// Only requests about this chat.
    pub fn chat(self, chat: impl Into<ChatId>) -> Fault {
        Fault {
            chat: Some(chat.into()),
            ..self
        }
    }

    /// Only requests of this bot.
    pub fn bot(self, bot: UserId) -> Fault {
        Fault {
            bot: Some(bot),
            ..self
        }
    }

    /// The next so many fitting requests.
    pub fn times(self, count: u64) -> Fault {
        Fault {
            which: Which::Next(count),
            ..self
        }
    }

    /// Every so-manieth fitting request, until the faults are cleared.
    pub fn every(self, step: u64) -> Fault {
        Fault {
            which: Which::Every(step.max(1)),
            ..self
        }
    }

    /// Every fitting request, until the faults are cleared.
    pub fn always(self) -> Fault {
        Fault {
            which: Which::All,
            ..self
        }
    }

    fn fits(&self, asked: &Asked<'_>) -> bool {
        let formatted = asked.formatted || self.trouble != Trouble::EntitiesRefused;
        formatted
            && self
                .method
                .as_ref()
                .is_none_or(|method| method.eq_ignore_ascii_case(asked.method))
            && self.chat.is_none_or(|chat| Some(chat) == asked.chat)
            && self.bot.is_none_or(|bot| bot == asked.bot)
    }

    fn strikes(&mut self) -> bool {
        self.fitted += 1;
        match self.which {
            Which::Next(count) => self.fitted <= count,
            Which::Every(step) => self.fitted.is_multiple_of(step.max(1)),
            Which::All => true,
        }
    }

    fn is_spent(&self) -> bool {
        matches!(self.which, Which::Next(count) if self.fitted >= count)
    }
}

/// What a fault looks at.
#[derive(Debug)]
pub(super) struct Asked<'a> {
    pub bot: UserId,
    pub method: &'a str,
    pub chat: Option<ChatId>,
    /// It has entities or a parse mode.
    pub formatted: bool,
}

#[derive(Debug, Default)]
pub(super) struct Faults(Vec<Fault>);

impl Faults {
    pub fn add(&mut self, fault: Fault) {
        self.0.push(fault);
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// The trouble of this request. Of several that fit, the first that strikes does.
    pub fn strike(&mut self, asked: &Asked<'_>) -> Option<Trouble> {
        let struck = self
            .0
            .iter_mut()
            .filter(|fault| fault.fits(asked))
            .find_map(|fault| fault.strikes().then(|| fault.trouble.clone()));
        self.0.retain(|fault| !fault.is_spent());
        struck
    }
}
