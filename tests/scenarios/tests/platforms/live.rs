//! Typing and previews.

use std::time::Duration;

use homing_ports::platform::{OutgoingKind, SendError, Stage as Shown};
use homing_ports::store::{Change, Commit, Committed, Queries, Store};

use super::stage::{Event, HERE, PREVIEW, Stage, TYPING, bounded, previews, sends, typed};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn typing_is_renewed_while_a_turn_runs_and_ends_with_it() {
    let mut stage = Stage::set().await;
    stage.write(HERE, "hello").await;
    let asked = stage.asked().await;
    let times = stage
        .pass_until("typing, four times", |events| {
            Some(typed(events)).filter(|times| times.len() >= 4)
        })
        .await;
    for pair in times.windows(2) {
        assert!(pair[1].1.since(pair[0].1) >= TYPING, "{times:?}");
    }
    asked.say("hi");
    stage.sent("hi").await;
    stage.quiet().await;
    let before = typed(&stage.events()).len();
    // Nobody is at it: time passes, a command is answered, and nothing is typed.
    stage.advance(TYPING * 3);
    stage.write(HERE, "/status").await;
    stage.sent("Idle").await;
    assert_eq!(typed(&stage.events()).len(), before);
}

// A turn that fails, and one that is stopped, must not leave "typing…" on for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn typing_ends_with_a_turn_that_fails_or_is_stopped() {
    let mut stage = Stage::set().await;
    stage.write(HERE, "fail").await;
    drop(stage.asked().await);
    stage.sent("That did not work").await;
    stage.write(HERE, "stop").await;
    let _asked = stage.asked().await;
    stage.write(HERE, "/stop").await;
    stage.sent("Stopped.").await;
    stage.quiet().await;
    let before = typed(&stage.events()).len();
    stage.advance(TYPING * 3);
    stage.write(HERE, "/status").await;
    stage.sent("Idle").await;
    assert_eq!(typed(&stage.events()).len(), before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_quick_answer_is_not_previewed() {
    let mut stage = Stage::set().await;
    stage.write(HERE, "hello").await;
    let asked = stage.asked().await;
    asked.request.stream.push("Well");
    // What comes later in any order that there is has come.
    stage.write(HERE, "/status").await;
    stage.sent("At work").await;
    asked.say("Well, hi");
    let answer = stage.sent("Well, hi").await;
    assert_eq!(answer.extras.replaces, None);
    assert!(previews(&stage.events()).is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_grows_in_one_message_and_takes_its_place_in_the_end() {
    let mut stage = Stage::set().await;
    stage.write(HERE, "hello").await;
    let asked = stage.asked().await;
    asked.request.stream.push("One");
    let first = stage.preview(0).await;
    assert_eq!((first.text.as_str(), &first.shown), ("One …", &None));
    asked.request.stream.push(" two");
    asked.request.stream.doing(Some("terminal".into()));
    let second = stage.preview(1).await;
    assert_eq!(second.text, "One two\n\nterminal …");
    assert_eq!(second.shown.as_deref(), Some("m1"));
    asked.say("One two three");
    let answer = stage.sent("One two three").await;
    assert_eq!(answer.extras.replaces.as_deref(), Some("m1"));
    stage.quiet().await;
    let events = stage.events();
    let times: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Event::Preview(_, at) => Some(*at),
            _ => None,
        })
        .collect();
    assert!(times[1].since(times[0]) >= PREVIEW, "{times:?}");
    assert!(matches!(events.last(), Some(Event::Sent(_))), "{events:#?}");
}

// A preview that is under way when the answer is ready lands before it, never after.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_answer_waits_for_a_preview_that_is_under_way() {
    let mut stage = Stage::set().await;
    stage.write(HERE, "hello").await;
    let asked = stage.asked().await;
    let stand = stage.stand.clone();
    let gate = stand.preview_gate.lock().await;
    asked.request.stream.push("One");
    stage.preview(0).await;
    asked.say("One two");
    stage.write(HERE, "/status").await;
    stage.sent("At work").await;
    assert!(
        !sends(&stage.events())
            .iter()
            .any(|sent| sent.kind == OutgoingKind::Answer)
    );
    drop(gate);
    let answer = stage.sent("One two").await;
    assert_eq!(answer.extras.replaces.as_deref(), Some("m2"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_failed_is_said_where_it_was_shown() {
    let mut stage = Stage::set().await;
    stage.write(HERE, "hello").await;
    let asked = stage.asked().await;
    asked.request.stream.push("One");
    stage.preview(0).await;
    drop(asked);
    let failure = stage.sent("That did not work").await;
    assert_eq!(failure.extras.replaces.as_deref(), Some("m1"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stopped_preview_is_settled_once_and_stays() {
    let mut stage = Stage::set().await;
    stage.write(HERE, "hello").await;
    let asked = stage.asked().await;
    asked.request.stream.push("One");
    stage.preview(0).await;
    let stream = asked.request.stream.clone();
    stage.write(HERE, "/stop").await;
    stage.sent("Stopped.").await;
    let settled = stage
        .until("the last word", |events| {
            previews(events)
                .into_iter()
                .find(|one| one.stage == Shown::Stopped)
        })
        .await;
    assert_eq!(
        (settled.text.as_str(), settled.shown.as_deref()),
        ("One", Some("m1"))
    );
    // An agent that does not hear at once writes on: nobody sees it.
    stream.push(" two");
    drop(asked);
    stage.quiet().await;
    stage.advance(PREVIEW * 3);
    stage.write(HERE, "/status").await;
    stage.sent("Idle").await;
    let shown = previews(&stage.events());
    assert_eq!(
        shown
            .iter()
            .filter(|one| one.stage == Shown::Stopped)
            .count(),
        1
    );
    assert_eq!(shown.last().map(|one| one.stage), Some(Shown::Stopped));
}

// The agent was done, and the person was faster: the answer is not said, and what was shown of it is settled all the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_empty_answer_settles_what_was_shown() {
    let mut stage = Stage::set().await;
    stage.write(HERE, "hello").await;
    let asked = stage.asked().await;
    asked.request.stream.push("Hm");
    stage.preview(0).await;
    asked.say("");
    let settled = stage.preview(1).await;
    assert_eq!(settled.stage, Shown::Stopped);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_preview_that_fails_fails_no_turn_and_a_rate_limit_pauses_them() {
    let mut stage = Stage::set().await;
    let wait = Duration::from_secs(20);
    stage.stand.previews.lock().unwrap().extend([
        Err(SendError::Refused("no".into())),
        Err(SendError::RateLimited(wait)),
    ]);
    stage.write(HERE, "hello").await;
    let asked = stage.asked().await;
    for (index, text) in ["One", " two", " three"].into_iter().enumerate() {
        asked.request.stream.push(text);
        stage.preview(index).await;
    }
    let times: Vec<_> = stage
        .events()
        .iter()
        .filter_map(|event| match event {
            Event::Preview(_, at) => Some(*at),
            _ => None,
        })
        .collect();
    assert!(times[2].since(times[1]) >= wait, "{times:?}");
    asked.say("One two three four");
    stage.sent("four").await;
}

// OWN-94: after a crash the next try goes on in the same message.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_that_begins_again_after_a_crash_goes_on_where_it_was_shown() {
    let mut stage = Stage::set().await;
    stage.write(HERE, "hello").await;
    let asked = stage.asked().await;
    asked.request.stream.push("One");
    stage.preview(0).await;
    stored_preview(&stage).await;
    stage.crash().await;
    drop(asked);
    let again = stage.asked().await;
    again.request.stream.push("Uno");
    let shown = stage.preview(1).await;
    assert_eq!(shown.shown.as_deref(), Some("m1"));
    // And once more, before anything new was shown.
    stage.crash().await;
    drop(again);
    let again = stage.asked().await;
    again.say("Eins");
    let answer = stage.sent("Eins").await;
    assert_eq!(answer.extras.replaces.as_deref(), Some("m1"));
}

// OWN-94: a turn that had begun a tool is told as interrupted, where it was shown.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_said_after_a_crash_takes_the_previews_place() {
    let mut stage = Stage::set().await;
    stage.write(HERE, "hello").await;
    let asked = stage.asked().await;
    asked.request.stream.push("One");
    stage.preview(0).await;
    stored_preview(&stage).await;
    let commit = Commit {
        conversation: stage.conversation(HERE).await.id,
        at: homing_ports::Clock::now(&*stage.clock),
        changes: vec![Change::CountTool {
            turn: asked.request.turn,
        }],
    };
    assert_eq!(stage.store.commit(commit).await.unwrap(), Committed::Done);
    stage.crash().await;
    drop(asked);
    let notice = stage.sent("I was restarted").await;
    assert_eq!(notice.extras.replaces.as_deref(), Some("m1"));
}

async fn stored_preview(stage: &Stage) {
    let row = stage.conversation(HERE).await;
    stage
        .stored("the preview in the store", |store| async move {
            let turns = store.running_turns(row.id).await.unwrap();
            turns.into_iter().find_map(|turn| turn.preview)
        })
        .await;
}

// OWN-67
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_background_turn_is_quiet() {
    let mut stage = Stage::set().await;
    stage.write(HERE, "hello").await;
    stage.asked().await.say("hi");
    stage.sent("hi").await;
    stage.quiet().await;
    let before = (
        typed(&stage.events()).len(),
        previews(&stage.events()).len(),
    );
    let key = super::stage::key(HERE);
    let delegate = homing_ports::agent::ToolCall::Delegate {
        tasks: vec!["look into it".into()],
        wait: false,
        window: None,
    };
    let started = bounded("the start", stage.gateway.tool(&key, delegate)).await;
    started.unwrap();
    let delegated = stage.asked().await;
    delegated.request.stream.push("I look into it");
    stage.advance(PREVIEW * 5);
    stage.write(HERE, "/status").await;
    stage.sent("Idle").await;
    delegated.say("I looked into it.");
    let asked = stage.asked().await;
    asked.request.stream.push("It is done");
    stage.advance(PREVIEW * 5);
    stage.write(HERE, "/status").await;
    stage.sent("Telling a result").await;
    asked.say("It is done.");
    let told = stage.sent("It is done.").await;
    assert_eq!(
        (told.kind, told.extras.replaces),
        (OutgoingKind::Background, None)
    );
    let after = (
        typed(&stage.events()).len(),
        previews(&stage.events()).len(),
    );
    assert_eq!(before, after);
}
