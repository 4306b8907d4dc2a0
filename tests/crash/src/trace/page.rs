//! Rows in a page of an SQLite table, as far as the audit has to read them.
//!
//! **Invariant:** a row is known by its shape: the words that its table allows stand where that table has them. Columns that were added to a
//! table later stand behind these.
//! **Absent on purpose:** overflow pages. Of a row that does not fit into its page, the columns that do are read.

use homing_domain::ids::OutboxId;
use homing_domain::outbox::OutboxState;
use homing_ports::platform::OutgoingKind;

/// A table's leaf, by its first byte.
const LEAF: u8 = 0x0d;
const HEADER: usize = 8;
/// Columns of `outbox`.
const KIND: usize = 4;
const STATE: usize = 8;
const ATTEMPT: usize = 9;
/// Columns of `inbound`.
const PLATFORM: usize = 3;
const PLATFORM_ID: usize = 5;
const HANDLED: usize = 11;

#[derive(Debug, PartialEq, Eq)]
pub struct Row {
    rowid: u64,
    columns: Vec<Value>,
}

#[derive(Debug, PartialEq, Eq)]
enum Value {
    Number(u64),
    Text(String),
    /// Null, a fraction, bytes, or not in this page.
    Other,
}

impl Row {
    fn text(&self, column: usize) -> Option<&str> {
        match self.columns.get(column)? {
            Value::Text(text) => Some(text),
            Value::Number(_) | Value::Other => None,
        }
    }

    /// If it is an outbox item that is being sent: which, and the how manieth attempt.
    pub fn sending(&self) -> Option<(OutboxId, u64)> {
        OutgoingKind::parse(self.text(KIND)?)?;
        let is_sending = self.text(STATE)? == OutboxState::Sending.name();
        match self.columns.get(ATTEMPT)? {
            Value::Number(attempt) if is_sending => {
                Some((OutboxId::from_number(self.rowid), *attempt))
            }
            _ => None,
        }
    }

    /// If it is a message that came in: its platform, and the platform's id of it.
    pub fn accepted(&self) -> Option<(String, String)> {
        let handled = self.text(HANDLED)?;
        let is_inbound = ["queued", "taken", "done"].contains(&handled);
        let (platform, id) = (self.text(PLATFORM)?, self.text(PLATFORM_ID)?);
        is_inbound.then(|| (platform.to_owned(), id.to_owned()))
    }
}

/// Those of a leaf; none of anything else.
pub fn rows(page: &[u8]) -> Vec<Row> {
    if page.first() != Some(&LEAF) {
        return Vec::new();
    }
    let cells = usize::from(short(page, 3).unwrap_or(0));
    (0..cells)
        .filter_map(|cell| row(page, usize::from(short(page, HEADER + 2 * cell)?)))
        .collect()
}

fn short(page: &[u8], at: usize) -> Option<u16> {
    let bytes = page.get(at..at + 2)?;
    Some(u16::from_be_bytes(bytes.try_into().ok()?))
}

fn row(page: &[u8], at: usize) -> Option<Row> {
    let mut rest = page.get(at..)?;
    let _length = varint(&mut rest)?;
    let rowid = varint(&mut rest)?;
    let record = rest;
    let header_length = usize::try_from(varint(&mut rest)?).ok()?;
    let read = record.len() - rest.len();
    let mut header = rest.get(..header_length.checked_sub(read)?)?;
    let mut body = record.get(header_length..)?;
    let mut columns = Vec::new();
    while !header.is_empty() {
        let kind = varint(&mut header)?;
        columns.push(value(kind, &mut body));
    }
    Some(Row { rowid, columns })
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for index in 0..9 {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        if index == 8 {
            return Some(number << 8 | u64::from(*byte));
        }
        number = number << 7 | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            break;
        }
    }
    Some(number)
}

fn value(kind: u64, body: &mut &[u8]) -> Value {
    let length = match kind {
        1..=4 => kind,
        5 => 6,
        6 | 7 => 8,
        12.. => (kind - 12) / 2,
        _ => 0,
    };
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let Some((bytes, rest)) = body.split_at_checked(length) else {
        *body = &[];
        return Value::Other;
    };
    *body = rest;
    match kind {
        1..=6 => Value::Number(
            bytes
                .iter()
                .fold(0, |sum, byte| sum << 8 | u64::from(*byte)),
        ),
        8 => Value::Number(0),
        9 => Value::Number(1),
        13.. if kind % 2 == 1 => {
            String::from_utf8(bytes.to_vec()).map_or(Value::Other, Value::Text)
        }
        _ => Value::Other,
    }
}

/// Pages with one row, as SQLite writes them.
#[cfg(test)]
pub mod leaf {
    use super::*;

    /// Columns that a row here has.
    const COLUMNS: usize = 17;

    pub fn outbox(id: OutboxId, state: &str, attempt: u64) -> Vec<u8> {
        let mut columns = vec![None; COLUMNS];
        columns[KIND] = Some("answer");
        columns[STATE] = Some(state);
        page(id.number(), &columns, Some((ATTEMPT, attempt)))
    }

    pub fn inbound(platform: &str, id: &str) -> Vec<u8> {
        let mut columns = vec![None; COLUMNS];
        columns[PLATFORM] = Some(platform);
        columns[PLATFORM_ID] = Some(id);
        columns[HANDLED] = Some("queued");
        page(9, &columns, None)
    }

    fn page(rowid: u64, texts: &[Option<&str>], number: Option<(usize, u64)>) -> Vec<u8> {
        let (mut header, mut body) = (Vec::new(), Vec::new());
        for (index, text) in texts.iter().enumerate() {
            match (text, number) {
                (_, Some((at, number))) if at == index => {
                    header.push(1);
                    body.push(u8::try_from(number).unwrap_or(0));
                }
                (Some(text), _) => {
                    header.push(u8::try_from(13 + 2 * text.len()).unwrap_or(0));
                    body.extend(text.as_bytes());
                }
                (None, _) => header.push(0),
            }
        }
        let mut cell = vec![u8::try_from(header.len() + 1 + body.len()).unwrap_or(0)];
        cell.extend(nine_bytes(rowid));
        cell.push(u8::try_from(header.len() + 1).unwrap_or(0));
        cell.extend(header);
        cell.extend(body);
        let mut page = vec![0; 512];
        page[0] = LEAF;
        page[4] = 1;
        page[8..10].copy_from_slice(&300_u16.to_be_bytes());
        page[300..300 + cell.len()].copy_from_slice(&cell);
        page
    }

    /// As numbers of 63 bits are written.
    fn nine_bytes(number: u64) -> Vec<u8> {
        let high = number >> 8;
        let mut bytes: Vec<u8> = (0..8)
            .rev()
            .map(|seven| (high >> (7 * seven) & 0x7f) as u8 | 0x80)
            .collect();
        bytes.push((number & 0xff) as u8);
        bytes
    }

    #[test]
    fn a_row_is_read_back() {
        let id = OutboxId::from_number(252_904_708_429_637_808);
        let [row] = &rows(&outbox(id, "sending", 3))[..] else {
            panic!("one row");
        };
        assert_eq!(row.sending(), Some((id, 3)));
        assert_eq!(row.accepted(), None);
        assert!(rows(b"\x0a\0\0\0\x01").is_empty());
    }
}
