//! The key of a model server, as a value that does not print.
//!
//! **Invariant:** the key leaves this type through [`Secret::expose`] only, and only the header of a request is made of that.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use homing_domain::redact::{REDACTED, redact};

/// Shorter values are found in ordinary words; where such a "key" is echoed, its shape does not give it away either.
const SHORTEST_FOUND: usize = 4;

/// A key. Where it came from (a file, the environment) is not known here.
#[derive(Clone)]
pub struct Secret(Arc<str>);

impl Secret {
    /// White space around it belongs to the file that it was in.
    pub fn new(key: &str) -> Secret {
        Secret(key.trim().into())
    }

    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    fn found_in(&self, text: &str) -> bool {
        self.0.len() >= SHORTEST_FOUND && text.contains(&*self.0)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Secret({REDACTED})")
    }
}

/// A text of the server without our key and without anything that looks like one. Redact before cutting: half a key looks like nothing.
pub(crate) fn without_keys(text: &str, key: Option<&Secret>) -> String {
    let text = match key {
        Some(key) if key.found_in(text) => Cow::Owned(text.replace(key.expose(), REDACTED)),
        _ => Cow::Borrowed(text),
    };
    redact(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_does_not_print() {
        let key = Secret::new(" plain-words-key\n");
        assert_eq!(format!("{key:?}"), "Secret([redacted])");
        assert_eq!(key.expose(), "plain-words-key");
    }

    #[test]
    fn our_key_leaves_a_text_even_if_it_looks_like_words_and_other_keys_by_their_shape() {
        let key = Secret::new("plain-words-key");
        let text = "no such key: plain-words-key; nor ghp_0123456789abcdefghijABCDEFGHIJ456789";
        assert_eq!(
            without_keys(text, Some(&key)),
            "no such key: [redacted]; nor [redacted]"
        );
        // What somebody wrote to please a server that asks for none.
        assert_eq!(without_keys("a box", Some(&Secret::new("x"))), "a box");
    }
}
