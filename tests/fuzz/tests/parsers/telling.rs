//! What is made of a program's output: cleaned, redacted, cut, fenced, split.

use std::time::Duration;

use homing_domain::block::{self, Bounds, Told};
use homing_domain::notification::Kind;
use homing_domain::process::Ending;
use homing_domain::redact::redact;
use homing_domain::split::{Limit, Unit, split};
use homing_fuzz::{Reading, fuzz};

use crate::text;

const FENCE: &str = "k3v9q7x2";

#[test]
fn blocks() {
    fuzz("block", |input| {
        let text = text(input);
        let command = text.lines().next().unwrap_or_default();
        let matched: Vec<String> = text.lines().skip(1).take(3).map(str::to_owned).collect();
        let bounds = Bounds {
            command_chars: 20 + input.len() % 40,
            output_bytes: 16 + input.len() % 200,
            max_items: 2,
        };
        let done = Told {
            ending: Some(Ending::Code(3)),
            ran_for: Some(Duration::from_secs(9)),
            output_tail: input,
            output_total: input.len() as u64,
            ..Told::new(Kind::Completed, "prc_1", command)
        };
        let seen = Told {
            matched_lines: &matched,
            suppressed: 4,
            ..Told::new(Kind::Matched, "prc_2", command)
        };
        let told = [done, seen, done];
        fences_hold(&block::render(&told, FENCE, bounds), bounds);
        let plain = block::plain(&told, bounds);
        assert!(
            plain.len() <= told.len() * (bounds.output_bytes * 4 + bounds.command_chars * 8 + 300),
            "{}",
            plain.len()
        );
        assert!(!plain.contains(
            |character: char| character.is_control() && !matches!(character, '\n' | '\t')
        ));
        let shown = block::output(input, input.len() as u64, bounds.output_bytes);
        assert!(
            shown.len() <= bounds.output_bytes * 3 + 100,
            "{}",
            shown.len()
        );
        Reading::of(!input.is_empty())
    });
}

/// Output stands between markers, cannot end its fence, and is not longer than it may be.
fn fences_hold(block: &str, bounds: Bounds) {
    let (opening, closing) = (format!("<<<{FENCE}\n"), format!("\n{FENCE}>>>\n"));
    // The first lines name both markers, on one line.
    let (_, items) = block.split_once("]\n").unwrap();
    for (index, fenced) in items.split(&opening).enumerate() {
        if index == 0 {
            assert!(!fenced.contains(FENCE), "{fenced:?}");
            continue;
        }
        let (inside, after) = fenced.split_once(&closing).unwrap();
        assert!(
            inside.len() <= bounds.output_bytes + "…".len(),
            "{inside:?}"
        );
        assert!(
            !inside.contains(FENCE) && !after.contains(FENCE),
            "{fenced:?}"
        );
        assert!(!inside.contains(
            |character: char| character.is_control() && !matches!(character, '\n' | '\t')
        ));
    }
}

#[test]
fn cleaning_is_final() {
    fuzz("clean", |input| {
        let once = block::clean(input);
        assert!(!once.contains(
            |character: char| character.is_control() && !matches!(character, '\n' | '\t')
        ));
        assert_eq!(block::clean(once.as_bytes()), once);
        Reading::of(!once.is_empty())
    });
}

#[test]
fn redaction() {
    const SECRET: &str = "Zq9xW7Lw2Kp4Vn8T";
    fuzz("redact", |input| {
        let text = text(input);
        let once = redact(&text);
        assert_eq!(redact(&once), once, "twice is once");
        let named = format!("{text}\npassword={SECRET}\n");
        assert!(!redact(&named).contains(SECRET), "a named secret stays");
        Reading::of(once != text)
    });
}

#[test]
fn splitting() {
    fuzz("split", |input| {
        let text = text(input);
        for unit in [Unit::Utf16, Unit::Chars, Unit::Bytes] {
            let limit = Limit {
                unit,
                max: 4 + input.len() % 97,
            };
            let parts = split(&text, limit);
            for part in &parts {
                assert!(
                    unit.measure(part) <= limit.max,
                    "{part:?} is longer than {limit:?}"
                );
                assert!(!part.trim().is_empty());
            }
            if !text.contains(['`', '~']) {
                assert_eq!(
                    letters(&parts.concat()),
                    letters(&text),
                    "only whitespace is lost"
                );
            }
            assert_eq!(parts.is_empty(), text.trim().is_empty());
        }
        Reading::of(!text.trim().is_empty())
    });
}

fn letters(text: &str) -> String {
    text.split_whitespace().collect()
}
