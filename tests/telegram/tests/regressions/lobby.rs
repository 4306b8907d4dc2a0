//! General, and what is written outside topics.

use homing_simulators::telegram::Post;

use crate::world::World;

#[tokio::test]
async fn bugs_30538_75789_and_100941_the_lobby_is_no_topic() {
    let mut world = World::with_private_topics().await;
    let private = world.private();
    world.start().await;
    world.talk(private, "before any topic").await;
    let topic = world.topic(private, "Newest");
    world.talk(topic, "in it").await;
    world.background(topic, "a").await;
    let (lobby_before, topic_before) = (world.session(private).await, world.session(topic).await);
    world.talk(private, "still the lobby").await;
    assert_eq!(world.session(private).await, lobby_before);
    // 100941: a reset there resets that, and nothing else.
    world.says(private, "/new");
    world.told(private, "A fresh session").await;
    world.quiet().await;
    assert_eq!(world.session(topic).await, topic_before);
    world.let_through("a");
    world.told(topic, "\nthrough-a").await;
    world.end().await;
}

#[tokio::test]
async fn bugs_3206_3207_and_63_a_reply_in_general_is_in_no_topic() {
    let mut world = World::new().await;
    let forum = world.forum();
    world.start().await;
    let answer = world.talk(forum, "one").await;
    let session = world.session(forum).await;
    world.says(forum, Post::text("two").reply_to(answer.message));
    let second = world.told(forum, "heard two").await;
    world.says(forum, Post::text("three").reply_to(second.message));
    world.told(forum, "heard three").await;
    assert_eq!(
        (world.session(forum).await, world.conversations().await),
        (session, 1)
    );
    world.end().await;
}

#[tokio::test]
async fn bugs_22423_and_63_nothing_is_sent_to_general_by_its_number() {
    let mut world = World::new().await;
    let forum = world.forum();
    world.start().await;
    world.talk(forum, "hello").await;
    world.background(forum, "a").await;
    world.let_through("a");
    world.told(forum, "\nthrough-a").await;
    let requests = world.server.requests();
    let numbered: Vec<_> = requests
        .iter()
        .filter(|request| request.params.contains_key("message_thread_id"))
        .map(|request| request.method.as_str())
        .filter(|method| *method != "sendChatAction")
        .collect();
    assert!(numbered.is_empty(), "{numbered:?}");
    world.end().await;
}

#[tokio::test]
async fn oc_21162_and_81874_everything_of_a_topic_stays_in_it_and_general_stays_empty() {
    let mut world = World::new().await;
    let forum = world.forum();
    let topic = world.topic(forum, "Plans");
    world.start().await;
    world.talk(topic, "hello").await;
    world.background(topic, "a").await;
    world.says(topic, "/ps");
    world.says(topic, "!false");
    world.says(topic, "/compress");
    world.quiet().await;
    world.let_through("a");
    world.told(topic, "\nthrough-a").await;
    world.says(topic, "/new");
    world.told(topic, "A fresh session").await;
    world.quiet().await;
    assert_eq!(world.texts(forum), Vec::<String>::new());
    assert!(world.texts(topic).len() >= 7, "{:#?}", world.texts(topic));
    world.end().await;
}
