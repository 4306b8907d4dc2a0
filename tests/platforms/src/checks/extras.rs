//! What messages carry beside their words, in both directions.

use std::fs;

use homing_ports::inbox::Inbound;
use homing_ports::platform::{
    Button, Extras, FetchError, Landed, Outgoing, OutgoingFile, Receipt, SendError, Stage,
};

use super::live::preview;
use crate::Scene;
use crate::kept::Heard;
use crate::scene::place_of;
use crate::world::{SeenFile, Spot, Trouble, Upload};

pub async fn formatting_that_is_refused_costs_itself_only(scene: &mut Scene<'_>) {
    let origin = scene.origin(Spot::Topic).await;
    let platform = scene.platform();
    let part = platform.render("some **bold** and `code`").remove(0);
    let mut outgoing = scene.outgoing(&origin, &part.text);
    outgoing.extras.markup = part.markup;
    platform.send(outgoing.clone()).await.unwrap();
    scene.world.trouble(Trouble::FormattingRefused);
    platform.send(outgoing).await.unwrap();
    let seen = scene.world.seen();
    assert_eq!(seen.len(), 2);
    assert_eq!((seen[0].formatted, seen[1].formatted), (true, false));
    assert_eq!(seen[1].text, "some bold and code");
    assert_eq!(seen[1].place, place_of(&origin));
}

/// Up to the 64 bytes that the port promises.
pub async fn a_pressed_button_is_what_it_says(scene: &mut Scene<'_>) {
    for spot in scene.spots() {
        let origin = scene.origin(spot).await;
        let long = format!("/choose {spot:?} {}", "x".repeat(64));
        let button = |label: &str, says: &str| Button {
            label: label.into(),
            says: says.into(),
        };
        let says = [format!("/yes {spot:?}"), long[..64].to_owned()];
        let mut outgoing = scene.outgoing(&origin, "May I?");
        outgoing.extras.buttons = vec![
            vec![button("Yes", &says[0])],
            vec![button("Other", &says[1])],
        ];
        let receipt = scene.platform().send(outgoing).await.unwrap();
        let seen = scene.world.seen().pop().unwrap();
        assert_eq!(seen.buttons, [[says[0].clone()], [says[1].clone()]]);
        scene.world.press(spot, &receipt.message.unwrap(), &says[1]);
        let pressed = scene.inbox.arrived(&says[1]).await;
        assert_eq!(place_of(&pressed.origin), place_of(&origin));
        assert_eq!(pressed.origin.chat_type, origin.chat_type);
        scene.all_confirmed().await;
    }
}

/// Not a power of two, no text, more than one packet.
fn some_bytes() -> Vec<u8> {
    (0..300_017_u32)
        .map(|number| (number.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect()
}

fn with_file(scene: &mut Scene<'_>, outgoing: Outgoing, name: &str) -> Outgoing {
    let path = scene.path(name);
    fs::write(&path, some_bytes()).unwrap();
    Outgoing {
        extras: Extras {
            file: Some(OutgoingFile {
                path,
                name: name.into(),
            }),
            ..Extras::default()
        },
        ..outgoing
    }
}

pub async fn a_file_arrives_byte_for_byte_with_its_words(scene: &mut Scene<'_>) {
    for spot in [Spot::Topic, Spot::Private] {
        let origin = scene.origin(spot).await;
        let before = scene.world.seen().len();
        let outgoing = scene.outgoing(&origin, "what was asked for");
        let outgoing = with_file(scene, outgoing, "result data.bin");
        let receipt = scene.platform().send(outgoing).await.unwrap();
        let seen = scene.world.seen();
        assert_eq!(seen.len(), before + 1);
        let seen = &seen[before];
        assert_eq!(seen.place, place_of(&origin));
        assert_eq!(seen.text, "what was asked for");
        assert_eq!(receipt.message, Some(seen.message.clone()));
        let wanted = SeenFile {
            name: Some("result data.bin".into()),
            bytes: some_bytes(),
        };
        assert!(
            seen.file.as_ref() == Some(&wanted),
            "the file is another one"
        );
    }
}

pub async fn a_file_loses_none_of_its_long_words(scene: &mut Scene<'_>) {
    let origin = scene.origin(Spot::Topic).await;
    let words = "words ".repeat(600);
    let outgoing = scene.outgoing(&origin, words.trim());
    let outgoing = with_file(scene, outgoing, "long.bin");
    scene.platform().send(outgoing).await.unwrap();
    let shown = scene.shown();
    assert!(shown.iter().all(|seen| seen.place == place_of(&origin)));
    assert_eq!(shown.iter().filter(|seen| seen.file.is_some()).count(), 1);
    let texts: Vec<_> = shown.iter().map(|seen| seen.text.as_str()).collect();
    let joined: Vec<_> = texts
        .iter()
        .flat_map(|text| text.split_whitespace())
        .collect();
    assert_eq!(joined.len(), 600);
}

pub async fn a_file_that_is_not_there_is_refused(scene: &mut Scene<'_>) {
    let origin = scene.origin(Spot::Private).await;
    let outgoing = scene.outgoing(&origin, "nothing");
    let outgoing = with_file(scene, outgoing, "gone.bin");
    fs::remove_file(scene.path("gone.bin")).unwrap();
    let outcome = scene.platform().send(outgoing).await;
    assert!(matches!(outcome, Err(SendError::Refused(_))), "{outcome:?}");
    assert_eq!(scene.world.seen(), []);
}

pub async fn an_answer_takes_the_place_of_its_preview_however_often(scene: &mut Scene<'_>) {
    let origin = scene.origin(Spot::Topic).await;
    let platform = scene.platform();
    let shown = platform
        .preview(preview(&origin, "beginning", None, Stage::Going))
        .await;
    let mut outgoing = scene.outgoing(&origin, "the answer");
    outgoing.extras.replaces = Some(shown.unwrap().expect("it is shown"));
    for _ in 0..2 {
        let receipt = platform.send(outgoing.clone()).await.unwrap();
        assert_eq!(receipt.message, outgoing.extras.replaces);
        assert_eq!(scene.shown_texts(&place_of(&origin)), ["the answer"]);
    }
    assert_eq!(scene.shown().len(), 1);
}

pub async fn an_answer_whose_preview_is_gone_is_sent_nevertheless(scene: &mut Scene<'_>) {
    let origin = scene.origin(Spot::Topic).await;
    let platform = scene.platform();
    let shown = platform
        .preview(preview(&origin, "beginning", None, Stage::Going))
        .await;
    let shown = shown.unwrap().expect("it is shown");
    let place = place_of(&origin);
    let gone = Receipt {
        message: Some(shown.clone()),
        landed: Some(Landed {
            chat: place.chat.clone(),
            thread: place.thread.clone(),
        }),
    };
    platform.take_back(&gone).await.unwrap();
    let mut outgoing = scene.outgoing(&origin, "the answer");
    outgoing.extras.replaces = Some(shown);
    platform.send(outgoing).await.unwrap();
    assert_eq!(scene.shown_texts(&place), ["the answer"]);
}

async fn uploaded(scene: &mut Scene<'_>, upload: Upload<'_>) -> Inbound {
    scene.world.upload(Spot::Group, upload);
    let inbound = scene.inbox.arrived(upload.caption).await;
    assert_eq!(inbound.attachments.len(), 1);
    inbound
}

pub async fn an_attachment_is_copied_exactly(scene: &mut Scene<'_>) {
    for (number, name) in ["notes.txt", "ünï cödé 👍.bin", "../../escape"]
        .into_iter()
        .enumerate()
    {
        let caption = format!("file {number}");
        let upload = Upload {
            name,
            bytes: &some_bytes(),
            caption: &caption,
            claimed: None,
        };
        let attachment = uploaded(scene, upload).await.attachments.remove(0);
        assert_eq!(attachment.name.as_deref(), Some(name));
        assert_eq!(attachment.bytes, Some(some_bytes().len() as u64));
        let into = scene.path(&format!("copy {number}"));
        let platform = scene.platform();
        platform.fetch(&attachment, &into).await.unwrap();
        assert!(
            fs::read(&into).unwrap() == some_bytes(),
            "the copy is another file"
        );
        // "A new file": what is there already stays.
        fs::write(&into, "mine").unwrap();
        let outcome = platform.fetch(&attachment, &into).await;
        assert!(
            matches!(outcome, Err(FetchError::Write { .. })),
            "{outcome:?}"
        );
        assert_eq!(fs::read(&into).unwrap(), b"mine");
    }
}

pub async fn a_file_that_is_too_big_is_refused(scene: &mut Scene<'_>) {
    let upload = Upload {
        name: "film.mkv",
        bytes: b"beginning",
        caption: "look at this",
        claimed: Some(3 * 1024 * 1024 * 1024),
    };
    let attachment = uploaded(scene, upload).await.attachments.remove(0);
    let into = scene.path("film");
    for bytes in [attachment.bytes, None] {
        // Also where its size is not known beforehand.
        let attachment = homing_ports::platform::Attachment {
            bytes,
            ..attachment.clone()
        };
        let outcome = scene.platform().fetch(&attachment, &into).await;
        assert!(
            matches!(outcome, Err(FetchError::Refused(_))),
            "{outcome:?}"
        );
        assert!(!into.exists());
    }
}

pub async fn a_copy_that_fails_leaves_no_half_file(scene: &mut Scene<'_>) {
    let upload = Upload {
        name: "notes.txt",
        bytes: &some_bytes(),
        caption: "take this",
        claimed: None,
    };
    let attachment = uploaded(scene, upload).await.attachments.remove(0);
    let into = scene.path("notes");
    scene.close().await;
    scene.world.go_away().await;
    scene.open_unready().await;
    let outcome = scene.platform().fetch(&attachment, &into).await;
    assert!(
        matches!(outcome, Err(FetchError::Temporary(_))),
        "{outcome:?}"
    );
    assert!(!into.exists());
    scene.back().await;
    scene.platform().fetch(&attachment, &into).await.unwrap();
    assert!(fs::read(&into).unwrap() == some_bytes());
}

fn group_of(inbound: &Inbound) -> Option<&str> {
    inbound
        .together
        .as_ref()
        .map(|together| together.group.as_str())
}

async fn stored(scene: &Scene<'_>, count: usize) -> Vec<Inbound> {
    let enough = |heard: &[Heard]| {
        let new = |heard: &&Heard| matches!(heard, Heard::New(_));
        (heard.iter().filter(new).count() >= count).then_some(())
    };
    scene.inbox.until("all of its parts", enough).await;
    scene.inbox.stored()
}

pub async fn an_album_is_one_message_in_its_order(scene: &mut Scene<'_>) {
    scene
        .world
        .album(Spot::Group, &["see these", "", "the last"]);
    let parts = stored(scene, 3).await;
    assert!(group_of(&parts[0]).is_some());
    for (number, part) in parts.iter().enumerate() {
        assert_eq!(group_of(part), group_of(&parts[0]));
        assert_eq!(part.attachments.len(), 1);
        assert_eq!(part.attachments[0].name, Some(format!("{number}.txt")));
    }
    let texts: Vec<_> = parts.iter().map(|part| part.text.as_str()).collect();
    assert_eq!(texts, ["see these", "", "the last"]);
    let single = scene.written(Spot::Group, "and by itself").await;
    assert_eq!(single.together, None);
}

pub async fn a_long_text_that_was_cut_is_one_message(scene: &mut Scene<'_>) {
    let text: String = (0..2_000).map(|number| format!("{number} ")).collect();
    let text = text.trim();
    scene.world.paste(Spot::Group, text);
    let joined = |heard: &[Heard]| {
        let texts = heard.iter().filter_map(|heard| match heard {
            Heard::New(inbound) => Some(inbound.text.as_str()),
            _ => None,
        });
        (texts.collect::<String>() == text).then_some(())
    };
    scene
        .inbox
        .until("all of the text, joined by nothing", joined)
        .await;
    let parts = scene.inbox.stored();
    assert!(parts.len() > 1 && group_of(&parts[0]).is_some());
    for part in &parts {
        assert_eq!(part.together, parts[0].together);
        assert_eq!(part.together.as_ref().unwrap().joined_by, "");
    }
    let elsewhere = scene.written(Spot::Private, "something else").await;
    assert_eq!(elsewhere.together, None);
}

pub async fn a_quoted_message_comes_along(scene: &mut Scene<'_>) {
    let root = scene.world.write(Spot::Group, "the root of it").unwrap();
    scene.world.reply(Spot::Group, &root, "what of it?");
    let reply = scene.inbox.arrived("what of it?").await;
    let quoted = reply.quoted.unwrap();
    assert!(quoted.contains("the root of it"), "{quoted}");
    assert_eq!(scene.inbox.arrived("the root of it").await.quoted, None);
}

pub async fn an_edit_names_the_message_it_changes(scene: &mut Scene<'_>) {
    for spot in [Spot::Private, Spot::Topic] {
        let written = format!("frist in {spot:?}");
        let message = scene.world.write(spot, &written).unwrap();
        let before = scene.inbox.arrived(&written).await;
        assert_eq!(before.origin.chat, scene.world.place(spot).chat);
        for text in ["first", "first!"] {
            scene.world.edit(spot, &message, text);
            let edited = Heard::Edited {
                platform_id: before.platform_id.clone(),
                text: text.into(),
            };
            let edited = |heard: &[Heard]| heard.contains(&edited).then_some(());
            scene.inbox.until("the edit", edited).await;
            scene.restart().await;
        }
    }
    assert_eq!(scene.inbox.texts().len(), 2, "an edit is no message");
}
