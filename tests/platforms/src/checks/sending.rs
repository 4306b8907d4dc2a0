//! One send is at most one message, and its outcome is what is known (OWN-66, 69, 94).
//!
//! The adapter never tries again by itself what may have arrived; the outbox decides.

use std::time::Duration;

use homing_ports::platform::{Outgoing, SendError};

use crate::Scene;
use crate::world::{Effect, Need, Spot, Trouble};

pub async fn one_send_is_one_message_and_its_receipt(scene: &mut Scene<'_>) {
    let origin = scene.origin(Spot::Group).await;
    for number in 1..=3 {
        let receipt = scene.send(&origin, "the same words").await.unwrap();
        let seen = scene.world.seen();
        assert_eq!(seen.len(), number);
        assert_eq!(receipt.message, Some(seen[number - 1].message.clone()));
    }
}

pub async fn a_place_keeps_the_order_of_sends(scene: &mut Scene<'_>) {
    let origin = scene.origin(Spot::Topic).await;
    let texts: Vec<String> = (0..20).map(|number| number.to_string()).collect();
    for text in &texts {
        scene.send(&origin, text).await.unwrap();
    }
    let place = scene.world.place(Spot::Topic);
    assert_eq!(scene.shown_texts(&place), texts);
}

/// Cutting is `render`'s, before the outbox: a second message that the outbox does not know of could not be told apart from a repeat.
pub async fn a_text_that_is_too_long_is_refused_and_not_cut(scene: &mut Scene<'_>) {
    let origin = scene.origin(Spot::Private).await;
    let limit = scene.platform().capabilities().limit;
    let full = "x".repeat(limit.max);
    scene.send(&origin, &full).await.unwrap();
    let outcome = scene.send(&origin, &format!("{full}x")).await;
    assert!(matches!(outcome, Err(SendError::Refused(_))), "{outcome:?}");
    assert_eq!(scene.world.seen().len(), 1);
    // No correct client sends it; the outbox does not either.
    scene.forgive("too long");
}

pub async fn a_rate_limit_says_how_long_and_sends_nothing(scene: &mut Scene<'_>) {
    let origin = scene.origin(Spot::Group).await;
    let span = Duration::from_secs(1);
    scene.world.trouble(Trouble::RateLimited(span));
    let outcome = scene.send(&origin, "too fast").await;
    assert_eq!(outcome, Err(SendError::RateLimited(span)));
    assert_eq!(scene.world.seen(), []);
    // As the outbox does: no earlier than it was told.
    let mut waits = 0;
    while let Err(error) = scene.send(&origin, "slower").await {
        let SendError::RateLimited(wait) = error else {
            panic!("{error}");
        };
        waits += 1;
        assert!(waits < 5, "it ends");
        tokio::time::sleep(wait).await;
    }
    assert_eq!(
        scene.shown_texts(&scene.world.place(Spot::Group)),
        ["slower"]
    );
}

/// OWN-69.
pub async fn a_platform_that_is_away_says_so_and_is_announced_when_it_is_back(
    scene: &mut Scene<'_>,
) {
    let origin = scene.origin(Spot::Private).await;
    scene.close().await;
    scene.world.go_away().await;
    scene.open_unready().await;
    for _ in 0..2 {
        let outcome = scene.send(&origin, "to nobody").await;
        assert!(matches!(outcome, Err(SendError::Away(_))), "{outcome:?}");
    }
    scene.world.write(Spot::Private, "meanwhile");
    scene.back().await;
    scene.send(&origin, "back").await.unwrap();
    scene.inbox.arrived("meanwhile").await;
    assert_eq!(
        scene.shown_texts(&scene.world.place(Spot::Private)),
        ["back"]
    );
}

/// What an adapter may say of a send that met trouble: "nothing was sent" only where nothing was, success only where it was.
async fn honest(scene: &mut Scene<'_>, trouble: Trouble, effect: Effect) -> Result<(), SendError> {
    let origin = scene.origin(Spot::Topic).await;
    let before = scene.world.seen().len();
    scene.world.trouble(trouble);
    let outcome = scene.send(&origin, &format!("{trouble:?}")).await;
    let effects = scene.world.seen().len() - before;
    match effect {
        Effect::Nothing => {
            assert_eq!(
                effects, 0,
                "{trouble:?} was sent a second time by the adapter itself"
            );
            assert!(outcome.is_err(), "{trouble:?}: {outcome:?}");
        }
        Effect::Taken => {
            assert_eq!(
                effects, 1,
                "{trouble:?} was sent a second time by the adapter itself"
            );
            let is_honest = matches!(outcome, Ok(_) | Err(SendError::Uncertain(_)));
            assert!(
                is_honest,
                "{trouble:?} was sent, and said to be {outcome:?}"
            );
        }
    }
    // Whatever it was, it passes.
    scene
        .send(&origin, &format!("after {trouble:?}"))
        .await
        .unwrap();
    outcome.map(drop)
}

pub async fn a_server_that_failed_is_not_asked_twice(scene: &mut Scene<'_>) {
    for effect in [Effect::Nothing, Effect::Taken] {
        for trouble in [Trouble::ServerError(effect), Trouble::BadGateway(effect)] {
            let outcome = honest(scene, trouble, effect).await.unwrap_err();
            let passes = matches!(outcome, SendError::Uncertain(_) | SendError::Temporary(_));
            assert!(passes, "{trouble:?}: {outcome}");
        }
    }
}

pub async fn a_lost_answer_is_uncertain_and_one_message(scene: &mut Scene<'_>) {
    let trouble = Trouble::Reset(Effect::Taken);
    let outcome = honest(scene, trouble, Effect::Taken).await;
    assert!(
        matches!(outcome, Err(SendError::Uncertain(_))),
        "{outcome:?}"
    );
    if scene.has(Need::Slowness) {
        let outcome = honest(scene, Trouble::HalfAnswer, Effect::Taken).await;
        assert!(
            matches!(outcome, Err(SendError::Uncertain(_))),
            "{outcome:?}"
        );
    }
}

pub async fn a_connection_that_broke_early_is_not_asked_twice(scene: &mut Scene<'_>) {
    let trouble = Trouble::Reset(Effect::Nothing);
    let outcome = honest(scene, trouble, Effect::Nothing).await;
    assert!(
        matches!(outcome, Err(SendError::Uncertain(_))),
        "{outcome:?}"
    );
}

pub async fn a_silence_is_uncertain_whether_it_was_taken_or_not(scene: &mut Scene<'_>) {
    for effect in [Effect::Nothing, Effect::Taken] {
        let outcome = honest(scene, Trouble::Silence(effect), effect).await;
        assert!(
            matches!(outcome, Err(SendError::Uncertain(_))),
            "{outcome:?}"
        );
    }
}

pub async fn a_slow_answer_is_an_answer(scene: &mut Scene<'_>) {
    let trouble = Trouble::Slow(Duration::from_millis(300));
    honest(scene, trouble, Effect::Taken).await.unwrap();
}

fn again(outgoing: &Outgoing) -> Outgoing {
    Outgoing {
        attempt: outgoing.attempt + 1,
        ..outgoing.clone()
    }
}

/// OWN-66.
pub async fn the_same_id_is_one_message_where_the_platform_deduplicates(scene: &mut Scene<'_>) {
    let origin = scene.origin(Spot::Topic).await;
    let platform = scene.platform();
    let outgoing = scene.outgoing(&origin, "once");
    scene.world.trouble(Trouble::Reset(Effect::Taken));
    let lost = platform.send(outgoing.clone()).await;
    assert!(matches!(lost, Err(SendError::Uncertain(_))), "{lost:?}");
    let second = platform.send(again(&outgoing)).await.unwrap();
    assert_eq!(platform.send(again(&outgoing)).await.unwrap(), second);
    let seen = scene.world.seen();
    assert_eq!(seen.len(), 1);
    assert_eq!(second.message, Some(seen[0].message.clone()));
}

/// OWN-94.
pub async fn looking_up_finds_what_arrived_and_nothing_else(scene: &mut Scene<'_>) {
    let origin = scene.origin(Spot::Topic).await;
    let platform = scene.platform();
    let arrived = scene.outgoing(&origin, "arrived");
    let never = scene.outgoing(&origin, "never sent");
    scene.world.trouble(Trouble::Reset(Effect::Taken));
    let lost = platform.send(arrived.clone()).await;
    assert!(matches!(lost, Err(SendError::Uncertain(_))), "{lost:?}");
    let found = platform.look_up(&arrived).await.unwrap().unwrap();
    assert_eq!(found.message, Some(scene.world.seen()[0].message.clone()));
    assert_eq!(platform.look_up(&never).await.unwrap(), None);
    scene.world.go_away().await;
    let unknown = platform.look_up(&never).await;
    assert!(
        unknown.is_err(),
        "a platform that is away knows nothing: {unknown:?}"
    );
    scene.world.come_back();
    assert_eq!(scene.world.seen().len(), 1);
}

/// OWN-94: also where the text leaves no room for a mark.
pub async fn what_may_be_a_repeat_is_marked_for_people(scene: &mut Scene<'_>) {
    let origin = scene.origin(Spot::Group).await;
    let platform = scene.platform();
    let full = "y".repeat(platform.capabilities().limit.max);
    for text in ["short", &full] {
        let before = scene.shown().len();
        let outgoing = scene.outgoing(&origin, text);
        platform.send(outgoing.clone()).await.unwrap();
        let repeat = Outgoing {
            may_repeat: true,
            ..again(&outgoing)
        };
        platform.send(repeat).await.unwrap();
        let shown = &scene.shown()[before..];
        assert!(!shown[0].marked, "{text}");
        assert!(shown[1..].iter().any(|seen| seen.marked), "{text}");
        let texts: Vec<_> = shown
            .iter()
            .filter(|seen| seen.text.contains(text))
            .collect();
        assert_eq!(texts.len(), 2, "nothing of the words is lost");
    }
}
