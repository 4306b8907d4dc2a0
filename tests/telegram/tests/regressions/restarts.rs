//! What survives a restart.

use crate::world::World;

#[tokio::test]
async fn bug_10163_a_topic_is_the_same_conversation_after_a_restart() {
    let mut world = World::new().await;
    let forum = world.forum();
    let topic = world.topic(forum, "Plans");
    world.start().await;
    world.talk(topic, "one").await;
    let session = world.session(topic).await.unwrap();
    for round in 0..2 {
        world.restart().await;
        world.talk(topic, &format!("round {round}")).await;
        assert_eq!(world.session(topic).await, Some(session));
    }
    world.end().await;
}

#[tokio::test]
async fn what_was_written_while_the_gateway_was_away_is_answered_once_and_in_order() {
    let mut world = World::new().await;
    let forum = world.forum();
    let topic = world.topic(forum, "Plans");
    world.start().await;
    world.talk(topic, "before").await;
    world.stop().await;
    for text in ["one", "two", "three"] {
        world.says(topic, text);
    }
    world.start().await;
    world.told(topic, "heard three").await;
    world.server.repeat_updates(&world.bot, 3).unwrap();
    world.restart().await;
    world.talk(topic, "after").await;
    let texts = world.texts(topic);
    assert_eq!(
        texts,
        [
            "heard before",
            "heard one",
            "heard two",
            "heard three",
            "heard after"
        ]
    );
    world.end().await;
}
