//! Where a message is from is where its answer lands, and nowhere else (OWN-66, 71, 72).

use futures_util::future::join_all;
use homing_domain::origin::Origin;
use homing_ports::platform::{Landed, Receipt, SendError};

use crate::Scene;
use crate::kept::Heard;
use crate::scene::place_of;
use crate::world::{Need, Place, Spot, Trouble};

fn landed(receipt: &Receipt) -> Place {
    let Landed { chat, thread } = receipt.landed.clone().expect("it says where it landed");
    Place { chat, thread }
}

async fn comes_and_goes_exactly_there(scene: &mut Scene<'_>, spot: Spot) {
    let place = scene.world.place(spot);
    let anchor = scene.world.write(spot, "hello");
    let inbound = scene.inbox.arrived("hello").await;
    let origin = inbound.origin;
    assert_eq!(place_of(&origin), place);
    assert_eq!(origin.chat_type, spot.chat_type());
    assert_eq!(origin.user, Some(scene.world.speaker(spot)));
    assert!(origin.anchor.is_some() && (anchor.is_none() || anchor == origin.anchor));
    if !scene.has(Need::Sends) {
        return;
    }
    // From the stored text form, as after a restart.
    let stored: Origin = serde_json::from_str(&serde_json::to_string(&origin).unwrap()).unwrap();
    let receipt = scene.send(&stored, "and back").await.unwrap();
    let shown = scene.shown();
    assert_eq!(shown.len(), 1, "{shown:?}");
    assert_eq!(
        (&shown[0].place, shown[0].text.as_str()),
        (&place, "and back")
    );
    assert_eq!(landed(&receipt), place);
    assert_eq!(receipt.message.as_ref(), Some(&shown[0].message));
    // OWN-5: the origin that is left if only the key is known.
    let bare = Origin {
        user: None,
        anchor: None,
        ..origin
    };
    let receipt = scene.send(&bare, "once more").await.unwrap();
    assert_eq!(landed(&receipt), place);
    assert_eq!(scene.shown_texts(&place), ["and back", "once more"]);
}

pub async fn private_chats_come_and_go_exactly_there(scene: &mut Scene<'_>) {
    comes_and_goes_exactly_there(scene, Spot::Private).await;
}

pub async fn topics_of_private_chats_come_and_go_exactly_there(scene: &mut Scene<'_>) {
    comes_and_goes_exactly_there(scene, Spot::PrivateTopic).await;
}

pub async fn groups_come_and_go_exactly_there(scene: &mut Scene<'_>) {
    comes_and_goes_exactly_there(scene, Spot::Group).await;
}

pub async fn general_topics_come_and_go_exactly_there(scene: &mut Scene<'_>) {
    comes_and_goes_exactly_there(scene, Spot::General).await;
}

pub async fn topics_come_and_go_exactly_there(scene: &mut Scene<'_>) {
    comes_and_goes_exactly_there(scene, Spot::Topic).await;
}

pub async fn channels_come_and_go_exactly_there(scene: &mut Scene<'_>) {
    comes_and_goes_exactly_there(scene, Spot::Channel).await;
}

pub async fn what_people_write_to_a_channel_comes_and_goes_exactly_there(scene: &mut Scene<'_>) {
    comes_and_goes_exactly_there(scene, Spot::Direct).await;
}

pub async fn messages_to_many_places_at_once_do_not_mix(scene: &mut Scene<'_>) {
    let mut sends = Vec::new();
    let mut wanted = Vec::new();
    for spot in scene.spots() {
        let origin = scene.origin(spot).await;
        for number in 0..3 {
            let text = format!("{spot:?} {number}");
            wanted.push((scene.world.place(spot), text.clone()));
            sends.push(scene.outgoing(&origin, &text));
        }
    }
    let platform = scene.platform();
    let sent = join_all(sends.into_iter().map(|outgoing| {
        let place = place_of(&outgoing.origin);
        let platform = &platform;
        async move { (place, platform.send(outgoing).await) }
    }))
    .await;
    for (place, receipt) in sent {
        assert_eq!(landed(&receipt.unwrap()), place);
    }
    let shown = scene.shown().into_iter();
    let mut shown: Vec<_> = shown.map(|seen| (seen.place, seen.text)).collect();
    let key = |one: &(Place, String)| (one.0.chat.clone(), one.0.thread.clone(), one.1.clone());
    shown.sort_by_key(key);
    wanted.sort_by_key(key);
    assert_eq!(shown, wanted);
}

/// Public bugs 3206, oc#75975: a chain of replies looks like a thread, and is none.
pub async fn a_reply_is_of_the_place_and_not_of_a_thread(scene: &mut Scene<'_>) {
    for spot in [Spot::Group, Spot::General, Spot::Topic] {
        let root = scene.world.write(spot, &format!("root {spot:?}")).unwrap();
        scene.world.reply(spot, &root, &format!("reply {spot:?}"));
        let reply = scene.inbox.arrived(&format!("reply {spot:?}")).await;
        assert_eq!(place_of(&reply.origin), scene.world.place(spot));
        if scene.has(Need::Sends) {
            let receipt = scene.send(&reply.origin, "answer").await.unwrap();
            assert_eq!(landed(&receipt), scene.world.place(spot));
        }
    }
}

/// OWN-71.
pub async fn a_misplaced_message_is_told_as_it_landed(scene: &mut Scene<'_>) {
    let origin = scene.origin(Spot::Topic).await;
    let elsewhere = elsewhere(scene);
    scene.world.trouble(Trouble::Misplaced(elsewhere));
    let receipt = scene.send(&origin, "astray").await.unwrap();
    assert_eq!(landed(&receipt), scene.world.place(elsewhere));
    assert_eq!(scene.shown_texts(&scene.world.place(elsewhere)), ["astray"]);
}

/// The place above a topic.
fn elsewhere(scene: &Scene<'_>) -> Spot {
    match scene.has(Need::At(Spot::General)) {
        true => Spot::General,
        false => Spot::Group,
    }
}

/// OWN-71.
pub async fn what_was_misplaced_can_be_taken_back(scene: &mut Scene<'_>) {
    let origin = scene.origin(Spot::Topic).await;
    let elsewhere = elsewhere(scene);
    scene.world.trouble(Trouble::Misplaced(elsewhere));
    let receipt = scene.send(&origin, "astray").await.unwrap();
    let kept = scene.send(&origin, "in place").await.unwrap();
    let platform = scene.platform();
    platform.take_back(&receipt).await.unwrap();
    assert_eq!(scene.shown_texts(&scene.world.place(elsewhere)), [""; 0]);
    assert_eq!(scene.shown_texts(&place_of(&origin)), ["in place"]);
    // A second time it is gone already, and nothing else is taken instead.
    drop(platform.take_back(&receipt).await);
    let nameless = Receipt {
        message: None,
        ..kept
    };
    drop(platform.take_back(&nameless).await);
    assert_eq!(scene.shown_texts(&place_of(&origin)), ["in place"]);
}

/// OWN-66.
pub async fn a_deleted_place_is_refused_and_nothing_lands_above_it(scene: &mut Scene<'_>) {
    let topic = scene.origin(Spot::Topic).await;
    scene.world.delete_place(Spot::Topic);
    for _ in 0..2 {
        let outcome = scene.send(&topic, "to nowhere").await;
        assert!(matches!(outcome, Err(SendError::Refused(_))), "{outcome:?}");
    }
    assert_eq!(scene.world.seen(), []);
    // What is above it goes on.
    let elsewhere = elsewhere(scene);
    let origin = scene.origin(elsewhere).await;
    scene.send(&origin, "above").await.unwrap();
    assert_eq!(scene.world.seen().len(), 1);
}

pub async fn a_closed_place_says_so_until_it_is_reopened(scene: &mut Scene<'_>) {
    let topic = scene.origin(Spot::Topic).await;
    scene.world.close_place(Spot::Topic);
    let outcome = scene.send(&topic, "too late").await;
    assert!(matches!(outcome, Err(SendError::Closed(_))), "{outcome:?}");
    assert_eq!(scene.world.seen(), []);
    scene.world.reopen_place(Spot::Topic);
    let reopened = |heard: &[Heard]| {
        heard.iter().find_map(|heard| match heard {
            Heard::Reopened(origin) => Some(origin.clone()),
            _ => None,
        })
    };
    let reopened = scene.inbox.until("that it is open again", reopened).await;
    assert_eq!(place_of(&reopened), place_of(&topic));
    assert_eq!(reopened.account_name(), topic.account_name());
    scene.send(&topic, "in time").await.unwrap();
    assert_eq!(scene.shown_texts(&place_of(&topic)), ["in time"]);
}

/// OWN-72.
pub async fn a_chat_that_moved_says_where_to_and_is_the_same_chat(scene: &mut Scene<'_>) {
    let before = scene.origin(Spot::Group).await;
    let new = scene.world.move_chat(Spot::Group);
    let outcome = scene.send(&before, "to the old number").await;
    assert_eq!(outcome, Err(SendError::Moved(new.clone())));
    assert_eq!(scene.world.seen(), []);
    let moved = |heard: &[Heard]| {
        heard.iter().find_map(|heard| match heard {
            Heard::Moved { from, to } => Some((from.clone(), to.clone())),
            _ => None,
        })
    };
    let moved = scene.inbox.until("that it moved", moved).await;
    assert_eq!(moved, (before.chat.clone(), new.clone()));
    let after = scene.origin(Spot::Group).await;
    assert_eq!(after.chat, new);
    let rerouted = Origin {
        chat: new,
        ..before
    };
    scene.send(&rerouted, "to the new number").await.unwrap();
    assert_eq!(scene.shown_texts(&place_of(&after)), ["to the new number"]);
    scene.restart().await;
    scene.written(Spot::Group, "still the same chat").await;
}

pub async fn a_bot_that_was_removed_is_refused_and_the_operator_told(scene: &mut Scene<'_>) {
    for spot in [Spot::Topic, Spot::Private] {
        let origin = scene.origin(spot).await;
        let before = scene.inbox.heard().len();
        scene.world.remove_bot(spot);
        let outcome = scene.send(&origin, "to nobody").await;
        assert!(matches!(outcome, Err(SendError::Refused(_))), "{outcome:?}");
        let told = |heard: &[Heard]| {
            let told = |heard: &Heard| matches!(heard, Heard::Operator(_));
            heard[before..].iter().any(told).then_some(())
        };
        scene.inbox.until("a word to the operator", told).await;
    }
    assert_eq!(scene.world.seen(), []);
}
