//! What a bot hears in groups, and what it hears of itself.

use homing_simulators::telegram::{Chat, NewBot, Post, Settings, Standing};
use serde_json::{Value, json};

use crate::stage::Stage;

fn group(stage: &Stage) -> Chat {
    let group = stage.server.supergroup("Group", &[stage.alice]);
    stage
        .server
        .admit(group, stage.bot.id, Standing::Member)
        .expect("the group is there");
    group
}

fn texts(updates: &[Value]) -> Vec<&str> {
    updates
        .iter()
        .filter_map(|update| update["message"]["text"].as_str())
        .collect()
}

#[tokio::test]
async fn in_privacy_mode_a_bot_hears_what_is_meant_for_it() {
    let stage = Stage::new().await;
    let group = group(&stage);
    let own = stage
        .ok(
            "sendMessage",
            json!({"chat_id": group.id, "text": "ask me"}),
        )
        .await;
    let own = own["message_id"].as_i64().expect("a number");
    for text in [
        "just talk",
        "/help",
        "/help@test_bot",
        "/help@other_bot",
        "hey @Test_Bot!",
        "hey @other_bot",
    ] {
        stage
            .server
            .post(stage.alice, group, text)
            .expect("it is posted");
    }
    stage
        .server
        .post(stage.alice, group, Post::text("an answer").reply_to(own))
        .expect("it is posted");
    let updates = stage.updates().await;
    assert_eq!(
        texts(&updates),
        ["/help", "/help@test_bot", "hey @Test_Bot!", "an answer"]
    );
    assert_eq!(updates[0]["message"]["entities"][0]["type"], "bot_command");
}

#[tokio::test]
async fn without_privacy_mode_or_as_an_administrator_it_hears_everything() {
    let open = Stage::with(Settings::default(), NewBot::named("test_bot").reading_all()).await;
    open.server
        .post(open.alice, group(&open), "just talk")
        .expect("it is posted");
    assert_eq!(open.one_message().await["text"], "just talk");
    let trusted = Stage::new().await;
    let group = group(&trusted);
    trusted
        .server
        .admit(group, trusted.bot.id, Standing::administrator([]))
        .expect("it is there");
    trusted
        .server
        .post(trusted.alice, group, "just talk")
        .expect("it is posted");
    assert_eq!(trusted.one_message().await["text"], "just talk");
}

#[tokio::test]
async fn a_bot_hears_neither_itself_nor_other_bots() {
    let stage = Stage::with(Settings::default(), NewBot::named("test_bot").reading_all()).await;
    let other = stage.server.bot(NewBot::named("other_bot").reading_all());
    let group = group(&stage);
    stage
        .server
        .admit(group, other.id, Standing::Member)
        .expect("the group is there");
    stage
        .ok("sendMessage", json!({"chat_id": group.id, "text": "hi"}))
        .await;
    assert!(stage.server.pending_updates(&stage.bot).is_empty());
    assert!(stage.server.pending_updates(&other).is_empty());
}

#[tokio::test]
async fn an_edit_comes_as_an_edit() {
    let stage = Stage::new().await;
    let chat = stage.private();
    let said = stage
        .server
        .post(stage.alice, chat, "helo")
        .expect("it is posted");
    stage.updates().await;
    stage
        .server
        .edit(stage.alice, chat, said, "hello")
        .expect("it is hers");
    let updates = stage.updates().await;
    let edited = &updates[0]["edited_message"];
    assert_eq!(
        (&edited["text"], &edited["message_id"]),
        (&json!("hello"), &json!(said))
    );
    assert!(edited["edit_date"].is_i64());
}

#[tokio::test]
async fn a_channel_speaks_in_channel_posts() {
    let stage = Stage::new().await;
    let channel = stage.server.channel("News", &[stage.alice]);
    stage
        .server
        .admit(channel, stage.bot.id, Standing::Member)
        .expect("it is there");
    let refused = stage
        .refused("sendMessage", json!({"chat_id": channel.id, "text": "hi"}))
        .await;
    assert_eq!(
        refused.1,
        "Bad Request: need administrator rights in the channel chat"
    );
    stage
        .server
        .post(stage.alice, channel, "extra!")
        .expect("it is posted");
    let updates = stage.updates().await;
    let post = &updates[0]["channel_post"];
    assert_eq!(post["text"], "extra!");
    assert_eq!(post.get("from"), None);
    assert_eq!(post["sender_chat"]["title"], "News");
}
