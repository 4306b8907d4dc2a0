//! Ids by their last characters, as people type them.
//!
//! The last characters of an id are random, so an ending names a residue: `id % 32^characters`. Four characters and more are found through an
//! index on the residue of four. Fewer are so ambiguous that looking from the newest backwards finds two soon.

use homing_domain::ids::*;
use homing_ports::store::StoreResult;

use super::Readers;
use crate::values::values;

const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// Characters of a whole id.
const WHOLE: usize = 13;
const INDEXED: usize = 4;

const PROCESS_BY_ENDING: &str = "SELECT id FROM processes WHERE (id & 1048575) = (? & 1048575) AND id % ? = ? AND conversation = coalesce(?, conversation) ORDER BY id DESC LIMIT 2";
const PROCESS_BY_SHORT_ENDING: &str =
    "SELECT id FROM processes WHERE id % ? = ? ORDER BY id DESC LIMIT 2";
const PROCESS_OF_CONVERSATION: &str =
    "SELECT id FROM processes WHERE conversation = ? AND id % ? = ? ORDER BY id DESC LIMIT 2";
const SESSION_OF_CONVERSATION: &str =
    "SELECT id FROM sessions WHERE conversation = ? AND id % ? = ? ORDER BY id DESC LIMIT 2";
const NOTIFICATION_BY_ENDING: &str = "SELECT id FROM notifications WHERE (id & 1048575) = (? & 1048575) AND id % ? = ? ORDER BY id DESC LIMIT 2";
const NOTIFICATION_BY_SHORT_ENDING: &str =
    "SELECT id FROM notifications WHERE id % ? = ? ORDER BY id DESC LIMIT 2";

/// `id % modulus == rest`.
struct Ending {
    modulus: i64,
    rest: i64,
    indexed: bool,
}

/// `None` for what ends no id. A whole id may be given with its prefix.
fn parse(text: &str, prefix: &str) -> Option<Ending> {
    let text = text.trim();
    let body = text
        .strip_prefix(prefix)
        .and_then(|rest| rest.strip_prefix('_'))
        .unwrap_or(text);
    if body.is_empty() || body.len() > WHOLE {
        return None;
    }
    let mut rest: i64 = 0;
    for byte in body.bytes() {
        let digit = ALPHABET
            .iter()
            .position(|letter| *letter == byte.to_ascii_lowercase())?;
        rest = rest
            .checked_mul(32)?
            .checked_add(i64::try_from(digit).ok()?)?;
    }
    let modulus = 32_i64
        .checked_pow(u32::try_from(body.len()).ok()?)
        .unwrap_or(i64::MAX);
    Some(Ending {
        modulus,
        rest,
        indexed: body.len() >= INDEXED,
    })
}

impl Readers {
    pub(crate) async fn find_process(
        &self,
        conversation: Option<ConversationId>,
        ending: &str,
    ) -> StoreResult<Vec<ProcessId>> {
        let Some(Ending {
            modulus,
            rest,
            indexed,
        }) = parse(ending, ProcessId::PREFIX)
        else {
            return Ok(Vec::new());
        };
        let (sql, values) = match (conversation, indexed) {
            (_, true) => (
                PROCESS_BY_ENDING,
                values![rest, modulus, rest, conversation],
            ),
            (None, false) => (PROCESS_BY_SHORT_ENDING, values![modulus, rest]),
            (Some(conversation), false) => (
                PROCESS_OF_CONVERSATION,
                values![conversation, modulus, rest],
            ),
        };
        self.all(sql, values, |fields| fields.id(ProcessId::from_column))
            .await
    }

    pub(crate) async fn find_session(
        &self,
        conversation: ConversationId,
        ending: &str,
    ) -> StoreResult<Vec<SessionId>> {
        let Some(Ending { modulus, rest, .. }) = parse(ending, SessionId::PREFIX) else {
            return Ok(Vec::new());
        };
        self.all(
            SESSION_OF_CONVERSATION,
            values![conversation, modulus, rest],
            |fields| fields.id(SessionId::from_column),
        )
        .await
    }

    pub(crate) async fn find_notification(&self, ending: &str) -> StoreResult<Vec<NotificationId>> {
        let Some(Ending {
            modulus,
            rest,
            indexed,
        }) = parse(ending, NotificationId::PREFIX)
        else {
            return Ok(Vec::new());
        };
        let (sql, values) = match indexed {
            true => (NOTIFICATION_BY_ENDING, values![rest, modulus, rest]),
            false => (NOTIFICATION_BY_SHORT_ENDING, values![modulus, rest]),
        };
        self.all(sql, values, |fields| fields.id(NotificationId::from_column))
            .await
    }
}
