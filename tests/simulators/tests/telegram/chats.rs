//! Chats: who is in them, what happens to them, and what becomes of those who are put out.

use homing_simulators::telegram::{Kind, NewBot, Settings, Standing};
use serde_json::{Value, json};

use crate::stage::Stage;

async fn sending_to(stage: &Stage, chat: impl serde::Serialize) -> (u16, String) {
    stage
        .refused("sendMessage", json!({"chat_id": chat, "text": "hi"}))
        .await
}

#[tokio::test]
async fn a_blocked_bot_is_told_and_refused_until_it_is_unblocked() {
    let stage = Stage::new().await;
    let chat = stage.private();
    stage.server.block(chat).expect("it is private");
    let updates = stage.updates().await;
    assert_eq!(
        updates[0]["my_chat_member"]["new_chat_member"]["status"],
        "kicked"
    );
    assert_eq!(
        sending_to(&stage, chat.id).await,
        (403, "Forbidden: bot was blocked by the user".into())
    );
    stage.server.unblock(chat).expect("it is private");
    stage
        .ok(
            "sendMessage",
            json!({"chat_id": chat.id, "text": "hi again"}),
        )
        .await;
}

#[tokio::test]
async fn those_who_are_gone_cannot_be_written_to() {
    let stage = Stage::new().await;
    let chat = stage.private();
    let bob = stage.server.user("Bob");
    assert_eq!(
        sending_to(&stage, bob).await,
        (
            403,
            "Forbidden: bot can't initiate conversation with a user".into()
        )
    );
    assert_eq!(
        sending_to(&stage, 99).await,
        (400, "Bad Request: chat not found".into())
    );
    assert_eq!(
        sending_to(&stage, "@nowhere").await,
        (400, "Bad Request: chat not found".into())
    );
    stage.server.deactivate(stage.alice).expect("she is there");
    assert_eq!(
        sending_to(&stage, chat.id).await,
        (403, "Forbidden: user is deactivated".into())
    );
    stage.assert_no_violations();
}

#[tokio::test]
async fn a_bot_that_was_put_out_left_or_never_was_in_is_told_so() {
    let stage = Stage::new().await;
    for (kind, noun) in [
        (Kind::Supergroup, "supergroup"),
        (Kind::Group, "group"),
        (Kind::Channel, "channel"),
    ] {
        let chat = stage.server.chat(kind, "Chat", &[stage.alice]);
        assert_eq!(
            sending_to(&stage, chat.id).await,
            (400, "Bad Request: chat not found".into())
        );
        stage
            .server
            .change_member(stage.alice, chat, stage.bot.id, Standing::Kicked)
            .expect("it is there");
        assert_eq!(
            sending_to(&stage, chat.id).await,
            (
                403,
                format!("Forbidden: bot was kicked from the {noun} chat")
            )
        );
        stage
            .server
            .change_member(stage.alice, chat, stage.bot.id, Standing::Left)
            .expect("it is there");
        assert_eq!(
            sending_to(&stage, chat.id).await,
            (
                403,
                format!("Forbidden: bot is not a member of the {noun} chat")
            )
        );
    }
    let group = stage.server.group("Group", &[stage.alice]);
    stage
        .server
        .admit(group, stage.bot.id, Standing::Member)
        .expect("it is there");
    stage.server.delete_chat(group).expect("it is there");
    assert_eq!(
        sending_to(&stage, group.id).await,
        (403, "Forbidden: the group chat was deleted".into())
    );
}

#[tokio::test]
async fn a_bot_hears_of_its_own_standing_and_administrators_of_others_if_they_ask() {
    let stage = Stage::new().await;
    let bob = stage.server.user("Bob");
    let group = stage.server.supergroup("Group", &[stage.alice]);
    let promoted = Standing::administrator(["can_pin_messages"]);
    stage
        .server
        .change_member(stage.alice, group, stage.bot.id, promoted)
        .expect("it is there");
    let updates = stage.updates().await;
    assert_eq!(
        updates[0]["my_chat_member"]["old_chat_member"]["status"],
        "left"
    );
    assert_eq!(
        updates[0]["my_chat_member"]["new_chat_member"]["can_pin_messages"],
        true
    );
    assert_eq!(updates[1]["message"]["new_chat_members"][0]["is_bot"], true);
    stage
        .ok("getUpdates", json!({"allowed_updates": ["chat_member"]}))
        .await;
    stage
        .server
        .change_member(stage.alice, group, bob, Standing::Member)
        .expect("it is there");
    let updates = stage.updates().await;
    assert_eq!(
        updates[0]["chat_member"]["new_chat_member"]["user"]["first_name"],
        "Bob"
    );
    let count = stage
        .ok("getChatMemberCount", json!({"chat_id": group.id}))
        .await;
    assert_eq!(count, 3);
    stage.ok("leaveChat", json!({"chat_id": group.id})).await;
    assert_eq!(sending_to(&stage, group.id).await.0, 403);
}

#[tokio::test]
async fn a_group_that_becomes_a_supergroup_tells_both_ways() {
    let stage = Stage::new().await;
    let group = stage.server.group("Group", &[stage.alice]);
    stage
        .server
        .admit(group, stage.bot.id, Standing::Member)
        .expect("it is there");
    let new = stage
        .server
        .migrate(stage.alice, group)
        .expect("it is a group");
    let updates = stage.updates().await;
    assert_eq!(updates[0]["message"]["migrate_to_chat_id"], json!(new.id));
    assert_eq!(
        updates[1]["message"]["migrate_from_chat_id"],
        json!(group.id)
    );
    assert_eq!(
        updates[1]["message"]["message_id"], 1,
        "numbers of messages begin again"
    );
    let answer = stage
        .api
        .call("sendMessage", json!({"chat_id": group.id, "text": "hi"}))
        .await;
    assert_eq!(answer.status, 400);
    assert_eq!(
        answer.description(),
        "Bad Request: group chat was upgraded to a supergroup chat"
    );
    assert_eq!(
        answer.body["parameters"]["migrate_to_chat_id"],
        json!(new.id)
    );
    stage
        .ok("sendMessage", json!({"chat_id": new.id, "text": "hi"}))
        .await;
}

#[tokio::test]
async fn chats_and_members_can_be_looked_up() {
    let stage = Stage::new().await;
    let forum = stage.forum_with(&["can_manage_topics", "can_pin_messages"]);
    let said = stage
        .server
        .post(stage.alice, forum, "important")
        .expect("it is posted");
    stage
        .ok(
            "pinChatMessage",
            json!({"chat_id": forum.id, "message_id": said}),
        )
        .await;
    let shown = stage.ok("getChat", json!({"chat_id": forum.id})).await;
    assert_eq!(shown["is_forum"], true);
    assert_eq!(shown["pinned_message"]["text"], "important");
    let member = |who: Value| json!({"chat_id": forum.id, "user_id": who});
    let bot = stage.ok("getChatMember", member(json!(stage.bot.id))).await;
    assert_eq!(
        (&bot["status"], &bot["can_manage_topics"]),
        (&json!("administrator"), &json!(true))
    );
    let alice = stage.ok("getChatMember", member(json!(stage.alice))).await;
    assert_eq!(alice["status"], "creator");
    assert_eq!(
        stage.refused("getChatMember", member(json!(5))).await.0,
        400
    );
    let administrators = stage
        .ok("getChatAdministrators", json!({"chat_id": forum.id}))
        .await;
    assert_eq!(administrators.as_array().map(Vec::len), Some(2));
    stage
        .ok("unpinChatMessage", json!({"chat_id": forum.id}))
        .await;
    let (status, _) = stage
        .refused("unpinChatMessage", json!({"chat_id": forum.id}))
        .await;
    assert_eq!(status, 400);
}

#[tokio::test]
async fn a_press_of_a_button_is_answered_once_and_in_time() {
    let stage = Stage::new().await;
    let chat = stage.private();
    let markup = json!({"inline_keyboard": [[{"text": "Yes", "callback_data": "yes"}]]});
    let sent = stage
        .ok(
            "sendMessage",
            json!({"chat_id": chat.id, "text": "?", "reply_markup": markup}),
        )
        .await;
    let message = sent["message_id"].as_i64().expect("a number").into();
    assert!(
        stage
            .server
            .press(stage.alice, chat, message, "no")
            .is_err()
    );
    let query = stage
        .server
        .press(stage.alice, chat, message, "yes")
        .expect("the button is there");
    let updates = stage.updates().await;
    assert_eq!(updates[0]["callback_query"]["data"], "yes");
    assert_eq!(
        updates[0]["callback_query"]["message"]["message_id"],
        sent["message_id"]
    );
    let answer = json!({"callback_query_id": query, "text": "done"});
    stage.ok("answerCallbackQuery", answer.clone()).await;
    assert_eq!(
        stage.server.callback_answers()[0].text.as_deref(),
        Some("done")
    );
    let too_old =
        "Bad Request: query is too old and response timeout expired or query ID is invalid";
    assert_eq!(
        stage.refused("answerCallbackQuery", answer).await,
        (400, too_old.into())
    );
    let query = stage
        .server
        .press(stage.alice, chat, message, "yes")
        .expect("the button is there");
    stage.server.expire_callbacks();
    let late = json!({"callback_query_id": query});
    assert_eq!(
        stage.refused("answerCallbackQuery", late).await,
        (400, too_old.into())
    );
}

#[tokio::test]
async fn commands_are_kept_by_scope_and_language() {
    let stage = Stage::new().await;
    let chat = stage.private();
    let scope = json!({"type": "chat", "chat_id": chat.id});
    let commands = |name: &str| json!([{"command": name, "description": "does it"}]);
    stage
        .ok("setMyCommands", json!({"commands": commands("help")}))
        .await;
    stage
        .ok(
            "setMyCommands",
            json!({"commands": commands("hilfe"), "scope": scope, "language_code": "de"}),
        )
        .await;
    assert_eq!(stage.ok("getMyCommands", json!({})).await, commands("help"));
    assert_eq!(
        stage
            .ok(
                "getMyCommands",
                json!({"scope": scope, "language_code": "de"})
            )
            .await,
        commands("hilfe")
    );
    assert_eq!(
        stage.ok("getMyCommands", json!({"scope": scope})).await,
        json!([])
    );
    stage.ok("deleteMyCommands", json!({})).await;
    assert_eq!(stage.server.commands(&stage.bot).len(), 1);
    for name in ["Help", "he-lp", ""] {
        let refused = stage
            .refused("setMyCommands", json!({"commands": commands(name)}))
            .await;
        assert_eq!(refused.1, "Bad Request: BOT_COMMAND_INVALID");
    }
    let many: Vec<Value> = (0..101)
        .map(|number| json!({"command": format!("c{number}"), "description": "x"}))
        .collect();
    assert_eq!(
        stage
            .refused("setMyCommands", json!({"commands": many}))
            .await
            .0,
        400
    );
}

#[tokio::test]
async fn a_restricted_bot_may_not_write() {
    let stage = Stage::with(Settings::default(), NewBot::named("test_bot")).await;
    let forum = stage.forum();
    stage
        .server
        .admit(forum, stage.bot.id, Standing::Restricted)
        .expect("it is there");
    let refused = sending_to(&stage, forum.id).await;
    assert_eq!(
        refused.1,
        "Bad Request: not enough rights to send text messages to the chat"
    );
}
