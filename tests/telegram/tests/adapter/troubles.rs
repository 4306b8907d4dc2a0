//! Every fault of the simulator, and what becomes of what is sent and of what comes in.

use std::time::Duration;

use homing_ports::platform::SendError;
use homing_simulators::telegram::{Effect, Fault, Trouble};
use homing_telegram::ServeError;
use homing_telegram_tests::{Call, LIMIT, Stage, outgoing};

fn name(outcome: &Result<homing_ports::platform::Receipt, SendError>) -> &'static str {
    match outcome {
        Ok(_) => "sent",
        Err(SendError::Away(_)) => "away",
        Err(SendError::RateLimited(_)) => "limited",
        Err(SendError::Closed(_)) => "closed",
        Err(SendError::Moved(_)) => "moved",
        Err(SendError::Temporary(_)) => "temporary",
        Err(SendError::Refused(_)) => "refused",
        Err(SendError::Uncertain(_)) => "uncertain",
    }
}

/// The trouble, how a new message ends, how an edit ends, and whether it is there.
fn table() -> Vec<(Trouble, &'static str, &'static str, bool)> {
    use Effect::{None as Lost, Taken};
    vec![
        (
            Trouble::TooManyRequests { retry_after: 3 },
            "limited",
            "limited",
            false,
        ),
        (
            Trouble::InternalError(Lost),
            "uncertain",
            "temporary",
            false,
        ),
        (
            Trouble::InternalError(Taken),
            "uncertain",
            "temporary",
            true,
        ),
        (Trouble::BadGateway(Lost), "uncertain", "temporary", false),
        (Trouble::BadGateway(Taken), "uncertain", "temporary", true),
        (Trouble::Silence(Lost), "uncertain", "temporary", false),
        (Trouble::Silence(Taken), "uncertain", "temporary", true),
        (Trouble::Reset(Lost), "uncertain", "temporary", false),
        (Trouble::Reset(Taken), "uncertain", "temporary", true),
        (Trouble::MalformedJson, "uncertain", "temporary", true),
        (Trouble::Slow(30), "sent", "sent", true),
        (Trouble::Unauthorized, "away", "away", false),
        (
            Trouble::Forbidden("bot was kicked from the supergroup chat".into()),
            "refused",
            "refused",
            false,
        ),
        (
            Trouble::BadRequest("TOPIC_CLOSED".into()),
            "closed",
            "closed",
            false,
        ),
        (
            Trouble::BadRequest("chat not found".into()),
            "refused",
            "refused",
            false,
        ),
        (Trouble::Conflict, "temporary", "temporary", false),
    ]
}

/// Short enough for a request that is never answered, long enough for one that is.
fn hurried(trouble: &Trouble) -> Duration {
    match trouble {
        Trouble::Silence(_) => Duration::from_millis(300),
        _ => Duration::from_secs(10),
    }
}

#[tokio::test]
async fn every_trouble_of_a_send_ends_honestly() {
    for (trouble, expected, _, is_there) in table() {
        let mut stage = Stage::new().await;
        let forum = stage.forum();
        stage.set(|settings| settings.pace.answer = hurried(&trouble));
        let topic = stage.server.topic(stage.alice, forum, "Plans").unwrap();
        stage
            .server
            .fault(Fault::new(trouble.clone()).method("sendMessage"));
        let outcome = stage.says(&stage.origin(topic), "hello").await;
        assert_eq!(name(&outcome), expected, "{trouble:?}: {outcome:?}");
        if let Err(error) = &outcome {
            let secret = stage.bot.token.split_once(':').unwrap().1;
            assert!(!error.to_string().contains(secret), "{error}");
        }
        assert_eq!(
            stage.sent_in(topic).len(),
            usize::from(is_there),
            "{trouble:?}"
        );
        stage.end().await;
    }
}

#[tokio::test]
async fn every_trouble_of_an_edit_can_be_tried_again() {
    for (trouble, _, expected, _) in table() {
        let mut stage = Stage::new().await;
        let forum = stage.forum();
        stage.set(|settings| settings.pace.answer = hurried(&trouble));
        let origin = stage.origin(forum);
        let shown = stage.says(&origin, "so far …").await.unwrap().message;
        stage
            .server
            .fault(Fault::new(trouble.clone()).method("editMessageText"));
        let mut message = outgoing(&origin, "the answer");
        message.extras.replaces = shown;
        let outcome = stage.platform().send(message.clone()).await;
        assert_eq!(name(&outcome), expected, "{trouble:?}: {outcome:?}");
        if expected != "limited" {
            stage.platform().send(message).await.unwrap();
            let texts: Vec<_> = stage
                .sent_in(forum)
                .into_iter()
                .map(|sent| sent.text)
                .collect();
            assert_eq!(texts, ["the answer"], "{trouble:?}: once");
        }
        stage.end().await;
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_has_got_nothing() {
    let mut stage = Stage::new().await;
    let forum = stage.forum();
    let origin = stage.origin(forum);
    stage.set(|settings| settings.api_url = "http://127.0.0.1:9/".parse().unwrap());
    let outcome = stage.says(&origin, "hello").await;
    assert_eq!(name(&outcome), "away", "{outcome:?}");
    stage.end().await;
}

/// Nothing is lost, nothing comes twice, the order stays.
#[tokio::test]
async fn every_trouble_of_a_poll_passes() {
    let troubles = [
        Trouble::TooManyRequests { retry_after: 0 },
        Trouble::InternalError(Effect::None),
        Trouble::InternalError(Effect::Taken),
        Trouble::BadGateway(Effect::None),
        Trouble::BadGateway(Effect::Taken),
        Trouble::Silence(Effect::None),
        Trouble::Silence(Effect::Taken),
        Trouble::Reset(Effect::None),
        Trouble::Reset(Effect::Taken),
        Trouble::MalformedJson,
        Trouble::Slow(30),
        Trouble::Conflict,
    ];
    let mut stage = Stage::new().await;
    let private = stage.private();
    stage.set(|settings| {
        settings.pace.answer = Duration::from_secs(1);
    });
    stage.serve();
    let mut expected = Vec::new();
    for (number, trouble) in troubles.into_iter().enumerate() {
        stage
            .server
            .fault(Fault::new(trouble.clone()).method("getUpdates").times(2));
        for part in ["a", "b"] {
            let text = format!("{number}{part}");
            stage.writes(private, text.clone());
            expected.push(text);
        }
        stage.inbox.messages(expected.len()).await;
        assert_eq!(stage.inbox.texts(), expected, "{trouble:?}");
        stage.server.clear_faults();
    }
    stage.end().await;
}

// Public bugs akashic-agent#310, ioBroker.telegram PR#1382
#[tokio::test]
async fn another_program_with_the_token_is_told_of_and_outlived() {
    let mut stage = Stage::new().await;
    let private = stage.private();
    stage.serve();
    stage
        .inbox
        .until("a connection", |inbox| {
            inbox.calls().contains(&Call::Ready).then_some(())
        })
        .await;
    stage
        .server
        .fault(Fault::new(Trouble::Conflict).method("getUpdates").times(3));
    let told = stage
        .inbox
        .until("a note", |inbox| inbox.told().into_iter().next())
        .await;
    assert!(told.contains("another program"), "{told}");
    stage.writes(private, "still here");
    stage.inbox.messages(1).await;
    assert_eq!(stage.inbox.told().len(), 1, "said once");
    stage.end().await;
}

#[tokio::test]
async fn a_revoked_token_ends_it_in_words() {
    let mut stage = Stage::new().await;
    stage.serve();
    stage
        .inbox
        .until("a connection", |inbox| {
            inbox.calls().contains(&Call::Ready).then_some(())
        })
        .await;
    stage.server.revoke(&stage.bot).unwrap();
    stage.server.foreign_poller(&stage.bot).unwrap();
    let error = stage.ended().await.unwrap_err();
    assert!(matches!(error, ServeError::Token(_)), "{error}");
    assert!(
        stage.inbox.told()[0].contains("BotFather"),
        "{:?}",
        stage.inbox.told()
    );
    assert!(!stage.telegram.is_up());
    // A revoked token is used once more by every request that finds out: that is no violation.
    stage.stop().await;
}

// OWN-69
#[tokio::test]
async fn a_send_that_found_telegram_away_is_followed_by_word_that_it_is_back() {
    let mut stage = Stage::new().await;
    let private = stage.private();
    stage.set(|settings| settings.pace.poll = Duration::from_secs(40));
    stage.serve();
    stage
        .inbox
        .until("a connection", |inbox| {
            inbox.calls().contains(&Call::Ready).then_some(())
        })
        .await;
    stage
        .server
        .fault(Fault::new(Trouble::Unauthorized).method("sendMessage"));
    stage
        .says(&stage.origin(private), "hello")
        .await
        .unwrap_err();
    stage
        .inbox
        .until("word that it is back", |inbox| {
            let ready = inbox
                .calls()
                .iter()
                .filter(|call| **call == Call::Ready)
                .count();
            (ready == 2).then_some(())
        })
        .await;
    stage.says(&stage.origin(private), "hello").await.unwrap();
    stage.server.wait_for_sent(1, LIMIT).await.unwrap();
    stage.end().await;
}
