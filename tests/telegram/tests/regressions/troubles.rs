//! Telegram answers wrongly, or not at all.

use homing_simulators::telegram::{Effect, Fault, Server, Trouble};
use homing_telegram_tests::LIMIT;

use crate::world::World;

#[tokio::test]
async fn bug_65_tdlib_854_a_result_that_lands_outside_its_topic_is_taken_back_and_told_to_the_operator()
 {
    let mut world = World::with_private_topics().await;
    let private = world.private();
    let topic = world.topic(private, "Plans");
    let forum = world.forum();
    world.home(forum);
    world.start().await;
    world.background(topic, "a").await;
    let misplaced = Fault::new(Trouble::Misplaced(None))
        .method("sendMessage")
        .chat(private.id);
    world.server.fault(misplaced);
    world.let_through("a");
    let taken_back = |server: &Server| {
        let mut sent = server.sent().into_iter();
        sent.find(|sent| sent.text.contains("\nthrough-a") && sent.deleted)
    };
    world.server.wait_for(LIMIT, taken_back).await.unwrap();
    let told = |server: &Server| (!server.sent_in(forum).is_empty()).then_some(());
    world.server.wait_for(LIMIT, told).await.unwrap();
    assert_eq!(world.texts(private), Vec::<String>::new());
    world.end().await;
}

#[tokio::test]
async fn bug_69_another_poller_ends_nothing() {
    let mut world = World::new().await;
    let forum = world.forum();
    let home = world.topic(forum, "Operators");
    world.home(home);
    world.start().await;
    world.talk(forum, "one").await;
    world
        .server
        .fault(Fault::new(Trouble::Conflict).method("getUpdates").times(4));
    world.server.foreign_poller(&world.bot).unwrap();
    world
        .told(
            home,
            "another program asks Telegram for this bot's messages",
        )
        .await;
    world.talk(forum, "two").await;
    world.quiet().await;
    assert_eq!(world.texts(home).len(), 1, "said once");
    world.end().await;
}

// OWN-94: Telegram cannot be asked what it has.
#[tokio::test]
async fn a_result_whose_arrival_is_unknown_is_told_again_with_a_mark_in_its_topic() {
    for effect in [Effect::Taken, Effect::None] {
        let mut world = World::new().await;
        let forum = world.forum();
        let topic = world.topic(forum, "Plans");
        world.start().await;
        world.background(topic, "a").await;
        let unknown = Fault::new(Trouble::Reset(effect)).method("sendMessage");
        world.server.fault(unknown);
        world.let_through("a");
        let again = world.told(topic, "\nthrough-a").await;
        let marked = |server: &Server| {
            let mut sent = server.sent_in(topic).into_iter();
            sent.find(|sent| sent.text.starts_with('↻') && sent.text.contains("\nthrough-a"))
        };
        world.server.wait_for(LIMIT, marked).await.unwrap();
        world.quiet().await;
        let results = world
            .texts(topic)
            .into_iter()
            .filter(|text| text.contains("\nthrough-a"));
        let expected = match effect {
            Effect::Taken => 2,
            Effect::None => 1,
        };
        assert_eq!(results.count(), expected, "{}", again.text);
        world.end().await;
    }
}

#[tokio::test]
async fn a_flood_limit_keeps_the_order_of_a_topic() {
    let mut world = World::new().await;
    let forum = world.forum();
    let (topic, other) = (world.topic(forum, "Plans"), world.topic(forum, "Other"));
    world.start().await;
    world.talk(other, "zero").await;
    let slow = Fault::new(Trouble::TooManyRequests { retry_after: 1 }).method("sendMessage");
    world.server.fault(slow);
    for text in ["one", "two", "three"] {
        world.says(topic, text);
    }
    world.told(topic, "heard three").await;
    assert_eq!(
        world.texts(topic),
        ["heard one", "heard two", "heard three"]
    );
    world.end().await;
}

#[tokio::test]
async fn bug_71_no_typing_is_shown_once_the_answer_is_there() {
    let mut world = World::new().await;
    let forum = world.forum();
    let topic = world.topic(forum, "Plans");
    world.start().await;
    world.says(topic, "wait a moment");
    let typing = |server: &Server| {
        let mut actions = server.actions().into_iter();
        actions.find(|action| action.thread == topic.thread)
    };
    world.server.wait_for(LIMIT, typing).await.unwrap();
    world.helper.go_on();
    let answer = world.told(topic, "waited a moment").await;
    world.quiet().await;
    world.stop().await;
    let late = world
        .server
        .actions()
        .into_iter()
        .filter(|action| action.at > answer.at);
    assert_eq!(late.count(), 0);
    world.end().await;
}
