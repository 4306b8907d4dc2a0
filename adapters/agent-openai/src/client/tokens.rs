//! How many tokens a text may be, before a server has counted. Pure.
//!
//! A rule of thumb over what the common tokenizers do: words of English and code take about four letters a token, digits and signs two,
//! other alphabets two, Chinese, Japanese and Korean a token for each character, rarer signs two. Prose is met within a fifth or so, and rather
//! too high than too low. [`Calibration`] then learns from what the server counts what the model at hand makes of the conversation at hand.

use super::message::{ChatMessage, ChatRequest};

/// A role, and the marks around a message.
const PER_MESSAGE: u64 = 4;
/// The marks around a call or a tool.
const PER_CALL: u64 = 8;
/// Shares are counted in twelfths of a token.
const TOKEN: u64 = 12;

pub fn estimate_tokens(text: &str) -> u64 {
    text.chars().map(twelfths).sum::<u64>().div_ceil(TOKEN)
}

const fn twelfths(character: char) -> u64 {
    match character {
        // Indentation goes together.
        ' ' => 2,
        'a'..='z' | 'A'..='Z' => 3,
        // Digits and signs.
        '\0'..='\x7f' => 6,
        // Latin with accents, Greek, Cyrillic, Hebrew, Arabic.
        '\u{80}'..='\u{8ff}' => 6,
        // The rest of the plane, with the CJK scripts.
        '\u{900}'..='\u{ffff}' => 12,
        _ => 24,
    }
}

pub fn estimate_message(message: &ChatMessage) -> u64 {
    let content = match message {
        ChatMessage::System(text) | ChatMessage::Developer(text) | ChatMessage::User(text) => {
            estimate_tokens(text)
        }
        ChatMessage::ToolResult { text, .. } => estimate_tokens(text) + PER_CALL,
        ChatMessage::Assistant(message) => {
            let text = message.text.as_deref().map_or(0, estimate_tokens);
            let calls = message.tool_calls.iter().map(|call| {
                PER_CALL + estimate_tokens(&call.name) + estimate_tokens(&call.raw_arguments)
            });
            text + calls.sum::<u64>()
        }
    };
    content + PER_MESSAGE
}

/// Messages and tools. Reasoning that goes back is not counted: most servers leave it out of the prompt.
pub fn estimate_request(request: &ChatRequest) -> u64 {
    let messages: u64 = request.messages.iter().map(estimate_message).sum();
    let tools = request.tools.iter().map(|tool| {
        PER_CALL
            + estimate_tokens(&tool.name)
            + estimate_tokens(&tool.description)
            + estimate_tokens(&tool.parameters.to_string())
    });
    messages + tools.sum::<u64>()
}

/// What a token is here, compared with the rule of thumb: learnt from each answer's usage.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Calibration {
    factor: f64,
}

impl Default for Calibration {
    fn default() -> Calibration {
        Calibration { factor: 1.0 }
    }
}

impl Calibration {
    /// Each answer counts for a quarter. What is far from any tokenizer (a server that counts only what it read anew) is kept within bounds.
    pub fn learn(&mut self, estimated: u64, counted: u64) {
        if estimated == 0 || counted == 0 {
            return;
        }
        #[expect(clippy::cast_precision_loss, reason = "tokens are far below 2^52")]
        let seen = (counted as f64 / estimated as f64).clamp(0.4, 3.0);
        self.factor += (seen - self.factor) / 4.0;
    }

    pub fn apply(&self, estimated: u64) -> u64 {
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "tokens are far below 2^52, and the factor is positive"
        )]
        let tokens = (estimated as f64 * self.factor).ceil() as u64;
        tokens
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::client::message::{AssistantMessage, ToolCall, ToolSpec};

    /// Counted with OpenAI's `o200k_base`, for comparison.
    #[test]
    fn texts_of_many_languages_are_met_roughly() {
        for (text, counted) in [
            ("The quick brown fox jumps over the lazy dog.", 10),
            (
                "let total: u64 = items.iter().map(|item| item.price).sum();",
                18,
            ),
            (
                "Die Donaudampfschifffahrtsgesellschaft fährt heute nicht.",
                14,
            ),
            ("Быстрая коричневая лиса прыгает через ленивую собаку.", 20),
            ("敏捷的棕色狐狸跳过了懒狗。", 14),
            ("素早い茶色の狐がのろまな犬を飛び越える。", 19),
            (r#"{"command":"ls -la /var/log","notify":true}"#, 14),
            (
                "2026-11-29T21:07:37Z 10.0.0.12 GET /index.html 200 5123",
                30,
            ),
            ("🚀🎉 done 👍", 6),
        ] {
            let estimate = estimate_tokens(text);
            let fits = counted * 3 / 4..=counted * 3 / 2;
            assert!(fits.contains(&estimate), "{text}: {estimate} for {counted}");
        }
    }

    #[test]
    fn everything_that_is_sent_counts() {
        let mut request = ChatRequest::default();
        let mut last = estimate_request(&request);
        assert_eq!((last, estimate_tokens("")), (0, 0));
        let mut grows = |change: fn(&mut ChatRequest)| {
            change(&mut request);
            let now = estimate_request(&request);
            assert!(now > last, "{request:?}");
            last = now;
        };
        grows(|request| request.messages.push(ChatMessage::User(String::new())));
        grows(|request| {
            request
                .messages
                .push(ChatMessage::Assistant(AssistantMessage {
                    tool_calls: vec![ToolCall::default()],
                    ..AssistantMessage::default()
                }));
        });
        grows(|request| {
            request.tools.push(ToolSpec {
                name: "run".into(),
                description: "Runs.".into(),
                parameters: json!({"type": "object"}),
            });
        });
    }

    #[test]
    fn a_calibration_comes_close_and_is_not_thrown_by_one_odd_count() {
        let mut calibration = Calibration::default();
        for _ in 0..20 {
            calibration.learn(1000, 1500);
        }
        assert!((1490..=1501).contains(&calibration.apply(1000)));
        calibration.learn(1000, 1);
        calibration.learn(0, 7);
        calibration.learn(7, 0);
        assert!(calibration.apply(1000) > 1100);
    }

    proptest! {
        #[test]
        fn a_longer_text_has_not_fewer_tokens(text in ".{0,40}", more in ".{0,40}") {
            let both = estimate_tokens(&format!("{text}{more}"));
            prop_assert!(both >= estimate_tokens(&text));
            prop_assert!(both <= estimate_tokens(&text) + estimate_tokens(&more));
        }
    }
}
