//! What was expected against what was seen. Pure; each function gives a difference in words, or nothing.
//!
//! **Invariant:** lists are exact, and their order does not matter. An expectation that leaves something open takes anything there, but takes
//! one thing only: two expectations are never met by the same turn or post.

use std::collections::{BTreeMap, BTreeSet};

use homing_domain::ids::SessionId;
use homing_domain::key::SessionKey;
use homing_domain::notification::State;

use crate::model::{
    ExpectedAnswers, ExpectedPost, ExpectedSession, ExpectedState, ExpectedTurn, PostKind, Wanted,
};

/// Characters of a text that a difference shows.
const SHOWN: usize = 160;

/// "expected …, seen …".
pub type Difference = Option<String>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenTurn {
    pub at: SessionKey,
    pub session: SessionId,
    /// Labels; a thing that is told of twice in one turn is in it once.
    pub about: BTreeSet<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenPost {
    pub at: SessionKey,
    pub kind: PostKind,
    pub window: Option<String>,
    pub text: String,
}

/// `None`: there is no notification.
pub type SeenState = Option<(State, Option<String>)>;

type Sessions = BTreeMap<String, SessionId>;

pub fn turns(expected: &[ExpectedTurn], seen: &[SeenTurn], sessions: &Sessions) -> Difference {
    let fits = |expected: &ExpectedTurn, seen: &SeenTurn| {
        let about: BTreeSet<String> = expected.about.iter().cloned().collect();
        let session = expected
            .session
            .as_ref()
            .is_none_or(|label| sessions.get(label) == Some(&seen.session));
        expected.at == seen.at && about == seen.about && session
    };
    let wanted = |turn: &ExpectedTurn| {
        let about: BTreeSet<String> = turn.about.iter().cloned().collect();
        turn_text(&turn.at, &about, turn.session.as_deref())
    };
    let found = |turn: &SeenTurn| {
        turn_text(
            &turn.at,
            &turn.about,
            Some(&session_name(turn.session, sessions)),
        )
    };
    unless_matched("turns", expected, seen, fits, wanted, found)
}

pub fn posts(expected: &[ExpectedPost], seen: &[SeenPost]) -> Difference {
    let fits = |expected: &ExpectedPost, seen: &SeenPost| {
        let kind = expected.kind.is_none_or(|kind| kind == seen.kind);
        let window = expected.window.is_none() || expected.window == seen.window;
        expected.at == seen.at
            && kind
            && window
            && expected.has.iter().all(|text| seen.text.contains(text))
    };
    let wanted = |post: &ExpectedPost| {
        let kind = post.kind.map_or("post", PostKind::name);
        let has = if post.has.is_empty() {
            String::new()
        } else {
            format!(" with {:?}", post.has)
        };
        format!(
            "{kind} at {}{}{has}",
            post.at,
            window_text(post.window.as_deref())
        )
    };
    let found = |post: &SeenPost| {
        format!(
            "{} at {}{} {}",
            post.kind.name(),
            post.at,
            window_text(post.window.as_deref()),
            short(&post.text)
        )
    };
    unless_matched("posts", expected, seen, fits, wanted, found)
}

/// `seen` counts by key; a count of zero is the same as none.
pub fn answers(expected: &[ExpectedAnswers], seen: &BTreeMap<String, usize>) -> Difference {
    let mut wanted = BTreeMap::new();
    for answers in expected {
        *wanted.entry(answers.at.to_string()).or_insert(0) += answers.count;
    }
    wanted.retain(|_, count| *count > 0);
    let text = |counts: &BTreeMap<String, usize>| {
        let all: Vec<String> = counts
            .iter()
            .map(|(at, count)| format!("{count} at {at}"))
            .collect();
        list(&all)
    };
    (wanted != *seen).then(|| format!("expected answers {}, seen {}", text(&wanted), text(seen)))
}

/// `seen` is what was answered, by key.
pub fn answered(expected: &[ExpectedAnswers], seen: &BTreeMap<String, Vec<String>>) -> Difference {
    let mut differences = Vec::new();
    for answers in expected {
        let said = seen
            .get(&answers.at.to_string())
            .map(|texts| texts.join("\n"))
            .unwrap_or_default();
        let missing = answers.has.iter().find(|text| !said.contains(*text));
        let excess = answers.lacks.iter().find(|text| said.contains(*text));
        differences
            .extend(missing.map(|text| format!("expected `{text}` answered, seen `{said}`")));
        differences
            .extend(excess.map(|text| format!("expected no `{text}` answered, seen `{said}`")));
    }
    (!differences.is_empty()).then(|| differences.join("; "))
}

pub fn states(
    expected: &BTreeMap<String, ExpectedState>,
    seen: &BTreeMap<String, SeenState>,
) -> Difference {
    let mut differences = Vec::new();
    for (name, wanted) in expected {
        let found = seen.get(name).cloned().flatten();
        let met = match (wanted, &found) {
            (ExpectedState::NoNotification, None) => true,
            (ExpectedState::Is { state, reason }, Some((is, why))) => {
                state == is && (reason.is_none() || reason == why)
            }
            (ExpectedState::NoNotification, Some(_)) | (ExpectedState::Is { .. }, None) => false,
        };
        if !met {
            differences.push(format!(
                "expected {name} {wanted}, seen {}",
                state_text(found)
            ));
        }
    }
    (!differences.is_empty()).then(|| differences.join("; "))
}

pub fn alive(expected: &[String], seen: &[String]) -> Difference {
    let [wanted, found] =
        [expected, seen].map(|names| names.iter().cloned().collect::<BTreeSet<_>>());
    let text = |names: BTreeSet<String>| list(&names.into_iter().collect::<Vec<_>>());
    (wanted != found).then(|| format!("expected alive {}, seen {}", text(wanted), text(found)))
}

pub fn session(
    expected: &ExpectedSession,
    seen: Option<SessionId>,
    sessions: &Sessions,
) -> Difference {
    let id = |label: &Option<String>| {
        label
            .as_ref()
            .and_then(|label| sessions.get(label))
            .copied()
    };
    let (met, wanted) = match &expected.wanted {
        Wanted::Is(label) => (
            id(label) == seen,
            label.clone().unwrap_or_else(|| "none".into()),
        ),
        Wanted::IsNot(label) => (
            id(label) != seen,
            format!("not {}", label.as_deref().unwrap_or("none")),
        ),
    };
    let found = seen.map_or_else(|| "none".into(), |seen| session_name(seen, sessions));
    (!met).then(|| format!("expected session {wanted} at {}, seen {found}", expected.at))
}

pub fn reply(has: &[String], seen: &str) -> Difference {
    let missing: Vec<_> = has.iter().filter(|text| !seen.contains(*text)).collect();
    (!missing.is_empty())
        .then(|| format!("expected a reply with {missing:?}, seen {}", short(seen)))
}

/// The same post with its texts filled in.
pub fn filled(post: ExpectedPost, fill: impl Fn(&str) -> String) -> ExpectedPost {
    ExpectedPost {
        has: post.has.iter().map(|text| fill(text)).collect(),
        ..post
    }
}

fn unless_matched<E, S>(
    what: &str,
    expected: &[E],
    seen: &[S],
    fits: impl Fn(&E, &S) -> bool,
    wanted: impl Fn(&E) -> String,
    found: impl Fn(&S) -> String,
) -> Difference {
    if matched(expected, seen, fits) {
        return None;
    }
    let wanted: Vec<String> = expected.iter().map(wanted).collect();
    let found: Vec<String> = seen.iter().map(found).collect();
    Some(format!(
        "expected {what} {}, seen {}",
        list(&wanted),
        list(&found)
    ))
}

/// Whether there are pairs of all expected and all seen that fit. A greedy choice could give a strict expectation's partner to a loose one, so
/// earlier choices are changed where that helps.
fn matched<E, S>(expected: &[E], seen: &[S], fits: impl Fn(&E, &S) -> bool) -> bool {
    let mut partner: Vec<Option<usize>> = vec![None; seen.len()];
    let table: Vec<Vec<bool>> = expected
        .iter()
        .map(|one| seen.iter().map(|other| fits(one, other)).collect())
        .collect();
    expected.len() == seen.len()
        && (0..expected.len())
            .all(|one| pair(one, &table, &mut partner, &mut vec![false; seen.len()]))
}

fn pair(
    one: usize,
    table: &[Vec<bool>],
    partner: &mut [Option<usize>],
    tried: &mut [bool],
) -> bool {
    for other in 0..tried.len() {
        if !table[one][other] || tried[other] {
            continue;
        }
        tried[other] = true;
        if partner[other].is_none_or(|before| pair(before, table, partner, tried)) {
            partner[other] = Some(one);
            return true;
        }
    }
    false
}

fn turn_text(at: &SessionKey, about: &BTreeSet<String>, session: Option<&str>) -> String {
    let about: Vec<&str> = about.iter().map(String::as_str).collect();
    let session = session.map_or_else(String::new, |session| format!(" in {session}"));
    format!("about {} at {at}{session}", about.join("+"))
}

fn window_text(window: Option<&str>) -> String {
    window.map_or_else(String::new, |window| format!(" in {window}"))
}

fn session_name(session: SessionId, sessions: &Sessions) -> String {
    let label = sessions
        .iter()
        .find(|(_, id)| **id == session)
        .map(|(label, _)| label.clone());
    label.unwrap_or_else(|| session.to_string())
}

fn state_text(state: SeenState) -> String {
    match state {
        None => "no notification".into(),
        Some((state, None)) => state.name().into(),
        Some((state, Some(reason))) => format!("{}:{reason}", state.name()),
    }
}

fn short(text: &str) -> String {
    let cut: String = text.chars().take(SHOWN).collect();
    let more = if cut.len() < text.len() { "…" } else { "" };
    format!("{:?}{more}", cut)
}

fn list(items: &[String]) -> String {
    format!("[{}]", items.join(", "))
}

#[cfg(test)]
mod tests;
