//! What people see of a turn while it runs, and its text at the end.
//!
//! **Invariant:** what was said before a tool call stays in front of what is said after it, as it was shown. What a server took back is taken back.

use homing_ports::agent::TurnStream;

use super::client::Event;

#[derive(Debug)]
pub struct Shown {
    /// `None`: nobody watches (OWN-67).
    stream: Option<TurnStream>,
    /// Said in earlier answers of this turn, each followed by an empty line.
    before: String,
    /// What of this answer is shown.
    now: String,
    thinks: bool,
}

impl Shown {
    pub const fn new(stream: Option<TurnStream>) -> Shown {
        Shown {
            stream,
            before: String::new(),
            now: String::new(),
            thinks: false,
        }
    }

    pub fn hear(&mut self, event: Event) {
        match event {
            Event::Text(text) => self.hear_text(&text),
            Event::Reasoning(_) => {
                if !std::mem::replace(&mut self.thinks, true) {
                    self.doing(Some("thinks".into()));
                }
            }
            Event::ToolCallStarted { name } => self.doing(Some(format!("prepares `{name}`"))),
            Event::Restarted => self.forget(),
            Event::Retrying { why, .. } => self.doing(Some(format!("tries again. {why}"))),
            Event::BrokenOff { .. } => {}
        }
    }

    fn hear_text(&mut self, text: &str) {
        // Answers begin with empty lines at times.
        let text = if self.now.is_empty() {
            text.trim_start()
        } else {
            text
        };
        if text.is_empty() {
            return;
        }
        if let Some(stream) = &self.stream {
            stream.push(text);
        }
        self.now.push_str(text);
    }

    fn forget(&mut self) {
        self.now.clear();
        self.thinks = false;
        if let Some(stream) = &self.stream {
            stream.replace(self.before.clone());
        }
    }

    /// This answer is over and in the history, and more comes after it: it stays in front.
    pub fn keep(&mut self, text: &str) {
        self.now.clear();
        self.thinks = false;
        let text = text.trim();
        if text.is_empty() {
            return;
        }
        self.before.push_str(text);
        self.before.push_str("\n\n");
        if let Some(stream) = &self.stream {
            stream.keep(self.before.clone());
        }
    }

    pub fn doing(&self, what: Option<String>) {
        if let Some(stream) = &self.stream {
            stream.doing(what);
        }
    }

    /// All of it, for people; where nobody watched, the last word alone.
    pub fn whole(&self, last: &str) -> String {
        match &self.stream {
            Some(_) => format!("{}{last}", self.before).trim().to_owned(),
            None => last.trim().to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn text(text: &str) -> Event {
        Event::Text(text.into())
    }

    #[test]
    fn what_was_said_before_a_call_stays_in_front() {
        let (stream, seen) = TurnStream::new();
        let mut shown = Shown::new(Some(stream));
        shown.hear(text("\n\nI "));
        shown.hear(text("look."));
        shown.keep("\n\nI look.");
        shown.doing(Some("runs `ls`".into()));
        assert_eq!(seen.borrow().text, "I look.\n\n");
        assert_eq!(seen.borrow().unrecorded(), "");
        shown.hear(text("Two"));
        shown.hear(Event::Restarted);
        shown.hear(Event::Retrying {
            why: "It broke off.".into(),
            wait: Duration::ZERO,
            model: "m".into(),
        });
        assert_eq!(seen.borrow().text, "I look.\n\n");
        assert_eq!(
            seen.borrow().doing.as_deref(),
            Some("tries again. It broke off.")
        );
        shown.hear(text("Three files."));
        assert_eq!(seen.borrow().text, "I look.\n\nThree files.");
        assert_eq!(seen.borrow().unrecorded(), "Three files.");
        assert_eq!(seen.borrow().doing, None);
        assert_eq!(shown.whole("Three files."), "I look.\n\nThree files.");
    }

    #[test]
    fn where_nobody_watches_only_the_last_word_is_the_answer() {
        let mut shown = Shown::new(None);
        shown.hear(text("I look."));
        shown.keep("I look.");
        assert_eq!(shown.whole(" Three files.\n"), "Three files.");
    }
}
