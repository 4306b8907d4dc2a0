//! What is shown while an answer is made.

use homing_domain::ids::TurnId;
use homing_domain::origin::Origin;
use homing_ports::platform::{Preview, Stage as How};
use homing_simulators::telegram::{Fault, GENERAL, Trouble};
use homing_telegram_tests::{Stage, outgoing};

fn preview(origin: &Origin, text: &str, shown: Option<String>) -> Preview {
    Preview {
        turn: TurnId::from_number(77),
        origin: origin.clone(),
        window: None,
        text: text.into(),
        shown,
        stage: How::Going,
    }
}

// tdlib/telegram-bot-api#798
#[tokio::test]
async fn typing_is_shown_where_the_answer_will_be() {
    let mut stage = Stage::new().await;
    let forum = stage.forum();
    let group = stage.group();
    let private = stage.private();
    let topic = stage.server.topic(stage.alice, forum, "Plans").unwrap();
    stage.serve();
    stage.writes(forum, "/hello");
    stage.inbox.messages(1).await;
    for place in [topic, forum.into(), group.into(), private.into()] {
        stage.platform().typing(&stage.origin(place)).await.unwrap();
    }
    let threads: Vec<_> = stage
        .server
        .actions()
        .iter()
        .map(|action| action.thread)
        .collect();
    assert_eq!(threads, [topic.thread, Some(GENERAL), None, None]);
    stage.end().await;
}

#[tokio::test]
async fn a_preview_is_one_message_that_the_answer_replaces() {
    let mut stage = Stage::new().await;
    let forum = stage.forum();
    let topic = stage.server.topic(stage.alice, forum, "Plans").unwrap();
    let mut origin = stage.origin(topic);
    origin.anchor = Some(stage.writes(topic, "@us_bot go").to_string());
    let platform = stage.platform();
    let mut shown = None;
    for text in ["One", "One **two", "One **two", "One **two** three"] {
        shown = platform
            .preview(preview(&origin, text, shown))
            .await
            .unwrap();
        assert!(shown.is_some());
    }
    let sent = stage.sent_in(topic);
    assert_eq!((sent.len(), sent[0].text.as_str()), (1, "One two three …"));
    assert!(sent[0].reply_to.is_some());
    let mut answer = outgoing(&origin, "One two three.");
    answer.extras.replaces = shown;
    platform.send(answer).await.unwrap();
    let sent = stage.sent_in(topic);
    assert_eq!((sent.len(), sent[0].text.as_str()), (1, "One two three."));
    stage.end().await;
}

#[tokio::test]
async fn in_private_a_preview_is_a_draft_that_can_be_stopped() {
    let mut stage = Stage::new().await;
    let private = stage.private();
    stage.serve();
    let origin = stage.origin(private);
    let shown = stage
        .platform()
        .preview(preview(&origin, "One", None))
        .await
        .unwrap();
    assert_eq!(shown, None);
    let drafts = stage.server.drafts();
    assert_eq!(
        (drafts[0].text.as_str(), drafts[0].can_stop),
        ("One …", true)
    );
    stage
        .server
        .stop_generation(private, drafts[0].draft)
        .unwrap();
    let came = stage.inbox.messages(1).await;
    assert_eq!(
        (came[0].text.as_str(), came[0].origin.user.as_ref()),
        ("/stop", origin.user.as_ref())
    );
    assert_eq!(stage.sent_in(private).len(), 0);
    let mut stopped = preview(&origin, "One", None);
    stopped.stage = How::Stopped;
    let shown = stage.platform().preview(stopped).await.unwrap();
    assert!(shown.is_some(), "it stays");
    assert_eq!(stage.sent_in(private)[0].text, "One");
    stage.end().await;
}

#[tokio::test]
async fn a_preview_that_telegram_has_no_time_for_is_left_out() {
    let mut stage = Stage::new().await;
    let forum = stage.forum();
    let origin = stage.origin(forum);
    stage
        .server
        .fault(Fault::new(Trouble::TooManyRequests { retry_after: 9 }).method("sendMessage"));
    for _ in 0..2 {
        let shown = stage
            .platform()
            .preview(preview(&origin, "One", None))
            .await
            .unwrap();
        assert_eq!(shown, None);
    }
    assert_eq!(stage.server.requests().len(), 1, "asked once");
    stage.set(|settings| settings.previews = false);
    let shown = Some("5".to_owned());
    let still = stage
        .platform()
        .preview(preview(&origin, "One", shown.clone()))
        .await
        .unwrap();
    assert_eq!(still, shown);
    stage.end().await;
}
