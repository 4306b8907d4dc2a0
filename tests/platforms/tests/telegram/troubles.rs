//! Every trouble that Telegram can make, and what comes of it: one table for sends, one for polls.
//!
//! `cargo nextest run -p homing-platforms troubles --no-capture` prints both.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test")]

use std::time::Duration;

use homing_platforms::Scene;
use homing_platforms::kept::Heard;
use homing_platforms::scene::place_of;
use homing_platforms::telegram::TelegramKind;
use homing_platforms::world::{Effect, Spot, Trouble};
use homing_ports::platform::{Outgoing, Platform, Receipt, SendError};

/// Above and below the rows.
fn table(title: &str, head: &str, rows: &[String]) -> String {
    let columns = head.matches('|').count() - 1;
    format!(
        "\n{title}\n\n{head}\n|{}\n{}\n",
        "---|".repeat(columns),
        rows.join("\n")
    )
}

fn called(outcome: &Result<Receipt, SendError>) -> String {
    match outcome {
        Ok(_) => "sent".into(),
        Err(SendError::RateLimited(wait)) => format!("rate limited, {} s", wait.as_secs()),
        Err(SendError::Away(_)) => "away".into(),
        Err(SendError::Closed(_)) => "closed".into(),
        Err(SendError::Moved(_)) => "moved".into(),
        Err(SendError::Temporary(_)) => "temporary".into(),
        Err(SendError::Refused(_)) => "refused".into(),
        Err(SendError::Uncertain(_)) => "uncertain".into(),
    }
}

/// What the outbox does next, by the rules of `homing_domain::outbox` for a platform that cannot tell repeats.
async fn next_try(platform: &dyn Platform, outgoing: &Outgoing, outcome: &SendError) {
    let mut next = Outgoing {
        attempt: outgoing.attempt + 1,
        may_repeat: matches!(outcome, SendError::Uncertain(_)),
        ..outgoing.clone()
    };
    let mut wait = match outcome {
        SendError::RateLimited(wait) => *wait,
        _ => Duration::ZERO,
    };
    for _ in 0..5 {
        tokio::time::sleep(wait).await;
        match platform.send(next.clone()).await {
            Ok(_) => return,
            Err(SendError::RateLimited(longer)) => wait = longer,
            Err(other) => panic!("{other}"),
        }
        next.attempt += 1;
    }
    panic!("it was not sent");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_trouble_of_a_send_has_its_outcome() {
    let second = Duration::from_secs(1);
    use Effect::{Nothing, Taken};
    let troubles = [
        (
            "429, retry after 1",
            Trouble::RateLimited(second),
            "rate limited, 1 s",
            0,
            1,
            0,
        ),
        (
            "500, not carried out",
            Trouble::ServerError(Nothing),
            "uncertain",
            0,
            1,
            1,
        ),
        (
            "500, carried out",
            Trouble::ServerError(Taken),
            "uncertain",
            1,
            2,
            1,
        ),
        (
            "502 as HTML, not carried out",
            Trouble::BadGateway(Nothing),
            "uncertain",
            0,
            1,
            1,
        ),
        (
            "502 as HTML, carried out",
            Trouble::BadGateway(Taken),
            "uncertain",
            1,
            2,
            1,
        ),
        (
            "reset, not carried out",
            Trouble::Reset(Nothing),
            "uncertain",
            0,
            1,
            1,
        ),
        (
            "reset, carried out",
            Trouble::Reset(Taken),
            "uncertain",
            1,
            2,
            1,
        ),
        (
            "timeout, not carried out",
            Trouble::Silence(Nothing),
            "uncertain",
            0,
            1,
            1,
        ),
        (
            "timeout, carried out",
            Trouble::Silence(Taken),
            "uncertain",
            1,
            2,
            1,
        ),
        ("half an answer", Trouble::HalfAnswer, "uncertain", 1, 2, 1),
        ("slow answer", Trouble::Slow(second), "sent", 1, 1, 0),
        (
            "entities refused",
            Trouble::FormattingRefused,
            "sent",
            1,
            1,
            0,
        ),
    ];
    let mut scene = Scene::of(&TelegramKind::Polling).await;
    let mut rows = Vec::new();
    for (name, trouble, outcome, at_once, in_the_end, marked) in troubles {
        let origin = scene.origin(Spot::Topic).await;
        let platform = scene.world.platform();
        let part = platform.render(&format!("**{name}**")).remove(0);
        let mut outgoing = scene.outgoing(&origin, &part.text);
        outgoing.extras.markup = part.markup;
        let before = scene.world.seen().len();
        scene.world.trouble(trouble);
        let said = platform.send(outgoing.clone()).await;
        let effects = scene.world.seen().len() - before;
        if let Err(error) = &said {
            next_try(&*platform, &outgoing, error).await;
        }
        let seen = scene.world.seen().split_off(before);
        assert!(
            seen.iter().all(|seen| seen.place == place_of(&origin)),
            "misplaced: {name}"
        );
        assert!(
            seen.iter().all(|seen| seen.text.contains(name)),
            "lost: {name}"
        );
        let marks = seen.iter().filter(|seen| seen.marked).count();
        assert_eq!(
            (called(&said).as_str(), effects, seen.len(), marks),
            (outcome, at_once, in_the_end, marked),
            "{name}"
        );
        rows.push(format!(
            "| {name} | {} | {effects} | {}, of which marked {marks} |",
            called(&said),
            seen.len()
        ));
    }
    rows.push(nobody_there(&mut scene).await);
    let head = "| a send meets | outcome | messages at once | after the outbox's next try |";
    println!("{}", table("Sends", head, &rows));
    scene.end().await;
}

async fn nobody_there(scene: &mut Scene<'_>) -> String {
    let origin = scene.origin(Spot::Topic).await;
    scene.close().await;
    scene.world.go_away().await;
    scene.open_unready().await;
    let before = scene.world.seen().len();
    let said = scene.send(&origin, "nobody there").await;
    scene.back().await;
    assert_eq!(scene.world.seen().len(), before);
    scene.send(&origin, "nobody there").await.unwrap();
    assert_eq!(scene.world.seen().len(), before + 1);
    assert_eq!(called(&said), "away");
    "| connection refused | away | 0 | 1, of which marked 0 |".into()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_trouble_of_a_poll_costs_time_and_nothing_else() {
    let scene = Scene::of(&TelegramKind::Polling).await;
    let mut polls = Polls {
        scene,
        wanted: Vec::new(),
        rows: Vec::new(),
    };
    for trouble in polls.scene.world.poll_troubles() {
        let texts = polls.next(trouble.0);
        polls.scene.poll_meets(trouble, Spot::Topic, &texts).await;
        polls.done(trouble.0);
    }
    polls.scene.world.repeat_updates(2);
    polls.written("updates that come again").await;
    polls.scene.close().await;
    polls.scene.world.reorder_updates();
    polls.reopened("updates in another order").await;
    for refusal in [
        "terminated by other getUpdates request",
        "can't use getUpdates method while webhook is active",
        "terminated by setWebhook request",
    ] {
        let refusals = polls.scene.world.poll_refusals();
        let met = refusals.iter().any(|said| said.contains(refusal));
        assert!(met, "`{refusal}` was not met: {refusals:?}");
    }
    let head = "| a poll meets | messages written | arrived | in order | recognised as repeats |";
    println!("{}", table("Polls", head, &polls.rows));
    polls.scene.end().await;
}

/// What was written, and what of it arrived.
struct Polls<'a> {
    scene: Scene<'a>,
    wanted: Vec<String>,
    rows: Vec<String>,
}

impl Polls<'_> {
    fn next(&mut self, trouble: &str) -> [String; 3] {
        let texts = [1, 2, 3].map(|number| format!("{trouble} {number}"));
        self.wanted.extend(texts.clone());
        texts
    }

    async fn written(&mut self, trouble: &str) {
        let texts = self.next(trouble);
        for text in &texts {
            self.scene.world.write(Spot::Topic, text);
        }
        self.scene.inbox.arrived(&texts[2]).await;
        self.scene.all_confirmed().await;
        self.done(trouble);
    }

    /// Everything is in one batch then.
    async fn reopened(&mut self, trouble: &str) {
        let texts = self.next(trouble);
        for text in &texts {
            self.scene.world.write(Spot::Topic, text);
        }
        self.scene.open().await;
        self.scene.inbox.arrived(&texts[2]).await;
        self.scene.all_confirmed().await;
        self.done(trouble);
    }

    fn done(&mut self, trouble: &str) {
        assert_eq!(self.scene.inbox.texts(), self.wanted, "{trouble}");
        let repeats = self
            .scene
            .inbox
            .count(|heard| matches!(heard, Heard::Again(_)));
        let wanted = match trouble {
            "updates that come again" | "updates in another order" => 2,
            _ => 0,
        };
        assert_eq!(repeats, wanted, "{trouble}");
        let here = match trouble {
            "updates that come again" => 2,
            _ => 0,
        };
        self.rows
            .push(format!("| {trouble} | 3 | 3 | yes | {here} |"));
    }
}
