//! What the runner tells an agent to do, whichever agent it is: turns that stay, texts that are done instead of answered, names of processes.
//!
//! **Invariant:** what stays is counted until it is let go, and not a moment longer: from then on the runner waits for its end.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use homing_domain::ids::ProcessId;
use homing_domain::key::SessionKey;
use tokio::time::Instant;

/// Characters of a text that an answer repeats.
const REPEATED: usize = 1_500;
const LINGERS_AT_MOST: Duration = Duration::from_secs(8);
const LOOK_AGAIN: Duration = Duration::from_millis(2);

#[derive(Debug, Default)]
pub struct Script {
    pub slow_background_turns: bool,
    pub slow_turns: bool,
    /// What every background turn does.
    pub background_call: Option<String>,
    state: Mutex<State>,
    lingering: Lingering,
}

#[derive(Debug, Default)]
struct State {
    /// Messages whose turn is to be held.
    to_hold: HashMap<SessionKey, Vec<String>>,
    labels: HashMap<ProcessId, String>,
}

type Lingering = Arc<Mutex<Vec<Who>>>;

/// Who stays running.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Who {
    /// A turn that was told to.
    Turn(SessionKey),
    /// One that waits for what its sub-agent does: it stays as long as something there does, and not before that has begun.
    Waiting(SessionKey),
    /// A sub-agent that was told to.
    SubAgent,
}

impl Script {
    pub fn new(
        slow_background_turns: bool,
        slow_turns: bool,
        background_call: Option<String>,
        labels: Vec<(ProcessId, String)>,
    ) -> Script {
        Script {
            slow_background_turns,
            slow_turns,
            background_call,
            state: Mutex::new(State {
                to_hold: HashMap::new(),
                labels: labels.into_iter().collect(),
            }),
            lingering: Arc::default(),
        }
    }

    /// The turn that answers this text at `at` stays running until it is released or cancelled.
    pub fn hold(&self, at: SessionKey, text: String) {
        self.lock().to_hold.entry(at).or_default().push(text);
    }

    /// `false` if nothing was to be held.
    pub fn hold_no_more(&self, at: &SessionKey) -> bool {
        self.lock().to_hold.remove(at).is_some()
    }

    /// Once for each time that it was told.
    pub fn is_to_be_held(&self, at: &SessionKey, text: &str) -> bool {
        let mut script = self.lock();
        let Some(texts) = script.to_hold.get_mut(at) else {
            return false;
        };
        let Some(index) = texts.iter().position(|wanted| wanted.trim() == text.trim()) else {
            return false;
        };
        texts.remove(index);
        true
    }

    pub fn name(&self, process: ProcessId, label: String) {
        self.lock().labels.insert(process, label);
    }

    /// What the runner calls it, if it has a name for it, and its id.
    pub fn named(&self, id: &str) -> String {
        let process = id.parse::<ProcessId>().ok();
        match process.and_then(|process| self.lock().labels.get(&process).cloned()) {
            Some(label) => format!("{label} ({id})"),
            None => id.to_owned(),
        }
    }

    /// A turn at `at` stays for as long as this lives; without a place it is a sub-agent.
    pub fn lingers(&self, at: Option<&SessionKey>) -> Lingers {
        self.stays(at.map_or(Who::SubAgent, |at| Who::Turn(at.clone())))
    }

    /// What a text asks for takes until the scenario ends it: its turn does not keep anybody waiting.
    pub fn lingers_over(&self, text: &str, at: &SessionKey) -> Option<Lingers> {
        let who = match text.starts_with("use delegate ") {
            true => Who::Waiting(at.clone()),
            false => Who::Turn(at.clone()),
        };
        text.contains("lingers").then(|| self.stays(who))
    }

    fn stays(&self, who: Who) -> Lingers {
        all(&self.lingering).push(who.clone());
        Lingers {
            all: Arc::clone(&self.lingering),
            who,
        }
    }

    pub fn lingering(&self) -> usize {
        let all = all(&self.lingering);
        let stays = |who: &&Who| match who {
            Who::Turn(_) | Who::SubAgent => true,
            Who::Waiting(at) => all.iter().any(|other| is_at(other, at)),
        };
        all.iter().filter(stays).count()
    }

    /// Whether a turn stays running here, held or slow.
    pub fn lingers_at(&self, at: &SessionKey) -> bool {
        all(&self.lingering).iter().any(|who| is_at(who, at))
    }

    /// Bounded: a scenario whose turn lingers for good fails by what it expects next.
    pub async fn until_nothing_lingers(&self) {
        let end = Instant::now() + LINGERS_AT_MOST;
        while self.lingering() > 0 && Instant::now() < end {
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What an answer repeats of a text.
pub fn cut(text: &str) -> String {
    text.chars().take(REPEATED).collect()
}

/// A turn that stays, for as long as it does.
#[derive(Debug)]
pub struct Lingers {
    all: Lingering,
    who: Who,
}

impl Drop for Lingers {
    fn drop(&mut self) {
        let mut lingering = all(&self.all);
        if let Some(index) = lingering.iter().position(|who| *who == self.who) {
            lingering.swap_remove(index);
        }
    }
}

fn is_at(who: &Who, at: &SessionKey) -> bool {
    matches!(who, Who::Turn(place) if place == at)
}

fn all(lingering: &Lingering) -> MutexGuard<'_, Vec<Who>> {
    lingering.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]
mod tests {
    use super::*;

    #[test]
    fn who_waits_for_a_sub_agent_stays_from_its_beginning_to_its_end() {
        let script = Script::default();
        let at: SessionKey = "agent:main:slack:group:C1".parse().unwrap();
        let other: SessionKey = "agent:main:slack:group:C2".parse().unwrap();
        let _waits = script.lingers_over("use delegate {\"tasks\": [\"cat; : lingers\"]}", &at);
        let _elsewhere = script.lingers_over("use terminal {\"command\": \": lingers\"}", &other);
        assert_eq!((script.lingering(), script.lingers_at(&at)), (1, false));
        let works = script.lingers_over("use terminal {\"command\": \": lingers\"}", &at);
        assert_eq!((script.lingering(), script.lingers_at(&at)), (3, true));
        drop(works);
        assert_eq!((script.lingering(), script.lingers_at(&at)), (1, false));
    }
}
