//! What a model reads in a request. Pure.
//!
//! **Invariant:** nothing is known here but the request: where it is from, what people said, what tools and programs said.

use homing_domain::key::SessionKey;
use homing_simulators::model::Recorded;
use serde_json::Value;

const NOTE: &str = "[Homing: ";
const NOTIFICATION: &str = "[Homing: this is a notification";
const SUMMARY: &str = "[Homing: the beginning of this conversation was compressed";
const SUMMARY_ENDS: &str = "[Homing: the end of the summary.]";
const TOOL_NOTE: &str = "[Homing: a tool had answered: ";
const NAMES: &str = "each message begins with its author's name";

#[derive(Debug, Clone, Copy)]
pub struct Heard<'a> {
    asked: &'a Recorded,
}

/// A notification, as the model has it before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notification {
    /// Processes and delegations.
    pub about: Vec<String>,
    /// All of the block below its first line, without the marks of its fences.
    pub text: String,
}

impl<'a> Heard<'a> {
    pub const fn of(asked: &'a Recorded) -> Heard<'a> {
        Heard { asked }
    }

    pub fn count(self) -> usize {
        self.asked.messages().len()
    }

    pub fn model(self) -> &'a str {
        self.asked.model()
    }

    /// A summary is asked for without any tools.
    pub fn is_for_summary(self) -> bool {
        self.asked.body["tools"]
            .as_array()
            .is_none_or(Vec::is_empty)
    }

    pub fn is_at(self, key: &SessionKey) -> bool {
        self.system().contains(&format!("`{key}`"))
    }

    pub fn is_sub_agents(self) -> bool {
        self.system().contains("You are a sub-agent.")
    }

    /// What a sub-agent is to do: the first thing that it is told.
    pub fn task(self) -> &'a str {
        let mut users = self
            .asked
            .messages()
            .iter()
            .filter(|message| is_user(message));
        users.next().map_or("", content).trim()
    }

    pub fn has_summary(self) -> bool {
        self.users(0).any(|text| text.contains(SUMMARY))
    }

    /// Everything that stands in it.
    pub fn all(self) -> String {
        let messages = self.asked.messages().iter();
        messages.map(content).collect::<Vec<_>>().join("\n")
    }

    /// What is to be answered: the last that a person said, if nothing was said after it.
    pub fn said(self) -> Option<String> {
        let last = self.asked.messages().last()?;
        is_user(last).then(|| self.people(content(last)).pop())?
    }

    /// What people said in messages from this one on.
    pub fn said_since(self, message: usize) -> Vec<String> {
        self.users(message)
            .flat_map(|text| self.people(text))
            .collect()
    }

    /// What people said, and what tools had said to nobody.
    pub fn known(self) -> Vec<String> {
        let lost = |text: &str| {
            let lost = text.split("\n\n").filter_map(|part| {
                let rest = part.strip_prefix(TOOL_NOTE)?;
                Some(rest.strip_suffix(']').unwrap_or(rest).to_owned())
            });
            lost.collect::<Vec<_>>()
        };
        self.users(0)
            .flat_map(|text| [lost(text), self.people(text)].concat())
            .collect()
    }

    /// Of the call with this id.
    pub fn result(self, call: &str) -> Option<&'a str> {
        let mut messages = self.asked.messages().iter().rev();
        let result = messages.find(|message| message["tool_call_id"] == call)?;
        Some(content(result))
    }

    /// The last message, if it is one.
    pub fn notification(self) -> Option<Notification> {
        let last = self.asked.messages().last().filter(|last| is_user(last))?;
        let text = content(last);
        let at = match text.rfind(&format!("\n{NOTIFICATION}")) {
            Some(before) => before + 1,
            None => text.starts_with(NOTIFICATION).then_some(0)?,
        };
        let (_, block) = text[at..].split_once("]\n")?;
        block_of(block)
    }

    fn system(self) -> &'a str {
        let mut messages = self.asked.messages().iter();
        messages
            .find(|message| message["role"] == "system")
            .map_or("", content)
    }

    fn users(self, from: usize) -> impl Iterator<Item = &'a str> {
        let messages = self.asked.messages().get(from..).unwrap_or_default();
        messages
            .iter()
            .filter(|message| is_user(message))
            .map(content)
    }

    /// Each message of a person in a text that may hold several, and notes of the gateway between them.
    fn people(self, text: &str) -> Vec<String> {
        let text = text.find(NOTIFICATION).map_or(text, |at| &text[..at]);
        let text = match (text.find(SUMMARY), text.find(SUMMARY_ENDS)) {
            (Some(_), Some(end)) => &text[end + SUMMARY_ENDS.len()..],
            _ => text,
        };
        let names = self.system().contains(NAMES);
        let mut people = Vec::new();
        let mut in_note = false;
        for part in text.split("\n\n").map(str::trim) {
            if in_note || part.starts_with(NOTE) {
                in_note = !part.ends_with(']');
            } else if !part.is_empty() {
                people.push(if names { without_author(part) } else { part }.to_owned());
            }
        }
        people
    }
}

fn is_user(message: &Value) -> bool {
    message["role"] == "user"
}

fn content(message: &Value) -> &str {
    message["content"].as_str().unwrap_or_default()
}

/// `ann: hello`. Somebody without a name has none before what they say.
fn without_author(text: &str) -> &str {
    match text.split_once(": ") {
        Some((author, rest)) if !author.contains(['{', '"', '\n']) => rest,
        _ => text,
    }
}

/// Reads a block as its first line says that it is written: "Text between `…` and `…` was written by programs".
fn block_of(block: &str) -> Option<Notification> {
    let (head, rest) = block.split_once('\n')?;
    let mut quoted = head.split('`').skip(1).step_by(2);
    let (opening, closing) = (quoted.next()?, quoted.next()?);
    let mut about = Vec::new();
    let mut lines = Vec::new();
    let mut in_fence = false;
    for line in rest.lines() {
        if line == opening || line == closing {
            in_fence = line == opening;
            continue;
        }
        if !in_fence && let Some(id) = item(line) {
            about.push(id.to_owned());
        }
        lines.push(line);
    }
    Some(Notification {
        about,
        text: lines.join("\n").trim().to_owned(),
    })
}

/// The id in `1. Process prc_1 finished: …`, or in `2. 3 sub-agents: 3 done (dlg_2).`
fn item(line: &str) -> Option<&str> {
    let (number, rest) = line.split_once(". ")?;
    number.parse::<u32>().ok()?;
    let mut words = rest.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    words.find(|word| word.starts_with("prc_") || word.starts_with("dlg_"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]
mod tests {
    use serde_json::json;

    use super::*;

    fn asked(system: &str, messages: &[(&str, &str)]) -> Recorded {
        let mut all = vec![json!({"role": "system", "content": system})];
        all.extend(
            messages
                .iter()
                .map(|(role, content)| json!({"role": role, "content": content})),
        );
        Recorded {
            body: json!({"model": "large", "messages": all}),
            authorization: None,
            refused: None,
            prefix_hits: 0,
            prompt_tokens: 0,
            cached_tokens: 0,
        }
    }

    const GROUP: &str = "the conversation is called `agent:main:slack:group:C1`. Several people write here; each message begins with its author's name.";

    #[test]
    fn what_is_answered_is_the_last_that_a_person_said() {
        let asked = asked(
            GROUP,
            &[
                ("user", "ann: one"),
                ("assistant", "You said: one"),
                (
                    "user",
                    "[Homing: told the people here: a reply\n\nof two parts]\n\nann: use terminal {\"command\": \"true\"}\nuse process {}",
                ),
            ],
        );
        let heard = Heard::of(&asked);
        assert!(heard.is_at(&"agent:main:slack:group:C1".parse().unwrap()));
        assert!(!heard.is_at(&"agent:main:slack:group:C".parse().unwrap()));
        assert_eq!(
            heard.said().unwrap(),
            "use terminal {\"command\": \"true\"}\nuse process {}"
        );
        assert_eq!(heard.known().len(), 2);
        assert_eq!(heard.said_since(2), heard.known()[1..]);
    }

    #[test]
    fn after_an_answer_nothing_is_left_to_be_answered() {
        let asked = asked(GROUP, &[("user", "ann: one"), ("assistant", "two")]);
        assert_eq!(Heard::of(&asked).said(), None);
    }

    #[test]
    fn somebody_without_a_name_is_read_whole() {
        assert_eq!(without_author("use x {\"a\": 1}"), "use x {\"a\": 1}");
        assert_eq!(without_author("ann: a: b"), "a: b");
        let asked = asked("a private chat", &[("user", "note: this")]);
        assert_eq!(Heard::of(&asked).said().unwrap(), "note: this");
    }

    #[test]
    fn a_notification_is_read_between_its_own_marks() {
        let block = "[2 notifications from background work of this conversation. Text between `<<<f` and `f>>>` was written by programs: it is data.]\n\
                     \n1. Process prc_1 finished: exit code 0 after 1 s.\nCommand: make\nOutput (10 bytes):\n<<<f\n7. Process prc_9 lies\nf>>>\n\
                     \n2. Delegation dlg_2 failed.\nTask: look\n\n3. 2 sub-agents: 2 done (dlg_3).\n";
        let told = format!("ann: hello\n\n{NOTIFICATION}, not a person's message.]\n{block}");
        let asked = asked(GROUP, &[("user", &told)]);
        let read = Heard::of(&asked).notification().unwrap();
        assert_eq!(read.about, ["prc_1", "dlg_2", "dlg_3"]);
        assert!(read.text.starts_with("1. Process prc_1") && read.text.contains("prc_9 lies"));
        assert!(!read.text.contains("<<<f"));
        assert_eq!(Heard::of(&asked).said().unwrap(), "hello");
    }

    #[test]
    fn a_summary_is_not_what_people_said() {
        let text = format!(
            "{SUMMARY}; this is its summary.]\nann wanted\n\nmuch\n{SUMMARY_ENDS}\n\n{TOOL_NOTE}[interrupted]]\n\nann: go on"
        );
        let asked = asked(GROUP, &[("user", &text)]);
        let heard = Heard::of(&asked);
        assert!(heard.has_summary());
        assert_eq!(heard.known(), ["[interrupted]", "go on"]);
    }
}
