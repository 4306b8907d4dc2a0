//! Why something was or was not posted: the life of a notification, from the store alone (OWN-43).
//!
//! **Invariant:** only reads; used by `/explain`, `homing explain` and whoever else asks. Nothing is inferred: what is not recorded is not said.

use std::fmt;

use homing_domain::ids::{ConversationId, DelegationId, NotificationId, ProcessId};
use homing_domain::notification::State;
use homing_ports::store::{
    ConversationRow, DecisionRow, NotificationRow, OutboxRow, OutboxState, ProcessRow, Queries,
    Source, StoreResult,
};

/// Whose notifications may be explained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    Conversation(ConversationId),
    /// The operator sees all.
    Everything,
}

/// What is known of a process or a notification.
#[derive(Debug, Clone)]
pub struct Explanation {
    pub conversation: Option<ConversationRow>,
    pub process: Option<ProcessRow>,
    pub lives: Vec<Life>,
}

/// One notification's life.
#[derive(Debug, Clone)]
pub struct Life {
    pub notification: NotificationRow,
    pub decisions: Vec<DecisionRow>,
    /// What its turn said, and what became of that.
    pub answers: Vec<OutboxRow>,
}

/// Explains a notification, or all notifications of a process. The inner error is a sentence for the person who asked.
pub async fn explain(
    queries: &dyn Queries,
    text: &str,
    scope: Scope,
) -> StoreResult<Result<Explanation, String>> {
    let (source, notifications) = match find(queries, text).await? {
        Found::Nothing => {
            return Ok(Err(format!(
                "There is no notification and no process `{text}`. /ps shows those that are there."
            )));
        }
        Found::Several => return Ok(Err(format!("`{text}` fits several; give more of the id."))),
        Found::Notification(notification) => (notification.source, vec![*notification]),
        Found::Process(id) => (
            Source::Process(id),
            queries.notifications_of(Source::Process(id)).await?,
        ),
    };
    let process = match source {
        Source::Process(id) => queries.process(id).await?,
        Source::Delegation(_) => None,
    };
    let conversation = notifications
        .first()
        .map(|one| one.conversation)
        .or(process.as_ref().map(|process| process.owner.conversation));
    if let Scope::Conversation(allowed) = scope
        && conversation != Some(allowed)
    {
        return Ok(Err(format!(
            "`{text}` does not belong to this conversation."
        )));
    }
    let mut lives = Vec::with_capacity(notifications.len());
    for notification in notifications {
        let decisions = queries.decisions(notification.id).await?;
        let answers = match notification.turn {
            Some(turn) => queries.outbox_of_turn(turn).await?,
            None => Vec::new(),
        };
        lives.push(Life {
            notification,
            decisions,
            answers,
        });
    }
    let conversation = match conversation {
        Some(id) => queries.conversation(id).await?,
        None => None,
    };
    Ok(Ok(Explanation {
        conversation,
        process,
        lives,
    }))
}

enum Found {
    Nothing,
    Several,
    Notification(Box<NotificationRow>),
    Process(ProcessId),
}

async fn find(queries: &dyn Queries, text: &str) -> StoreResult<Found> {
    if let Ok(id) = text.parse::<NotificationId>() {
        return Ok(queries
            .notification(id)
            .await?
            .map_or(Found::Nothing, |row| Found::Notification(Box::new(row))));
    }
    if let Ok(id) = text.parse::<ProcessId>() {
        return Ok(queries
            .process(id)
            .await?
            .map_or(Found::Nothing, |row| Found::Process(row.id)));
    }
    if text.parse::<DelegationId>().is_ok() {
        return Ok(Found::Nothing);
    }
    let ending = text.rsplit('_').next().unwrap_or(text);
    let notifications = queries.find_notification(ending).await?;
    let processes = queries.find_process(None, ending).await?;
    match (notifications.as_slice(), processes.as_slice()) {
        ([], []) => Ok(Found::Nothing),
        ([id], []) => Ok(queries
            .notification(*id)
            .await?
            .map_or(Found::Nothing, |row| Found::Notification(Box::new(row)))),
        ([], [id]) => Ok(Found::Process(*id)),
        _ => Ok(Found::Several),
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(process) = &self.process {
            let ending = process.ending.map_or_else(
                || process.state.name().to_owned(),
                |ending| ending.to_string(),
            );
            writeln!(
                f,
                "{} – {} – {ending}",
                process.id,
                crate::commands::inline_code(&process.command)
            )?;
            writeln!(
                f,
                "started by {} ({})",
                process.owner.session, process.owner.lineage
            )?;
        }
        if let Some(conversation) = &self.conversation {
            writeln!(f, "in {}", conversation.key)?;
        }
        if self.lives.is_empty() {
            let why = match &self.process {
                Some(process) if process.state.is_live() => "It has said nothing yet.",
                Some(process) if !process.notify => "It ended, and nobody had asked to be told.",
                Some(_) | None => "It has said nothing.",
            };
            writeln!(f, "{why}")?;
        }
        for life in &self.lives {
            life.fmt(f)?;
        }
        Ok(())
    }
}

impl fmt::Display for Life {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let notification = &self.notification;
        let reason = notification
            .reason
            .as_deref()
            .map(|reason| format!(": {reason}"))
            .unwrap_or_default();
        writeln!(
            f,
            "{} – {} – {}{reason}",
            notification.id,
            notification.kind.name(),
            notification.state.name()
        )?;
        writeln!(
            f,
            "  {} recorded",
            time_of_day(notification.created_at.millis())
        )?;
        for decision in &self.decisions {
            let reason = decision
                .reason
                .as_deref()
                .map(|reason| format!(" ({reason})"))
                .unwrap_or_default();
            writeln!(
                f,
                "  {} {} → {}{reason}",
                time_of_day(decision.at.millis()),
                decision.from.name(),
                decision.to.name()
            )?;
            if !decision.facts.is_empty() {
                writeln!(f, "    because {}", decision.facts)?;
            }
        }
        if let Some(session) = notification
            .session
            .filter(|_| notification.state == State::Delivered)
        {
            writeln!(f, "  it is in the history of {session}")?;
        }
        for answer in &self.answers {
            writeln!(f, "  {}", fate(answer))?;
        }
        Ok(())
    }
}

/// What became of an answer.
fn fate(answer: &OutboxRow) -> String {
    let reason = answer
        .reason
        .as_deref()
        .map(|reason| format!(": {reason}"))
        .unwrap_or_default();
    let tries = match answer.attempt {
        0 | 1 => String::new(),
        attempts => format!(" (attempt {attempts})"),
    };
    match answer.state {
        OutboxState::Queued => format!("its answer {} waits to be sent{tries}{reason}", answer.id),
        OutboxState::Sending => format!("its answer {} is being sent{tries}", answer.id),
        OutboxState::Uncertain => {
            format!("its answer {} may have arrived{tries}{reason}", answer.id)
        }
        OutboxState::Sent => match answer.settled_at {
            Some(at) => format!(
                "its answer {} was posted at {}{tries}",
                answer.id,
                time_of_day(at.millis())
            ),
            None => format!("its answer {} was posted{tries}", answer.id),
        },
        OutboxState::Cancelled => format!("its answer {} was not posted{reason}", answer.id),
        OutboxState::Dead => format!(
            "its answer {} could not be posted, it is kept as a dead letter{reason}",
            answer.id
        ),
    }
}

/// `2026-11-29 18:20:32.123` in UTC. Days after Howard Hinnant's civil-from-days.
fn time_of_day(millis: i64) -> String {
    let (days, rest) = (millis.div_euclid(86_400_000), millis.rem_euclid(86_400_000));
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let doe = z.rem_euclid(146_097);
    let yoe = (doe - doe / 1_460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let (day, month) = (
        doy - (153 * mp + 2) / 5 + 1,
        if mp < 10 { mp + 3 } else { mp - 9 },
    );
    let year = yoe + era * 400 + i64::from(month <= 2);
    let seconds = rest / 1_000;
    format!(
        "{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}.{:03}Z",
        seconds / 3_600,
        seconds % 3_600 / 60,
        seconds % 60,
        rest % 1_000
    )
}

#[cfg(test)]
mod tests {
    use super::time_of_day;

    #[test]
    fn moments_are_written_in_utc() {
        assert_eq!(time_of_day(0), "1970-01-01 00:00:00.000Z");
        assert_eq!(time_of_day(951_827_696_789), "2000-02-29 12:34:56.789Z");
        assert_eq!(time_of_day(1_795_976_432_123), "2026-11-29 18:20:32.123Z");
    }
}
