//! The bot's token, which is a password.
//!
//! **Invariant:** it prints as nothing. Whoever needs it asks by [`Token::reveal`]; every text that may hold it goes through [`Token::redact`].

use std::fmt;

/// As BotFather gives it: `123456:ABC…`.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "this is no token of a Telegram bot; BotFather gives one like 123456789:AA… (digits, a colon, letters, digits, `_` and `-`)"
)]
pub struct TokenError;

/// Shorter texts are no secret, and would be found everywhere.
const SHORTEST_SECRET: usize = 8;
const HIDDEN: &str = "<token>";

impl Token {
    pub fn new(text: impl Into<String>) -> Result<Token, TokenError> {
        let text = text.into();
        let is_token = text.split_once(':').is_some_and(|(bot, secret)| {
            let is_secret = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
            !bot.is_empty()
                && bot.bytes().all(|byte| byte.is_ascii_digit())
                && !secret.is_empty()
                && secret.bytes().all(is_secret)
        });
        is_token.then_some(Token(text)).ok_or(TokenError)
    }

    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    /// The text without the token and without its secret half, wherever an error may have picked them up.
    pub(crate) fn redact(&self, text: &str) -> String {
        let secret = self.0.split_once(':').map_or("", |(_, secret)| secret);
        let text = text.replace(&self.0, HIDDEN);
        match secret.len() >= SHORTEST_SECRET {
            true => text.replace(secret, HIDDEN),
            false => text,
        }
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(HIDDEN)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]
mod tests {
    use super::*;

    #[test]
    fn a_token_prints_as_nothing_and_is_taken_out_of_texts() {
        let token = Token::new("123:abcdefghIJK_-").unwrap();
        assert_eq!(format!("{token:?}"), "<token>");
        let error = "error for http://x/bot123:abcdefghIJK_-/getMe and abcdefghIJK_-";
        assert_eq!(
            token.redact(error),
            "error for http://x/bot<token>/getMe and <token>"
        );
    }

    #[test]
    fn what_is_no_token_is_refused_without_being_repeated() {
        for text in ["", "abc", "12:", ":abc", "12a:abc", "12:a b", "12:a/b"] {
            let error = Token::new(text).unwrap_err().to_string();
            assert!(error.contains("BotFather"), "{error}");
        }
    }
}
