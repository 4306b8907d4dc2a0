//! What platforms bring along and ask for: groups of messages, files, edits, previews, dead letters that are told again, places that move.

use homing_domain::ids::*;
use homing_domain::key::SessionKey;
use homing_domain::origin::{AccountName, Origin};
use homing_ports::inbox::{Edited, Together};
use homing_ports::platform::{Attachment, Button, Extras, OutgoingFile};
use homing_ports::store::*;

use crate::scene::parts;
use crate::{Place, Scene};

fn account(scene: &Scene) -> AccountName {
    scene.origin.account_name()
}

async fn waiting(scene: &Scene) -> Vec<InboundRow> {
    scene
        .store
        .inbound_waiting(scene.conversation, 100)
        .await
        .unwrap()
}

fn start_turn(scene: &Scene, turn: TurnId) -> Change {
    Change::StartTurn {
        turn,
        session: scene.current.session,
        lineage: scene.current.lineage,
        kind: TurnKind::Foreground,
    }
}

fn end_turn(turn: TurnId) -> Change {
    Change::EndTurn {
        turn,
        end: TurnEnd::Done,
        error: None,
    }
}

/// A dead letter with this text.
async fn dead(scene: &Scene, text: &str) -> OutboxId {
    let outbox = scene.queued(text).await;
    let reason = format!("closed: {text}");
    let dies = Change::SendDead {
        outbox,
        attempt: 1,
        reason,
    };
    scene
        .done(vec![Change::Sending { outbox, attempt: 1 }, dies])
        .await;
    outbox
}

async fn letters(scene: &Scene) -> Vec<OutboxId> {
    let rows = scene.store.dead_letters(scene.conversation, 100).await;
    rows.unwrap().into_iter().map(|row| row.id).collect()
}

pub async fn a_message_keeps_what_it_quotes_its_files_and_its_group(place: &dyn Place) {
    let scene = Scene::at(place).await;
    let mut inbound = scene.inbound("7");
    inbound.quoted = Some("what you said\nyesterday".into());
    inbound.attachments = vec![
        Attachment {
            name: Some("a \"b\".png".into()),
            media_type: Some("image/png".into()),
            bytes: Some(u64::from(u32::MAX) + 1),
            reference: "r1".into(),
            first_came_with: None,
        },
        Attachment {
            name: None,
            media_type: None,
            bytes: None,
            reference: "r2".into(),
            first_came_with: None,
        },
    ];
    inbound.together = Some(Together {
        group: "album".into(),
        whole_after_ms: 1_500,
        joined_by: "\n".into(),
    });
    let accepted = scene
        .store
        .accept(inbound.clone(), scene.key.clone(), scene.now());
    assert!(parts(accepted.await.unwrap()).0);
    scene.accept("8").await;
    let rows = waiting(&scene).await;
    assert_eq!(rows[0].quoted, inbound.quoted);
    assert_eq!(rows[0].attachments, inbound.attachments);
    assert_eq!(rows[0].together, inbound.together);
    assert_eq!(
        (&rows[1].quoted, &rows[1].attachments, &rows[1].together),
        (&None, &Vec::new(), &None)
    );
}

pub async fn a_message_is_edited_while_it_is_queued_and_never_later(place: &dyn Place) {
    let scene = Scene::at(place).await;
    let (_, inbound, conversation) = scene.accept("7").await;
    scene.accept("8").await;
    let account = account(&scene);
    let edit = |text: &'static str| scene.store.edit_inbound(&account, "7", text);
    assert_eq!(
        edit("better").await.unwrap(),
        Edited::Changed { conversation }
    );
    let texts: Vec<String> = waiting(&scene)
        .await
        .into_iter()
        .map(|row| row.text)
        .collect();
    assert_eq!(texts, ["better", "message 8"]);
    let turn = scene.id();
    scene
        .done(vec![Change::TakeInbound { inbound, turn }])
        .await;
    assert_eq!(edit("too late").await.unwrap(), Edited::TooLate);
    assert_eq!(waiting(&scene).await[0].text, "better");
    scene.done(vec![Change::FinishInbound { inbound }]).await;
    assert_eq!(edit("far too late").await.unwrap(), Edited::TooLate);
    let unknown = scene.store.edit_inbound(&account, "9", "nothing").await;
    assert_eq!(unknown.unwrap(), Edited::Unknown);
    // OWN-6: the same id is another message to another account.
    let other = AccountName {
        account: Some("second".into()),
        ..account.clone()
    };
    let unknown = scene.store.edit_inbound(&other, "8", "not mine").await;
    assert_eq!(unknown.unwrap(), Edited::Unknown);
    assert_eq!(waiting(&scene).await[0].text, "message 8");
}

pub async fn a_turn_finishes_all_that_it_has_taken_and_nothing_else(place: &dyn Place) {
    let scene = Scene::at(place).await;
    let mut messages = Vec::new();
    for id in ["1", "2", "3", "4"] {
        messages.push(scene.accept(id).await.1);
    }
    let [turn, other]: [TurnId; 2] = [scene.id(), scene.id()];
    let take = |inbound: InboundId, turn| Change::TakeInbound { inbound, turn };
    scene
        .done(vec![
            take(messages[0], turn),
            take(messages[1], turn),
            take(messages[2], other),
            Change::FinishInboundOf { turn },
        ])
        .await;
    let left: Vec<InboundId> = waiting(&scene)
        .await
        .into_iter()
        .map(|row| row.id)
        .collect();
    assert_eq!(left, messages[2..]);
    // None is as good as any.
    scene.done(vec![Change::FinishInboundOf { turn }]).await;
    assert_eq!(waiting(&scene).await.len(), 2);
}

pub async fn a_turn_knows_what_shows_it_while_it_runs(place: &dyn Place) {
    let scene = Scene::at(place).await;
    let turn: TurnId = scene.id();
    scene.done(vec![start_turn(&scene, turn)]).await;
    let shown = || async {
        let turns = scene.store.running_turns(scene.conversation).await.unwrap();
        turns.into_iter().map(|row| row.preview).collect::<Vec<_>>()
    };
    assert_eq!(shown().await, [None]);
    let previewed = |message: &str| Change::Previewed {
        turn,
        message: message.into(),
    };
    scene.done(vec![previewed("m1")]).await;
    scene.done(vec![previewed("m2")]).await;
    assert_eq!(shown().await, [Some("m2".to_owned())]);
    scene.done(vec![end_turn(turn)]).await;
    scene.unmet(previewed("m3")).await;
    scene
        .unmet(Change::Previewed {
            turn: scene.id(),
            message: "m4".into(),
        })
        .await;
}

pub async fn an_item_keeps_everything_that_goes_with_its_text(place: &dyn Place) {
    let scene = Scene::at(place).await;
    let extras = Extras {
        markup: Some("<b>\"bold\"</b>".into()),
        replaces: Some("m1".into()),
        buttons: vec![vec![
            Button {
                label: "Yes".into(),
                says: "/approve apr_1".into(),
            },
            Button {
                label: "No".into(),
                says: "/deny apr_1".into(),
            },
        ]],
        file: Some(OutgoingFile {
            path: "/files/a b".into(),
            name: "a b".into(),
        }),
    };
    let outgoing = NewOutgoing {
        extras: extras.clone(),
        ..scene.outgoing("with extras")
    };
    let id = outgoing.id;
    scene.done(vec![Change::Enqueue(outgoing)]).await;
    let plain = scene.queued("plain").await;
    assert_eq!(scene.item(id).await.extras, extras);
    assert!(scene.item(plain).await.extras.is_empty());
    let waiting = scene.store.outbox_waiting(scene.conversation, 10).await;
    assert_eq!(waiting.unwrap()[0].extras, extras);
}

/// OWN-73
pub async fn a_dead_letter_is_told_again_once(place: &dyn Place) {
    let scene = Scene::at(place).await;
    let other = scene.neighbour("2").await;
    let (first, second) = (dead(&scene, "first").await, dead(&scene, "second").await);
    let theirs = dead(&other, "theirs").await;
    assert_eq!(letters(&scene).await, [first, second]);
    let told_again = |outbox, by| Change::ToldAgain { outbox, by };
    let again = scene.outgoing("first");
    let by = again.id;
    scene
        .done(vec![Change::Enqueue(again), told_again(first, by)])
        .await;
    assert_eq!(letters(&scene).await, [second]);
    // Once; what is not dead is no letter; another conversation's is not ours.
    for outbox in [first, by, theirs] {
        scene.unmet(told_again(outbox, by)).await;
    }
    assert_eq!(letters(&other).await, [theirs]);
    // It stays what it is.
    let row = scene.item(first).await;
    assert_eq!(
        (row.state, row.reason.as_deref()),
        (OutboxState::Dead, Some("closed: first"))
    );
    // What was told again can die, too, and is a letter of its own.
    let dies = Change::SendDead {
        outbox: by,
        attempt: 1,
        reason: "closed again".into(),
    };
    let sending = Change::Sending {
        outbox: by,
        attempt: 1,
    };
    scene.done(vec![sending, dies]).await;
    assert_eq!(letters(&scene).await, [second, by]);
    assert_eq!(
        scene
            .store
            .dead_letters(scene.conversation, 1)
            .await
            .unwrap()
            .len(),
        1
    );
}

fn group(chat: &str, thread: &str) -> SessionKey {
    format!("agent:main:simulated:group:{chat}:{thread}")
        .parse()
        .unwrap()
}

fn anchored(key: &SessionKey) -> Origin {
    Origin {
        anchor: Some("17".into()),
        ..Origin::from_key(key)
    }
}

/// A conversation of a topic, with a session.
async fn topic(scene: &Scene, key: SessionKey) -> Scene {
    let origin = anchored(&key);
    let row = scene.store.open_conversation(&key, &origin, scene.now());
    let conversation = row.await.unwrap().id;
    let current = scene.fresh_session();
    let topic = Scene {
        key,
        origin,
        conversation,
        current,
        ..scene.clone()
    };
    topic
        .done(vec![
            crate::scene::start(current),
            Change::Point(Some(current)),
        ])
        .await;
    topic
}

/// OWN-72
pub async fn a_chat_moves_with_everything_that_is_to_go_there(place: &dyn Place) {
    let scene = Scene::at(place).await;
    let (one, two) = (
        topic(&scene, group("-1", "42")).await,
        topic(&scene, group("-1", "43")).await,
    );
    let bystander = topic(&scene, group("-9", "42")).await;
    let (_, _, _) = one.accept("7").await;
    let waits = NewOutgoing {
        extras: Extras {
            replaces: Some("m1".into()),
            ..Extras::default()
        },
        ..one.outgoing("waits")
    };
    let waits_id = waits.id;
    one.done(vec![Change::Enqueue(waits)]).await;
    let letter = dead(&one, "letter").await;
    let sent = one.queued("sent").await;
    one.done(vec![
        Change::Sending {
            outbox: sent,
            attempt: 1,
        },
        Change::Sent {
            outbox: sent,
            attempt: 1,
            platform_message: None,
        },
    ])
    .await;
    let process = one.process().await;
    let turn: TurnId = one.id();
    one.done(vec![
        start_turn(&one, turn),
        Change::Previewed {
            turn,
            message: "m1".into(),
        },
    ])
    .await;
    // A notice to this chat waits in a conversation of another one.
    let notice = NewOutgoing {
        origin: one.origin.clone(),
        ..bystander.outgoing("about you")
    };
    let notice_id = notice.id;
    bystander.done(vec![Change::Enqueue(notice)]).await;

    let moved = scene.store.move_chat(&account(&one), "-1", "-100").await;
    let mut expected = [one.conversation, two.conversation, bystander.conversation];
    expected.sort_unstable();
    assert_eq!(moved.unwrap(), expected);

    let there = Origin::from_key(&group("-100", "42"));
    let row = one.row().await;
    assert_eq!((row.key, row.origin), (group("-100", "42"), there.clone()));
    assert_eq!(two.row().await.key, group("-100", "43"));
    assert_eq!(two.row().await.origin.thread.as_deref(), Some("43"));
    assert_eq!(waiting(&one).await[0].origin, there);
    let item = one.item(waits_id).await;
    assert_eq!((item.origin, item.extras.replaces), (there.clone(), None));
    assert_eq!(one.item(letter).await.origin, there);
    assert_eq!(bystander.item(notice_id).await.origin, there);
    let process = scene.store.process(process).await.unwrap().unwrap();
    assert_eq!(process.owner.origin, there);
    let turns = scene.store.running_turns(one.conversation).await.unwrap();
    assert_eq!(turns[0].preview, None);
    // What was sent was sent there, and the neighbour stays where it is.
    assert_eq!(one.item(sent).await.origin, one.origin);
    let stays = bystander.row().await;
    assert_eq!(
        (stays.key, stays.origin),
        (bystander.key.clone(), bystander.origin.clone())
    );
    // Once more is nothing.
    let again = scene.store.move_chat(&account(&one), "-1", "-100").await;
    assert_eq!(again.unwrap(), []);
}

/// OWN-5, 72: origins route, so a key that is taken keeps nothing from arriving.
pub async fn a_chat_moves_to_a_place_that_has_a_conversation_already(place: &dyn Place) {
    let scene = Scene::at(place).await;
    let old = topic(&scene, group("-1", "42")).await;
    let new = topic(&scene, group("-100", "42")).await;
    let waits = old.queued("waits").await;
    let moved = scene.store.move_chat(&account(&old), "-1", "-100").await;
    assert_eq!(moved.unwrap(), [old.conversation]);
    assert_eq!(old.row().await.key, old.key);
    assert_eq!(old.row().await.origin.chat, "-100");
    assert_eq!(old.item(waits).await.origin.chat, "-100");
    assert_eq!(new.row().await.key, new.key);
}

/// OWN-6
pub async fn a_chat_of_the_same_name_elsewhere_does_not_move(place: &dyn Place) {
    let scene = Scene::at(place).await;
    let here = topic(&scene, group("-1", "42")).await;
    let mut others = Vec::new();
    for key in [
        "agent:main:simulated@second:group:-1:42",
        "agent:main:another:group:-1:42",
        "agent:other:simulated:group:-1:42",
    ] {
        others.push(topic(&scene, key.parse().unwrap()).await);
    }
    let moved = scene.store.move_chat(&account(&here), "-1", "-100").await;
    assert_eq!(moved.unwrap(), [here.conversation]);
    for other in others {
        let row = other.row().await;
        assert_eq!((row.key, row.origin), (other.key, other.origin));
    }
}

pub async fn a_gateway_that_was_replaced_moves_and_edits_nothing(place: &dyn Place) {
    let scene = Scene::at(place).await;
    let here = topic(&scene, group("-1", "42")).await;
    here.accept("7").await;
    let next = place.open().await;
    next.take_over(scene.now()).await.unwrap();
    let account = account(&here);
    let moved = scene.store.move_chat(&account, "-1", "-100").await;
    assert!(matches!(moved, Err(StoreError::Fenced { .. })), "{moved:?}");
    let edited = scene.store.edit_inbound(&account, "7", "no").await;
    assert!(
        matches!(edited, Err(StoreError::Fenced { .. })),
        "{edited:?}"
    );
    let row = next.conversation(here.conversation).await.unwrap().unwrap();
    assert_eq!((row.key, row.origin), (here.key, here.origin));
}

pub async fn the_conversations_of_a_place_are_found_whoever_speaks_there(place: &dyn Place) {
    let scene = Scene::at(place).await;
    let person = |user: &str| {
        let key = format!("agent:main:simulated:group:-1:42:{user}");
        key.parse::<SessionKey>().unwrap()
    };
    let (ada, bob) = (
        topic(&scene, person("ada")).await,
        topic(&scene, person("bob")).await,
    );
    let other = topic(&scene, group("-1", "43")).await;
    let account = account(&scene);
    let of = |thread: Option<&'static str>| scene.store.conversations_of(&account, "-1", thread);
    let mut both = [ada.conversation, bob.conversation];
    both.sort_unstable();
    assert_eq!(of(Some("42")).await.unwrap(), both);
    assert_eq!(of(Some("43")).await.unwrap(), [other.conversation]);
    assert_eq!(of(None).await.unwrap(), []);
    let elsewhere = AccountName {
        profile: "other".into(),
        ..account.clone()
    };
    let none = scene
        .store
        .conversations_of(&elsewhere, "-1", Some("42"))
        .await;
    assert_eq!(none.unwrap(), []);
}
