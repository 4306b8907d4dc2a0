//! What agents write, as Telegram gets it.

use homing_domain::split::Unit;
use homing_fuzz::{Reading, fuzz};
use homing_telegram::markup::{
    CAPTION_UNITS, ENTITIES, Part, TEXT_UNITS, render, render_caption, render_plain,
};

use crate::text;

#[test]
fn telegram_markup() {
    fuzz("telegram-markup", |input| {
        let text = text(input);
        let parts = render(&text);
        for part in &parts {
            holds(part, TEXT_UNITS);
        }
        for (index, part) in render_caption(&text).iter().enumerate() {
            holds(
                part,
                if index == 0 {
                    CAPTION_UNITS
                } else {
                    TEXT_UNITS
                },
            );
        }
        let plain = render_plain(&text);
        for part in &plain {
            holds(part, TEXT_UNITS);
            assert!(part.entities.is_empty());
        }
        if parts.is_empty() && !plain.is_empty() {
            // Nothing but marks.
            assert!(
                !text.chars().any(char::is_alphabetic) || text.contains(['`', '~', '[', '&']),
                "{text:?} is lost"
            );
        }
        Reading::of(parts.iter().any(|part| !part.entities.is_empty()))
    });
}

/// What Telegram asks of a message: length, number of entities, and entities that nest, are not blank and end between characters.
fn holds(part: &Part, limit: usize) {
    assert!(Unit::Utf16.measure(&part.text) <= limit);
    assert!(!part.text.trim().is_empty() && part.text.trim_end() == part.text);
    assert!(!part.text.contains(|character: char| character.is_control() && !matches!(character, '\n' | '\t')));
    assert!(part.entities.len() <= ENTITIES);
    let units: Vec<u16> = part.text.encode_utf16().collect();
    let mut around: Vec<usize> = Vec::new();
    let mut before = 0;
    for entity in &part.entities {
        let end = entity.offset + entity.length;
        let inside = String::from_utf16(&units[entity.offset..end]).unwrap();
        assert!(!inside.trim().is_empty(), "{part:?}");
        assert!(before <= entity.offset, "{part:?}");
        before = entity.offset;
        around.retain(|outer| *outer > entity.offset);
        assert!(around.iter().all(|outer| end <= *outer), "{part:?}");
        around.push(end);
    }
}
