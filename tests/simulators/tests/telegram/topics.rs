//! Topics of forums, of private chats and of channels' direct messages.

use homing_simulators::telegram::{NewBot, Post, Settings, Standing, TopicEvent};
use serde_json::json;

use crate::stage::Stage;

const NOT_FOUND: &str = "Bad Request: message thread not found";

#[tokio::test]
async fn what_is_written_in_a_topic_says_so_and_answers_the_topics_beginning() {
    let stage = Stage::new().await;
    let forum = stage.forum_with(&[]);
    let topic = stage
        .server
        .topic(stage.alice, forum, "Plans")
        .expect("a topic");
    stage
        .server
        .post(stage.alice, topic, "hello")
        .expect("it is posted");
    let updates = stage.updates().await;
    let created = &updates[0]["message"];
    assert_eq!(created["forum_topic_created"]["name"], "Plans");
    assert_eq!(created["message_thread_id"], created["message_id"]);
    let said = &updates[1]["message"];
    assert_eq!(said["message_thread_id"], json!(topic.thread));
    assert_eq!(said["is_topic_message"], true);
    assert_eq!(
        said["reply_to_message"]["forum_topic_created"]["name"],
        "Plans"
    );
    assert_eq!(said["chat"]["is_forum"], true);
}

#[tokio::test]
async fn what_is_written_in_general_names_no_topic() {
    let stage = Stage::new().await;
    let forum = stage.forum_with(&[]);
    stage
        .server
        .post(stage.alice, forum, "hello")
        .expect("it is posted");
    let said = stage.one_message().await;
    assert_eq!(said.get("message_thread_id"), None);
    assert_eq!(said.get("is_topic_message"), None);
    assert_eq!(said.get("reply_to_message"), None);
}

#[tokio::test]
async fn an_answer_lands_in_its_topic_and_nowhere_else() {
    let stage = Stage::new().await;
    let forum = stage.forum();
    let topic = stage
        .server
        .topic(stage.alice, forum, "Plans")
        .expect("a topic");
    let other = stage
        .server
        .topic(stage.alice, forum, "Other")
        .expect("a topic");
    let params = json!({"chat_id": forum.id, "message_thread_id": topic.thread, "text": "here"});
    let sent = stage.ok("sendMessage", params).await;
    assert_eq!(sent["is_topic_message"], true);
    assert_eq!(stage.server.sent_in(topic).len(), 1);
    assert_eq!(stage.server.sent_in(other).len(), 0);
    assert_eq!(stage.server.sent_in(forum).len(), 0);
}

#[tokio::test]
async fn a_reply_brings_its_topic_along_unless_it_may_be_left_out() {
    let stage = Stage::new().await;
    let forum = stage.forum();
    let topic = stage
        .server
        .topic(stage.alice, forum, "Plans")
        .expect("a topic");
    let asked = stage
        .server
        .post(stage.alice, topic, "what now?")
        .expect("it is posted");
    let reply = |optional: bool| {
        json!({"chat_id": forum.id, "text": "this",
               "reply_parameters": {"message_id": asked, "allow_sending_without_reply": optional}})
    };
    let sent = stage.ok("sendMessage", reply(false)).await;
    assert_eq!(sent["message_thread_id"], json!(topic.thread));
    assert_eq!(sent["reply_to_message"]["text"], "what now?");
    let sent = stage.ok("sendMessage", reply(true)).await;
    assert_eq!(sent.get("message_thread_id"), None, "it landed in General");
    assert_eq!(sent["external_reply"]["message_id"], json!(asked));
}

#[tokio::test]
async fn nobody_is_told_that_a_topic_was_deleted_until_they_send_to_it() {
    let stage = Stage::new().await;
    let forum = stage.forum();
    let topic = stage
        .server
        .topic(stage.alice, forum, "Plans")
        .expect("a topic");
    stage.updates().await;
    stage
        .server
        .topic_event(stage.alice, topic, TopicEvent::Deleted)
        .expect("it is deleted");
    assert!(stage.updates().await.is_empty());
    for method in ["sendMessage", "sendChatAction"] {
        let mut params = json!({"chat_id": forum.id, "message_thread_id": topic.thread});
        match method {
            "sendMessage" => params["text"] = json!("hi"),
            _ => params["action"] = json!("typing"),
        }
        assert_eq!(stage.refused(method, params).await, (400, NOT_FOUND.into()));
    }
}

#[tokio::test]
async fn a_closed_topic_takes_messages_only_of_those_who_manage_topics() {
    let stage = Stage::new().await;
    let forum = stage.forum();
    let topic = stage
        .server
        .topic(stage.alice, forum, "Plans")
        .expect("a topic");
    stage
        .server
        .topic_event(stage.alice, topic, TopicEvent::Closed)
        .expect("it is closed");
    let params = json!({"chat_id": forum.id, "message_thread_id": topic.thread, "text": "hi"});
    let refused = stage.refused("sendMessage", params.clone()).await;
    assert_eq!(refused, (400, "Bad Request: TOPIC_CLOSED".into()));
    let managing = Standing::administrator(["can_manage_topics"]);
    stage
        .server
        .admit(forum, stage.bot.id, managing)
        .expect("the forum is there");
    stage.ok("sendMessage", params.clone()).await;
    stage
        .server
        .admit(forum, stage.bot.id, Standing::Member)
        .expect("the forum is there");
    stage
        .server
        .topic_event(stage.alice, topic, TopicEvent::Reopened)
        .expect("it is reopened");
    stage.ok("sendMessage", params).await;
    stage.assert_no_violations();
}

#[tokio::test]
async fn general_can_be_closed_hidden_and_renamed() {
    let stage = Stage::new().await;
    let forum = stage.forum_with(&["can_manage_topics"]);
    let chat = json!({"chat_id": forum.id});
    for method in [
        "closeGeneralForumTopic",
        "reopenGeneralForumTopic",
        "hideGeneralForumTopic",
        "unhideGeneralForumTopic",
    ] {
        stage.ok(method, chat.clone()).await;
    }
    stage
        .ok(
            "editGeneralForumTopic",
            json!({"chat_id": forum.id, "name": "Lobby"}),
        )
        .await;
    let said: Vec<String> = stage
        .updates()
        .await
        .iter()
        .map(|update| {
            let message = update["message"].as_object().expect("a message");
            assert!(!message.contains_key("message_thread_id"), "{message:?}");
            let field = message.keys().find(|key| key.contains("forum_topic"));
            field.expect("a topic's event").clone()
        })
        .collect();
    assert_eq!(
        said,
        [
            "forum_topic_closed",
            "forum_topic_reopened",
            "general_forum_topic_hidden",
            "general_forum_topic_unhidden",
            "forum_topic_edited",
        ]
    );
    // Hiding closed it; members cannot write.
    stage
        .server
        .admit(forum, stage.bot.id, Standing::Member)
        .expect("the forum is there");
    let refused = stage
        .refused("sendMessage", json!({"chat_id": forum.id, "text": "hi"}))
        .await;
    assert_eq!(refused.1, "Bad Request: TOPIC_CLOSED");
}

#[tokio::test]
async fn a_bot_with_the_right_makes_changes_and_deletes_topics() {
    let stage = Stage::new().await;
    let forum = stage.forum_with(&["can_manage_topics", "can_delete_messages"]);
    let made = stage
        .ok(
            "createForumTopic",
            json!({"chat_id": forum.id, "name": "Plans", "icon_color": 7_322_096}),
        )
        .await;
    let thread = made["message_thread_id"].clone();
    let about = json!({"chat_id": forum.id, "message_thread_id": thread});
    let mut renamed = about.clone();
    renamed["name"] = json!("Schemes");
    stage.ok("editForumTopic", renamed.clone()).await;
    stage.ok("closeForumTopic", about.clone()).await;
    for (method, params) in [
        ("closeForumTopic", about.clone()),
        ("editForumTopic", renamed),
    ] {
        let refused = stage.refused(method, params).await;
        assert_eq!(refused, (400, "Bad Request: TOPIC_NOT_MODIFIED".into()));
    }
    stage.ok("reopenForumTopic", about.clone()).await;
    // It hears of its own changes, as on Telegram.
    assert_eq!(stage.updates().await.len(), 4);
    stage.ok("deleteForumTopic", about.clone()).await;
    assert!(stage.updates().await.is_empty());
    let refused = stage.refused("reopenForumTopic", about).await;
    assert_eq!(refused, (400, "Bad Request: TOPIC_DELETED".into()));
}

#[tokio::test]
async fn a_bot_without_the_right_makes_no_topic_and_no_group_has_any() {
    let stage = Stage::new().await;
    let forum = stage.forum();
    let refused = stage
        .refused(
            "createForumTopic",
            json!({"chat_id": forum.id, "name": "Plans"}),
        )
        .await;
    assert_eq!(
        refused,
        (
            400,
            "Bad Request: not enough rights to create a topic".into()
        )
    );
    let group = stage.server.supergroup("Group", &[stage.alice]);
    stage
        .server
        .admit(
            group,
            stage.bot.id,
            Standing::administrator(["can_manage_topics"]),
        )
        .expect("it is there");
    let refused = stage
        .refused(
            "createForumTopic",
            json!({"chat_id": group.id, "name": "Plans"}),
        )
        .await;
    assert_eq!(
        refused,
        (400, "Bad Request: the chat is not a forum".into())
    );
}

#[tokio::test]
async fn private_chats_have_topics_if_the_bot_wants_them() {
    let stage = Stage::with(
        Settings::default(),
        NewBot::named("test_bot").with_private_topics(),
    )
    .await;
    let me = stage.ok("getMe", json!({})).await;
    assert_eq!(me["has_topics_enabled"], true);
    let chat = stage.private();
    let topic = stage.server.topic(stage.alice, chat, "").expect("a topic");
    stage
        .server
        .post(stage.alice, topic, "hello")
        .expect("it is posted");
    let updates = stage.updates().await;
    assert_eq!(
        updates[0]["message"]["forum_topic_created"]["is_name_implicit"],
        true
    );
    let said = &updates[1]["message"];
    assert_eq!(said["is_topic_message"], true);
    assert_eq!(said.get("reply_to_message"), None);
    let params = json!({"chat_id": chat.id, "message_thread_id": topic.thread, "text": "hi"});
    stage.ok("sendMessage", params).await;
    assert_eq!(stage.server.sent_in(topic).len(), 1);
    let own = stage
        .ok(
            "createForumTopic",
            json!({"chat_id": chat.id, "name": "Mine"}),
        )
        .await;
    assert_eq!(own["name"], "Mine");
}

#[tokio::test]
async fn private_chats_without_topics_have_no_threads() {
    let stage = Stage::new().await;
    let chat = stage.private();
    assert!(stage.server.topic(stage.alice, chat, "Plans").is_err());
    let said = stage
        .server
        .post(stage.alice, chat, "hello")
        .expect("it is posted");
    let params = json!({"chat_id": chat.id, "message_thread_id": said, "text": "hi"});
    assert_eq!(
        stage.refused("sendMessage", params).await,
        (400, NOT_FOUND.into())
    );
}

#[tokio::test]
async fn everybody_has_a_topic_of_their_own_in_a_channels_direct_messages() {
    let stage = Stage::new().await;
    let bob = stage.server.user("Bob");
    let channel = stage.server.direct_messages("News", &[bob]);
    stage
        .server
        .admit(
            channel,
            stage.bot.id,
            Standing::administrator(["can_manage_direct_messages"]),
        )
        .expect("it is there");
    stage
        .server
        .post(stage.alice, channel, "a question")
        .expect("it is posted");
    let said = stage.one_message().await;
    assert_eq!(said["chat"]["is_direct_messages"], true);
    let topic = said["direct_messages_topic"]["topic_id"].clone();
    assert!(topic.as_i64().expect("a number") > 1 << 51);
    let params = json!({"chat_id": channel.id, "text": "an answer"});
    let (status, _) = stage.refused("sendMessage", params.clone()).await;
    assert_eq!(status, 400);
    let mut params = params;
    params["direct_messages_topic_id"] = topic.clone();
    let sent = stage.ok("sendMessage", params).await;
    assert_eq!(sent["direct_messages_topic"]["topic_id"], topic);
    let (status, _) = stage
        .refused(
            "sendChatAction",
            json!({"chat_id": channel.id, "action": "typing"}),
        )
        .await;
    assert_eq!(status, 400);
}

#[tokio::test]
async fn people_cannot_do_what_telegrams_apps_do_not_allow() {
    let stage = Stage::new().await;
    let bob = stage.server.user("Bob");
    let forum = stage.forum();
    let topic = stage
        .server
        .topic(stage.alice, forum, "Plans")
        .expect("a topic");
    assert!(stage.server.post(bob, forum, "I am not in here").is_err());
    stage
        .server
        .admit(forum, bob, Standing::Member)
        .expect("the forum is there");
    stage
        .server
        .topic_event(stage.alice, topic, TopicEvent::Closed)
        .expect("it is closed");
    assert!(stage.server.post(bob, topic, "it is closed").is_err());
    assert!(
        stage
            .server
            .post(bob, forum, Post::text("x".repeat(5000)))
            .is_err()
    );
    assert!(
        stage
            .server
            .post(bob, forum, Post::text("hm").reply_to(900))
            .is_err()
    );
}
