//! `/deadletters`: what could not be delivered, and telling it again (OWN-73).

use futures_util::future::{BoxFuture, FutureExt};
use homing_domain::ids::OutboxId;
use homing_domain::redact::redact;
use homing_domain::session::Boundary;
use homing_domain::time::Span;
use homing_ports::platform::Extras;
use homing_ports::store::{OutboxRow, StoreError};

use super::{Call, Command, Effect, Outcome, Step, ending};
use crate::conversation::{DEAD_LETTERS, told_again};

pub(super) const COMMAND: Command = Command {
    name: "deadletters",
    usage: "[MESSAGE]",
    summary: "messages that could not be delivered; with one of them, tell it again",
    run,
};

/// The newest of them that a list shows.
const SHOWN: usize = 20;
/// Characters of a first line.
const LINE: usize = 80;

fn run<'a>(call: &'a Call<'a>) -> BoxFuture<'a, Result<Outcome, StoreError>> {
    async move {
        let letters = call
            .inside
            .store
            .dead_letters(call.row.id, DEAD_LETTERS)
            .await?;
        match call.arguments() {
            [] => Ok(list(call, &letters)),
            [wanted] => match found(letters, wanted) {
                Found::One(letter) => here(call, *letter).await,
                Found::Several => Ok(Outcome::reply(format!(
                    "`{wanted}` fits several messages; give more of the id. /deadletters shows them."
                ))),
                Found::None => elsewhere(call, wanted).await,
            },
            _ => Ok(call.usage("One message at a time.")),
        }
    }
    .boxed()
}

enum Found {
    One(Box<OutboxRow>),
    Several,
    None,
}

fn found(letters: Vec<OutboxRow>, wanted: &str) -> Found {
    let wanted = ending(wanted);
    let mut fitting = letters
        .into_iter()
        .filter(|letter| !wanted.is_empty() && letter.id.to_string().ends_with(wanted));
    match (fitting.next(), fitting.next()) {
        (Some(letter), None) => Found::One(Box::new(letter)),
        (Some(_), Some(_)) => Found::Several,
        (None, _) => Found::None,
    }
}

fn list(call: &Call<'_>, letters: &[OutboxRow]) -> Outcome {
    if letters.is_empty() {
        return Outcome::reply("Everything from here was delivered, or told again.");
    }
    let now = call.inside.now();
    let shown = &letters[letters.len().saturating_sub(SHOWN)..];
    let mut lines = vec![match letters.len() - shown.len() {
        0 => "Could not be delivered:".to_owned(),
        more => format!("Could not be delivered ({more} older ones are not shown):"),
    }];
    lines.extend(shown.iter().map(|letter| {
        let age = Span(now.since(letter.settled_at.unwrap_or(letter.created_at)));
        format!(
            "• {} – {age} ago – {} – “{}”",
            letter.id,
            letter.reason.as_deref().unwrap_or("no reason was kept"),
            first_line(letter)
        )
    }));
    lines.push("/deadletters MESSAGE tells one again here.".to_owned());
    Outcome::reply(lines.join("\n"))
}

fn first_line(letter: &OutboxRow) -> String {
    let text = redact(letter.text.trim());
    let line = text.lines().next().unwrap_or_default();
    let short: String = line.chars().take(LINE).collect();
    match short.len() < line.len() {
        true => format!("{short}…"),
        false => short,
    }
}

/// A person of its own conversation asks for it: told where they ask. What their `/new` ended is theirs to ask for, too; it then speaks for no
/// session, so that nothing cancels it.
async fn here(call: &Call<'_>, letter: OutboxRow) -> Result<Outcome, StoreError> {
    let lineage = match letter.lineage {
        Some(lineage) => {
            let row = call.inside.store.lineage(lineage).await?;
            let closed = row.and_then(|row| row.closed);
            let ended = matches!(closed, Some((Boundary::Reset | Boundary::Deleted, _)));
            (!ended).then_some(lineage)
        }
        None => None,
    };
    let letter = OutboxRow {
        lineage,
        origin: call.inbound.origin.clone(),
        window: call.inbound.window,
        extras: Extras {
            // What showed it once is far above by now.
            replaces: None,
            ..letter.extras
        },
        ..letter
    };
    let changes = told_again(letter, call.inside.ids.next()).to_vec();
    Ok(Outcome::Step(Step {
        reply: "That was it, once more.".to_owned(),
        changes,
        effects: Vec::new(),
    }))
}

/// Another conversation's: only for the operator, by its whole id, and told where it belongs.
async fn elsewhere(call: &Call<'_>, wanted: &str) -> Result<Outcome, StoreError> {
    let missing = || {
        Outcome::reply(format!(
            "There is no undelivered message `{wanted}` here. /deadletters lists those that are there."
        ))
    };
    let is_home = call.inside.settings.home.as_ref() == Some(&call.row.key);
    let (true, Ok(id)) = (is_home, wanted.parse::<OutboxId>()) else {
        return Ok(missing());
    };
    let Some(item) = call.inside.store.outbox_item(id).await? else {
        return Ok(missing());
    };
    let letters = call
        .inside
        .store
        .dead_letters(item.conversation, DEAD_LETTERS)
        .await?;
    let owner = call.inside.store.conversation(item.conversation).await?;
    let (true, Some(owner)) = (letters.iter().any(|letter| letter.id == id), owner) else {
        return Ok(missing());
    };
    Ok(Outcome::Step(Step {
        reply: format!("It is told again where it belongs: {}.", owner.key),
        changes: Vec::new(),
        effects: vec![Effect::TellAgain {
            conversation: item.conversation,
            outbox: id,
        }],
    }))
}
