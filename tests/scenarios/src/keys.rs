//! How a message comes to land at exactly the key that a step names.
//!
//! A gateway has one isolation setting for all its keys (OWN-4), a scenario names keys. So the settings are read off the keys; where the keys of
//! one scenario disagree, the isolating setting is taken, and a key without a user slot is written to by a person whom the platform does not name.
//!
//! **Invariant:** the origin that [`origin`] gives builds the key it was asked for; there is no other way to get one.

use homing_domain::key::{ChatType, KeySettings, SessionKey};
use homing_domain::origin::Origin;

/// Who writes where nobody is named.
pub const SOMEONE: &str = "u1";

/// The settings under which most of these keys can be built. `None` in `explicit` is what the file leaves open.
pub fn settings<'a>(
    keys: impl Iterator<Item = &'a SessionKey> + Clone,
    explicit: (Option<bool>, Option<bool>),
) -> KeySettings {
    let defaults = KeySettings::default();
    let in_groups = keys
        .clone()
        .filter(|key| key.chat_type == ChatType::Group && key.thread.is_none());
    let in_threads = keys.filter(|key| {
        key.chat_type == ChatType::Thread
            || (key.chat_type == ChatType::Group && key.thread.is_some())
    });
    KeySettings {
        per_user_in_groups: explicit
            .0
            .or_else(|| isolating(in_groups))
            .unwrap_or(defaults.per_user_in_groups),
        per_user_in_threads: explicit
            .1
            .or_else(|| isolating(in_threads))
            .unwrap_or(defaults.per_user_in_threads),
    }
}

/// Whether any of them names a user; `None` without any key.
fn isolating<'a>(keys: impl Iterator<Item = &'a SessionKey>) -> Option<bool> {
    keys.map(|key| key.user.is_some())
        .reduce(|any, one| any || one)
}

/// Where `user`, else the key's user, else [`SOMEONE`] writes so that it lands at `key`.
///
/// # Errors
/// No origin of this person builds the key.
pub fn origin(
    key: &SessionKey,
    user: Option<&str>,
    settings: KeySettings,
) -> Result<Origin, String> {
    let person = user.or(key.user.as_deref()).unwrap_or(SOMEONE);
    let named = Origin {
        user: Some(person.to_owned()),
        ..Origin::from_key(key)
    };
    if named.key(settings) == *key {
        return Ok(named);
    }
    let unnamed = Origin {
        user: None,
        ..named.clone()
    };
    if unnamed.key(settings) == *key {
        return Ok(unnamed);
    }
    Err(format!(
        "what {person} writes there lands at {}, not at {key}",
        named.key(settings)
    ))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn keys(texts: &[&str]) -> Vec<SessionKey> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    fn all_land(texts: &[&str], explicit: (Option<bool>, Option<bool>)) -> Result<(), String> {
        let keys = keys(texts);
        let settings = settings(keys.iter(), explicit);
        keys.iter().try_for_each(|key| {
            origin(key, None, settings).map(|origin| assert_eq!(origin.key(settings), *key))
        })
    }

    #[test]
    fn every_kind_of_key_can_be_written_to() {
        all_land(
            &[
                "agent:main:telegram:group:-100:42",
                "agent:main:console:dm:local",
                "agent:main:slack@T1:dm:D1:17.1",
            ],
            (None, None),
        )
        .unwrap();
        all_land(&["agent:main:telegram:group:-100"], (None, None)).unwrap();
        all_land(
            &[
                "agent:main:telegram:group:-100::u7",
                "agent:main:telegram:group:-100::u8",
            ],
            (None, None),
        )
        .unwrap();
        all_land(&["agent:main:discord:thread:5::u7"], (None, None)).unwrap();
    }

    #[test]
    fn keys_that_disagree_are_written_to_by_a_person_without_a_name() {
        all_land(
            &[
                "agent:main:telegram:group:-100",
                "agent:main:telegram:group:-200::u8",
            ],
            (None, None),
        )
        .unwrap();
        all_land(
            &[
                "agent:main:telegram:group:-100:42",
                "agent:main:telegram:group:-100:42:u8",
            ],
            (None, None),
        )
        .unwrap();
    }

    #[test]
    fn what_cannot_land_is_said() {
        assert!(
            all_land(&["agent:main:telegram:dm:5::u7"], (None, None))
                .unwrap_err()
                .contains("lands at agent:main:telegram:dm:5")
        );
        assert!(all_land(&["agent:main:telegram:group:-100::u7"], (Some(false), None)).is_err());
        let key = &keys(&["agent:main:telegram:group:-100::u7"])[0];
        assert!(origin(key, Some("u8"), KeySettings::default()).is_err());
    }
}
