//! Where long texts are cut.

use super::*;
use homing_domain::split::Unit;

fn units(text: &str) -> usize {
    Unit::Utf16.measure(text)
}

/// With small limits, so that a test can be read.
fn cut_at(markdown: &str, limit: usize) -> Vec<String> {
    cut::cut(&reader::read(markdown), limit, limit)
        .iter()
        .map(tagged)
        .collect()
}

#[test]
fn what_fits_is_one_part() {
    assert_eq!(render(&"x".repeat(4096)).len(), 1);
    assert_eq!(render(&"x".repeat(4097)).len(), 2);
    assert_eq!(render(&format!("{}\n\n\n ", "x".repeat(4096))).len(), 1);
    assert_eq!(render(&"😀".repeat(2048)).len(), 1);
    assert_eq!(render(&"😀".repeat(2049)).len(), 2);
}

#[test]
fn only_the_first_part_is_a_caption() {
    let parts = render_caption(&"x".repeat(5_000));
    let lengths: Vec<usize> = parts.iter().map(|part| units(&part.text)).collect();
    assert_eq!(lengths, [1_024, 3_976]);
}

#[test]
fn the_largest_border_wins() {
    for (text, limit, expected) in [
        (
            "one two.\n\nthree.\nfour five six",
            24,
            vec!["one two.", "three.\nfour five six"],
        ),
        (
            "one two\nthree. four five six",
            20,
            vec!["one two", "three. four five six"],
        ),
        (
            "one two three. four five six",
            20,
            vec!["one two three.", "four five six"],
        ),
        ("one two three four", 10, vec!["one two", "three four"]),
        ("onetwothreefour", 6, vec!["onetwo", "threef", "our"]),
        (
            "你好吗。我很好。谢谢你们大家",
            9,
            vec!["你好吗。我很好。", "谢谢你们大家"],
        ),
        (
            "A\n\nlong line that goes on and on",
            20,
            vec!["A\n\nlong line that", "goes on and on"],
        ),
    ] {
        assert_eq!(cut_at(text, limit), expected);
    }
}

#[test]
fn an_entity_that_is_cut_goes_on() {
    assert_eq!(
        cut_at("**one two *three four* five**", 12),
        ["<b>one two</b>", "<b><i>three four</i></b>", "<b>five</b>"]
    );
    assert_eq!(
        cut_at("> one two\n> three four", 10),
        ["<quote>one two</quote>", "<quote>three four</quote>"]
    );
}

#[test]
fn a_cut_outside_of_entities_is_better_if_one_is_near() {
    assert_eq!(
        cut_at("some words **bold words here** end", 16),
        ["some words", "<b>bold words here</b>", "end"]
    );
    assert_eq!(
        cut_at("some **bold words that are long**", 16),
        ["some <b>bold words</b>", "<b>that are long</b>"]
    );
}

/// ha#52093, PR#91891: a cut inside of a link lost it.
#[test]
fn a_link_that_fits_is_not_cut() {
    assert_eq!(
        cut_at("word [one two three four](https://e.org) end", 20),
        ["word", "<a https://e.org>one two three four</a>", "end"]
    );
    assert_eq!(
        cut_at("abcdef[ghijkl](https://e.org)mno", 8),
        ["abcdef", "<a https://e.org>ghijkl</a>mn", "o"]
    );
    assert_eq!(
        cut_at("[one two three](https://e.org)", 8),
        ["<a https://e.org>one two</a>", "<a https://e.org>three</a>"]
    );
}

#[test]
fn code_goes_on_in_its_language_and_is_cut_at_lines() {
    assert_eq!(
        cut_at("Look:\n```py\nif a:\n\n    b c()\n    d\n```\nend", 18),
        [
            "Look:\n\n<pre py>if a:</pre>",
            "<pre py>    b c()\n    d</pre>",
            "end"
        ]
    );
    assert_eq!(
        cut_at("```py\nabcdefghij klm\n```", 8),
        ["<pre py>abcdefgh</pre>", "<pre py>ij klm</pre>"]
    );
}

#[test]
fn no_part_has_more_entities_than_telegram_reads() {
    let parts = render(&"**a** ".repeat(250));
    let counts: Vec<usize> = parts.iter().map(|part| part.entities.len()).collect();
    assert_eq!(counts.iter().sum::<usize>(), 250);
    assert!(counts.iter().all(|count| *count <= ENTITIES), "{counts:?}");
    let nested = render(&format!("> ***~~{}~~***", "`x` y ".repeat(250)));
    assert!(nested.iter().all(|part| part.entities.len() <= ENTITIES));
    assert!(
        render(&"**a**\u{301}".repeat(250))
            .iter()
            .all(|part| part.entities.len() <= ENTITIES)
    );
}

#[test]
fn graphemes_stay_whole_unless_one_alone_is_too_long() {
    let family = "👨‍👩‍👧‍👦";
    assert_eq!(cut_at(&family.repeat(3), 12), [family, family, family]);
    assert_eq!(
        cut_at(&format!("**{family}{family}**"), 12),
        [format!("<b>{family}</b>"), format!("<b>{family}</b>")]
    );
    assert_eq!(cut_at("🇩🇪🇩🇪🇩🇪", 9), ["🇩🇪🇩🇪", "🇩🇪"]);
    let accented = cut_at("<https://e.org>\u{301}", 13);
    assert_eq!(accented.len(), 2);
    assert!(accented[1].ends_with("g</a>\u{301}"), "{accented:?}");
    let monster = format!("e{}", "\u{301}".repeat(10_000));
    let parts = render_plain(&monster);
    assert_eq!(parts.len(), 3);
    assert_eq!(
        parts
            .iter()
            .map(|part| part.text.as_str())
            .collect::<String>(),
        monster
    );
}

#[test]
fn plain_text_is_cut_the_same_and_not_interpreted() {
    let parts = render_plain("**a** `b`\r\n> c\0");
    assert_eq!(parts.len(), 1);
    assert_eq!(parts[0].text, "**a** `b`\n> c");
    assert!(parts[0].entities.is_empty());
    let long = "```\nword ".repeat(2_000);
    let joined: String = render_plain(&long)
        .into_iter()
        .map(|part| part.text)
        .collect();
    assert_eq!(
        joined.split_whitespace().collect::<String>(),
        long.split_whitespace().collect::<String>()
    );
}

/// Not timed: work that grows with the square would not end within the runner's patience.
#[test]
fn hostile_texts_take_no_time_to_speak_of() {
    let length = 60_000;
    for piece in [
        "*",
        "*a ",
        "a**b",
        "_a__b ",
        "[",
        "![",
        "[a](",
        "[a](http://a.b)",
        "`",
        "`a` ",
        ">",
        "> ",
        "- ",
        "1. ",
        "<",
        "<!-- ",
        "~~a~",
        "||",
        "||a ",
        "*||a",
        "\\",
        "&amp;",
        "x",
        " ",
        "\u{301}",
        "🇩🇪",
        "**a** ",
        "> *a\n",
        "|a",
        "|a|b\n|-|-\n",
        "a|b\n-|-\n",
        "[^a]: b\n",
        "[a]: b\n",
        "- x\n\n",
        "```\n",
        "```\n\n  x",
        "# a\n",
        "**x *y ",
        "\n",
        "\t",
        "**a `b` ",
        "> - 1. ",
        "***",
        "[[a]](b) ",
        "[`a`](http://b.c) ",
        "<a@b.c> ",
    ] {
        check(&piece.repeat(length / piece.len()));
    }
    let half = |piece: &str| piece.repeat(length / 2 / piece.len());
    for (one, two) in [
        (">", "a\n"),
        ("- ", "a\n"),
        ("- ", "\n"),
        (">", ">\n"),
        ("*", "a*"),
        ("[", "](a)"),
        ("[a]: b\n", "[a]"),
        ("```\n", " "),
        ("|a", "\n|-"),
        ("*a ", "b* "),
    ] {
        check(&format!("{}a\n{}", half(one), half(two)));
    }
    let wide = format!(
        "|a|b|\n|-|-|\n|{}|c|\n{}",
        "x".repeat(length),
        half("|y|z|\n")
    );
    check(&wide);
}

fn check(markdown: &str) {
    for part in render(markdown) {
        assert!(units(&part.text) <= TEXT_UNITS && part.entities.len() <= ENTITIES);
    }
}
