//! Messages out: how they are set, what they answer, what takes their place.

use homing_ports::platform::{OutgoingKind, SendError};
use homing_simulators::telegram::{Budget, Fault, Flood, TopicEvent, Trouble};
use homing_telegram_tests::{Stage, outgoing};
use serde_json::json;

fn count(stage: &Stage, method: &str) -> usize {
    let requests = stage.server.requests().into_iter();
    requests.filter(|request| request.method == method).count()
}

#[tokio::test]
async fn markdown_is_set_with_entities() {
    let mut stage = Stage::new().await;
    let forum = stage.forum();
    let platform = stage.platform();
    let parts = platform
        .render("**bold** and `code`, [docs](https://example.org/)\n\n```rust\nfn main() {}\n```");
    assert_eq!(parts.len(), 1);
    let mut message = outgoing(&stage.origin(forum), &parts[0].text);
    message.extras.markup = parts[0].markup.clone();
    platform.send(message).await.unwrap();
    let sent = stage.sent_in(forum);
    let kinds: Vec<_> = sent[0]
        .entities
        .iter()
        .map(|entity| entity["type"].as_str().unwrap())
        .collect();
    for kind in ["bold", "code", "text_link", "pre"] {
        assert!(kinds.contains(&kind), "{kinds:?}");
    }
    stage.end().await;
}

#[tokio::test]
async fn refused_formatting_leaves_as_plain_text_once() {
    let mut stage = Stage::new().await;
    let forum = stage.forum();
    let fault = Fault::new(Trouble::EntitiesRefused).method("sendMessage");
    stage.server.fault(fault);
    let mut message = outgoing(&stage.origin(forum), "see docs");
    let link =
        json!([{"type": "text_link", "offset": 4, "length": 4, "url": "https://example.org/"}]);
    message.extras.markup = Some(link.to_string());
    stage.platform().send(message).await.unwrap();
    let sent = stage.sent_in(forum);
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0].text, "see docs (https://example.org/)");
    stage.end().await;
}

// Public bug 52694
#[tokio::test]
async fn only_an_answer_is_anchored_and_a_lost_anchor_loses_nothing() {
    let mut stage = Stage::new().await;
    let forum = stage.forum();
    let topic = stage.server.topic(stage.alice, forum, "Plans").unwrap();
    let question = stage.writes(topic, "@us_bot hello");
    let mut origin = stage.origin(topic);
    origin.anchor = Some(question.to_string());
    for kind in OutgoingKind::ALL {
        let mut message = outgoing(&origin, kind.name());
        message.kind = kind;
        stage.platform().send(message).await.unwrap();
    }
    let anchored: Vec<_> = stage
        .sent_in(topic)
        .iter()
        .map(|sent| sent.reply_to.is_some())
        .collect();
    assert_eq!(anchored, [true, true, false, false]);
    stage.server.delete(forum, question.into()).unwrap();
    stage.says(&origin, "late").await.unwrap();
    stage.server.fault(
        Fault::new(Trouble::BadRequest(
            "message to be replied not found".into(),
        ))
        .method("sendMessage"),
    );
    stage.says(&origin, "later").await.unwrap();
    let sent = stage.sent_in(topic);
    assert_eq!(sent.len(), 6, "all of them in the topic");
    assert_eq!(sent[5].reply_to, None);
    stage.end().await;
}

// OWN-94
#[tokio::test]
async fn a_message_that_may_be_a_repeat_says_so() {
    let mut stage = Stage::new().await;
    let forum = stage.forum();
    let mut message = outgoing(&stage.origin(forum), "the result");
    message.may_repeat = true;
    message.extras.markup = Some(json!([{"type": "bold", "offset": 4, "length": 6}]).to_string());
    stage.platform().send(message).await.unwrap();
    let mut long = outgoing(&stage.origin(forum), &"x".repeat(4_096));
    long.may_repeat = true;
    stage.platform().send(long).await.unwrap();
    let sent = stage.sent_in(forum);
    assert!(
        sent[0].text.starts_with("↻") && sent[0].text.ends_with("the result"),
        "{}",
        sent[0].text
    );
    assert_eq!(sent[0].entities[0]["offset"], 23);
    assert!(
        sent[1].text.starts_with("↻"),
        "a full message has its mark before it"
    );
    assert_eq!(sent[2].text.len(), 4_096);
    stage.end().await;
}

#[tokio::test]
async fn an_answer_takes_the_place_of_its_preview() {
    let mut stage = Stage::new().await;
    let forum = stage.forum();
    let topic = stage.server.topic(stage.alice, forum, "Plans").unwrap();
    let shown = stage
        .says(&stage.origin(topic), "so far …")
        .await
        .unwrap()
        .message;
    let mut message = outgoing(&stage.origin(topic), "the answer");
    message.extras.replaces = shown.clone();
    for attempt in 1..=2 {
        message.attempt = attempt;
        let receipt = stage.platform().send(message.clone()).await.unwrap();
        assert_eq!(receipt.message, shown, "also when it says so already");
    }
    let sent = stage.sent_in(topic);
    assert_eq!((sent.len(), sent[0].text.as_str()), (1, "the answer"));
    stage.end().await;
}

#[tokio::test]
async fn an_answer_whose_preview_is_gone_is_sent_anew() {
    let mut stage = Stage::new().await;
    let forum = stage.forum();
    let shown = stage.says(&stage.origin(forum), "so far …").await.unwrap();
    stage.platform().take_back(&shown).await.unwrap();
    let mut message = outgoing(&stage.origin(forum), "the answer");
    message.extras.replaces = shown.message;
    stage.platform().send(message).await.unwrap();
    let texts: Vec<_> = stage
        .sent_in(forum)
        .into_iter()
        .map(|sent| sent.text)
        .collect();
    assert_eq!(texts, ["the answer"]);
    stage.end().await;
}

// OWN-66; public bugs 31501, tdlib#693, tdlib#854
#[tokio::test]
async fn a_deleted_topic_is_refused_and_nothing_goes_elsewhere() {
    let mut stage = Stage::new().await;
    let forum = stage.forum();
    let topic = stage.server.topic(stage.alice, forum, "Plans").unwrap();
    stage
        .server
        .topic_event(stage.alice, topic, TopicEvent::Deleted)
        .unwrap();
    let error = stage.says(&stage.origin(topic), "hello").await.unwrap_err();
    assert!(
        matches!(&error, SendError::Refused(text) if text.contains("deleted")),
        "{error}"
    );
    assert_eq!(stage.sent_in(forum).len(), 0);
    assert_eq!(count(&stage, "sendMessage"), 1, "tried once");
    stage.end().await;
}

// OWN-71
#[tokio::test]
async fn a_message_that_landed_elsewhere_says_where_and_can_be_taken_back() {
    let mut stage = Stage::new().await;
    let forum = stage.forum();
    let topic = stage.server.topic(stage.alice, forum, "Plans").unwrap();
    stage
        .server
        .fault(Fault::new(Trouble::Misplaced(None)).method("sendMessage"));
    let receipt = stage.says(&stage.origin(topic), "hello").await.unwrap();
    assert_eq!(receipt.landed.as_ref().unwrap().thread, None);
    assert_eq!(stage.sent_in(forum).len(), 1);
    stage.platform().take_back(&receipt).await.unwrap();
    assert_eq!(stage.sent_in(forum).len(), 0);
    stage.end().await;
}

#[tokio::test]
async fn a_chat_that_was_slowed_down_is_left_alone_and_others_go_on() {
    let mut stage = Stage::new().await;
    let forum = stage.forum();
    let private = stage.private();
    let slow = Trouble::TooManyRequests { retry_after: 9 };
    stage
        .server
        .fault(Fault::new(slow).method("sendMessage").chat(forum.id));
    let first = stage.says(&stage.origin(forum), "hello").await.unwrap_err();
    assert_eq!(
        first,
        SendError::RateLimited(std::time::Duration::from_secs(9))
    );
    let second = stage.says(&stage.origin(forum), "hello").await.unwrap_err();
    assert!(matches!(second, SendError::RateLimited(_)));
    assert_eq!(count(&stage, "sendMessage"), 1, "Telegram was asked once");
    stage.says(&stage.origin(private), "hello").await.unwrap();
    stage.end().await;
}

#[tokio::test]
async fn what_the_budget_has_no_room_for_is_left_to_the_outbox() {
    let mut stage = Stage::new().await;
    let private = stage.private();
    stage.set(|settings| {
        settings.budgets.per_chat = homing_telegram::Rate {
            messages: 2,
            per: std::time::Duration::from_secs(60),
        };
    });
    let origin = stage.origin(private);
    stage.says(&origin, "one").await.unwrap();
    stage.says(&origin, "two").await.unwrap();
    let error = stage.says(&origin, "three").await.unwrap_err();
    assert!(
        matches!(error, SendError::RateLimited(wait) if wait.as_secs() > 50),
        "{error}"
    );
    assert_eq!(stage.sent_in(private).len(), 2);
    stage.end().await;
}

/// A server that counts, and an outbox that comes back when it is told to.
#[tokio::test]
async fn under_flood_control_everything_arrives_once_and_in_order() {
    let mut stage = Stage::new().await;
    let forum = stage.forum();
    stage.server.set_flood(Some(Flood {
        per_chat: Some(Budget {
            messages: 2,
            per: std::time::Duration::from_millis(200),
        }),
        per_group: None,
        overall: None,
    }));
    let origin = stage.origin(forum);
    let mut expected = Vec::new();
    for number in 0..6 {
        let text = format!("message {number}");
        let mut tries = 0;
        while let Err(error) = stage.says(&origin, &text).await {
            tries += 1;
            assert!(tries < 9, "{error}");
            match error {
                SendError::RateLimited(wait) => tokio::time::sleep(wait).await,
                other => panic!("{other}"),
            }
        }
        expected.push(text);
    }
    let texts: Vec<_> = stage
        .sent_in(forum)
        .into_iter()
        .map(|sent| sent.text)
        .collect();
    assert_eq!(texts, expected);
    stage.end().await;
}
