//! Files that people send.

use homing_ports::agent::TurnAbout;
use homing_ports::platform::{Attachment, FetchError};
use homing_ports::store::Queries;

use super::stage::{Asked, Event, HERE, Stage};

fn file(name: &str) -> Attachment {
    Attachment {
        name: Some(name.into()),
        media_type: None,
        bytes: Some(10),
        reference: name.into(),
        first_came_with: None,
    }
}

fn received(asked: &Asked) -> Vec<(String, Result<String, String>)> {
    let TurnAbout::Person { files, .. } = &asked.request.about else {
        panic!("not a person's turn");
    };
    let content = |path: &std::path::PathBuf| std::fs::read_to_string(path).unwrap();
    let one = |file: &homing_ports::agent::ReceivedFile| {
        let path = file.path.as_ref().map(content).map_err(Clone::clone);
        (file.name.clone(), path)
    };
    files.iter().map(one).collect()
}

async fn history(stage: &Stage) -> Vec<String> {
    let row = stage.conversation(HERE).await;
    let rows = stage.store.conversation_history(row.id, 100).await.unwrap();
    rows.into_iter().map(|row| row.text).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_are_copied_before_the_agent_is_asked_and_the_history_names_them() {
    let mut stage = Stage::set().await;
    let mut inbound = stage.inbound(HERE, "Look at these");
    inbound.attachments = vec![file("a.png"), file("../../b.txt"), file("c"), file("d")];
    inbound.attachments[2].bytes = Some(5_000);
    stage.accept(inbound).await;
    let asked = stage.asked().await;
    let files = received(&asked);
    assert_eq!(files[0], ("a.png".into(), Ok("a.png".into())));
    assert_eq!(files[1], ("b.txt".into(), Ok("../../b.txt".into())));
    assert!(
        matches!(&files[2].1, Err(why) if why.contains("5000 bytes")),
        "{files:?}"
    );
    assert!(
        matches!(&files[3].1, Err(why) if why.contains("only 3 files")),
        "{files:?}"
    );
    let text = history(&stage).await.pop().unwrap();
    assert!(text.starts_with("Look at these\n[file a.png: "), "{text}");
    assert!(text.contains("[file c was not taken"), "{text}");
    let row = stage.conversation(HERE).await;
    let folder = stage.files().join(row.id.to_string());
    assert!(text.contains(&folder.display().to_string()), "{text}");
    use std::os::unix::fs::PermissionsExt as _;
    let mode = std::fs::metadata(&folder).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    asked.say("Seen");
    stage.sent("Seen").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_is_asked_for_three_times_and_then_the_reason_is_told() {
    let mut stage = Stage::set().await;
    let busy = |times: usize| {
        (0..times)
            .map(|_| FetchError::Temporary("busy".into()))
            .collect()
    };
    let refused = [FetchError::Refused("too old".into())]
        .into_iter()
        .collect();
    stage.stand.fetches.lock().unwrap().extend([
        ("twice".to_owned(), busy(2)),
        ("never".to_owned(), busy(9)),
        ("old".to_owned(), refused),
    ]);
    let mut inbound = stage.inbound(HERE, "");
    inbound.attachments = vec![file("twice"), file("never"), file("old")];
    stage.accept(inbound).await;
    let tries = |events: &[Event], name: &str| {
        let of = |event: &&Event| matches!(event, Event::Fetch(reference) if reference == name);
        events.iter().filter(of).count()
    };
    stage
        .pass_until("the last file", |events| {
            (tries(events, "old") == 1).then_some(())
        })
        .await;
    let asked = stage.asked().await;
    let files = received(&asked);
    assert_eq!(files[0].1, Ok("twice".into()));
    assert_eq!(files[1].1, Err("not now: busy".into()));
    assert_eq!(files[2].1, Err("too old".into()));
    let events = stage.events();
    assert_eq!(
        ["twice", "never", "old"].map(|name| tries(&events, name)),
        [3, 3, 1]
    );
    let note = history(&stage).await.pop().unwrap();
    assert_eq!(
        note,
        "[file never could not be fetched: not now: busy]\n[file old could not be fetched: too old]"
    );
}

// A file that does not come must not hold up the person who does not want it any more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_ends_the_waiting_for_a_file() {
    let mut stage = Stage::set().await;
    let busy = (0..9)
        .map(|_| FetchError::Temporary("busy".into()))
        .collect();
    stage
        .stand
        .fetches
        .lock()
        .unwrap()
        .insert("slow".into(), busy);
    let mut inbound = stage.inbound(HERE, "wait");
    inbound.attachments = vec![file("slow")];
    stage.accept(inbound).await;
    stage
        .until("the first try", |events| {
            events
                .iter()
                .any(|event| matches!(event, Event::Fetch(_)))
                .then_some(())
        })
        .await;
    // The clock stands: without the stop this would wait for ever.
    stage.write(HERE, "/stop").await;
    stage.sent("Stopped.").await;
    stage.write(HERE, "next").await;
    loop {
        // The stopped turn may have come to ask, and is over.
        let asked = stage.asked().await;
        if asked.text() == "next" {
            asked.say("Here");
            break;
        }
    }
    stage.sent("Here").await;
    // Nothing of the stopped turn waits on.
    stage.quiet().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_retry_asks_with_the_same_files_and_the_same_quote_and_says_which_file_is_gone() {
    let mut stage = Stage::set().await;
    let mut inbound = stage.inbound(HERE, "Look");
    inbound.quoted = Some("the log".into());
    inbound.attachments = vec![file("a.png"), file("b")];
    for attachment in &mut inbound.attachments {
        attachment.bytes = Some(attachment.reference.len() as u64);
    }
    stage.accept(inbound).await;
    let asked = stage.asked().await;
    let TurnAbout::Person { files, .. } = &asked.request.about else {
        panic!("not a person's turn");
    };
    let gone = files[1].path.clone().unwrap();
    asked.say("Seen");
    stage.sent("Seen").await;
    std::fs::remove_file(gone).unwrap();
    let fetched = |stage: &Stage, name: &str| {
        let of = |event: &&Event| matches!(event, Event::Fetch(reference) if reference == name);
        stage.events().iter().filter(of).count()
    };
    // Also where the retry is repeated, and where a crash comes in between.
    let mut running = None;
    for round in 1..=3 {
        let refused = [FetchError::Refused("too old".into())]
            .into_iter()
            .collect();
        stage
            .stand
            .fetches
            .lock()
            .unwrap()
            .insert("b".to_owned(), refused);
        match round {
            3 => {
                stage.crash().await;
                running = None;
            }
            _ => stage.write(HERE, "/retry").await,
        }
        let asked = stage.asked().await;
        assert_eq!(asked.text(), "Look");
        let TurnAbout::Person { quoted, .. } = &asked.request.about else {
            panic!("not a person's turn");
        };
        assert_eq!(quoted.as_deref(), Some("the log"));
        let files = received(&asked);
        assert_eq!(files[0], ("a.png".into(), Ok("a.png".into())));
        assert_eq!(files[1], ("b".into(), Err("too old".into())));
        assert_eq!(
            (fetched(&stage, "a.png"), fetched(&stage, "b")),
            (1, 1 + round)
        );
        assert_eq!(
            history(&stage).await.pop().unwrap(),
            "[file b could not be fetched: too old]"
        );
        stage.sent("Once more: “Look”, with its 2 files").await;
        if round == 1 {
            asked.say("Seen again");
            stage.sent("Seen again").await;
        } else {
            running = Some(asked);
        }
    }
    drop(running);
}
