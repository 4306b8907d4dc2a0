//! Where a history is cut when it is compressed. Pure.
//!
//! **Invariant:** no cut parts a call from its result, and the last exchange is kept word for word unless it alone would fill half of the model.

use homing_ports::store::{MessageRow, Role};

use super::client::estimate_tokens;
use super::transcript::safe_cuts;

/// The marks around a message.
const PER_ROW: u64 = 8;

/// The row from which on everything is kept, as a number of rows before it. All of them: nothing is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut(pub usize);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("there is nothing to compress yet: the conversation has only begun")]
pub struct NothingToCompress;

/// `window` in tokens.
pub fn cut(rows: &[MessageRow], window: u64) -> Result<Cut, NothingToCompress> {
    let safe = safe_cuts(rows);
    let after = tokens_from(rows);
    let all = after.first().copied().unwrap_or(0);
    // A short history that somebody wants compressed gets shorter, too.
    let wanted = (window / 4).min(all / 4);
    let starts: Vec<usize> = (0..rows.len())
        .filter(|at| safe[*at] && is_start(rows, *at))
        .collect();
    let Some(last) = starts.last().copied() else {
        return Err(NothingToCompress);
    };
    if after[last] > window / 2 && is_answered(rows, last) {
        // One exchange as long as half the model: its own beginning is summarized as well.
        let within = (last + 1..rows.len()).filter(|at| safe[*at]);
        let mut fits = within.filter(|at| after[*at] <= window / 4);
        return Ok(Cut(fits.next().unwrap_or(rows.len())));
    }
    match starts
        .into_iter()
        .find(|at| *at > 0 && after[*at] <= wanted)
    {
        Some(at) => Ok(Cut(at)),
        None if last > 0 => Ok(Cut(last)),
        None if is_answered(rows, 0) => Ok(Cut(rows.len())),
        None => Err(NothingToCompress),
    }
}

/// An exchange begins here: another turn, or a message without one.
fn is_start(rows: &[MessageRow], at: usize) -> bool {
    let row = &rows[at];
    at == 0 || row.turn != rows[at - 1].turn || row.turn.is_none() && row.role == Role::Person
}

fn is_answered(rows: &[MessageRow], from: usize) -> bool {
    rows[from..].iter().any(|row| row.role == Role::Agent)
}

/// Of each row and all after it.
fn tokens_from(rows: &[MessageRow]) -> Vec<u64> {
    let mut sums: Vec<u64> = rows
        .iter()
        .rev()
        .scan(0, |sum, row| {
            *sum += PER_ROW
                + estimate_tokens(&row.text)
                + row.data.as_deref().map_or(0, estimate_tokens);
            Some(*sum)
        })
        .collect();
    sums.reverse();
    sums
}

#[cfg(test)]
mod tests {
    use homing_domain::ids::{MessageId, SessionId, TurnId};
    use homing_domain::time::Timestamp;

    use super::*;

    fn row(turn: u64, role: Role, length: usize) -> MessageRow {
        MessageRow {
            id: MessageId::from_number(1),
            session: SessionId::from_number(1),
            turn: (turn > 0).then(|| TurnId::from_number(turn)),
            role,
            author: None,
            text: "word ".repeat(length),
            data: None,
            at: Timestamp(0),
        }
    }

    fn exchanges(count: u64, length: usize) -> Vec<MessageRow> {
        (1..=count)
            .flat_map(|turn| {
                [
                    row(turn, Role::Person, length),
                    row(turn, Role::Agent, length),
                ]
            })
            .collect()
    }

    #[test]
    fn the_tail_takes_about_a_quarter_and_begins_with_an_exchange() {
        let rows = exchanges(100, 100);
        let Ok(Cut(at)) = cut(&rows, 10_000) else {
            panic!("there is much to compress");
        };
        let tail = tokens_from(&rows)[at];
        assert!(
            at % 2 == 0 && (2_000..=2_500).contains(&tail),
            "{at}: {tail}"
        );
    }

    #[test]
    fn a_short_history_is_compressed_as_well_but_for_its_last_exchange() {
        assert_eq!(cut(&exchanges(3, 5), 10_000), Ok(Cut(4)));
        assert_eq!(cut(&exchanges(1, 5), 10_000), Ok(Cut(2)));
        assert_eq!(cut(&[], 10_000), Err(NothingToCompress));
        assert_eq!(
            cut(&[row(1, Role::Person, 5)], 10_000),
            Err(NothingToCompress)
        );
    }

    #[test]
    fn a_message_that_waits_for_its_answer_is_kept() {
        let mut rows = exchanges(3, 500);
        rows.push(row(4, Role::Person, 50_000));
        assert_eq!(cut(&rows, 10_000), Ok(Cut(6)));
    }

    #[test]
    fn a_call_is_not_parted_from_its_result_by_what_came_between() {
        let mut rows = exchanges(2, 50);
        let mut calls = row(3, Role::Agent, 0);
        calls.data =
            Some(r#"{"v":1,"calls":[{"id":"a","name":"terminal","arguments":"{}"}]}"#.into());
        let mut result = row(3, Role::Tool, 1);
        result.data = Some(r#"{"v":1,"answers":"a"}"#.into());
        // A note of no turn, written while the tool ran: what follows it looks like a beginning.
        rows.extend([
            row(3, Role::Person, 500),
            calls,
            row(0, Role::System, 1),
            result,
        ]);
        assert_eq!(cut(&rows, 10_000), Ok(Cut(4)));
    }

    #[test]
    fn one_exchange_that_fills_the_model_is_cut_within() {
        let mut rows = vec![row(1, Role::Person, 10)];
        rows.extend((0..40).map(|_| row(1, Role::Agent, 200)));
        let Ok(Cut(at)) = cut(&rows, 10_000) else {
            panic!("there is much to compress");
        };
        assert!(at > 20 && at < 40, "{at}");
    }
}
