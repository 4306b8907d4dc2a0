//! Topics of private chats, and new ones beside old ones.

use homing_simulators::telegram::Post;

use crate::world::World;

#[tokio::test]
async fn bugs_27012_and_22022_topics_of_a_private_chat_are_conversations_of_their_own() {
    let mut world = World::with_private_topics().await;
    let private = world.private();
    let (one, two) = (world.topic(private, "One"), world.topic(private, "Two"));
    world.start().await;
    world.talk(one, "first").await;
    world.talk(two, "second").await;
    world.talk(private, "third").await;
    let mut sessions = Vec::new();
    for place in [one, two, private.into()] {
        sessions.push(world.session(place).await.unwrap());
    }
    sessions.dedup();
    assert_eq!(sessions.len(), 3);
    world.background(one, "a").await;
    world.background(private, "b").await;
    world.let_through("a");
    world.let_through("b");
    world.told(one, "\nthrough-a").await;
    world.told(private, "\nthrough-b").await;
    assert_eq!(world.texts(two), ["heard second"]);
    world.end().await;
}

#[tokio::test]
async fn bugs_31086_29287_and_29546_a_new_private_topic_is_not_taken_for_the_one_before() {
    let mut world = World::with_private_topics().await;
    let private = world.private();
    world.start().await;
    let before = world.topic(private, "Before");
    world.talk(before, "one").await;
    world.background(before, "a").await;
    for name in ["Second", "Third"] {
        let topic = world.topic(private, name);
        world.talk(topic, name).await;
        assert_eq!(world.texts(topic).len(), 1);
        assert_ne!(world.session(topic).await, world.session(before).await);
    }
    world.let_through("a");
    world.told(before, "\nthrough-a").await;
    world.end().await;
}

#[tokio::test]
async fn bug_67_oc_75975_quoting_in_a_private_chat_splits_no_conversation() {
    let mut world = World::new().await;
    let private = world.private();
    world.start().await;
    let answer = world.talk(private, "one").await;
    let session = world.session(private).await;
    let reply = Post::text("two").reply_to(answer.message);
    world.says(private, reply.clone());
    let second = world.told(private, "heard two (to “").await;
    world.says(private, Post::text("three").reply_to(second.message));
    world.told(private, "heard three (to “").await;
    assert_eq!(
        (world.session(private).await, world.conversations().await),
        (session, 1)
    );
    world.end().await;
}

#[tokio::test]
async fn ha_9532_28487_87051_and_87541_a_result_keeps_its_private_topic_over_a_restart() {
    let mut world = World::with_private_topics().await;
    let private = world.private();
    let topic = world.topic(private, "Builds");
    world.start().await;
    world.background(topic, "a").await;
    world.background(topic, "b").await;
    world.let_through("a");
    let before = world.told(topic, "\nthrough-a").await;
    world.restart().await;
    world.talk(private, "elsewhere").await;
    world.let_through("b");
    let after = world.told(topic, "\nthrough-b").await;
    // Bug 52694: the question may be long gone.
    assert_eq!((before.reply_to, after.reply_to), (None, None));
    world.end().await;
}

#[tokio::test]
async fn oc_49862_what_is_quoted_is_the_message_of_this_topic() {
    let mut world = World::new().await;
    let forum = world.forum();
    let (one, two) = (world.topic(forum, "One"), world.topic(forum, "Two"));
    world.start().await;
    let first = world.says(one, "the red one");
    world.told(one, "heard the red one").await;
    let second = world.says(two, "the blue one");
    world.told(two, "heard the blue one").await;
    world.says(one, Post::text("this?").reply_to(first));
    world
        .told(one, "heard this? (to “Alice (@alice): the red one”)")
        .await;
    world.says(two, Post::text("that?").reply_to(second));
    world
        .told(two, "heard that? (to “Alice (@alice): the blue one”)")
        .await;
    world.end().await;
}
