//! Files, both ways.

use homing_ports::platform::{Attachment, FetchError, OutgoingFile, SendError};
use homing_simulators::telegram::{Fault, Post, Trouble};
use homing_telegram_tests::{Stage, outgoing};

fn file(stage: &Stage, name: &str, bytes: &[u8]) -> OutgoingFile {
    let path = stage.state().join(name);
    std::fs::write(&path, bytes).unwrap();
    OutgoingFile {
        path,
        name: name.into(),
    }
}

#[tokio::test]
async fn a_file_goes_out_with_its_caption() {
    let mut stage = Stage::new().await;
    let forum = stage.forum();
    let topic = stage.server.topic(stage.alice, forum, "Plans").unwrap();
    let origin = stage.origin(topic);
    for (name, kind) in [("report.pdf", "document"), ("plot.PNG", "photo")] {
        let mut message = outgoing(&origin, "bold words");
        message.extras.markup = Some(r#"[{"type":"bold","offset":0,"length":4}]"#.into());
        message.extras.file = Some(file(&stage, name, b"content"));
        let receipt = stage.platform().send(message).await.unwrap();
        assert!(receipt.message.is_some());
        let sent = stage.sent_in(topic).pop().unwrap();
        let media = sent.media.unwrap();
        assert_eq!(media.kind, kind);
        assert_eq!(sent.text, "bold words");
        assert_eq!(sent.entities[0]["type"], "bold");
        assert_eq!(stage.server.file(&media.file_id).unwrap(), b"content");
    }
    stage.end().await;
}

#[tokio::test]
async fn what_is_no_picture_after_all_goes_as_a_file() {
    let mut stage = Stage::new().await;
    let forum = stage.forum();
    stage.server.fault(
        Fault::new(Trouble::BadRequest("PHOTO_INVALID_DIMENSIONS".into())).method("sendPhoto"),
    );
    let mut message = outgoing(&stage.origin(forum), "");
    message.extras.file = Some(file(&stage, "odd.png", b"content"));
    stage.platform().send(message).await.unwrap();
    let sent = stage.sent_in(forum);
    assert_eq!(
        (sent.len(), sent[0].media.as_ref().unwrap().kind.as_str()),
        (1, "document")
    );
    stage.end().await;
}

#[tokio::test]
async fn words_that_are_too_long_for_a_caption_follow_the_file() {
    let mut stage = Stage::new().await;
    let forum = stage.forum();
    let mut message = outgoing(&stage.origin(forum), &"x".repeat(1_025));
    message.extras.file = Some(file(&stage, "a.txt", b"content"));
    stage.platform().send(message.clone()).await.unwrap();
    let sent = stage.sent_in(forum);
    assert_eq!(sent.len(), 2);
    assert_eq!((sent[0].text.len(), sent[1].text.len()), (0, 1_025));
    stage
        .server
        .fault(Fault::new(Trouble::BadRequest("chat not found".into())).method("sendMessage"));
    let error = stage.platform().send(message).await.unwrap_err();
    assert!(
        matches!(error, SendError::Uncertain(_)),
        "the file is there: {error}"
    );
    stage.end().await;
}

#[tokio::test]
async fn a_file_that_is_gone_or_too_big_is_refused_before_anything_is_sent() {
    let mut stage = Stage::new().await;
    let forum = stage.forum();
    let mut message = outgoing(&stage.origin(forum), "words");
    let mut gone = file(&stage, "a.txt", b"");
    std::fs::remove_file(&gone.path).unwrap();
    message.extras.file = Some(gone.clone());
    let error = stage.platform().send(message.clone()).await.unwrap_err();
    assert!(
        matches!(&error, SendError::Refused(text) if text.contains("a.txt")),
        "{error}"
    );
    gone.path = stage.state().join("big");
    std::fs::File::create(&gone.path)
        .unwrap()
        .set_len(50 * 1024 * 1024 + 1)
        .unwrap();
    message.extras.file = Some(gone);
    let error = stage.platform().send(message).await.unwrap_err();
    assert!(matches!(error, SendError::Refused(_)), "{error}");
    assert_eq!(stage.server.requests().len(), 0);
    stage.end().await;
}

#[tokio::test]
async fn a_file_that_came_is_fetched() {
    let mut stage = Stage::new().await;
    let private = stage.private();
    stage.serve();
    stage.writes(
        private,
        Post::document("notes.txt", "text/plain", b"the notes".to_vec()).caption("look"),
    );
    let came = stage.inbox.messages(1).await;
    let attachment = &came[0].attachments[0];
    assert_eq!(attachment.name.as_deref(), Some("notes.txt"));
    let into = stage.state().join("copy");
    stage.platform().fetch(attachment, &into).await.unwrap();
    assert_eq!(std::fs::read(&into).unwrap(), b"the notes");
    let error = stage.platform().fetch(attachment, &into).await.unwrap_err();
    assert!(
        matches!(error, FetchError::Write { .. }),
        "a new file is asked for: {error}"
    );
    assert_eq!(std::fs::read(&into).unwrap(), b"the notes");
    stage.end().await;
}

#[tokio::test]
async fn a_file_that_cannot_be_had_says_why() {
    let mut stage = Stage::new().await;
    let private = stage.private();
    stage.serve();
    let big =
        Post::document("big.iso", "application/x", b"x".to_vec()).claiming_size(21 * 1024 * 1024);
    stage.writes(private, big);
    let came = stage.inbox.messages(1).await;
    let into = stage.state().join("copy");
    let mut attachment = came[0].attachments[0].clone();
    for bytes in [attachment.bytes, None] {
        attachment.bytes = bytes;
        let error = stage
            .platform()
            .fetch(&attachment, &into)
            .await
            .unwrap_err();
        assert!(
            matches!(&error, FetchError::Refused(text) if text.contains("20 MB")),
            "{error}"
        );
    }
    let unknown = Attachment {
        reference: "nothing".into(),
        ..attachment
    };
    let error = stage.platform().fetch(&unknown, &into).await.unwrap_err();
    assert!(matches!(error, FetchError::Refused(_)), "{error}");
    stage.server.fault(
        Fault::new(Trouble::InternalError(
            homing_simulators::telegram::Effect::None,
        ))
        .method("getFile"),
    );
    let error = stage.platform().fetch(&unknown, &into).await.unwrap_err();
    assert!(matches!(error, FetchError::Temporary(_)), "{error}");
    assert!(!into.exists());
    stage.stop().await;
}
