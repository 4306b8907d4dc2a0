//! Whether the bot can do what it is configured for, asked of Telegram.
//!
//! **Invariant:** every finding that is not good says what to change. Nothing is changed, except by the probe, which takes its message away again.

use serde::Deserialize;
use serde_json::{Value, json};
use teloxide_core::payloads::{DeleteMessage, GetChat, GetChatMember, GetMe, GetWebhookInfo};
use teloxide_core::types::{ChatId, ChatMember, MessageId, UserId};

use crate::api::Failure;
use crate::asked::Me;
use crate::compose::{self, Words};
use crate::outcome;
use crate::place::{GENERAL, Place, Target};
use crate::settings::{ChatRule, Mode};
use crate::telegram::{Shared, who_am_i};

/// Something that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub grade: Grade,
    pub text: String,
    /// What to change.
    pub way_out: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grade {
    Good,
    Warning,
    Error,
}

fn good(text: impl Into<String>) -> Finding {
    Finding {
        grade: Grade::Good,
        text: text.into(),
        way_out: None,
    }
}

fn bad(grade: Grade, text: impl Into<String>, way_out: impl Into<String>) -> Finding {
    Finding {
        grade,
        text: text.into(),
        way_out: Some(way_out.into()),
    }
}

pub(crate) async fn look(shared: &Shared, probe: Option<(i64, Option<i64>)>) -> Vec<Finding> {
    let me = match who_am_i(&shared.api).await {
        Ok(me) => me,
        Err(failure) => return vec![unreachable(&failure)],
    };
    let mut findings = vec![good(format!("the token is that of @{}", me.username))];
    findings.push(privacy(shared).await);
    findings.push(webhook(shared).await);
    findings.extend(nobody(shared));
    let mut looked_at = Vec::new();
    for rule in &shared.access.chats {
        if !looked_at.contains(&rule.chat) {
            looked_at.push(rule.chat);
            findings.extend(chat(shared, &me, rule).await);
        }
    }
    if let Some((chat, topic)) = probe {
        findings.push(try_out(shared, chat, topic).await);
    }
    findings
}

fn unreachable(failure: &Failure) -> Finding {
    let way_out = match failure.is_unauthorized() {
        true => "ask BotFather for the token (/mybots, API Token) and set it",
        false => "check the network, a proxy, and `api_url`",
    };
    bad(Grade::Error, failure.to_string(), way_out)
}

/// A bot in privacy mode hears only what is addressed to it, whatever is configured here.
async fn privacy(shared: &Shared) -> Finding {
    let answer = shared.api.tell(&GetMe::new()).await.unwrap_or_default();
    let hears_all = answer["can_read_all_group_messages"].as_bool() == Some(true);
    let access = &shared.access;
    let wants_all = !access.require_mention
        || access
            .chats
            .iter()
            .any(|rule| rule.require_mention == Some(false));
    match (hears_all, wants_all) {
        (false, true) => bad(
            Grade::Warning,
            "privacy mode is on: in groups Telegram hands over only what is addressed to the bot, but `require_mention = false` wants everything",
            "turn it off at BotFather (/setprivacy, Disable), then remove the bot from the groups and add it again; or make it an administrator there",
        ),
        (true, true) => good("privacy mode is off: it hears everything in its groups"),
        (_, false) => good("in groups it answers to what is addressed to it"),
    }
}

async fn webhook(shared: &Shared) -> Finding {
    let info = match shared.api.tell(&GetWebhookInfo::new()).await {
        Ok(info) => info,
        Err(failure) => return unreachable(&failure),
    };
    let set = info["url"].as_str().unwrap_or_default();
    let last_error = info["last_error_message"].as_str();
    match &shared.settings.mode {
        Mode::Polling if set.is_empty() => good("no webhook is in the way of polling"),
        Mode::Polling => bad(
            Grade::Error,
            format!("a webhook is set to {set}, so polling gets nothing"),
            "stop the program that set it; this gateway removes the webhook when it starts",
        ),
        Mode::Webhook { public_url, .. } if set != public_url.as_str() => bad(
            Grade::Warning,
            format!("the webhook is set to `{set}`, not to {public_url}"),
            "the gateway sets it when it starts; if it runs, stop the other program that uses this token",
        ),
        Mode::Webhook { .. } => match last_error {
            None => good("the webhook is set"),
            Some(error) => bad(
                Grade::Warning,
                format!("Telegram could not reach the webhook lately: {error}"),
                "check that the public address leads here, with a certificate that Telegram accepts, on port 443, 80, 88 or 8443",
            ),
        },
    }
}

fn nobody(shared: &Shared) -> Option<Finding> {
    (shared.access.people.is_empty() && shared.access.chats.is_empty()).then(|| {
        bad(
            Grade::Warning,
            "nobody may speak to the bot: `people` and `chats` are empty",
            "write to it; it answers with your number, which belongs into `people`",
        )
    })
}

async fn chat(shared: &Shared, me: &Me, rule: &ChatRule) -> Vec<Finding> {
    let number = rule.chat;
    let chat = match shared.api.tell(&GetChat::new(ChatId(number))).await {
        Ok(chat) => chat,
        Err(failure) => {
            let way_out = match failure.said().and_then(|said| said.moved_to) {
                Some(to) => format!("the group is {to} now: write that into `chats`"),
                None => "check the number, and add the bot to the chat".into(),
            };
            return vec![bad(
                Grade::Error,
                format!("chat {number}: {failure}"),
                way_out,
            )];
        }
    };
    let title = chat["title"].as_str().unwrap_or("a chat");
    let bot = UserId(u64::try_from(me.id).unwrap_or_default());
    let member = match shared
        .api
        .tell(&GetChatMember::new(ChatId(number), bot))
        .await
    {
        Ok(member) => ChatMember::deserialize(&member).ok(),
        Err(_) => None,
    };
    let mut findings = vec![match &member {
        Some(member) if !member.is_present() => bad(
            Grade::Error,
            format!("{title} ({number}): the bot is not in the chat"),
            "add it",
        ),
        Some(member) if member.is_restricted() => bad(
            Grade::Warning,
            format!("{title} ({number}): the bot is restricted"),
            "let it send messages and files",
        ),
        _ => good(format!("{title} ({number}): the bot is there")),
    }];
    findings.extend(topics(shared, &chat, member.as_ref(), title, number));
    findings
}

fn topics(
    shared: &Shared,
    chat: &Value,
    member: Option<&ChatMember>,
    title: &str,
    number: i64,
) -> Option<Finding> {
    let is_forum = Place::of_chat(chat).is_some_and(|place| place.is_forum);
    let names_topic = shared
        .access
        .chats
        .iter()
        .any(|rule| rule.chat == number && rule.topic.is_some_and(|topic| topic != GENERAL));
    if names_topic && !is_forum {
        return Some(bad(
            Grade::Error,
            format!("{title} ({number}) has no topics, but `chats` names one"),
            "turn topics on in the group's settings, or leave `topic` out",
        ));
    }
    let may_manage = member.is_some_and(|member| {
        let rights = json!(member);
        member.is_owner() || rights["can_manage_topics"].as_bool() == Some(true)
    });
    (is_forum && !may_manage).then(|| {
        bad(
            Grade::Warning,
            format!("{title} ({number}): the bot may not manage topics, so it cannot write into closed ones"),
            "make it an administrator with the right to manage topics, or keep topics open",
        )
    })
}

async fn try_out(shared: &Shared, chat: i64, topic: Option<i64>) -> Finding {
    let place = Place {
        chat_type: match chat < 0 {
            true => homing_domain::key::ChatType::Group,
            false => homing_domain::key::ChatType::Dm,
        },
        chat,
        thread: topic,
        is_forum: topic.is_some(),
    };
    let at = match topic {
        Some(topic) => format!("topic {topic} of chat {chat}"),
        None => format!("chat {chat}"),
    };
    let origin = place.origin(&shared.settings.account, None, None);
    let Ok(target) = Target::of(&origin) else {
        return bad(
            Grade::Error,
            format!("{at} is no place of Telegram's"),
            "check the numbers",
        );
    };
    let words = Words::unformatted("A test message of the gateway, which is deleted at once.");
    let request = compose::message(&target, &words, false);
    let message = match shared.api.call("sendMessage", &request).await {
        Ok(message) => message,
        Err(failure) => {
            let error = outcome::of_send(failure);
            return bad(
                Grade::Error,
                format!("a message to {at}: {error}"),
                "see there",
            );
        }
    };
    let landed = Place::of_message(&message).map(|place| (place.chat, place.thread));
    let expected = (chat, target.thread_parameter().map(|(_, thread)| thread));
    let number = message["message_id"]
        .as_i64()
        .and_then(|number| i32::try_from(number).ok());
    let deleted = match number {
        Some(number) => {
            let request = DeleteMessage::new(ChatId(chat), MessageId(number));
            shared.api.tell(&request).await.is_ok()
        }
        None => false,
    };
    match (landed == Some(expected), deleted) {
        (false, _) => bad(
            Grade::Error,
            format!("a message to {at} landed elsewhere"),
            "the topic may be deleted: go on in another one",
        ),
        (true, false) => bad(
            Grade::Warning,
            format!("a message to {at} arrived, and could not be deleted"),
            "delete it by hand",
        ),
        (true, true) => good(format!("a message to {at} arrived, and was deleted")),
    }
}
