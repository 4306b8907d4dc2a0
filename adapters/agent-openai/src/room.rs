//! What fits into a model. Pure.

use super::client::{Calibration, ChatMessage, ChatRequest, estimate_request};

/// Text that stays of a tool result when there is no room for more, in bytes.
const STUB: usize = 200;
/// A server that names no limit holds so many tokens at least, however often it refuses.
const LEAST: u64 = 1_024;

/// What is known of a model: how it counts, and how much it holds where a server said so.
#[derive(Debug, Clone, Copy, Default)]
pub struct Known {
    pub calibration: Calibration,
    limit: Option<u64>,
}

impl Known {
    /// A server refused a prompt of about so many tokens. Where it names no limit, the prompt was one too many.
    pub fn refused(&mut self, limit: Option<u64>, prompt: u64) {
        let seen = limit.unwrap_or((prompt / 10 * 9).max(LEAST)).max(1);
        self.limit = Some(self.limit.map_or(seen, |known| known.min(seen)));
    }
}

/// How much of a model's window is for what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    pub window: u64,
    /// For the answer.
    pub output: u64,
}

impl Room {
    pub fn of(context_tokens: u64, output_tokens: u64, known: &Known) -> Room {
        let window = known
            .limit
            .map_or(context_tokens, |limit| limit.min(context_tokens));
        Room {
            window,
            output: output_tokens.min(window / 2).max(1),
        }
    }

    /// For everything but the answer.
    pub const fn input(self) -> u64 {
        self.window.saturating_sub(self.output)
    }
}

pub fn tokens(request: &ChatRequest, known: &Known) -> u64 {
    known.calibration.apply(estimate_request(request))
}

/// Takes the oldest long tool result out of what a turn has done; `false` if there is none left.
pub fn elide_oldest(done: &mut [ChatMessage]) -> bool {
    for message in done {
        if let ChatMessage::ToolResult { text, .. } = message
            && text.len() > STUB * 2
        {
            let head = &text[..text.floor_char_boundary(STUB)];
            *text = format!(
                "{head}\n[Homing: the rest of this result, {} bytes, was taken out to make room; call the tool again for what you still need]",
                text.len() - head.len()
            );
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(text: String) -> ChatMessage {
        ChatMessage::ToolResult {
            call: "a".into(),
            text,
        }
    }

    #[test]
    fn a_refusal_makes_the_window_smaller_and_never_larger() {
        let mut known = Known::default();
        let window = |known: &Known| Room::of(8_000, 2_000, known).window;
        assert_eq!(window(&known), 8_000);
        known.refused(None, 5_000);
        assert_eq!(window(&known), 4_500);
        known.refused(Some(4_096), 4_400);
        assert_eq!(window(&known), 4_096);
        known.refused(Some(100_000), 4_000);
        assert_eq!(window(&known), 4_096);
        assert_eq!(Room::of(8_000, 3_000, &known).output, 2_048);
    }

    #[test]
    fn results_are_taken_out_one_after_another_and_say_so() {
        let long = || result("é".repeat(1_000));
        let mut done = [
            long(),
            ChatMessage::User("x".repeat(5_000)),
            long(),
            result("short".into()),
        ];
        assert!(elide_oldest(&mut done));
        assert!(
            matches!(&done[0], ChatMessage::ToolResult { text, .. } if text.contains("1800 bytes, was taken out"))
        );
        assert_eq!(done[2], long());
        assert!(elide_oldest(&mut done));
        assert!(!elide_oldest(&mut done));
        assert_eq!(done[3], result("short".into()));
    }
}
