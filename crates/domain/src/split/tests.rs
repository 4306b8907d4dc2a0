#![allow(clippy::unwrap_used, reason = "tests")]

use super::*;
use proptest::prelude::*;
use unicode_segmentation::UnicodeSegmentation;

const UNITS: [Unit; 3] = [Unit::Utf16, Unit::Chars, Unit::Bytes];

fn chars(text: &str, max: usize) -> Vec<String> {
    split(
        text,
        Limit {
            unit: Unit::Chars,
            max,
        },
    )
}

#[test]
fn what_fits_is_one_part_and_blank_is_none() {
    assert_eq!(chars("hello there", 11), ["hello there"]);
    assert_eq!(
        chars("  indented\n\nand more", 40),
        ["  indented\n\nand more"]
    );
    for blank in ["", " ", "\n\n \t\n", "\u{3000}\r\n"] {
        assert!(chars(blank, 5).is_empty(), "{blank:?}");
    }
}

#[test]
fn the_largest_border_wins() {
    assert_eq!(
        chars("One two.\n\nThree.\nFour five six", 24),
        ["One two.", "Three.\nFour five six"]
    );
    assert_eq!(
        chars("One two\nthree. four five six", 20),
        ["One two", "three. four five six"]
    );
    assert_eq!(
        chars("One two three. Four five six", 20),
        ["One two three.", "Four five six"]
    );
    assert_eq!(chars("One two three four", 10), ["One two", "three four"]);
    assert_eq!(chars("Onetwothreefour", 6), ["Onetwo", "threef", "our"]);
    assert_eq!(
        chars("“Is it?” he said to them all", 12),
        ["“Is it?”", "he said to", "them all"]
    );
    assert_eq!(
        chars("你好吗。我很好。谢谢你们大家", 9),
        ["你好吗。我很好。", "谢谢你们大家"]
    );
}

#[test]
fn a_border_that_leaves_a_part_nearly_empty_is_passed_over() {
    assert_eq!(
        chars("A\n\nlong line that goes on and on", 20),
        ["A\n\nlong line that", "goes on and on"]
    );
}

#[test]
fn indentation_after_a_cut_is_kept() {
    assert_eq!(
        chars("- first item\n  - second item", 16),
        ["- first item", "  - second item"]
    );
}

#[test]
fn a_fence_is_closed_and_opened_again() {
    let text = "Look:\n```rust title=x\nlet a = 1;\n    let b = 2;\nlet c = 3;\n```\nDone.";
    assert_eq!(
        chars(text, 50),
        [
            "Look:\n```rust title=x\nlet a = 1;\n```",
            "```rust title=x\n    let b = 2;\nlet c = 3;\n```",
            "Done."
        ]
    );
    let tildes = "~~~~\naaaa aaaa\n```\nbbbb bbbb\n~~~~~\nend";
    assert_eq!(
        chars(tildes, 23),
        [
            "~~~~\naaaa aaaa\n```\n~~~~",
            "~~~~\nbbbb bbbb\n~~~~~",
            "end"
        ]
    );
}

#[test]
fn the_fences_own_end_is_not_repeated() {
    let text = "```\n0123456789\n0123456789\n```\nafter that";
    assert_eq!(
        chars(text, 29),
        ["```\n0123456789\n0123456789\n```", "after that"]
    );
    assert_eq!(
        chars(text, 28),
        ["```\n0123456789\n```", "```\n0123456789\n```", "after that"]
    );
    let long_end = format!("```\nab cd ef\n{}\nafter that", "`".repeat(30));
    assert_eq!(chars(&long_end, 20), ["```\nab cd ef\n```", "after that"]);
}

#[test]
fn an_open_fence_at_the_end_is_closed() {
    assert_eq!(chars("```sh\nmake\n", 30), ["```sh\nmake\n```"]);
}

#[test]
fn a_long_line_of_code_is_cut_inside_its_fence() {
    for part in chars(&format!("```\n{}\n```", "x".repeat(100)), 40) {
        assert!(
            part.starts_with("```\nx") && part.ends_with("x\n```"),
            "{part:?}"
        );
    }
}

#[test]
fn a_fence_that_would_fill_the_parts_is_ordinary_text() {
    let text = format!("```{}\ncode here\n```\nafter", "i".repeat(40));
    let parts = chars(&text, 20);
    assert!(parts.iter().all(|part| part.chars().count() <= 20));
    assert!(parts.last().unwrap().ends_with("after"));
}

#[test]
fn backticks_within_a_line_never_become_a_fence() {
    for part in chars("some words then ```and code``` and so on", 20) {
        assert!(!poses(&part), "{part:?}");
    }
}

fn poses(part: &str) -> bool {
    fence::poses_as_fence(part)
}

#[test]
fn graphemes_stay_whole_and_limits_count_their_unit() {
    let family = "👨‍👩‍👧‍👦";
    assert_eq!(
        split(
            &family.repeat(3),
            Limit {
                unit: Unit::Utf16,
                max: 12
            }
        ),
        [family, family, family]
    );
    assert_eq!(
        split(
            "e\u{301}e\u{301}",
            Limit {
                unit: Unit::Chars,
                max: 3
            }
        ),
        ["e\u{301}", "e\u{301}"]
    );
    assert_eq!(
        split(
            "😀😀😀",
            Limit {
                unit: Unit::Utf16,
                max: 4
            }
        ),
        ["😀😀", "😀"]
    );
    assert_eq!(
        split(
            "日本語",
            Limit {
                unit: Unit::Bytes,
                max: 6
            }
        ),
        ["日本", "語"]
    );
    assert_eq!(
        split(
            "a \u{301}b",
            Limit {
                unit: Unit::Chars,
                max: 3
            }
        ),
        ["a \u{301}", "b"]
    );
    assert_eq!(
        split(
            family,
            Limit {
                unit: Unit::Utf16,
                max: 5
            }
        )
        .concat(),
        family
    );
    assert_eq!(
        split(
            "😀",
            Limit {
                unit: Unit::Utf16,
                max: 1
            }
        ),
        ["😀"]
    );
}

#[test]
fn long_texts_take_no_time_to_speak_of() {
    // Quadratic work at this length takes minutes, linear work a fraction of a second.
    let length = 300_000;
    for piece in [
        "x",
        " ",
        "\n",
        "`",
        "`\n",
        "```\n",
        "~~~ x\n\n",
        "a b. ",
        "e\u{301}",
        "\u{301}",
        "🇩🇪",
        "👨‍👩‍👧",
        "- item\n  more words here\n\n",
        "a)\" ",
    ] {
        let text = piece.repeat(length / piece.len());
        for (unit, max) in [(Unit::Utf16, 4096), (Unit::Bytes, 40)] {
            let parts = split(&text, Limit { unit, max });
            assert!(parts.iter().all(|part| unit.measure(part) <= max));
        }
    }
    for text in [
        "```\n".to_owned() + &" ".repeat(length) + "x",
        " ".repeat(length) + "x",
        "```\n".to_owned() + &"\n".repeat(length) + "x",
    ] {
        // Not timed: work that grows with the square would not end within the runner's patience.
        let parts = split(
            &text,
            Limit {
                unit: Unit::Chars,
                max: 40,
            },
        );
        assert!(!parts.is_empty());
    }
}

fn without_whitespace(text: &str) -> String {
    text.chars()
        .filter(|character| !character.is_whitespace())
        .collect()
}

/// An independent reading of fences: whether every one that a part opens is closed in it.
fn is_balanced(part: &str) -> bool {
    let mut open: Option<&str> = None;
    for line in part.lines() {
        let line = line.trim();
        let width = line
            .chars()
            .take_while(|character| line.starts_with(*character))
            .count();
        let marker = if line.starts_with(['`', '~']) && width >= 3 {
            &line[..width]
        } else {
            continue;
        };
        match open {
            None if marker.starts_with('`') && line[width..].contains('`') => {}
            None => open = Some(marker),
            Some(opening) if marker.starts_with(opening) && line.len() == width => open = None,
            Some(_) => {}
        }
    }
    open.is_none()
}

fn without_fence_lines(text: &str) -> String {
    text.lines()
        .filter(|line| !line.trim().starts_with("```") && !line.trim().starts_with("~~~"))
        .collect()
}

fn any_limit() -> impl Strategy<Value = Limit> {
    (
        proptest::sample::select(UNITS.to_vec()),
        prop_oneof![1..12usize, 12..120usize],
    )
        .prop_map(|(unit, max)| Limit { unit, max })
}

/// Answers as agents write them: prose, lists, code.
fn markdown() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        4 => "[a-zé日. ]{0,30}",
        2 => "( {0,4})[a-z]{1,60}",
        1 => Just(String::new()),
        2 => proptest::sample::select(vec!["```", "```rust", "  ```", "````", "~~~", "~~~ sh -x", "```  "]).prop_map(String::from),
    ];
    proptest::collection::vec(line, 0..30).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn parts_fit_and_are_not_blank(text in r"[a-z .\n`~é😀\u{301}\u{200d}]{0,200}|(?s).{0,200}", limit in any_limit()) {
        let max = limit.max.max(limit.unit.largest_char());
        for part in split(&text, limit) {
            prop_assert!(limit.unit.measure(&part) <= max, "{:?}", part);
            prop_assert!(!part.trim().is_empty());
        }
    }

    #[test]
    fn text_without_fences_loses_only_whitespace(text in r"[a-z .\r\n\té😀\u{301}\u{200d}]{0,200}|(?s)[^`~]{0,200}", limit in any_limit()) {
        let parts = split(&text, limit);
        prop_assert_eq!(without_whitespace(&parts.concat()), without_whitespace(&text));
        // In order, each where the one before ended.
        let lines = text.replace("\r\n", "\n").replace('\r', "\n");
        let mut rest = lines.as_str();
        for part in &parts {
            let at = rest.find(part.as_str()).unwrap();
            prop_assert!(rest[..at].trim().is_empty());
            rest = &rest[at + part.len()..];
        }
        prop_assert!(rest.trim().is_empty());
    }

    #[test]
    fn graphemes_are_cut_only_if_they_alone_are_too_long(text in r"[a \n😀\u{301}\u{200d}👨👩🇩🇪가각]{0,80}", limit in any_limit()) {
        let whole: Vec<&str> = text.graphemes(true).collect();
        let longest = whole.iter().map(|grapheme| limit.unit.measure(grapheme)).max().unwrap_or(0);
        prop_assume!(longest <= limit.max);
        let borders: Vec<usize> = text.grapheme_indices(true).map(|(at, _)| at).chain([text.len()]).collect();
        let mut from = 0;
        for part in split(&text, limit) {
            let at = from + text[from..].find(part.as_str()).unwrap();
            from = at + part.len();
            prop_assert!(borders.contains(&at) && borders.contains(&from), "{:?}", part);
        }
    }

    #[test]
    fn fences_stay_balanced_and_code_is_kept(text in markdown(), unit in proptest::sample::select(UNITS.to_vec()), max in 64..200usize) {
        let parts = split(&text, Limit { unit, max });
        for part in &parts {
            prop_assert!(is_balanced(part), "{:?}", part);
            prop_assert!(unit.measure(part) <= max);
        }
        let kept: String = parts.iter().map(|part| without_fence_lines(part)).collect();
        prop_assert_eq!(without_whitespace(&kept), without_whitespace(&without_fence_lines(&text)));
    }

    #[test]
    fn whatever_the_fences_nothing_is_lost(text in r"[a-c `~\n]{0,120}", limit in any_limit()) {
        let letters = |text: &str| text.chars().filter(|character| character.is_alphabetic()).collect::<Vec<_>>();
        // Words of an opening line come again, so that the text is found among the parts in order.
        let mut parts = letters(&split(&text, limit).concat()).into_iter();
        for letter in letters(&text) {
            prop_assert!(parts.any(|found| found == letter));
        }
    }
}
