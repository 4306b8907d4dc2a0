//! A message comes in, a conversation begins (OWN-70). Not changes, since neither knows its conversation yet.

use homing_domain::ids::{ConversationId, InboundId};
use homing_domain::key::SessionKey;
use homing_domain::origin::{AccountName, Origin};
use homing_domain::time::Timestamp;
use homing_ports::inbox::Inbound;

use super::{Expect, Step, json};
use crate::columns;
use crate::values::{Value, values};

fn step(sql: &'static str, values: Vec<Value>) -> Step {
    Step {
        sql,
        values,
        expect: Expect::Any,
        change: 0,
    }
}

/// Ends with one row: id and conversation of the message, whether it is `id` or was there before. A repeat changes nothing, not even the
/// conversation's origin, and makes no conversation of its own if the key's settings have changed since.
pub(crate) fn accept(
    inbound: &Inbound,
    key: &SessionKey,
    id: InboundId,
    conversation: ConversationId,
    at: Timestamp,
) -> Vec<Step> {
    let Inbound {
        origin,
        platform_id,
        author,
        text,
        window,
        raw,
        quoted,
        attachments,
        together,
    } = inbound;
    let account = origin.account.as_deref().unwrap_or("");
    let name = || values![platform_id, &origin.platform, account, &origin.profile];
    let key = key.to_string();
    let origin_column = json(origin);

    let mut begin = values![conversation];
    begin.extend(name());
    begin.extend([
        key.clone().into(),
        origin_column.clone(),
        at.into(),
        at.into(),
    ]);
    let mut insert = values![id];
    insert.extend(values![
        &origin.profile,
        &origin.platform,
        account,
        platform_id
    ]);
    insert.push(origin_column.clone());
    insert.extend(values![
        author.clone(),
        text,
        raw.clone(),
        *window,
        quoted.clone()
    ]);
    insert.push(match attachments.is_empty() {
        true => Value::Null,
        false => json(attachments),
    });
    insert.push(together.as_ref().map_or(Value::Null, json));
    insert.extend(values![at, &key]);
    vec![
        // For a repeat the key is NULL, which is ignored. An INSERT … SELECT … WHERE would read better, but inserting many rows into a table that
        // others refer to makes SQLite look through all of those.
        step(
            "INSERT OR IGNORE INTO conversations (id, key, origin, created_at, active_at) VALUES (?, \
             CASE WHEN NOT EXISTS (SELECT 1 FROM inbound WHERE platform_id = ? AND platform = ? AND account = ? AND profile = ?) THEN ? END, \
             ?, ?, ?)",
            begin,
        ),
        step(
            "INSERT INTO inbound (id, conversation, profile, platform, account, platform_id, origin, author, text, raw, window, quoted, attachments, together, received_at) \
             SELECT ?, id, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? FROM conversations WHERE key = ? ON CONFLICT (platform_id, platform, account, profile) DO NOTHING",
            insert,
        ),
        step(
            "UPDATE conversations SET origin = ?, active_at = max(active_at, ?) WHERE id = (SELECT conversation FROM inbound WHERE id = ?)",
            vec![origin_column, at.into(), id.into()],
        ),
        step(
            "SELECT id, conversation FROM inbound WHERE platform_id = ? AND platform = ? AND account = ? AND profile = ?",
            name(),
        ),
    ]
}

/// Ends with the message's conversation and whether it was changed: only what is still queued is.
pub(crate) fn edit_inbound(account: &AccountName, platform_id: &str, text: &str) -> Vec<Step> {
    let slot = account.account.as_deref().unwrap_or("");
    let name = values![platform_id, &account.platform, slot, &account.profile];
    let mut change = values![text];
    change.extend(name.clone());
    vec![
        step(
            "UPDATE inbound SET text = ? WHERE platform_id = ? AND platform = ? AND account = ? AND profile = ? AND state = 'queued'",
            change,
        ),
        step(
            "SELECT conversation, state = 'queued' FROM inbound WHERE platform_id = ? AND platform = ? AND account = ? AND profile = ?",
            name,
        ),
    ]
}

/// Ends with the conversation's row.
pub(crate) fn open_conversation(
    key: &SessionKey,
    origin: &Origin,
    id: ConversationId,
    at: Timestamp,
) -> Vec<Step> {
    let key = key.to_string();
    let mut begin = values![id, &key];
    begin.extend([json(origin), at.into(), at.into()]);
    vec![
        step(
            "INSERT INTO conversations (id, key, origin, created_at, active_at) VALUES (?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING",
            begin,
        ),
        step(
            concat!(
                "SELECT ",
                columns::conversation!(""),
                " FROM conversations WHERE key = ?"
            ),
            values![key],
        ),
    ]
}
