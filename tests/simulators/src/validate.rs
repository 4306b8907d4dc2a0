//! What the server refuses before it takes a message.

use homing_domain::ids::OutboxId;
use homing_domain::origin::AccountName;
use homing_domain::split::{Limit, Unit};
use homing_ports::platform::OutgoingKind;

use crate::wire::SendBody;

/// What a message may hold where nothing else was set.
pub(crate) const DEFAULT_LIMIT: Limit = Limit {
    unit: Unit::Chars,
    max: 4000,
};

/// Why a body is refused, if it is.
pub(crate) fn problem(body: &SendBody, account: &AccountName, limit: Limit) -> Option<String> {
    if let Err(error) = body.id.parse::<OutboxId>() {
        return Some(error.to_string());
    }
    if body.attempt == 0 {
        return Some("attempt: the first try is number 1".into());
    }
    if OutgoingKind::parse(&body.kind).is_none() {
        return Some(format!(
            "kind: `{}` is none of answer, reply, background, notice",
            body.kind
        ));
    }
    if body.profile != account.profile {
        return Some(format!(
            "profile: `{}` does not own the account {account}",
            body.profile
        ));
    }
    let empty = |slot: &Option<String>| slot.as_deref() == Some("");
    if body.chat.is_empty() || empty(&body.thread) || empty(&body.user) {
        return Some("chat, thread and user are left out or not empty".into());
    }
    if body.text.trim().is_empty() {
        return Some("text: message text is empty".into());
    }
    let length = measure(&body.text, limit.unit);
    (length > limit.max).then(|| {
        format!(
            "text: message is too long, {length} of at most {}",
            limit.max
        )
    })
}

/// Counted here once more, not by the code that cuts texts: a judge does not borrow the ruler of the judged.
fn measure(text: &str, unit: Unit) -> usize {
    match unit {
        Unit::Bytes => text.len(),
        Unit::Chars => text.chars().count(),
        Unit::Utf16 => text.encode_utf16().count(),
    }
}
