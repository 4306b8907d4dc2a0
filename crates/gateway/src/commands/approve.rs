//! `/approve`: the person says yes to what they were asked.

use futures_util::future::{BoxFuture, FutureExt};
use homing_ports::store::{ApprovalRow, ApprovalState, Change, StoreError};
use homing_tools::Approval;

use super::{Call, Command, Effect, Outcome, Step, ending, inline_code};

pub(super) const COMMAND: Command = Command {
    name: "approve",
    usage: "[QUESTION] [session|always]",
    summary: "yes, run it: once, for the rest of this session, or always",
    run,
};

fn run<'a>(call: &'a Call<'a>) -> BoxFuture<'a, Result<Outcome, StoreError>> {
    async move {
        let (mut state, mut how, mut question) = (ApprovalState::ApprovedOnce, "once", None);
        for word in call.arguments() {
            match word.as_str() {
                "once" => {}
                "session" => (state, how) = (ApprovalState::ApprovedForSession, "for this session"),
                "always" => (state, how) = (ApprovalState::ApprovedAlways, "from now on"),
                _ if question.is_some() => return Ok(call.usage("That is more than one question.")),
                other => question = Some(other),
            }
        }
        let row = match find(call, question).await? {
            Ok(row) => row,
            Err(problem) => return Ok(Outcome::reply(problem)),
        };
        let reply = format!("Approved {how}: {}", inline_code(&row.command));
        Ok(settle(&row, state, Approval::Granted, reply))
    }
    .boxed()
}

/// The answer, and what waits for it.
pub(super) fn settle(
    row: &ApprovalRow,
    state: ApprovalState,
    answer: Approval,
    reply: String,
) -> Outcome {
    Outcome::Step(Step {
        reply,
        changes: vec![Change::SettleApproval {
            approval: row.id,
            state,
        }],
        effects: vec![Effect::Answered(row.id, answer)],
    })
}

/// The question that is meant, if this person may answer it now; else the sentence that says what is wrong.
pub(super) async fn find(
    call: &Call<'_>,
    question: Option<&str>,
) -> Result<Result<ApprovalRow, String>, StoreError> {
    let open = call.inside.store.open_approvals(call.row.id).await?;
    let person = call.inbound.origin.user.as_deref();
    let theirs = |row: &ApprovalRow| row.person.is_none() || row.person.as_deref() == person;
    let Some(text) = question else {
        let mut own = open.into_iter().filter(|row| theirs(row));
        return Ok(match (own.next(), own.next()) {
            (None, _) => Err("Nothing waits for your answer.".to_owned()),
            (Some(row), None) => in_time(call, row),
            (Some(first), Some(second)) => {
                let lines: Vec<String> = [first, second]
                    .into_iter()
                    .chain(own)
                    .map(|row| format!("• {} – {}", row.id, inline_code(&row.command)))
                    .collect();
                Err(format!(
                    "Several questions wait for your answer; say which one:\n{}",
                    lines.join("\n")
                ))
            }
        });
    };
    let tail = ending(text);
    let mut named = open
        .into_iter()
        .filter(|row| !tail.is_empty() && row.id.to_string().ends_with(tail));
    match (named.next(), named.next()) {
        (Some(row), None) if theirs(&row) => Ok(in_time(call, row)),
        (Some(_), None) => Ok(Err(
            "Only the person who was asked can answer that.".to_owned()
        )),
        (Some(_), Some(_)) => Ok(Err(format!(
            "`{text}` fits several questions; give more of the id."
        ))),
        (None, _) => Ok(Err(settled(call, text).await?)),
    }
}

/// Past its time it is refused, whether that is recorded already or not. So is one of another session.
fn in_time(call: &Call<'_>, row: ApprovalRow) -> Result<ApprovalRow, String> {
    if row.expires_at <= call.inside.now() {
        return Err("That question has expired; nothing was run.".to_owned());
    }
    match call.row.current {
        Some(current) if current.lineage == row.lineage => Ok(row),
        Some(_) | None => Err("That question belongs to another session.".to_owned()),
    }
}

async fn settled(call: &Call<'_>, text: &str) -> Result<String, StoreError> {
    let row = match text.parse() {
        Ok(id) => call.inside.store.approval(id).await?,
        Err(_) => None,
    };
    let row = row.filter(|row| row.conversation == call.row.id);
    Ok(match row.map(|row| row.state) {
        None | Some(ApprovalState::Asked) => format!("There is no open question `{text}` here."),
        Some(ApprovalState::Expired) => "That question has expired; nothing was run.".to_owned(),
        Some(ApprovalState::Denied) => "That question was answered already: denied.".to_owned(),
        Some(
            ApprovalState::ApprovedOnce
            | ApprovalState::ApprovedForSession
            | ApprovalState::ApprovedAlways,
        ) => "That question was answered already: approved.".to_owned(),
    })
}
