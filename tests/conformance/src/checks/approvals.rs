//! Questions to people: asked by a turn or a sub-agent that runs, settled once, and how far an answer stands.

use homing_domain::ids::*;
use homing_ports::store::*;

use super::agents::ended;
use crate::{Place, Scene};

impl Scene {
    fn asks(
        &self,
        approval: ApprovalId,
        asker: Asker,
        person: Option<&str>,
        command: &str,
    ) -> Change {
        Change::AddApproval(NewApproval {
            id: approval,
            session: self.current.session,
            lineage: self.current.lineage,
            asker,
            person: person.map(str::to_owned),
            command: command.into(),
            why: "because".into(),
            expires_at: homing_domain::time::Timestamp(9_000_000),
        })
    }

    async fn asked(&self, turn: TurnId, person: Option<&str>, command: &str) -> ApprovalId {
        let approval = self.id();
        self.done(vec![self.asks(
            approval,
            Asker::Turn(turn),
            person,
            command,
        )])
        .await;
        approval
    }

    async fn settled(&self, approval: ApprovalId, state: ApprovalState) {
        self.done(vec![Change::SettleApproval { approval, state }])
            .await;
    }

    async fn approved(&self, person: Option<&str>, command: &str) -> bool {
        self.store
            .is_approved(self.current.lineage, self.conversation, person, command)
            .await
            .unwrap()
    }
}

pub async fn a_question_is_asked_by_a_turn_that_runs_and_settled_once(place: &dyn Place) {
    let scene = Scene::at(place).await;
    let turn = scene.turn().await;
    let approval = scene.asked(turn, Some("ann"), "rm -r x").await;
    let second = scene.asked(turn, None, "rm -r y").await;
    let open = scene
        .store
        .open_approvals(scene.conversation)
        .await
        .unwrap();
    assert_eq!(
        open.iter().map(|row| row.id).collect::<Vec<_>>(),
        [approval, second]
    );
    let row = scene.store.approval(approval).await.unwrap().unwrap();
    assert_eq!(
        (
            row.asker,
            row.lineage,
            row.session,
            row.person.as_deref(),
            row.command.as_str(),
            row.why.as_str(),
            row.state,
            row.settled_at
        ),
        (
            Asker::Turn(turn),
            scene.current.lineage,
            scene.current.session,
            Some("ann"),
            "rm -r x",
            "because",
            ApprovalState::Asked,
            None
        )
    );
    scene.settled(approval, ApprovalState::Denied).await;
    for state in ApprovalState::ALL {
        if state != ApprovalState::Asked {
            scene
                .unmet(Change::SettleApproval { approval, state })
                .await;
        }
    }
    let row = scene.store.approval(approval).await.unwrap().unwrap();
    assert!(row.state == ApprovalState::Denied && row.settled_at.is_some());
    // Of two answers at once, one counts.
    let answer = |state| {
        let scene = scene.clone();
        tokio::spawn(async move {
            let settle = Change::SettleApproval {
                approval: second,
                state,
            };
            scene.commit(vec![settle]).await == Committed::Done
        })
    };
    let (yes, no) = (
        answer(ApprovalState::ApprovedOnce),
        answer(ApprovalState::Denied),
    );
    assert!(yes.await.unwrap() != no.await.unwrap());
    // Another conversation neither asks for this turn nor answers for it.
    let other = scene.neighbour("asks").await;
    let third = scene.asked(turn, None, "rm -r z").await;
    other
        .unmet(Change::SettleApproval {
            approval: third,
            state: ApprovalState::ApprovedOnce,
        })
        .await;
    let asker = Asker::Turn(turn);
    other.unmet(other.asks(other.id(), asker, None, "rm")).await;
    // With the turn the question is over, and after it none is asked.
    scene.done(vec![ended(turn)]).await;
    let row = scene.store.approval(third).await.unwrap().unwrap();
    assert!(row.state == ApprovalState::Expired && row.settled_at.is_some());
    assert!(
        scene
            .store
            .open_approvals(scene.conversation)
            .await
            .unwrap()
            .is_empty()
    );
    scene.unmet(scene.asks(scene.id(), asker, None, "rm")).await;
}

pub async fn a_question_of_a_sub_agent_lives_as_long_as_it_runs(place: &dyn Place) {
    let scene = Scene::at(place).await;
    let own = scene.fresh_session();
    let delegation = scene.id();
    let begun = vec![
        Change::StartLineage {
            lineage: own.lineage,
            session: own.session,
            parent: Some(scene.current.session),
            title: None,
        },
        Change::AddDelegation(NewDelegation {
            id: delegation,
            owner: scene.owner(),
            session: own.session,
            lineage: own.lineage,
            task: "look".into(),
            batch: None,
        }),
    ];
    scene.done(begun).await;
    let asker = Asker::Delegation(delegation);
    let (first, second) = (scene.id(), scene.id());
    for question in [first, second] {
        scene
            .done(vec![scene.asks(question, asker, Some("ann"), "rm -r x")])
            .await;
    }
    let row = scene.store.approval(first).await.unwrap().unwrap();
    assert_eq!((row.asker, row.lineage), (asker, scene.current.lineage));
    scene
        .settled(first, ApprovalState::ApprovedForSession)
        .await;
    assert!(
        scene.approved(Some("ann"), "rm -r x").await,
        "it stands for the owner's lineage"
    );
    let other = scene.neighbour("asks too").await;
    other.unmet(other.asks(other.id(), asker, None, "rm")).await;
    scene
        .done(vec![Change::EndDelegation {
            delegation,
            state: DelegationState::Interrupted,
            result: String::new(),
        }])
        .await;
    let row = scene.store.approval(second).await.unwrap().unwrap();
    assert!(row.state == ApprovalState::Expired && row.settled_at.is_some());
    let row = scene.store.approval(first).await.unwrap().unwrap();
    assert_eq!(row.state, ApprovalState::ApprovedForSession);
    scene.unmet(scene.asks(scene.id(), asker, None, "rm")).await;
}

pub async fn an_approval_stands_for_its_person_lineage_and_exact_command(place: &dyn Place) {
    let mut scene = Scene::at(place).await;
    let turn = scene.turn().await;
    for (command, state) in [
        ("once", ApprovalState::ApprovedOnce),
        ("session", ApprovalState::ApprovedForSession),
        ("always", ApprovalState::ApprovedAlways),
        ("denied", ApprovalState::Denied),
    ] {
        let approval = scene.asked(turn, Some("ann"), command).await;
        assert!(!scene.approved(Some("ann"), command).await, "{command}");
        scene.settled(approval, state).await;
    }
    let stand = |scene: &Scene, person: &'static str| {
        let scene = scene.clone();
        async move {
            let mut standing = Vec::new();
            for command in ["once", "session", "always", "denied", "session ", "alway"] {
                if scene.approved(Some(person), command).await {
                    standing.push(command);
                }
            }
            standing
        }
    };
    assert_eq!(stand(&scene, "ann").await, ["session", "always"]);
    assert!(stand(&scene, "bob").await.is_empty());
    assert!(!scene.approved(None, "always").await);
    assert!(
        stand(&scene.neighbour("other").await, "ann")
            .await
            .is_empty()
    );
    // The lineage goes on; another one does not.
    scene.compressed("short", None).await;
    assert_eq!(stand(&scene, "ann").await, ["session", "always"]);
    let branch = scene.branched().await;
    assert_eq!(stand(&branch, "ann").await, ["always"]);
}
