//! What the simulated platform has posted, in its order, and what each post says of itself.

use homing_domain::ids::{OutboxId, ProcessId, SessionId};
use homing_ports::platform::OutgoingKind;
use homing_simulators::Sent;

#[derive(Debug)]
pub struct Post {
    pub outbox: Option<OutboxId>,
    pub thread: Option<u64>,
    pub kind: OutgoingKind,
    pub text: String,
    pub says: Says,
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
        about: Vec<ProcessId>,
    },
    /// A turn with tools was interrupted; the gateway says so, to nobody's label.
    Interrupted,
    Other,
}

#[derive(Debug)]
pub struct Posts {
    pub all: Vec<Post>,
}

impl Posts {
    pub fn read(sent: &[Sent]) -> Posts {
        let post = |sent: &Sent| Post {
            outbox: sent.body.id.parse().ok(),
            thread: sent
                .body
                .thread
                .as_deref()
                .and_then(|thread| thread.parse().ok()),
            kind: sent.kind,
            says: says(&sent.body.text),
            text: sent.body.text.clone(),
        };
        Posts {
            all: sent.iter().map(post).collect(),
        }
    }

    pub fn of_kind(&self, kind: OutgoingKind, thread: u64) -> impl Iterator<Item = &Post> {
        let wanted = move |post: &&Post| post.kind == kind && post.thread == Some(thread);
        self.all.iter().filter(wanted)
    }
}

fn says(text: &str) -> Says {
    let first = text.lines().next().unwrap_or_default();
    if first.starts_with("I was restarted while") {
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
    let about = words.filter_map(|word| word.parse().ok()).collect();
    Some(Says::Told { session, about })
}

fn session(word: &str) -> Option<SessionId> {
    word.strip_prefix('[')?.strip_suffix(']')?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_post_says_whose_it_is() {
        let (one, other) = (SessionId::from_number(5), ProcessId::from_number(6));
        assert_eq!(
            says(&format!("answer m3 [{one}] started w1 {other}")),
            Says::Answer {
                label: "m3".into(),
                session: one
            }
        );
        assert_eq!(
            says(&format!("told [{one}] {other}\nmore")),
            Says::Told {
                session: one,
                about: vec![other]
            }
        );
        assert_eq!(says("A fresh session"), Says::Other);
    }
}
