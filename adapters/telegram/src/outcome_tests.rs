#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use super::*;
use crate::api::read_answer;
use crate::reading::tests::samples;
use reqwest::StatusCode;
use serde_json::json;

fn failure(status: u16, body: &str) -> Failure {
    read_answer(StatusCode::from_u16(status).unwrap(), body.as_bytes()).unwrap_err()
}

fn refused(status: u16, description: &str) -> Failure {
    let body = json!({"ok": false, "error_code": status, "description": description});
    failure(status, &body.to_string())
}

/// The outcome's name, and a part of what it says.
fn name(error: &SendError) -> &'static str {
    match error {
        SendError::Away(_) => "away",
        SendError::RateLimited(_) => "limited",
        SendError::Closed(_) => "closed",
        SendError::Moved(_) => "moved",
        SendError::Temporary(_) => "temporary",
        SendError::Refused(_) => "refused",
        SendError::Uncertain(_) => "uncertain",
    }
}

#[test]
fn every_known_error_has_one_meaning() {
    let Some(samples) = samples("telegram_errors.json") else {
        return;
    };
    let mut met = 0;
    for sample in samples["errors"].as_array().unwrap() {
        let status = u16::try_from(sample["status"].as_u64().unwrap()).unwrap();
        let description = sample["body"]["description"].as_str().unwrap();
        let failure = failure(status, &sample["body"].to_string());
        let remedy = remedy(&failure);
        let error = of_send(failure);
        let has = |part: &str| description.contains(part);
        let (expected, way_out) = match status {
            429 => ("limited", "7000 ms"),
            401 => ("away", "BotFather"),
            404 if description == "Not Found" => ("away", "BotFather"),
            409 => ("temporary", ""),
            500.. => ("uncertain", ""),
            413 => ("refused", "50 MB"),
            403 if has("blocked") => ("refused", "unblock"),
            403 if has("deactivated") => ("refused", "does not exist"),
            403 if has("kicked") => ("refused", "add it again"),
            403 if has("not a member") => ("refused", "add it"),
            403 => ("refused", "does not exist"),
            400 if has("upgraded") => ("moved", "-1001000000099"),
            400 if has("TOPIC_CLOSED") => ("closed", "reopen"),
            400 if has("thread not found") || has("TOPIC_DELETED") => ("refused", "deleted"),
            400 if has("chat not found") => ("refused", "check its number"),
            _ => ("refused", ""),
        };
        assert_eq!(name(&error), expected, "{description}");
        assert!(
            error.to_string().contains(way_out),
            "{description}: {error}"
        );
        let expected = match description {
            text if text.contains("is not modified") => Some(Remedy::IsSo),
            text if text.contains("to be replied") => Some(Remedy::WithoutReply),
            text if text.contains("parse entities") => Some(Remedy::Plain),
            _ => None,
        };
        assert_eq!(remedy, expected, "{description}");
        met += 1;
    }
    assert!(met >= 25, "{met}");
}

#[test]
fn only_what_was_not_sent_is_said_not_to_be_sent() {
    for (failure, expected) in [
        (Failure::NotReached("x".into()), "away"),
        (Failure::Unanswered("x".into()), "uncertain"),
        (failure(200, "<html>"), "uncertain"),
        (failure(200, r#"{"ok":true"#), "uncertain"),
        (failure(200, "{}"), "uncertain"),
        (failure(502, "<html>"), "uncertain"),
        (failure(500, ""), "uncertain"),
        (failure(504, "[]"), "uncertain"),
        (failure(403, "<html>captive portal</html>"), "temporary"),
        (failure(302, ""), "temporary"),
        (failure(429, r#"{"ok":false}"#), "limited"),
        (refused(400, "Bad Request: something new"), "refused"),
    ] {
        assert_eq!(name(&of_send(failure.clone())), expected, "{failure}");
        let edited = name(&of_edit(failure));
        assert_eq!(
            edited,
            if expected == "uncertain" {
                "temporary"
            } else {
                expected
            }
        );
    }
}

#[test]
fn other_words_for_the_same() {
    for (description, expected) in [
        ("Bad Request: message to edit not found", Remedy::SendAnew),
        ("Bad Request: message can't be edited", Remedy::SendAnew),
        ("Bad Request: MESSAGE_ID_INVALID", Remedy::SendAnew),
        ("Bad Request: message is not modified", Remedy::IsSo),
        ("Bad Request: ENTITY_BOUNDS_INVALID", Remedy::Plain),
        (
            "Bad Request: replied message not found",
            Remedy::WithoutReply,
        ),
        ("Bad Request: PHOTO_INVALID_DIMENSIONS", Remedy::AsDocument),
    ] {
        assert_eq!(
            remedy(&refused(400, description)),
            Some(expected),
            "{description}"
        );
    }
    assert_eq!(
        remedy(&refused(500, "can't parse entities")),
        None,
        "it may have been sent"
    );
}

// OWN-71
#[test]
fn a_receipt_says_where_the_message_is() {
    let message = json!({"message_id": 5, "message_thread_id": 42, "is_topic_message": true,
        "chat": {"id": -100, "type": "supergroup", "is_forum": true}});
    let landed = receipt(&message).unwrap().landed.unwrap();
    assert_eq!(
        (landed.chat.as_str(), landed.thread.as_deref()),
        ("-100", Some("42"))
    );
    let mut elsewhere = message;
    elsewhere["is_topic_message"] = json!(false);
    assert_eq!(receipt(&elsewhere).unwrap().landed.unwrap().thread, None);
    assert_eq!(
        name(&receipt(&json!({"message_id": 5})).unwrap_err()),
        "uncertain"
    );
}

#[test]
fn three_conflicts_are_told_apart() {
    for (text, expected) in [
        (
            "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running",
            Conflict::AnotherPoller,
        ),
        (
            "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first",
            Conflict::WebhookIsSet,
        ),
        (
            "Conflict: terminated by setWebhook request",
            Conflict::WebhookWasSet,
        ),
    ] {
        assert_eq!(conflict(&refused(409, text)), Some(expected));
    }
    assert_eq!(conflict(&refused(400, "x")), None);
}
