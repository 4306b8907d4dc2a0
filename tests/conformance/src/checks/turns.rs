//! What is only so because of the kind of a turn, and what becomes a turn again.

use homing_domain::ids::*;
use homing_ports::platform::Attachment;
use homing_ports::store::*;

use super::agents::ended;
use crate::{Place, Scene};

impl Scene {
    fn begins(&self, turn: TurnId, kind: TurnKind) -> Change {
        Change::StartTurn {
            turn,
            session: self.current.session,
            lineage: self.current.lineage,
            kind,
        }
    }

    fn entry(&self, turn: Option<TurnId>, role: Role, text: &str) -> (MessageId, Change) {
        let id = self.id();
        let row = Change::Append(NewMessage {
            id,
            session: self.current.session,
            turn,
            role,
            author: None,
            text: text.into(),
            data: None,
        });
        (id, row)
    }
}

pub async fn what_background_turns_told_stays_when_what_was_before_it_is_undone(place: &dyn Place) {
    let scene = Scene::at(place).await;
    let [asked, told]: [TurnId; 2] = [scene.id(), scene.id()];
    let (from, question) = scene.entry(Some(asked), Role::Person, "question");
    scene
        .done(vec![
            scene.begins(asked, TurnKind::Foreground),
            question,
            scene.entry(Some(asked), Role::Tool, "looked").1,
            scene.entry(Some(asked), Role::Agent, "answer").1,
            scene.entry(None, Role::System, "a note").1,
            ended(asked),
            scene.begins(told, TurnKind::Background),
            scene.entry(Some(told), Role::Tool, "looked into the log").1,
            scene.entry(Some(told), Role::Notification, "it ended").1,
            scene.entry(Some(told), Role::Agent, "it is done").1,
            ended(told),
        ])
        .await;
    let lineage = scene.current.lineage;
    let undo = || Change::Undo { lineage, from };
    scene.done(vec![undo()]).await;
    let context = scene
        .store
        .context(scene.current.session, 99)
        .await
        .unwrap();
    let seen: Vec<&str> = context
        .messages
        .iter()
        .map(|row| row.text.as_str())
        .collect();
    assert_eq!(seen, ["looked into the log", "it ended", "it is done"]);
    // What is left is nobody's exchange.
    let nothing = scene.commit(vec![undo()]).await;
    assert!(matches!(nothing, Committed::Unmet { index: 0, .. }));
}

pub async fn what_sub_agents_used_counts_for_the_lineage_that_owns_them(place: &dyn Place) {
    let scene = Scene::at(place).await;
    let other = scene.branched().await;
    let used = |turn, requests| Change::Used {
        turn,
        usage: Usage {
            requests,
            ..Usage::default()
        },
    };
    let delegated = |owner: &Scene, turn| {
        let own = owner.fresh_session();
        vec![
            Change::StartLineage {
                lineage: own.lineage,
                session: own.session,
                parent: Some(owner.current.session),
                title: None,
            },
            Change::StartTurn {
                turn,
                session: own.session,
                lineage: own.lineage,
                kind: TurnKind::Background,
            },
            ended(turn),
            Change::AddDelegation(NewDelegation {
                id: owner.id(),
                owner: owner.owner(),
                session: own.session,
                lineage: own.lineage,
                task: "look".into(),
                batch: None,
            }),
        ]
    };
    let [own, first, second, theirs]: [TurnId; 4] =
        [scene.id(), scene.id(), scene.id(), scene.id()];
    scene
        .done(vec![
            scene.begins(own, TurnKind::Foreground),
            used(own, 1),
            ended(own),
        ])
        .await;
    for (owner, turn, requests) in [(&scene, first, 2), (&scene, second, 4), (&other, theirs, 8)] {
        owner.done(delegated(owner, turn)).await;
        // Over at once; what they use is told as it comes.
        owner.done(vec![used(turn, requests)]).await;
    }
    for (owner, requests) in [(&scene, 7), (&other, 8)] {
        let usage = scene.store.usage(owner.current.lineage).await.unwrap();
        assert_eq!(usage.requests, requests);
    }
}

pub async fn a_command_becomes_an_earlier_message_with_all_it_came_with(place: &dyn Place) {
    let scene = Scene::at(place).await;
    let (_, first, _) = scene.accept("1").await;
    let (_, inbound, _) = scene.accept("2").await;
    let attachments = vec![Attachment {
        name: Some("a.png".into()),
        media_type: None,
        bytes: Some(5),
        reference: "r".into(),
        first_came_with: Some(first),
    }];
    let repeat = |attachments: &[Attachment]| Change::RepeatInbound {
        inbound,
        text: "look".into(),
        quoted: Some("the log".into()),
        attachments: attachments.to_vec(),
    };
    scene.neighbour("repeats").await.unmet(repeat(&[])).await;
    scene.done(vec![repeat(&attachments)]).await;
    let found = || async {
        let waiting = scene.store.inbound_waiting(scene.conversation, 9).await;
        let waiting = waiting.unwrap().into_iter();
        waiting
            .filter(|row| row.id == inbound)
            .map(|row| (row.text, row.quoted, row.attachments))
            .collect::<Vec<_>>()
    };
    let whole = |attachments| ("look".to_owned(), Some("the log".to_owned()), attachments);
    assert_eq!(found().await, [whole(attachments)]);
    scene.done(vec![repeat(&[])]).await;
    assert_eq!(found().await, [whole(Vec::new())]);
    let turn = scene.turn().await;
    scene
        .done(vec![Change::TakeInbound { inbound, turn }])
        .await;
    scene.unmet(repeat(&[])).await;
}
