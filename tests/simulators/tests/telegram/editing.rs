//! Edits and deletions.

use homing_simulators::telegram::{Earlier, MessageId};
use serde_json::{Value, json};

use crate::stage::Stage;

const NOT_MODIFIED: &str = "Bad Request: message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message";

fn id(message: &Value) -> MessageId {
    message["message_id"].as_i64().expect("a number").into()
}

#[tokio::test]
async fn an_edit_changes_the_text_and_the_log_remembers_what_was() {
    let stage = Stage::new().await;
    let chat = stage.private();
    let sent = stage
        .ok("sendMessage", json!({"chat_id": chat.id, "text": "one"}))
        .await;
    let edit = json!({"chat_id": chat.id, "message_id": id(&sent), "text": "two"});
    let edited = stage.ok("editMessageText", edit.clone()).await;
    assert!(edited["edit_date"].is_i64());
    assert_eq!(
        stage.server.text_of(chat, id(&sent)).as_deref(),
        Some("two")
    );
    let logged = &stage.server.sent()[0];
    assert_eq!(logged.text, "two");
    let before = Earlier {
        text: "one".into(),
        entities: Vec::new(),
        buttons: Vec::new(),
    };
    assert_eq!(logged.history, [before]);
    assert_eq!(
        stage.refused("editMessageText", edit).await,
        (400, NOT_MODIFIED.into())
    );
    assert!(
        stage.updates().await.is_empty(),
        "a bot does not hear of its own edits"
    );
}

#[tokio::test]
async fn an_edit_of_the_text_takes_the_buttons_away_unless_it_repeats_them() {
    let stage = Stage::new().await;
    let chat = stage.private();
    let markup = json!({"inline_keyboard": [[{"text": "a", "callback_data": "b"}]]});
    let sent = stage
        .ok(
            "sendMessage",
            json!({"chat_id": chat.id, "text": "one", "reply_markup": markup}),
        )
        .await;
    let about = |text: &str| json!({"chat_id": chat.id, "message_id": id(&sent), "text": text});
    let mut kept = about("two");
    kept["reply_markup"] = markup;
    stage.ok("editMessageText", kept).await;
    assert_eq!(stage.server.sent()[0].buttons.len(), 1);
    stage.ok("editMessageText", about("three")).await;
    assert!(stage.server.sent()[0].buttons.is_empty());
    let bare = json!({"chat_id": chat.id, "message_id": id(&sent)});
    assert_eq!(
        stage.refused("editMessageReplyMarkup", bare).await.1,
        NOT_MODIFIED
    );
}

#[tokio::test]
async fn only_own_messages_that_are_there_can_be_edited() {
    let stage = Stage::new().await;
    let chat = stage.private();
    let said = stage
        .server
        .post(stage.alice, chat, "mine")
        .expect("it is posted");
    let edit = |message: i64| json!({"chat_id": chat.id, "message_id": message, "text": "x"});
    assert_eq!(
        stage.refused("editMessageText", edit(said.0)).await.1,
        "Bad Request: message can't be edited"
    );
    assert_eq!(
        stage.refused("editMessageText", edit(99)).await.1,
        "Bad Request: message to edit not found"
    );
    let sent = stage
        .ok("sendMessage", json!({"chat_id": chat.id, "text": "yours"}))
        .await;
    let caption = json!({"chat_id": chat.id, "message_id": id(&sent), "caption": "x"});
    let refused = stage.refused("editMessageCaption", caption).await;
    assert_eq!(
        refused.1,
        "Bad Request: there is no caption in the message to edit"
    );
    stage.assert_no_violations();
}

#[tokio::test]
async fn deleted_messages_are_marked_and_cannot_be_touched_again() {
    let stage = Stage::new().await;
    let chat = stage.private();
    let sent = stage
        .ok("sendMessage", json!({"chat_id": chat.id, "text": "oops"}))
        .await;
    let about = json!({"chat_id": chat.id, "message_id": id(&sent)});
    stage.ok("deleteMessage", about.clone()).await;
    assert!(stage.server.sent()[0].deleted);
    assert!(stage.server.sent_in(chat).is_empty());
    assert_eq!(
        stage.refused("deleteMessage", about).await.1,
        "Bad Request: message to delete not found"
    );
    let several = json!({"chat_id": chat.id, "message_ids": [id(&sent), 99]});
    stage.ok("deleteMessages", several).await;
}

#[tokio::test]
async fn in_groups_others_messages_are_deleted_only_with_the_right() {
    let stage = Stage::new().await;
    for (rights, may) in [(&["can_delete_messages"][..], true), (&[], false)] {
        let forum = stage.forum_with(rights);
        let said = stage
            .server
            .post(stage.alice, forum, "rude")
            .expect("it is posted");
        let answer = stage
            .api
            .call(
                "deleteMessage",
                json!({"chat_id": forum.id, "message_id": said}),
            )
            .await;
        assert_eq!(answer.status == 200, may, "{answer:?}");
    }
}

#[tokio::test]
async fn reactions_of_bots_are_one_at_most() {
    let stage = Stage::new().await;
    let chat = stage.private();
    let said = stage
        .server
        .post(stage.alice, chat, "done?")
        .expect("it is posted");
    let eyes = json!({"type": "emoji", "emoji": "👀"});
    let react =
        |reactions: Value| json!({"chat_id": chat.id, "message_id": said, "reaction": reactions});
    stage.ok("setMessageReaction", react(json!([eyes]))).await;
    stage.ok("setMessageReaction", react(json!([]))).await;
    let (status, _) = stage
        .refused("setMessageReaction", react(json!([eyes, eyes])))
        .await;
    assert_eq!(status, 400);
}
