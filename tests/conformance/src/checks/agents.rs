//! What agents with models need of a store: a context, what was undone, what was used, batches, searches.

use homing_domain::ids::*;
use homing_domain::session::Current;
use homing_ports::store::*;

use crate::{Place, Scene};

impl Scene {
    fn says(&self, session: SessionId, role: Role, text: &str) -> (MessageId, Change) {
        let id = self.id();
        let message = Change::Append(NewMessage {
            id,
            session,
            turn: None,
            role,
            author: None,
            text: text.into(),
            data: None,
        });
        (id, message)
    }

    async fn said(&self, text: &str) -> MessageId {
        let (id, message) = self.says(self.current.session, Role::Person, text);
        self.done(vec![message]).await;
        id
    }

    /// The summary, and the messages.
    async fn context(&self, session: SessionId) -> (Option<String>, Vec<String>) {
        let context = self.store.context(session, 1_000).await.unwrap();
        let texts = context.messages.into_iter().map(|message| message.text);
        (context.summary, texts.collect())
    }

    /// Goes on in a new session of the same lineage.
    pub(super) async fn compressed(&mut self, summary: &str, kept_from: Option<MessageId>) {
        let session = self.id();
        let lineage = self.current.lineage;
        let next = Current { session, lineage };
        self.done(vec![
            Change::Continue {
                lineage,
                from: self.current.session,
                session,
                summary: summary.into(),
                kept_from,
            },
            Change::Point(Some(next)),
        ])
        .await;
        self.current = next;
    }

    /// A lineage of its own that remembers where it came from.
    pub(super) async fn branched(&self) -> Scene {
        let next = self.fresh_session();
        self.done(vec![
            Change::StartLineage {
                lineage: next.lineage,
                session: next.session,
                parent: Some(self.current.session),
                title: None,
            },
            Change::Point(Some(next)),
        ])
        .await;
        let mut branch = self.clone();
        branch.current = next;
        branch
    }

    pub(super) async fn turn(&self) -> TurnId {
        let turn = self.id();
        self.done(vec![self.starts(turn)]).await;
        turn
    }

    fn starts(&self, turn: TurnId) -> Change {
        Change::StartTurn {
            turn,
            session: self.current.session,
            lineage: self.current.lineage,
            kind: TurnKind::Foreground,
        }
    }
}

pub(super) fn ended(turn: TurnId) -> Change {
    Change::EndTurn {
        turn,
        end: TurnEnd::Done,
        error: None,
    }
}

pub async fn a_context_is_the_summary_what_was_kept_and_what_came_after(place: &dyn Place) {
    let mut scene = Scene::at(place).await;
    let first = scene.current.session;
    scene.said("one").await;
    let kept = scene.said("two").await;
    scene.said("three").await;
    assert_eq!(
        scene.context(first).await,
        (None, vec!["one".into(), "two".into(), "three".into()])
    );
    scene.compressed("short", Some(kept)).await;
    scene.said("four").await;
    let texts = |all: &[&str]| {
        all.iter()
            .map(|text| (*text).to_owned())
            .collect::<Vec<_>>()
    };
    let session = scene.current.session;
    assert_eq!(
        scene.context(session).await,
        (Some("short".into()), texts(&["two", "three", "four"]))
    );
    // Kept across one more compression, from an older session.
    let kept = scene.store.context(session, 1_000).await.unwrap().messages[1].id;
    scene.compressed("shorter", Some(kept)).await;
    assert_eq!(
        scene.context(scene.current.session).await,
        (Some("shorter".into()), texts(&["three", "four"]))
    );
    scene.compressed("all", None).await;
    scene.said("five").await;
    assert_eq!(
        scene.context(scene.current.session).await,
        (Some("all".into()), texts(&["five"]))
    );
    // The newest, and the summary whatever the limit.
    let context = scene.store.context(session, 1).await.unwrap();
    assert_eq!(
        (context.messages.len(), context.summary.as_deref()),
        (1, Some("short"))
    );
    assert_eq!(
        scene.context(SessionId::from_number(7)).await,
        (None, Vec::new())
    );
}

/// OWN-12
pub async fn a_branch_sees_its_parent_as_it_was_and_a_sub_agent_nothing_of_it(place: &dyn Place) {
    let mut trunk = Scene::at(place).await;
    let texts = |all: &[&str]| {
        all.iter()
            .map(|text| (*text).to_owned())
            .collect::<Vec<_>>()
    };
    trunk.said("before").await;
    let kept = trunk.said("kept").await;
    trunk.compressed("trunk", Some(kept)).await;
    trunk.said("one").await;
    let branch = trunk.branched().await;
    trunk.said("later").await;
    branch.said("leaf").await;
    assert_eq!(
        branch.context(branch.current.session).await,
        (Some("trunk".into()), texts(&["kept", "one", "leaf"]))
    );
    assert_eq!(
        trunk.context(trunk.current.session).await,
        (Some("trunk".into()), texts(&["kept", "one", "later"]))
    );
    // A branch of the branch, compressed so that what is kept begins in the trunk.
    let mut twig = branch.branched().await;
    let one = twig
        .store
        .context(twig.current.session, 1_000)
        .await
        .unwrap()
        .messages[1]
        .id;
    twig.said("twig").await;
    twig.compressed("twig's", Some(one)).await;
    twig.said("end").await;
    assert_eq!(
        twig.context(twig.current.session).await,
        (
            Some("twig's".into()),
            texts(&["one", "leaf", "twig", "end"])
        )
    );
    // The parent goes on and is compressed: the branch sees what it saw.
    trunk.compressed("trunk again", None).await;
    assert_eq!(
        branch.context(branch.current.session).await,
        (Some("trunk".into()), texts(&["kept", "one", "leaf"]))
    );
    let own = trunk.fresh_session();
    let delegation = NewDelegation {
        id: trunk.id(),
        owner: trunk.owner(),
        session: own.session,
        lineage: own.lineage,
        task: "look".into(),
        batch: None,
    };
    let (_, task) = trunk.says(own.session, Role::Person, "look");
    trunk
        .done(vec![
            Change::StartLineage {
                lineage: own.lineage,
                session: own.session,
                parent: Some(trunk.current.session),
                title: None,
            },
            task,
            Change::AddDelegation(delegation),
        ])
        .await;
    assert_eq!(trunk.context(own.session).await, (None, texts(&["look"])));
}

pub async fn what_was_undone_is_readable_and_out_of_sight(place: &dyn Place) {
    let mut scene = Scene::at(place).await;
    scene.said("one").await;
    let two = scene.said("two").await;
    scene.compressed("short", Some(two)).await;
    scene.said("three").await;
    let lineage = scene.current.lineage;
    let undo = |from| Change::Undo { lineage, from };
    let three = scene
        .store
        .context(scene.current.session, 9)
        .await
        .unwrap()
        .messages[1]
        .id;
    scene.done(vec![undo(three)]).await;
    assert_eq!(scene.context(scene.current.session).await.1, ["two"]);
    let nothing = scene.commit(vec![undo(three)]).await;
    assert!(matches!(nothing, Committed::Unmet { index: 0, .. }));
    // Across the compression.
    scene.done(vec![undo(two)]).await;
    assert!(scene.context(scene.current.session).await.1.is_empty());
    assert_eq!(scene.history().await, ["three"]);
    assert!(
        scene
            .store
            .search_history(scene.conversation, "three", 9)
            .await
            .unwrap()
            .is_empty()
    );
    // Another lineage's messages are not touched.
    let other = scene.neighbour("undo").await;
    let said = other.said("theirs").await;
    let theirs = scene.commit(vec![undo(said)]).await;
    assert!(matches!(theirs, Committed::Unmet { index: 0, .. }));
    assert_eq!(other.context(other.current.session).await.1, ["theirs"]);
}

pub async fn a_message_keeps_what_an_agent_keeps_beside_it(place: &dyn Place) {
    let scene = Scene::at(place).await;
    let turn = scene.turn().await;
    let message = NewMessage {
        id: scene.id(),
        session: scene.current.session,
        turn: Some(turn),
        role: Role::Tool,
        author: None,
        text: "done ä".into(),
        data: Some(r#"{"call":"1"}"#.into()),
    };
    scene.done(vec![Change::Append(message.clone())]).await;
    let context = scene.store.context(scene.current.session, 9).await.unwrap();
    let [row] = context.messages.as_slice() else {
        panic!("{context:?}");
    };
    assert_eq!(
        (row.id, row.turn, row.role, &row.text, &row.data),
        (
            message.id,
            Some(turn),
            Role::Tool,
            &message.text,
            &message.data
        )
    );
}

pub async fn what_was_used_adds_up_over_a_lineage(place: &dyn Place) {
    let mut scene = Scene::at(place).await;
    let usage = |factor| Usage {
        requests: factor,
        prompt_tokens: 100 * factor,
        cached_tokens: 10 * factor,
        completion_tokens: 5 * factor,
    };
    let first = scene.turn().await;
    scene
        .done(vec![
            Change::Used {
                turn: first,
                usage: usage(1),
            },
            ended(first),
        ])
        .await;
    // Told late, and a second time.
    scene
        .done(vec![Change::Used {
            turn: first,
            usage: usage(2),
        }])
        .await;
    scene.compressed("short", None).await;
    let second = scene.turn().await;
    scene
        .done(vec![Change::Used {
            turn: second,
            usage: usage(4),
        }])
        .await;
    let branch = scene.branched().await;
    let third = branch.turn().await;
    branch
        .done(vec![Change::Used {
            turn: third,
            usage: usage(8),
        }])
        .await;
    let used = |lineage| scene.store.usage(lineage);
    assert_eq!(used(scene.current.lineage).await.unwrap(), usage(7));
    assert_eq!(used(branch.current.lineage).await.unwrap(), usage(8));
    assert_eq!(used(scene.id()).await.unwrap(), Usage::default());
    let other = scene.neighbour("uses").await;
    other
        .unmet(Change::Used {
            turn: first,
            usage: usage(1),
        })
        .await;
}

pub async fn those_that_were_started_together_are_found_together(place: &dyn Place) {
    let scene = Scene::at(place).await;
    let delegation = |id, batch| {
        let own = scene.fresh_session();
        vec![
            Change::StartLineage {
                lineage: own.lineage,
                session: own.session,
                parent: Some(scene.current.session),
                title: None,
            },
            Change::AddDelegation(NewDelegation {
                id,
                owner: scene.owner(),
                session: own.session,
                lineage: own.lineage,
                task: format!("task of {id}"),
                batch,
            }),
        ]
    };
    let [first, second, alone]: [DelegationId; 3] = [scene.id(), scene.id(), scene.id()];
    for (id, batch) in [(first, Some(first)), (second, Some(first)), (alone, None)] {
        scene.done(delegation(id, batch)).await;
    }
    let batch = scene.store.batch(first).await.unwrap();
    assert_eq!(
        batch.iter().map(|row| row.id).collect::<Vec<_>>(),
        [first, second]
    );
    assert!(batch.iter().all(|row| row.batch == Some(first)));
    assert!(scene.store.batch(second).await.unwrap().is_empty());
    assert!(scene.store.batch(alone).await.unwrap().is_empty());
}

pub async fn a_search_finds_all_words_in_this_conversation_best_first(place: &dyn Place) {
    let mut scene = Scene::at(place).await;
    scene.said("the Build is red").await;
    scene.said("build build BUILD, red").await;
    scene.compressed("short", None).await;
    scene.said("red only").await;
    scene.said("100% of über_all").await;
    scene.neighbour("searches").await.said("red build").await;
    let find = |words: &'static str, limit| {
        let scene = scene.clone();
        async move {
            let found = scene
                .store
                .search_history(scene.conversation, words, limit)
                .await;
            found
                .unwrap()
                .into_iter()
                .map(|row| row.text)
                .collect::<Vec<_>>()
        }
    };
    assert_eq!(
        find("red build", 9).await,
        ["build build BUILD, red", "the Build is red"]
    );
    assert_eq!(find("build", 1).await, ["build build BUILD, red"]);
    // Words are words, whatever a query language would make of them.
    assert_eq!(find("100%", 9).await, ["100% of über_all"]);
    assert_eq!(find("ÜBER_", 9).await, ["100% of über_all"]);
    assert!(find("1_0", 9).await.is_empty());
    assert!(find("\"red", 9).await.is_empty());
    assert!(find("  ", 9).await.is_empty());
}

pub async fn a_model_is_chosen_for_one_conversation(place: &dyn Place) {
    let scene = Scene::at(place).await;
    let other = scene.neighbour("model").await;
    assert_eq!(scene.row().await.model, None);
    let generation = scene.row().await.generation;
    scene
        .done(vec![Change::SetModel(Some("large".into()))])
        .await;
    assert_eq!(scene.row().await.model.as_deref(), Some("large"));
    assert_eq!(scene.row().await.generation, generation);
    assert_eq!(other.row().await.model, None);
    scene.done(vec![Change::SetModel(None)]).await;
    assert_eq!(scene.row().await.model, None);
}

pub async fn a_command_becomes_a_message_while_it_is_queued(place: &dyn Place) {
    let scene = Scene::at(place).await;
    let (_, inbound, _) = scene.accept("1").await;
    let rewrite = |text: &str| Change::RewriteInbound {
        inbound,
        text: text.into(),
    };
    scene.done(vec![rewrite("later")]).await;
    let waiting = scene
        .store
        .inbound_waiting(scene.conversation, 9)
        .await
        .unwrap();
    assert_eq!((waiting[0].text.as_str(), waiting[0].turn), ("later", None));
    scene
        .neighbour("writes")
        .await
        .unmet(rewrite("theirs"))
        .await;
    let turn = scene.turn().await;
    scene
        .done(vec![Change::TakeInbound { inbound, turn }])
        .await;
    scene.unmet(rewrite("too late")).await;
}
