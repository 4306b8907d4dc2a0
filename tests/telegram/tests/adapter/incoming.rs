//! What people write, and where.

use homing_simulators::telegram::{NewBot, Post, Standing, TopicEvent};
use homing_telegram_tests::{Call, Stage};
use serde_json::json;

/// Every place: an answer to what came from there goes there, and the receipt says so.
#[tokio::test]
async fn an_answer_lands_where_the_question_was_asked() {
    let mut stage = Stage::with_bot(NewBot::named("us_bot").with_private_topics()).await;
    let forum = stage.forum();
    let group = stage.group();
    let direct = stage.server.direct_messages("Letters", &[stage.alice]);
    stage.enter(
        direct,
        Standing::administrator(["can_manage_direct_messages"]),
    );
    let private = stage.private();
    let topic = stage.server.topic(stage.alice, forum, "Plans").unwrap();
    let private_topic = stage.server.topic(stage.alice, private, "Ideas").unwrap();
    stage.serve();
    stage.writes(forum, "/one");
    stage.writes(topic, "/two");
    stage.writes(group, "/three");
    stage.writes(private, "four");
    stage.writes(private_topic, "five");
    stage.writes(direct, "six");
    let came = stage.inbox.messages(6).await;
    let texts: Vec<_> = came.iter().map(|inbound| inbound.text.as_str()).collect();
    assert_eq!(texts, ["/one", "/two", "/three", "four", "five", "six"]);
    for inbound in &came {
        let receipt = stage
            .says(&inbound.origin, &format!("to {}", inbound.text))
            .await
            .unwrap();
        let landed = receipt.landed.unwrap();
        assert_eq!(
            (&landed.chat, &landed.thread),
            (&inbound.origin.chat, &inbound.origin.thread),
            "{}",
            inbound.text
        );
    }
    for (place, text) in [
        (forum.into(), "to /one"),
        (topic, "to /two"),
        (group.into(), "to /three"),
        (private.into(), "to four"),
        (private_topic, "to five"),
    ] {
        let sent = stage.sent_in(place);
        assert_eq!(sent.len(), 1, "{text}");
        assert_eq!(sent[0].text, text);
        assert_eq!(
            sent[0].reply_to.is_some(),
            place.chat.bot.is_none(),
            "anchored in groups: {text}"
        );
    }
    stage.end().await;
}

// Public bugs 3206 and 27012: a reply in General carries a thread that is none.
#[tokio::test]
async fn a_reply_outside_topics_is_in_no_topic() {
    let mut stage = Stage::new().await;
    let forum = stage.forum();
    stage.serve();
    let first = stage.writes(forum, "hello");
    stage.writes(forum, Post::text("@us_bot and?").reply_to(first));
    let came = stage.inbox.messages(1).await;
    assert_eq!(
        (came[0].text.as_str(), &came[0].origin.thread),
        ("and?", &None)
    );
    assert_eq!(came[0].quoted.as_deref(), Some("Alice (@alice): hello"));
    stage.says(&came[0].origin, "well").await.unwrap();
    assert_eq!(stage.sent_in(forum).len(), 1);
    stage.end().await;
}

// OWN-70
#[tokio::test]
async fn nothing_is_confirmed_before_it_is_stored() {
    let mut stage = Stage::new().await;
    let private = stage.private();
    stage.inbox.fail(3);
    stage.serve();
    stage.writes(private, "one");
    stage.writes(private, "two");
    stage
        .inbox
        .until("a failure", |inbox| {
            inbox
                .calls()
                .iter()
                .any(|call| matches!(call, Call::Failed(_)))
                .then_some(())
        })
        .await;
    stage.inbox.messages(2).await;
    assert_eq!(stage.inbox.texts(), ["one", "two"]);
    let confirmed = |server: &homing_simulators::telegram::Server| {
        server.pending_updates(&stage.bot).is_empty().then_some(())
    };
    stage
        .server
        .wait_for(homing_telegram_tests::LIMIT, confirmed)
        .await
        .unwrap();
    stage.end().await;
}

// OWN-70
#[tokio::test]
async fn a_restart_while_nothing_can_be_stored_loses_nothing() {
    let mut stage = Stage::new().await;
    let private = stage.private();
    stage.inbox.fail(usize::MAX);
    stage.serve();
    stage.writes(private, "one");
    let failed = |inbox: &homing_telegram_tests::FakeInbox| {
        inbox
            .calls()
            .iter()
            .any(|call| matches!(call, Call::Failed(_)))
            .then_some(())
    };
    stage.inbox.until("a failure", failed).await;
    assert_eq!(stage.server.pending_updates(&stage.bot).len(), 1);
    stage.stop().await;
    stage.inbox.fail(0);
    stage.restart().await;
    stage.inbox.messages(1).await;
    stage.writes(private, "two");
    stage.inbox.messages(2).await;
    assert_eq!(stage.inbox.texts(), ["one", "two"]);
    stage.end().await;
}

#[tokio::test]
async fn an_update_that_nobody_understands_is_kept_and_stops_nothing() {
    let mut stage = Stage::new().await;
    let private = stage.private();
    stage.serve();
    stage
        .server
        .push_raw(&stage.bot, json!({"some_future_update": {"x": 1}}))
        .unwrap();
    stage
        .server
        .push_raw(&stage.bot, json!({"message": {"text": "of nowhere"}}))
        .unwrap();
    stage.writes(private, "after it");
    stage.inbox.messages(1).await;
    assert_eq!(stage.inbox.texts(), ["after it"]);
    let kept = std::fs::read_to_string(stage.state().join("unreadable.jsonl")).unwrap();
    assert_eq!(kept.lines().count(), 2);
    assert!(kept.contains("some_future_update") && kept.contains("of nowhere"));
    assert_eq!(
        stage.inbox.told().len(),
        1,
        "said once: {:?}",
        stage.inbox.told()
    );
    stage.end().await;
}

#[tokio::test]
async fn repeated_and_reordered_updates_are_read_once_and_in_order() {
    let mut stage = Stage::new().await;
    let private = stage.private();
    stage.server.reorder_updates(&stage.bot, 9).unwrap();
    let mut expected = Vec::new();
    for number in 0..20 {
        stage.writes(private, format!("message {number}"));
        expected.push(format!("message {number}"));
    }
    stage.serve();
    stage.inbox.messages(20).await;
    stage.server.repeat_updates(&stage.bot, 5).unwrap();
    stage.writes(private, "the last");
    expected.push("the last".into());
    stage.inbox.messages(21).await;
    assert_eq!(stage.inbox.texts(), expected);
    stage.end().await;
}

// After a week of silence Telegram may number updates lower than before.
#[tokio::test]
async fn a_week_of_silence_makes_no_deaf_bot() {
    let mut stage = Stage::new().await;
    let private = stage.private();
    stage.serve();
    stage.writes(private, "before");
    stage.inbox.messages(1).await;
    stage.stop().await;
    stage
        .clock
        .advance(std::time::Duration::from_secs(8 * 86_400));
    stage.server.next_update_id(&stage.bot, 3).unwrap();
    stage.writes(private, "after");
    stage.restart().await;
    stage.inbox.messages(2).await;
    assert_eq!(stage.inbox.texts(), ["before", "after"]);
    stage.end().await;
}

#[tokio::test]
async fn an_edit_is_an_edit_of_the_same_message() {
    let mut stage = Stage::new().await;
    let forum = stage.forum();
    let topic = stage.server.topic(stage.alice, forum, "Plans").unwrap();
    stage.serve();
    let message = stage.writes(topic, "@us_bot first");
    stage.inbox.messages(1).await;
    stage
        .server
        .edit(stage.alice, forum, message.into(), "@us_bot second")
        .unwrap();
    let edited = stage
        .inbox
        .until("an edit", |inbox| {
            inbox
                .calls()
                .into_iter()
                .find(|call| matches!(call, Call::Edited { .. }))
        })
        .await;
    let expected = Call::Edited {
        message: stage.inbox.accepted()[0].platform_id.clone(),
        text: "second".into(),
    };
    assert_eq!(edited, expected);
    stage.end().await;
}

#[tokio::test]
async fn an_album_is_several_messages_that_belong_together() {
    let mut stage = Stage::with_bot(NewBot::named("us_bot").reading_all()).await;
    let group = stage.group();
    let photo = || Post::photo(b"picture".to_vec());
    // The caption is not on the first.
    let posts = vec![photo(), photo().caption("@us_bot look"), photo()];
    stage.server.post_album(stage.alice, group, posts).unwrap();
    stage.serve();
    let came = stage.inbox.messages(3).await;
    let group_of = |at: usize| came[at].together.as_ref().unwrap().group.clone();
    assert!(group_of(0).starts_with("album:"));
    assert_eq!((group_of(0), group_of(0)), (group_of(1), group_of(2)));
    assert!(came.iter().all(|inbound| inbound.attachments.len() == 1));
    let texts: Vec<_> = came.iter().map(|inbound| inbound.text.as_str()).collect();
    assert_eq!(texts, ["", "look", ""]);
    stage.end().await;
}

#[tokio::test]
async fn a_long_text_that_a_client_cut_belongs_together() {
    let mut stage = Stage::with_bot(NewBot::named("us_bot").reading_all()).await;
    let group = stage.group();
    stage.writes(group, format!("@us_bot {}", "x".repeat(4_080)));
    stage.writes(group, "the rest");
    stage.serve();
    let came = stage.inbox.messages(2).await;
    assert_eq!(came[0].together, came[1].together);
    assert_eq!(came[0].together.as_ref().unwrap().joined_by, "");
    assert_eq!(came[1].text, "the rest", "it needs no mention");
    stage.end().await;
}

#[tokio::test]
async fn a_topic_that_is_reopened_is_said_to_be() {
    let mut stage = Stage::new().await;
    let forum = stage.forum();
    let topic = stage.server.topic(stage.alice, forum, "Plans").unwrap();
    stage
        .server
        .topic_event(stage.alice, topic, TopicEvent::Closed)
        .unwrap();
    stage
        .server
        .topic_event(stage.alice, forum, TopicEvent::Closed)
        .unwrap();
    stage.serve();
    stage
        .inbox
        .until("a connection", |inbox| {
            inbox.calls().contains(&Call::Ready).then_some(())
        })
        .await;
    let error = stage.says(&stage.origin(topic), "hello").await.unwrap_err();
    assert!(
        matches!(error, homing_ports::platform::SendError::Closed(_)),
        "{error}"
    );
    stage
        .server
        .topic_event(stage.alice, topic, TopicEvent::Reopened)
        .unwrap();
    stage
        .server
        .topic_event(stage.alice, forum, TopicEvent::Reopened)
        .unwrap();
    let places = stage
        .inbox
        .until("two reopenings", |inbox| {
            let places: Vec<_> = inbox
                .calls()
                .into_iter()
                .filter_map(|call| match call {
                    Call::Reopened(place) => Some(place.thread),
                    _ => None,
                })
                .collect();
            (places.len() == 2).then_some(places)
        })
        .await;
    assert_eq!(
        places,
        [topic.thread.map(|thread| thread.to_string()), None]
    );
    stage.says(&stage.origin(topic), "hello").await.unwrap();
    stage.end().await;
}

// OWN-72
#[tokio::test]
async fn a_group_that_becomes_a_supergroup_goes_on() {
    let mut stage = Stage::new().await;
    let group = stage.group();
    stage.serve();
    stage.writes(group, "/before");
    stage.inbox.messages(1).await;
    let new = stage.server.migrate(stage.alice, group).unwrap();
    let moved = Call::Moved {
        from: group.id.to_string(),
        to: new.id.to_string(),
    };
    stage
        .inbox
        .until("the move", |inbox| {
            inbox.calls().contains(&moved).then_some(())
        })
        .await;
    // The rules name the old number still, after a restart too.
    stage.restart().await;
    stage.writes(new, "/after");
    stage.inbox.messages(2).await;
    assert_eq!(stage.inbox.texts(), ["/before", "/after"]);
    let told = stage.inbox.told();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains(&new.id.to_string()));
    let error = stage.says(&stage.origin(group), "late").await.unwrap_err();
    assert_eq!(
        error,
        homing_ports::platform::SendError::Moved(new.id.to_string())
    );
    stage.end().await;
}
