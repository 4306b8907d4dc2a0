//! Session keys, ids, spans of time.

use std::fmt::{Debug, Display};
use std::str::FromStr;
use std::time::Duration;

use homing_config::parse_duration;
use homing_domain::ids::*;
use homing_domain::key::{KeySettings, SessionKey};
use homing_domain::origin::Origin;
use homing_fuzz::{Reading, fuzz};

use crate::text;

// OWN-1, 2, 3
#[test]
fn session_keys() {
    fuzz("session-key", |input| {
        let text = text(input);
        match text.parse::<SessionKey>() {
            Ok(key) => {
                comes_back(&key);
                let origin = Origin::from_key(&key);
                let everybody = KeySettings {
                    per_user_in_groups: true,
                    per_user_in_threads: true,
                };
                let built = origin.key(everybody);
                comes_back(&built);
                assert_eq!((built.chat, built.thread), (key.chat, key.thread));
                Reading::Accepted
            }
            Err(error) => {
                let said = error.to_string();
                assert!(!said.contains(char::is_control), "{said:?}");
                Reading::Refused
            }
        }
    });
}

// OWN-2: whatever the ids contain.
#[test]
fn session_keys_of_any_ids() {
    fuzz("session-key-ids", |input| {
        let text = text(input);
        let mut slots = text.split('\n').map(str::to_owned);
        let mut slot = || slots.next().filter(|slot| !slot.is_empty());
        let Some(chat) = slot() else {
            return Reading::Refused;
        };
        let key = SessionKey {
            profile: "main".into(),
            platform: "telegram".into(),
            account: slot(),
            chat_type: homing_domain::key::ChatType::Group,
            chat,
            thread: slot(),
            user: slot(),
        };
        comes_back(&key);
        Reading::Accepted
    });
}

fn comes_back(key: &SessionKey) {
    let text = key.to_string();
    assert_eq!(text.parse::<SessionKey>().as_ref(), Ok(key), "{text}");
    assert!(!text.contains(char::is_control), "{text:?}");
    let json = serde_json::to_string(key).unwrap();
    assert_eq!(&serde_json::from_str::<SessionKey>(&json).unwrap(), key);
}

#[test]
fn ids() {
    fuzz("id", |input| {
        let text = text(input);
        let kinds = [
            read::<ConversationId>(&text),
            read::<SessionId>(&text),
            read::<LineageId>(&text),
            read::<TurnId>(&text),
            read::<MessageId>(&text),
            read::<InboundId>(&text),
            read::<OutboxId>(&text),
            read::<ProcessId>(&text),
            read::<DelegationId>(&text),
            read::<NotificationId>(&text),
            read::<WindowId>(&text),
        ];
        let accepted = kinds.iter().filter(|accepted| **accepted).count();
        assert!(accepted <= 1, "{text:?} is of two kinds");
        Reading::of(accepted == 1)
    });
}

/// An id's text is one spelling, in lower case; reading it gives the id again.
fn read<T>(text: &str) -> bool
where
    T: FromStr + Display + Debug + PartialEq,
{
    let Ok(id) = text.parse::<T>() else {
        return false;
    };
    assert_eq!(id.to_string(), text.to_ascii_lowercase());
    assert_eq!(id.to_string().parse::<T>().ok(), Some(id));
    true
}

#[test]
fn durations() {
    fuzz("duration", |input| {
        let text = text(input);
        let Ok(span) = parse_duration(&text) else {
            return Reading::Refused;
        };
        assert!(
            span <= Duration::from_secs(100 * 366 * 86_400 + 1),
            "{span:?}"
        );
        let again = format!("{}ms", span.as_millis());
        assert_eq!(parse_duration(&again), Ok(span));
        Reading::Accepted
    });
}
