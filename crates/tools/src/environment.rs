//! What a child sees: built from nothing, plus its session context (OWN-22).

use homing_domain::ids::ProcessId;
use homing_domain::owner::Owner;

use crate::Workshop;

/// The whole environment of a child: the operator's allow-list, already resolved, and the context, which wins over it.
pub(crate) fn build(
    workshop: &Workshop,
    owner: &Owner,
    key: &str,
    process: ProcessId,
) -> Vec<(String, String)> {
    let control = workshop.control.as_ref();
    let access = [
        control.map(|control| {
            (
                "HOMING_CONTROL".to_owned(),
                control.socket.display().to_string(),
            )
        }),
        control.map(|control| ("HOMING_TOKEN".to_owned(), (control.token)(process))),
    ];
    let mut built = context(&workshop.child_environment, owner, key, process);
    built.retain(|(name, _)| name != "HOMING_CONTROL" && name != "HOMING_TOKEN");
    built.extend(access.into_iter().flatten());
    built
}

fn context(
    base: &[(String, String)],
    owner: &Owner,
    key: &str,
    process: ProcessId,
) -> Vec<(String, String)> {
    let origin = &owner.origin;
    let context = [
        ("HOMING_SESSION_KEY", Some(key.to_owned())),
        ("HOMING_SESSION_ID", Some(owner.session.to_string())),
        ("HOMING_PROFILE", Some(origin.profile.clone())),
        ("HOMING_PROCESS_ID", Some(process.to_string())),
        ("HOMING_ORIGIN_PLATFORM", Some(origin.platform.clone())),
        ("HOMING_ORIGIN_ACCOUNT", origin.account.clone()),
        (
            "HOMING_ORIGIN_CHAT_TYPE",
            Some(origin.chat_type.name().to_owned()),
        ),
        ("HOMING_ORIGIN_CHAT", Some(origin.chat.clone())),
        ("HOMING_ORIGIN_THREAD", origin.thread.clone()),
        ("HOMING_ORIGIN_USER", origin.user.clone()),
        (
            "HOMING_UI_SESSION",
            owner.window.map(|window| window.to_string()),
        ),
    ];
    let names = context.each_ref().map(|(name, _)| *name);
    let kept = base
        .iter()
        .filter(|(name, _)| !names.contains(&name.as_str()))
        .cloned();
    // A value with a NUL byte cannot be handed to a program at all.
    let clean = |value: String| value.replace('\0', "");
    kept.chain(
        context
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), clean(value?)))),
    )
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use homing_domain::ids::{ConversationId, LineageId, SessionId};
    use homing_domain::key::ChatType;
    use homing_domain::origin::Origin;

    // OWN-22
    #[test]
    fn the_context_is_there_and_cannot_be_overridden() {
        let owner = Owner {
            conversation: ConversationId::from_number(1),
            session: SessionId::from_number(2),
            lineage: LineageId::from_number(3),
            origin: Origin {
                profile: "main".into(),
                platform: "telegram".into(),
                account: None,
                chat_type: ChatType::Group,
                chat: "-100".into(),
                thread: Some("42".into()),
                user: Some("9\0".into()),
                anchor: None,
            },
            window: None,
            delegation: None,
        };
        let base = [
            ("PATH".to_owned(), "/bin".to_owned()),
            ("HOMING_SESSION_ID".to_owned(), "forged".to_owned()),
        ];
        let built = context(
            &base,
            &owner,
            "agent:main:telegram:group:-100:42",
            ProcessId::from_number(4),
        );
        let value = |name: &str| {
            built
                .iter()
                .filter(|(own, _)| own == name)
                .map(|(_, value)| value.as_str())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            value("HOMING_SESSION_ID"),
            [owner.session.to_string().as_str()]
        );
        assert_eq!(value("PATH"), ["/bin"]);
        assert_eq!(value("HOMING_ORIGIN_THREAD"), ["42"]);
        assert_eq!(value("HOMING_ORIGIN_USER"), ["9"]);
        assert!(value("HOMING_ORIGIN_ACCOUNT").is_empty() && value("HOMING_UI_SESSION").is_empty());
    }
}
