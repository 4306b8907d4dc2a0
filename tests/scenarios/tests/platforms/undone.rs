//! What `/undo` and `/retry` leave known.

use homing_ports::agent::{StartCall, ToolCall, TurnAbout};
use homing_ports::store::Role;

use super::stage::{HERE, Stage};

/// A question that started something, whose end came home.
async fn asked_and_told(stage: &mut Stage, text: &str, told: &str) {
    stage.write(HERE, text).await;
    let asked = stage.asked().await;
    let start = StartCall {
        command: "true".into(),
        notify: true,
        ..StartCall::default()
    };
    asked.tools.call(ToolCall::Start(start)).await.unwrap();
    asked.say(&format!("as you wish: {text}"));
    stage.sent(&format!("as you wish: {text}")).await;
    let telling = stage.asked().await;
    assert!(matches!(
        telling.request.about,
        TurnAbout::Background { .. }
    ));
    // What it does for that belongs to it.
    telling.record("I look.").await;
    telling.say(told);
    stage.sent(told).await;
    stage.quiet().await;
}

async fn known(stage: &Stage) -> Vec<(Role, String)> {
    let known = stage.known(HERE).await.into_iter();
    known
        .map(|row| match row.role {
            Role::Notification => (row.role, "a result".into()),
            role => (role, row.text),
        })
        .collect()
}

fn told(text: &str) -> Vec<(Role, String)> {
    [
        (Role::Agent, "I look."),
        (Role::Notification, "a result"),
        (Role::Agent, text),
    ]
    .map(|(role, text)| (role, text.to_owned()))
    .to_vec()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn results_that_were_told_since_stay_known_when_the_exchange_before_them_goes() {
    let mut stage = Stage::set().await;
    asked_and_told(&mut stage, "one", "the first is done").await;
    asked_and_told(&mut stage, "two", "the second is done").await;
    stage.write(HERE, "/undo").await;
    stage
        .sent("Taken out: “two” and what followed. The background result that was told since then stays in my memory. Files")
        .await;
    let mut one = vec![
        (Role::Person, "one".to_owned()),
        (Role::Agent, "as you wish: one".to_owned()),
    ];
    one.extend(told("the first is done"));
    one.extend(told("the second is done"));
    assert_eq!(known(&stage).await, one);
    stage.write(HERE, "/undo").await;
    stage
        .sent("The 2 background results that were told since then stay")
        .await;
    let both = [told("the first is done"), told("the second is done")].concat();
    assert_eq!(known(&stage).await, both);
    // Nobody asked for them, so there is nothing more to take out.
    stage.write(HERE, "/undo").await;
    stage.sent("There is nothing to take out yet.").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_that_is_asked_again_finds_the_result_that_came_home_since() {
    let mut stage = Stage::set().await;
    asked_and_told(&mut stage, "one", "the first is done").await;
    stage.write(HERE, "/retry").await;
    let again = stage.asked().await;
    assert_eq!(again.text(), "one");
    let mut all = told("the first is done");
    all.push((Role::Person, "one".into()));
    assert_eq!(known(&stage).await, all);
    again.say("fine");
    stage.sent("fine").await;
    stage.write(HERE, "nothing since").await;
    stage.asked().await.say("right");
    stage.sent("right").await;
    stage.write(HERE, "/undo").await;
    stage
        .sent("Taken out: “nothing since” and what followed. Files and processes")
        .await;
}

/// Written so that one look finds all of it: the store does not answer the look at the first.
async fn written_together(stage: &mut Stage, texts: &[&str]) {
    for (place, text) in texts.iter().enumerate() {
        if place == 0 {
            // Storing it is the first operation, looking is the second.
            stage.store.fail_one(2);
        }
        stage.write(HERE, text).await;
        while stage.store.is_to_fail() {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
    }
}

async fn two_exchanges(stage: &mut Stage) {
    for text in ["one", "two"] {
        stage.write(HERE, text).await;
        stage.asked().await.say(&format!("as you wish: {text}"));
        stage.sent(&format!("as you wish: {text}")).await;
    }
    stage.quiet().await;
}

async fn pass_until_sent(stage: &Stage, text: &str) {
    stage
        .pass_until(text, |events| {
            let is_sent = super::stage::sends(events)
                .iter()
                .any(|sent| sent.text.contains(text));
            is_sent.then_some(())
        })
        .await;
}

// A backlog after a restart, or a store that hesitates: commands are carried out before messages.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_taken_out_while_a_message_before_it_is_not_answered() {
    for command in ["/undo", "/retry"] {
        let mut stage = Stage::set().await;
        two_exchanges(&mut stage).await;
        written_together(&mut stage, &["three", command]).await;
        pass_until_sent(&stage, "not answered yet").await;
        let asked = stage.asked().await;
        assert_eq!(asked.text(), "three");
        asked.say("as you wish: three");
        stage.sent("as you wish: three").await;
        stage.quiet().await;
        let asked: Vec<String> = known(&stage)
            .await
            .into_iter()
            .filter(|(role, _)| *role == Role::Person)
            .map(|(_, text)| text)
            .collect();
        assert_eq!(asked, ["one", "two", "three"], "{command}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn asking_again_twice_at_once_asks_again_once() {
    let mut stage = Stage::set().await;
    two_exchanges(&mut stage).await;
    written_together(&mut stage, &["/retry", "/retry"]).await;
    pass_until_sent(&stage, "not answered yet").await;
    let asked = stage.asked().await;
    assert_eq!(asked.text(), "two");
    asked.say("again");
    stage.sent("again").await;
    stage.quiet().await;
    assert_eq!(known(&stage).await.len(), 4);
}
