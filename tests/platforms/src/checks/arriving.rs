//! What people write reaches the inbox: stored before it is confirmed, once, in order (OWN-70).

use std::collections::HashSet;

use crate::Scene;
use crate::kept::{Heard, Store};
use crate::world::{Need, Spot};

fn held(heard: &[Heard], text: &str) -> Option<String> {
    heard.iter().find_map(|heard| match heard {
        Heard::Held(inbound) if inbound.text == text => Some(inbound.platform_id.clone()),
        _ => None,
    })
}

fn failed(heard: &[Heard]) -> usize {
    let failed = |heard: &&Heard| matches!(heard, Heard::NotStored(_));
    heard.iter().filter(failed).count()
}

/// OWN-70: proven by its coming again, under the same id, to an adapter that was killed in the middle of storing it.
pub async fn a_message_is_not_confirmed_while_it_is_being_stored(scene: &mut Scene<'_>) {
    scene.inbox.store(Store::Hesitates);
    scene.world.write(Spot::Private, "one");
    let id = scene
        .inbox
        .until("that it is being stored", |heard| held(heard, "one"))
        .await;
    assert!(scene.world.unconfirmed() >= 1);
    scene.world.kill().await;
    scene.inbox.store(Store::Takes);
    scene.open().await;
    assert_eq!(scene.inbox.arrived("one").await.platform_id, id);
    scene.all_confirmed().await;
    assert_eq!(scene.inbox.texts(), ["one"]);
}

pub async fn what_could_not_be_stored_comes_again_in_order_and_once(scene: &mut Scene<'_>) {
    scene.inbox.store(Store::FailsTimes(3));
    for text in ["one", "two", "three"] {
        scene.world.write(Spot::Group, text);
    }
    scene.inbox.arrived("three").await;
    scene.all_confirmed().await;
    assert_eq!(scene.inbox.texts(), ["one", "two", "three"]);
    assert_eq!(failed(&scene.inbox.heard()), 3);
}

pub async fn what_was_not_stored_when_the_adapter_ended_comes_to_the_next_one(
    scene: &mut Scene<'_>,
) {
    scene.inbox.store(Store::Fails);
    scene.world.write(Spot::Private, "one");
    scene.world.write(Spot::Private, "two");
    // It is brought again and again: nobody took it for stored meanwhile.
    let often = |heard: &[Heard]| (failed(heard) >= 6).then_some(());
    scene
        .inbox
        .until("that it failed again and again", often)
        .await;
    scene.close().await;
    assert!(scene.world.unconfirmed() >= 1);
    scene.inbox.store(Store::Takes);
    scene.open().await;
    scene.inbox.arrived("two").await;
    scene.all_confirmed().await;
    assert_eq!(scene.inbox.texts(), ["one", "two"]);
}

pub async fn what_was_written_while_nobody_listened_comes_in_order(scene: &mut Scene<'_>) {
    scene.close().await;
    for text in ["one", "two", "three"] {
        scene.world.write(Spot::Group, text);
    }
    scene.open().await;
    scene.inbox.arrived("three").await;
    assert_eq!(scene.inbox.texts(), ["one", "two", "three"]);
    scene.all_confirmed().await;
}

pub async fn a_restart_brings_nothing_anew_and_loses_nothing(scene: &mut Scene<'_>) {
    scene.written(Spot::Private, "one").await;
    scene.all_confirmed().await;
    for (restart, text) in ["two", "three", "four"].into_iter().enumerate() {
        scene.restart().await;
        scene.written(Spot::Private, text).await;
        assert_eq!(scene.inbox.stored().len(), restart + 2);
    }
    assert_eq!(scene.inbox.texts(), ["one", "two", "three", "four"]);
    // What comes again is recognised by its id, so that ids of different messages must differ.
    let ids: HashSet<_> = scene
        .inbox
        .stored()
        .into_iter()
        .map(|new| new.platform_id)
        .collect();
    assert_eq!(ids.len(), 4);
}

pub async fn the_order_of_each_place_is_kept_among_others(scene: &mut Scene<'_>) {
    const EACH: usize = 12;
    let spots = scene.spots();
    for number in 0..EACH {
        for spot in &spots {
            scene.world.write(*spot, &format!("{spot:?} {number}"));
        }
    }
    let all = EACH * spots.len();
    let everything = |heard: &[Heard]| {
        let new = heard.iter().filter(|heard| matches!(heard, Heard::New(_)));
        (new.count() == all).then_some(())
    };
    scene.inbox.until("all of them", everything).await;
    for spot in spots {
        let of_spot = |text: &String| text.split(' ').next() == Some(&format!("{spot:?}"));
        let texts: Vec<_> = scene.inbox.texts().into_iter().filter(of_spot).collect();
        let wanted: Vec<_> = (0..EACH)
            .map(|number| format!("{spot:?} {number}"))
            .collect();
        assert_eq!(texts, wanted);
    }
}

pub async fn the_same_words_twice_are_two_messages(scene: &mut Scene<'_>) {
    scene.world.write(Spot::Private, "again");
    scene.world.write(Spot::Private, "again");
    scene.written(Spot::Private, "end").await;
    assert_eq!(scene.inbox.texts(), ["again", "again", "end"]);
}

pub async fn a_message_that_can_never_be_stored_stops_nothing(scene: &mut Scene<'_>) {
    scene.inbox.never_takes("endless");
    scene.world.write(Spot::Private, "endless");
    scene.written(Spot::Private, "after").await;
    scene.all_confirmed().await;
    let refused = scene
        .inbox
        .count(|heard| matches!(heard, Heard::Refused(_)));
    assert_eq!(refused, 1, "it is not asked again");
}

pub async fn an_update_that_is_brought_again_carries_the_same_id(scene: &mut Scene<'_>) {
    // What other places have to say at the beginning would be the last that was confirmed.
    scene.all_confirmed().await;
    let first = scene.written(Spot::Private, "one").await;
    scene.all_confirmed().await;
    scene.world.repeat_updates(1);
    scene.world.write(Spot::Private, "two");
    let again = |heard: &[Heard]| {
        heard.iter().find_map(|heard| match heard {
            Heard::Again(inbound) => Some(inbound.clone()),
            _ => None,
        })
    };
    let again = scene.inbox.until("the repeat", again).await;
    assert_eq!(again, first);
    scene.inbox.arrived("two").await;
    assert_eq!(scene.inbox.texts(), ["one", "two"]);
}

pub async fn updates_in_another_order_lose_nothing_and_keep_the_order(scene: &mut Scene<'_>) {
    scene.close().await;
    scene.world.reorder_updates();
    for text in ["one", "two", "three"] {
        scene.world.write(Spot::Group, text);
    }
    scene.open().await;
    scene.all_confirmed().await;
    assert_eq!(scene.inbox.texts(), ["one", "two", "three"]);
}

pub async fn an_unreadable_update_stops_nothing_and_is_kept(scene: &mut Scene<'_>) {
    scene.close().await;
    scene.world.write(Spot::Private, "before");
    scene.world.unreadable_update();
    scene.world.write(Spot::Private, "after");
    scene.open().await;
    scene.inbox.arrived("after").await;
    scene.all_confirmed().await;
    assert_eq!(scene.inbox.texts(), ["before", "after"]);
    let kept = scene.world.kept_unreadable();
    assert!(kept.contains("from the future"), "{kept}");
}

pub async fn no_trouble_of_a_poll_loses_anything(scene: &mut Scene<'_>) {
    let mut wanted = Vec::new();
    for trouble in scene.world.poll_troubles() {
        let texts = [1, 2, 3].map(|number| format!("{} {number}", trouble.0));
        scene.poll_meets(trouble, Spot::Group, &texts).await;
        wanted.extend(texts);
    }
    assert_eq!(scene.inbox.texts(), wanted);
}

pub async fn ending_in_the_middle_of_much_loses_nothing(scene: &mut Scene<'_>) {
    let wanted: Vec<String> = (0..60).map(|number| format!("number {number}")).collect();
    scene.close().await;
    for text in &wanted {
        scene.world.write(Spot::Group, text);
    }
    scene.inbox.store(Store::Hesitates);
    scene.open_unready().await;
    scene
        .inbox
        .until("the first", |heard| held(heard, "number 0"))
        .await;
    scene.world.kill().await;
    scene.inbox.store(Store::Takes);
    scene.open_unready().await;
    scene.inbox.arrived("number 20").await;
    scene.close().await;
    scene.open().await;
    scene.inbox.arrived("number 59").await;
    scene.all_confirmed().await;
    assert_eq!(scene.inbox.texts(), wanted);
}

/// A poll that waits for news, or a connection that is kept, is no reason to stay.
pub async fn ending_is_prompt_while_nothing_happens(scene: &mut Scene<'_>) {
    scene.written(Spot::Private, "one").await;
    scene.all_confirmed().await;
    scene.close().await;
    scene.world.write(Spot::Private, "two");
    assert_eq!(scene.world.unconfirmed(), 1);
    scene.open().await;
    scene.inbox.arrived("two").await;
}

pub async fn ending_is_prompt_while_the_store_fails(scene: &mut Scene<'_>) {
    scene.inbox.store(Store::Fails);
    scene.world.write(Spot::Private, "one");
    let once = |heard: &[Heard]| (failed(heard) >= 1).then_some(());
    scene.inbox.until("that it failed", once).await;
    scene.close().await;
    scene.inbox.store(Store::Takes);
    scene.open().await;
    scene.inbox.arrived("one").await;
    if scene.has(Need::Sends) {
        let origin = scene.origin(Spot::Private).await;
        scene.send(&origin, "still here").await.unwrap();
    }
}
