//! Topics of a forum: through long answers, compression, closing and deletion.

use homing_simulators::telegram::TopicEvent;

use crate::helper;
use crate::world::World;

#[tokio::test]
async fn bugs_7355_7404_22267_and_70_every_part_of_a_long_answer_stays_in_its_topic_and_is_whole() {
    const LINES: usize = 260;
    let mut world = World::new().await;
    let forum = world.forum();
    let topic = world.topic(forum, "Plans");
    world.start().await;
    let asked = world.says(topic, format!("long {LINES}"));
    world.told(topic, &format!("line {LINES} ")).await;
    world.quiet().await;
    let parts = world.server.sent_in(topic);
    assert!(parts.len() > 2, "{} parts", parts.len());
    assert_eq!(world.texts(forum), Vec::<String>::new());
    // No entity is cut and none is refused: what is left after them is the text without marks.
    let whole: Vec<String> = parts
        .iter()
        .flat_map(|part| part.text.lines().map(str::to_owned))
        .collect();
    let expected: Vec<String> = helper::lines(LINES)
        .lines()
        .map(|line| line.replace("**", "").replace('`', ""))
        .map(|line| {
            line.split_once('[')
                .map_or(line.clone(), |(before, _)| format!("{before}a link"))
        })
        .collect();
    assert_eq!(whole, expected);
    let links = parts.iter().flat_map(|part| &part.entities);
    assert_eq!(
        links.filter(|entity| entity["type"] == "text_link").count(),
        LINES
    );
    assert_eq!(parts[0].reply_to, Some(asked));
    world.end().await;
}

#[tokio::test]
async fn bugs_27166_and_28524_an_answer_that_was_being_made_during_a_compression_goes_to_its_topic()
{
    let mut world = World::new().await;
    let forum = world.forum();
    let topic = world.topic(forum, "Plans");
    world.start().await;
    world.talk(topic, "something to compress").await;
    world.says(topic, "wait for it");
    world.says(topic, "/compress");
    world.talk(forum, "meanwhile").await;
    world.helper.go_on();
    world.told(topic, "waited for it").await;
    world.quiet().await;
    world.talk(topic, "afterwards").await;
    assert_eq!(world.texts(forum), ["heard meanwhile"]);
    world.end().await;
}

#[tokio::test]
async fn bugs_20470_29712_and_33414_a_topic_is_bound_to_its_conversation_through_every_compression()
{
    let mut world = World::new().await;
    let forum = world.forum();
    let topic = world.topic(forum, "Plans");
    world.start().await;
    world.talk(topic, "one").await;
    let first = world.session(topic).await;
    world.background(topic, "a").await;
    for round in 0..3 {
        world.says(topic, "/compress");
        world.quiet().await;
        world.talk(topic, &format!("round {round}")).await;
    }
    assert_ne!(world.session(topic).await, first, "it was compressed");
    world.restart().await;
    world.let_through("a");
    world.told(topic, "\nthrough-a").await;
    assert_eq!(world.conversations().await, 1);
    world.end().await;
}

#[tokio::test]
async fn bugs_31501_and_64_a_deleted_topic_is_a_dead_letter_and_redirects_nobody() {
    let mut world = World::new().await;
    let forum = world.forum();
    let (home, topic) = (
        world.topic(forum, "Operators"),
        world.topic(forum, "Doomed"),
    );
    world.home(home);
    world.start().await;
    world.talk(topic, "one").await;
    world.background(topic, "a").await;
    world
        .server
        .topic_event(world.alice, topic, TopicEvent::Deleted)
        .unwrap();
    world.let_through("a");
    let notice = world.told(home, "message thread not found").await;
    assert!(
        notice.text.contains("topic is deleted"),
        "it says what to do: {}",
        notice.text
    );
    let next = world.topic(forum, "Next");
    world.talk(next, "two").await;
    world.talk(forum, "three").await;
    world.quiet().await;
    assert_eq!(world.texts(forum), ["heard three"]);
    assert_eq!(world.texts(next), ["heard two"]);
    // Nothing is tried again and again.
    let refused = world.server.requests().into_iter().filter(|request| {
        request.params.get("message_thread_id") == Some(&topic.thread.map(|thread| thread.0).into())
            && matches!(
                request.outcome,
                homing_simulators::telegram::Outcome::Refused { .. }
            )
            && request.method == "sendMessage"
    });
    assert_eq!(refused.count(), 1);
    world.end().await;
}

#[tokio::test]
async fn a_topic_that_is_closed_and_reopened_is_told_what_waited() {
    let mut world = World::new().await;
    let forum = world.forum();
    let (home, topic) = (world.topic(forum, "Operators"), world.topic(forum, "Plans"));
    world.home(home);
    world.start().await;
    world.background(topic, "a").await;
    world.background(topic, "b").await;
    world
        .server
        .topic_event(world.alice, topic, TopicEvent::Closed)
        .unwrap();
    world.let_through("a");
    world.told(home, "TOPIC_CLOSED").await;
    world.restart().await;
    world.let_through("b");
    world.quiet().await;
    assert_eq!(world.texts(forum), Vec::<String>::new());
    world
        .server
        .topic_event(world.alice, topic, TopicEvent::Reopened)
        .unwrap();
    world.told(topic, "\nthrough-a").await;
    world.told(topic, "\nthrough-b").await;
    world.end().await;
}

#[tokio::test]
async fn oc_91564_79531_and_68_a_topic_that_is_stuck_stops_no_other_and_can_be_freed() {
    let mut world = World::new().await;
    let forum = world.forum();
    let (stuck, other) = (world.topic(forum, "Stuck"), world.topic(forum, "Other"));
    world.start().await;
    world.says(stuck, "wait for ever");
    world.says(stuck, "and this?");
    world.talk(other, "still here").await;
    world.talk(forum, "and here").await;
    world.says(stuck, "/stop");
    world.told(stuck, "heard and this?").await;
    world.talk(stuck, "free again").await;
    world.end().await;
}
