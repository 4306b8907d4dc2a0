//! What is shown while an answer is being made: a help to people, and never a delivery.

use homing_domain::ids::TurnId;
use homing_domain::origin::Origin;
use homing_ports::platform::{Preview, Stage};

use crate::Scene;
use crate::scene::place_of;
use crate::world::Spot;

pub(super) fn preview(origin: &Origin, text: &str, shown: Option<String>, stage: Stage) -> Preview {
    Preview {
        turn: TurnId::from_number(7),
        origin: origin.clone(),
        window: None,
        text: text.to_owned(),
        shown,
        stage,
    }
}

pub async fn typing_is_shown_where_it_was_asked_for_and_leaves_no_message(scene: &mut Scene<'_>) {
    for spot in scene.spots() {
        let origin = scene.origin(spot).await;
        let before = scene.world.typing().len();
        scene.platform().typing(&origin).await.unwrap();
        // Some places show none; where one is shown, it is there.
        for shown in &scene.world.typing()[before..] {
            assert_eq!(*shown, scene.world.place(spot), "{spot:?}");
        }
    }
    let shown = scene.world.typing();
    assert!(shown.contains(&scene.world.place(Spot::Private)));
    assert!(shown.contains(&scene.world.place(Spot::Topic)));
    assert_eq!(scene.world.seen(), []);
}

pub async fn previews_are_one_message_that_the_answer_replaces(scene: &mut Scene<'_>) {
    let texts = ["one", "one **two", "one **two** three", "one **two** three"];
    for spot in scene.spots() {
        let origin = scene.origin(spot).await;
        let platform = scene.platform();
        let mut shown = None;
        for text in texts {
            let next = preview(&origin, text, shown.clone(), Stage::Going);
            shown = platform.preview(next).await.unwrap();
            assert!(scene.shown_texts(&place_of(&origin)).len() <= 1, "{spot:?}");
        }
        let mut outgoing = scene.outgoing(&origin, "the answer");
        outgoing.extras.replaces = shown;
        platform.send(outgoing).await.unwrap();
        assert_eq!(
            scene.shown_texts(&place_of(&origin)),
            ["the answer"],
            "{spot:?}"
        );
    }
    assert_eq!(scene.shown().len(), scene.spots().len());
}

pub async fn previews_of_a_place_that_is_away_do_not_keep_the_answer(scene: &mut Scene<'_>) {
    let origin = scene.origin(Spot::Topic).await;
    scene.close().await;
    scene.world.go_away().await;
    scene.open_unready().await;
    let platform = scene.platform();
    let shown = platform
        .preview(preview(&origin, "one", None, Stage::Going))
        .await;
    assert!(!matches!(shown, Ok(Some(_))), "nothing is shown: {shown:?}");
    drop(platform.typing(&origin).await);
    scene.back().await;
    scene.send(&origin, "the answer").await.unwrap();
    assert_eq!(scene.shown_texts(&place_of(&origin)), ["the answer"]);
}
