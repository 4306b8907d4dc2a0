//! Messages that a person sent as one: albums, and long texts that their client had to cut.
//!
//! **Invariant:** asked twice about the same message, the answer is the same: an update may come again.

use std::collections::VecDeque;

use homing_ports::inbox::Together;

use crate::place::Place;
use crate::reading::Message;
use crate::utf16;

/// A text of this length is probably the beginning of a longer one: clients cut at 4,096 units.
const PROBABLY_CUT: usize = 4_000;
/// The next part of a pasted text comes within this time, in seconds.
const NEXT_PART: i64 = 2;
const ALBUM_WHOLE_MS: u64 = 700;
const PASTE_WHOLE_MS: u64 = 1_000;
/// How many albums and pastes are remembered.
const REMEMBERED: usize = 64;

/// What came lately.
#[derive(Debug, Default)]
pub(crate) struct Albums {
    /// Albums of which one part was addressed to the bot.
    asked: VecDeque<String>,
    /// The newest long text of each person in each place that had one.
    long: VecDeque<Long>,
}

#[derive(Debug)]
struct Long {
    place: Place,
    speaker: i64,
    message: i64,
    date: i64,
    group: String,
}

impl Albums {
    /// A part of this album is for the bot, and so is the rest.
    pub fn note_asked(&mut self, album: &str) {
        if !self.is_asked(album) {
            remember(&mut self.asked, album.to_owned());
        }
    }

    pub fn is_asked(&self, album: &str) -> bool {
        self.asked.iter().any(|asked| asked == album)
    }

    /// Whether it goes on a long text that was for the bot.
    pub fn continues(&self, message: &Message) -> bool {
        self.before(message)
            .is_some_and(|long| long.message != message.id)
    }

    /// What an accepted message is a part of.
    pub fn together(&mut self, message: &Message) -> Option<Together> {
        if let Some(album) = &message.album {
            return Some(Together {
                group: format!("album:{album}"),
                whole_after_ms: ALBUM_WHOLE_MS,
                joined_by: "\n".into(),
            });
        }
        let is_text = message.raw.get("text").is_some();
        let is_long = is_text && utf16::units(&message.text) >= PROBABLY_CUT;
        let before = self.before(message).filter(|_| is_text);
        let group = match before {
            Some(long) => long.group.clone(),
            None if is_long => format!("paste:{}:{}", message.place.chat, message.id),
            None => return None,
        };
        if is_long {
            let speaker = message.speaker.as_ref()?.id;
            self.long
                .retain(|long| (long.place, long.speaker) != (message.place, speaker));
            let long = Long {
                place: message.place,
                speaker,
                message: message.id,
                date: message.date,
                group: group.clone(),
            };
            remember(&mut self.long, long);
        }
        Some(Together {
            group,
            whole_after_ms: PASTE_WHOLE_MS,
            joined_by: String::new(),
        })
    }

    fn before(&self, message: &Message) -> Option<&Long> {
        let speaker = message.speaker.as_ref()?.id;
        self.long.iter().find(|long| {
            (long.place, long.speaker) == (message.place, speaker)
                && long.message <= message.id
                && message.date.saturating_sub(long.date) <= NEXT_PART
        })
    }
}

fn remember<T>(list: &mut VecDeque<T>, item: T) {
    if list.len() >= REMEMBERED {
        list.pop_front();
    }
    list.push_back(item);
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]
mod tests {
    use super::*;
    use crate::reading::{News, read};
    use serde_json::json;

    fn text(id: i64, from: i64, date: i64, length: usize) -> Message {
        let update = json!({"update_id": id, "message": {
            "message_id": id, "date": date, "text": "x".repeat(length),
            "from": {"id": from, "is_bot": false, "first_name": "P"},
            "chat": {"id": -100, "type": "supergroup", "title": "G"},
        }});
        match read(&update) {
            News::Written(message) => *message,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn parts_of_a_long_text_are_one() {
        let mut albums = Albums::default();
        let first = text(10, 1, 100, 4_096);
        let group = albums.together(&first).unwrap();
        assert_eq!(
            (group.group.as_str(), group.joined_by.as_str()),
            ("paste:-100:10", "")
        );
        assert!(!albums.continues(&first), "it begins");
        let second = text(12, 1, 101, 4_050);
        assert!(albums.continues(&second));
        assert_eq!(albums.together(&second).unwrap().group, "paste:-100:10");
        let last = text(13, 1, 103, 20);
        assert!(albums.continues(&last));
        assert_eq!(albums.together(&last).unwrap().group, "paste:-100:10");
        // The same update again.
        assert_eq!(albums.together(&last).unwrap().group, "paste:-100:10");
    }

    #[test]
    fn what_is_somebody_elses_or_later_or_short_is_no_part() {
        let mut albums = Albums::default();
        albums.together(&text(10, 1, 100, 4_096)).unwrap();
        assert_eq!(
            albums.together(&text(11, 2, 100, 20)),
            None,
            "somebody else"
        );
        assert_eq!(
            albums.together(&text(12, 1, 103, 20)),
            None,
            "three seconds later"
        );
        assert_eq!(albums.together(&text(9, 1, 100, 20)), None, "before it");
        assert_eq!(
            Albums::default().together(&text(1, 1, 1, 3_999)),
            None,
            "no client cuts there"
        );
    }
}
