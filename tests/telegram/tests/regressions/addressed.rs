//! Several people, several messages that are one, and buttons.

use homing_domain::key::KeySettings;
use homing_simulators::telegram::{Post, Server};
use homing_telegram_tests::LIMIT;

use crate::world::World;

#[tokio::test]
async fn everyone_in_a_plain_group_has_a_conversation_and_is_answered_by_name() {
    let mut world = World::new().await;
    world.gateway_settings.keys = KeySettings::default();
    let group = world.group();
    world.start().await;
    let alice = world.says(group, "from alice");
    let bob = world.server.post(world.bob, group, "from bob").unwrap();
    let to_alice = world.told(group, "heard from alice").await;
    let to_bob = world.told(group, "heard from bob").await;
    assert_eq!(
        (to_alice.reply_to, to_bob.reply_to),
        (Some(alice), Some(bob))
    );
    world.background(group, "a").await;
    world.quiet().await;
    let alices = world.session(group).await;
    world.server.post(world.bob, group, "/new").unwrap();
    world.told(group, "A fresh session").await;
    world.let_through("a");
    world.told(group, "\nthrough-a").await;
    assert_eq!(
        world.session(group).await,
        alices,
        "Bob has reset his own only"
    );
    assert_eq!(world.conversations().await, 2);
    world.end().await;
}

#[tokio::test]
async fn an_album_is_one_message() {
    let mut world = World::new().await;
    let forum = world.forum();
    let topic = world.topic(forum, "Plans");
    world.start().await;
    let album = vec![
        Post::photo("one").caption("look"),
        Post::photo("two"),
        Post::photo("three"),
    ];
    world.server.post_album(world.alice, topic, album).unwrap();
    world.told(topic, "heard look and 3 files").await;
    world.quiet().await;
    assert_eq!(world.texts(topic).len(), 1);
    world.end().await;
}

#[tokio::test]
async fn a_long_text_that_the_app_has_cut_is_one_message() {
    let mut world = World::new().await;
    let forum = world.forum();
    let topic = world.topic(forum, "Plans");
    world.start().await;
    let first = format!("start {}", "x".repeat(4_090));
    world.says(topic, first);
    world.says(topic, "and the end");
    // Between the two is nothing: the app cut inside a word.
    world.told(topic, "the end").await;
    assert!(world.texts(topic).concat().contains("xand"));
    world.quiet().await;
    let whole: String = world.texts(topic).concat();
    assert_eq!(whole.matches("heard").count(), 1);
    world.end().await;
}

#[tokio::test]
async fn a_question_is_answered_by_its_button_in_its_topic() {
    let mut world = World::new().await;
    let forum = world.forum();
    let topic = world.topic(forum, "Plans");
    world.start().await;
    world.says(topic, "ask eval \"$(echo echo ran-$((40+2)))\"");
    let asked = |server: &Server| {
        let mut sent = server.sent_in(topic).into_iter();
        sent.find(|sent| !sent.buttons.is_empty())
    };
    let question = world.server.wait_for(LIMIT, asked).await.unwrap();
    let button = question.buttons.iter().flatten().next().unwrap();
    let says = button["callback_data"].as_str().unwrap();
    assert!(says.starts_with("/approve"), "{says}");
    world
        .server
        .press(world.alice, forum, question.message, says)
        .unwrap();
    let answer = world.told(topic, "ran-42").await;
    assert!(answer.text.starts_with("the tool said: "));
    world.quiet().await;
    assert_eq!(world.texts(forum), Vec::<String>::new());
    world.end().await;
}
