//! What the doctor finds.

use homing_simulators::telegram::{Fault, NewBot, Standing, TopicEvent, Trouble};
use homing_telegram::{ChatRule, Finding, Grade};
use homing_telegram_tests::Stage;

fn found<'a>(findings: &'a [Finding], text: &str) -> &'a Finding {
    findings
        .iter()
        .find(|finding| finding.text.contains(text))
        .unwrap_or_else(|| panic!("nothing about {text}: {findings:#?}"))
}

#[tokio::test]
async fn a_bot_that_can_do_everything_is_well() {
    let mut stage = Stage::with_bot(NewBot::named("us_bot").reading_all()).await;
    let forum = stage.server.forum("Forum", &[stage.alice]);
    stage.enter(forum, Standing::administrator(["can_manage_topics"]));
    let topic = stage.server.topic(stage.alice, forum, "Plans").unwrap();
    let thread = topic.thread.map(|thread| thread.0);
    let findings = stage.telegram.doctor(Some((forum.id.0, thread))).await;
    assert!(
        findings.iter().all(|finding| finding.grade == Grade::Good),
        "{findings:#?}"
    );
    assert!(
        found(&findings, "was deleted")
            .text
            .contains(&forum.id.to_string())
    );
    assert_eq!(stage.sent_in(topic).len(), 0, "it took its message away");
    stage.end().await;
}

#[tokio::test]
async fn what_is_wrong_comes_with_a_way_out() {
    let mut stage = Stage::new().await;
    let forum = stage.forum();
    let left = stage.server.group("Left", &[stage.alice]);
    stage.enter(left, Standing::Left);
    let group = stage.group();
    let rule = |chat: i64, topic: Option<i64>| ChatRule {
        chat,
        topic,
        require_mention: Some(false),
    };
    stage.set(|settings| {
        settings.chats.push(rule(group.id.0, Some(5)));
        settings.chats.push(rule(-1_009_999, None));
    });
    let topic = stage.server.topic(stage.alice, forum, "Plans").unwrap();
    stage
        .server
        .topic_event(stage.alice, topic, TopicEvent::Closed)
        .unwrap();
    let thread = topic.thread.map(|thread| thread.0);
    let findings = stage.telegram.doctor(Some((forum.id.0, thread))).await;
    for (text, grade) in [
        ("privacy mode", Grade::Warning),
        ("may not manage topics", Grade::Warning),
        ("has no topics", Grade::Error),
        ("chat -1009999", Grade::Error),
        (&left.id.to_string(), Grade::Error),
        ("TOPIC_CLOSED", Grade::Error),
    ] {
        let finding = found(&findings, text);
        assert_eq!(finding.grade, grade, "{finding:?}");
        assert!(finding.way_out.is_some());
    }
    stage.end().await;
}

#[tokio::test]
async fn a_wrong_token_is_the_only_finding() {
    let stage = Stage::new().await;
    stage.server.fault(Fault::new(Trouble::Unauthorized));
    let findings = stage.telegram.doctor(None).await;
    assert_eq!(findings.len(), 1);
    assert!(
        findings[0]
            .way_out
            .as_deref()
            .is_some_and(|way_out| way_out.contains("BotFather"))
    );
    stage.end().await;
}
