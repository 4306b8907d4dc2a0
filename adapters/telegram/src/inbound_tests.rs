#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use super::*;
use crate::reading::{News, read};
use serde_json::json;

fn inbound(more: Value) -> Inbound {
    let mut message = json!({
        "message_id": 9, "date": 1,
        "from": {"id": 7, "is_bot": false, "first_name": "Alice"},
        "chat": {"id": -100, "type": "supergroup", "title": "Group", "is_forum": true},
        "message_thread_id": 42, "is_topic_message": true,
    });
    let object = message.as_object_mut().unwrap();
    object.extend(more.as_object().unwrap().clone());
    let account = AccountName {
        profile: "main".into(),
        platform: "telegram".into(),
        account: Some("second".into()),
    };
    match read(&json!({"update_id": 1, "message": message})) {
        News::Written(message) => of_message(&account, &message, message.text.clone(), None),
        other => panic!("{other:?}"),
    }
}

// OWN-4…6
#[test]
fn a_message_has_its_whole_origin() {
    let inbound = inbound(json!({"text": "hello"}));
    let origin = &inbound.origin;
    assert_eq!(inbound.platform_id, "m:-100:9");
    assert_eq!(
        (
            origin.chat.as_str(),
            origin.thread.as_deref(),
            origin.user.as_deref()
        ),
        ("-100", Some("42"), Some("7"))
    );
    assert_eq!(
        (origin.account.as_deref(), origin.anchor.as_deref()),
        (Some("second"), Some("9"))
    );
    assert!(inbound.raw.unwrap().contains("\"hello\""));
}

#[test]
fn every_file_is_an_attachment() {
    let file = |name: &str, kind: &str| json!({"file_id": "F", "file_unique_id": "u", "file_name": name, "mime_type": kind, "file_size": 5});
    for (more, name, kind) in [
        (
            json!({"document": file("a.pdf", "application/pdf")}),
            Some("a.pdf"),
            Some("application/pdf"),
        ),
        // A type that is none is kept as it was said.
        (
            json!({"document": file("a.x", "no type")}),
            Some("a.x"),
            Some("no type"),
        ),
        (
            json!({"audio": file("a.mp3", "audio/mpeg")}),
            Some("a.mp3"),
            Some("audio/mpeg"),
        ),
        (
            json!({"video": file("a.mp4", "video/mp4")}),
            Some("a.mp4"),
            Some("video/mp4"),
        ),
        (
            json!({"voice": {"file_id": "F", "file_size": 5}}),
            None,
            Some("audio/ogg"),
        ),
        (
            json!({"video_note": {"file_id": "F", "file_size": 5}}),
            None,
            Some("video/mp4"),
        ),
        (
            json!({"animation": file("a.gif", "video/mp4"), "document": file("a.gif", "video/mp4")}),
            Some("a.gif"),
            Some("video/mp4"),
        ),
        (
            json!({"sticker": {"file_id": "F", "file_size": 5, "emoji": "😀", "is_video": true}}),
            None,
            Some("video/webm"),
        ),
        (
            json!({"photo": [
            {"file_id": "small", "width": 9, "height": 9, "file_size": 2},
            {"file_id": "F", "width": 90, "height": 90, "file_size": 5},
            {"file_id": "middle", "width": 50, "height": 50, "file_size": 3}]}),
            None,
            Some("image/jpeg"),
        ),
    ] {
        let inbound = inbound(more.clone());
        let [attachment] = inbound.attachments.as_slice() else {
            panic!("{more}: {:?}", inbound.attachments);
        };
        assert_eq!(
            (
                attachment.name.as_deref(),
                attachment.media_type.as_deref(),
                attachment.bytes,
                attachment.reference.as_str()
            ),
            (name, kind, Some(5), "F"),
            "{more}"
        );
    }
    assert_eq!(
        inbound(json!({"photo": [], "caption": "look"})).text,
        "look"
    );
}

#[test]
fn what_is_answered_comes_along_within_bounds() {
    let replied = |text: String| {
        json!({"text": "why?", "reply_to_message": {"message_id": 5, "text": text,
        "from": {"id": 8, "is_bot": false, "first_name": "Bob"}}})
    };
    assert_eq!(
        inbound(replied("because".into())).quoted.unwrap(),
        "Bob: because"
    );
    let long = inbound(replied("ä".repeat(5_000))).quoted.unwrap();
    assert_eq!(long.chars().count(), "Bob: ".len() + QUOTED + 1);
    let mut marked = replied("because of this and that".into());
    marked["quote"] = json!({"text": "of this", "position": 8});
    assert_eq!(inbound(marked).quoted.unwrap(), "Bob: of this");
    assert_eq!(inbound(json!({"text": "hello"})).quoted, None);
}

#[test]
fn what_has_no_text_is_said_in_words() {
    for (more, text) in [
        (
            json!({"location": {"latitude": 1.5, "longitude": 2.5}}),
            "[location 1.5, 2.5]",
        ),
        (json!({"dice": {"emoji": "🎲", "value": 4}}), "[dice 🎲 4]"),
        (json!({"poll": {"question": "Now?"}}), "[poll: Now?]"),
        (
            json!({"sticker": {"file_id": "F", "emoji": "😀"}}),
            "[sticker 😀]",
        ),
        (json!({"story": {}}), "[story, which cannot be read here]"),
        (
            json!({"contact": {"first_name": "Bob", "last_name": "B.", "phone_number": "+49"}}),
            "[contact Bob B. +49]",
        ),
    ] {
        assert_eq!(inbound(more).text, text);
    }
}

// OWN-70
#[test]
fn a_pressed_button_is_said_by_who_pressed_it() {
    let update = json!({"update_id": 77, "callback_query": {
        "id": "q", "data": "/approve 1", "from": {"id": 8, "is_bot": false, "first_name": "Bob"},
        "message": {"message_id": 3, "date": 5, "message_thread_id": 42, "is_topic_message": true,
            "from": {"id": 99, "is_bot": true, "first_name": "Us"},
            "chat": {"id": -100, "type": "supergroup", "is_forum": true}},
    }});
    let News::Pressed(press) = read(&update) else {
        panic!("a button was pressed");
    };
    let account = AccountName {
        profile: "main".into(),
        platform: "telegram".into(),
        account: None,
    };
    let inbound = of_press(&account, &press, &update).unwrap();
    assert_eq!(
        (inbound.text.as_str(), inbound.platform_id.as_str()),
        ("/approve 1", "u:77")
    );
    assert_eq!(
        (
            inbound.origin.user.as_deref(),
            inbound.origin.thread.as_deref()
        ),
        (Some("8"), Some("42"))
    );
}

#[test]
fn what_is_forwarded_is_no_command() {
    for (origin, name) in [
        (
            json!({"type": "user", "date": 1, "sender_user": {"id": 8, "is_bot": false, "first_name": "Bob\nB."}}),
            "Bob B.",
        ),
        (
            json!({"type": "hidden_user", "date": 1, "sender_user_name": "Carol"}),
            "Carol",
        ),
        (
            json!({"type": "channel", "date": 1, "chat": {"id": -1, "type": "channel", "title": "News"}}),
            "News",
        ),
        (json!({"type": "new"}), "somebody"),
    ] {
        let inbound = inbound(json!({"text": "!make clean", "forward_origin": origin}));
        assert_eq!(
            inbound.text,
            format!("[forwarded from {name}]\n!make clean")
        );
    }
}
