//! A text of the agent as messages: within the limit, and all of it.

use homing_domain::split::Unit;
use homing_ports::platform::{Extras, Rendered};

use crate::Scene;
use crate::world::Spot;

/// Counted here once more, not by the code that cuts.
fn length(scene: &Scene<'_>, text: &str) -> usize {
    match scene.platform().capabilities().limit.unit {
        Unit::Utf16 => text.encode_utf16().count(),
        Unit::Chars => text.chars().count(),
        Unit::Bytes => text.len(),
    }
}

fn rendered(scene: &Scene<'_>, markdown: &str) -> Vec<Rendered> {
    let platform = scene.platform();
    let parts = platform.render(markdown);
    assert_eq!(parts, platform.render(markdown), "it is pure");
    for part in &parts {
        let most = platform.capabilities().limit.max;
        assert!(length(scene, &part.text) <= most, "a part is too long");
        assert!(!part.text.trim().is_empty(), "a part is blank");
    }
    parts
}

fn without_space(text: &str) -> String {
    text.split_whitespace().collect()
}

const SCRIPTS: [&str; 9] = [
    "plain words",
    "שלום עולם",
    "مرحبا بالعالم",
    "日本語のテキスト",
    "👩‍👩‍👧‍👦",
    "🏳️‍🌈 🇩🇪 👍🏽",
    "e\u{301}a\u{308}\u{304}",
    "𝔘𝔫𝔦𝔠𝔬𝔡𝔢",
    "हिन्दी में लिखा",
];

/// The same every time.
fn some_text(seed: u64, words: usize) -> String {
    let mut state = seed;
    let mut next = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) as usize % below
    };
    let mut text = String::new();
    for _ in 0..words {
        text.push_str(SCRIPTS[next(SCRIPTS.len())]);
        text.push_str([" ", " ", " ", "\n\n", ""][next(5)]);
    }
    text
}

pub async fn parts_fit_and_lose_nothing(scene: &mut Scene<'_>) {
    for (seed, words) in [
        (1, 1),
        (2, 40),
        (3, 700),
        (4, 3_000),
        (5, 3_001),
        (6, 9_000),
    ] {
        let text = some_text(seed, words);
        let parts = rendered(scene, &text);
        let joined: String = parts.iter().map(|part| without_space(&part.text)).collect();
        assert_eq!(joined, without_space(&text), "seed {seed}");
    }
}

pub async fn no_character_of_any_script_is_cut(scene: &mut Scene<'_>) {
    for character in ["👩‍👩‍👧‍👦", "🇩🇪", "👍🏽", "e\u{301}", "𝔘", "a\u{308}\u{304}", "각"]
    {
        let text = character.repeat(9_000);
        let parts = rendered(scene, &text);
        assert!(parts.len() > 1);
        for part in &parts {
            assert_eq!(part.text.replace(character, ""), "", "{character} was cut");
        }
    }
}

pub async fn a_long_code_block_keeps_every_line(scene: &mut Scene<'_>) {
    let lines: Vec<String> = (0..800)
        .map(|number| format!("    let line_{number} = \"*not bold* <b>{number}</b> [x](y)\";"))
        .collect();
    let text = format!("Before.\n\n```rust\n{}\n```\n\nAfter.", lines.join("\n"));
    let parts = rendered(scene, &text);
    let all = parts.iter().flat_map(|part| part.text.lines());
    // An indentation at the beginning of a message may go.
    let kept: Vec<_> = all
        .map(str::trim)
        .filter(|line| line.contains("line_"))
        .collect();
    let wanted: Vec<_> = lines.iter().map(|line| line.trim()).collect();
    assert_eq!(kept, wanted);
    assert!(parts[0].text.starts_with("Before."));
    assert!(parts.last().unwrap().text.ends_with("After."));
}

pub async fn nothing_renders_to_nothing_and_strange_markdown_to_something(scene: &mut Scene<'_>) {
    for blank in ["", "  ", "\n\n", "\t\n ", "\u{a0}\n"] {
        assert_eq!(rendered(scene, blank), [], "{blank:?}");
    }
    let strange = [
        "**word".to_owned(),
        "[word](".into(),
        "```\nword".into(),
        "```word".into(),
        "[word]: https://example.org".into(),
        "<b>word".into(),
        "word\u{0}\u{7}".into(),
        "| word |\n|--".into(),
        "![word](y)".into(),
        "\u{202e}word\u{202c}".into(),
        "&#0;word&bogus;".into(),
        "> ".repeat(300) + "word",
        "* ".repeat(200) + "word",
        "`".repeat(5_000) + "word",
        "[".repeat(3_000) + "word",
        "*".repeat(9_000) + "word",
        "word\r\nword\rword".into(),
    ];
    for text in strange {
        let parts = rendered(scene, &text);
        let has_word = parts.iter().any(|part| part.text.contains("word"));
        assert!(
            has_word,
            "{:?} became {parts:?}",
            &text[..text.len().min(40)]
        );
    }
}

const MIXED: &str = "# A title

Some **bold**, *italic*, ~~struck~~ and `code` 👩‍👩‍👧‍👦 with [a link](https://example.org/a_(b)?c=d&e=f).

> A quote, with **bold** in it
> and a second line

- one
- two
  - two and a half
1. first
2. second

| a | b |
|---|---|
| 1 | שלום |

```python
print(\"*not bold*\")
```

---
Snake_case_words, 2 * 3 * 4, <tags>, and an end.
";

pub async fn what_was_rendered_is_taken_as_it_is(scene: &mut Scene<'_>) {
    let origin = scene.origin(Spot::Topic).await;
    let platform = scene.platform();
    let long = MIXED.repeat(25);
    for markdown in [MIXED, &long] {
        for part in rendered(scene, markdown) {
            let mut outgoing = scene.outgoing(&origin, &part.text);
            outgoing.extras = Extras {
                markup: part.markup.clone(),
                ..Extras::default()
            };
            platform.send(outgoing).await.unwrap();
            let seen = scene.world.seen().pop().unwrap();
            assert_eq!(seen.text.trim(), part.text.trim());
            assert_eq!(seen.formatted, part.markup.is_some());
        }
    }
}
