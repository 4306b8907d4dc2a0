//! Shell commands that somebody may have to be asked about.

use homing_domain::danger::{MOST, grant_key, look};
use homing_fuzz::{Reading, fuzz};

use crate::text;

#[test]
fn dangers() {
    fuzz("danger", |input| {
        let text = text(input);
        let dangers = look(&text);
        assert!(dangers.len() <= MOST);
        for danger in &dangers {
            assert!(!danger.why.is_empty());
            assert!(danger.part.chars().count() < 2_000, "{}", danger.part);
            assert!(!danger.part.contains(char::is_control), "{}", danger.part);
        }
        // Nothing that follows hides what a shell has run by then.
        let before = look(&format!("rm -rf x\n{text}"));
        assert!(before.iter().any(|danger| danger.part == "rm -rf x"));
        // What is certain to be one quoted word of `echo` is harmless, whatever it says.
        if !text.contains('\'') && !text.chars().any(|c| c.is_control() || !c.is_ascii()) {
            assert_eq!(look(&format!("echo '{text}'")), []);
        }
        let key = grant_key(&text);
        assert_eq!(grant_key(&key), key);
        Reading::of(dangers.is_empty())
    });
}
