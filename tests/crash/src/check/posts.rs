//! What the simulated platforms have posted, in their order, and what each post says of itself.

use std::collections::BTreeSet;

use homing_domain::ids::{NotificationId, OutboxId, SessionId, WindowId};
use homing_domain::origin::AccountName;
use homing_ports::platform::OutgoingKind;
use homing_ports::store::Source;
use homing_simulators::Sent;

#[derive(Debug)]
pub struct Post {
    pub outbox: Option<OutboxId>,
    pub account: AccountName,
    pub thread: Option<u64>,
    pub window: Option<WindowId>,
    pub kind: OutgoingKind,
    pub text: String,
    pub says: Says,
    /// The same item was posted before. What it says was said then.
    pub repeat: bool,
    /// It says of itself that it may be one.
    pub marked: bool,
}

/// What the scripted agent, or the gateway itself, put in front of a text.
#[derive(Debug, PartialEq, Eq)]
pub enum Says {
    Answer {
        label: String,
        session: SessionId,
    },
    Told {
        session: SessionId,
        about: Vec<(Source, NotificationId)>,
    },
    /// A turn was interrupted and not taken up again; the gateway says so, to nobody's label.
    Interrupted,
    Other,
}

#[derive(Debug)]
pub struct Posts {
    pub all: Vec<Post>,
}

impl Posts {
    pub fn read(sent: &[Sent]) -> Posts {
        let mut seen = BTreeSet::new();
        let post = |sent: &Sent| Post {
            outbox: sent.body.id.parse().ok(),
            account: sent.account.clone(),
            thread: sent
                .body
                .thread
                .as_deref()
                .and_then(|thread| thread.parse().ok()),
            window: sent.body.window,
            kind: sent.kind,
            says: says(&sent.body.text),
            text: sent.body.text.clone(),
            repeat: !seen.insert((sent.account.clone(), sent.body.id.clone())),
            marked: sent.body.may_repeat,
        };
        Posts {
            all: sent.iter().map(post).collect(),
        }
    }

    /// Each item once, whatever became of it on its way.
    pub fn items(&self) -> impl Iterator<Item = &Post> {
        self.all.iter().filter(|post| !post.repeat)
    }

    pub fn of_kind(&self, kind: OutgoingKind, thread: u64) -> impl Iterator<Item = &Post> {
        let wanted = move |post: &&Post| post.kind == kind && post.thread == Some(thread);
        self.items().filter(wanted)
    }
}

/// What a text says in its first line.
pub fn says(text: &str) -> Says {
    let first = text.lines().next().unwrap_or_default();
    if first.starts_with("I was restarted ") {
        return Says::Interrupted;
    }
    answer(first).or_else(|| told(first)).unwrap_or(Says::Other)
}

fn answer(line: &str) -> Option<Says> {
    let mut words = line.strip_prefix("answer ")?.split(' ');
    let label = words.next()?.to_owned();
    let session = session(words.next()?)?;
    Some(Says::Answer { label, session })
}

fn told(line: &str) -> Option<Says> {
    let mut words = line.strip_prefix("told ")?.split(' ');
    let session = session(words.next()?)?;
    let about = words.filter_map(about).collect();
    Some(Says::Told { session, about })
}

fn session(word: &str) -> Option<SessionId> {
    word.strip_prefix('[')?.strip_suffix(']')?.parse().ok()
}

fn about(word: &str) -> Option<(Source, NotificationId)> {
    let (source, notification) = word.split_once('=')?;
    let process = source.parse().map(Source::Process);
    let source = process.or_else(|_| source.parse().map(Source::Delegation));
    Some((source.ok()?, notification.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use homing_domain::ids::{DelegationId, ProcessId};

    #[test]
    fn a_post_says_whose_it_is() {
        let session = SessionId::from_number(5);
        let (process, delegation) = (ProcessId::from_number(6), DelegationId::from_number(7));
        let [one, other] = [8, 9].map(NotificationId::from_number);
        assert_eq!(
            says(&format!("answer m3 [{session}] started w1 {process}")),
            Says::Answer {
                label: "m3".into(),
                session
            }
        );
        assert_eq!(
            says(&format!(
                "told [{session}] {process}={one} {delegation}={other}\nmore"
            )),
            Says::Told {
                session,
                about: vec![
                    (Source::Process(process), one),
                    (Source::Delegation(delegation), other)
                ]
            }
        );
        assert_eq!(says("A fresh session"), Says::Other);
    }
}
