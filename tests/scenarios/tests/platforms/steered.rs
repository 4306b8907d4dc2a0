//! What a turn takes up while it runs.

use std::sync::Arc;

use homing_gateway::Busy;
use homing_ports::agent::{Entry, EntryRole, Steered, Toolbox};
use homing_ports::store::Role;

use super::stage::{HERE, Stage, bounded, used};

/// Asks until something is there. What it would have ended with is handed in each time.
async fn taken(tools: &Arc<dyn Toolbox>, said: &str) -> Vec<Steered> {
    let said = Entry {
        role: EntryRole::Agent,
        text: said.into(),
        data: Some("{}".into()),
    };
    let taken = async {
        loop {
            let taken = tools.steering(Some(said.clone())).await.unwrap();
            if !taken.is_empty() {
                return taken;
            }
            tokio::task::yield_now().await;
        }
    };
    bounded("something to take up", taken).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_answer_so_far_enters_the_history_once_before_what_was_written_meanwhile() {
    let mut stage = Stage::set().await;
    stage.settings.busy = Busy::Steer;
    stage.crash().await;
    stage.write(HERE, "look").await;
    let asked = stage.asked().await;
    // Nobody has written yet: nothing is entered.
    let nothing = Entry {
        role: EntryRole::Agent,
        text: "so far".into(),
        data: None,
    };
    assert!(
        asked
            .tools
            .steering(Some(nothing))
            .await
            .unwrap()
            .is_empty()
    );
    asked.request.used.add(used(3));
    let mut inbound = stage.inbound(HERE, "in German, please");
    inbound.author = Some("Ann".into());
    stage.accept(inbound).await;
    let steered = Steered {
        author: Some("Ann".into()),
        text: "in German, please".into(),
    };
    assert_eq!(taken(&asked.tools, "so far").await, [steered]);
    let rows = stage.known(HERE).await;
    let known: Vec<(Role, &str, Option<&str>)> = rows
        .iter()
        .map(|row| (row.role, row.text.as_str(), row.author.as_deref()))
        .collect();
    assert_eq!(
        known,
        [
            (Role::Person, "look", Some("u1")),
            (Role::Agent, "so far", None),
            (Role::Person, "in German, please", Some("Ann")),
        ]
    );
    let lineage = stage.conversation(HERE).await.current.unwrap().lineage;
    let counted = homing_ports::store::Queries::usage(stage.store.as_ref(), lineage).await;
    assert_eq!(counted.unwrap(), used(3));

    // Someone whom the platform does not name.
    stage.write(HERE, "and short").await;
    let steered = Steered {
        author: Some("u1".into()),
        text: "and short".into(),
    };
    assert_eq!(taken(&asked.tools, "auf Deutsch").await, [steered]);
    asked.say("kurz");
    stage.sent("kurz").await;
    stage.quiet().await;
    let texts: Vec<String> = stage
        .known(HERE)
        .await
        .into_iter()
        .map(|row| row.text)
        .collect();
    assert_eq!(
        texts,
        [
            "look",
            "so far",
            "in German, please",
            "auf Deutsch",
            "and short",
            "kurz"
        ]
    );
}
