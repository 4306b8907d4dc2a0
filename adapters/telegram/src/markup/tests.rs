#![allow(clippy::unwrap_used, reason = "tests")]

mod cuts;
mod properties;

use super::*;

/// A part with its entities written as tags, so that a test can be read. Fails if they cross, or begin or end inside a character.
fn tagged(part: &Part) -> String {
    let mut open: Vec<(usize, &str)> = Vec::new();
    let mut coming = part.entities.iter().peekable();
    let mut at = 0;
    let mut text = String::new();
    let ends = part.text.chars().map(char::len_utf16).chain([0]);
    for (character, length) in part.text.chars().map(Some).chain([None]).zip(ends) {
        while let Some((_, tag)) = open.pop_if(|(end, _)| *end == at) {
            text.push_str(&format!("</{tag}>"));
        }
        assert!(open.iter().all(|(end, _)| *end > at), "crossing: {part:?}");
        while let Some(entity) = coming.next_if(|entity| entity.offset == at) {
            assert!(entity.length > 0, "blank: {part:?}");
            let (tag, attribute) = tag(&entity.kind);
            text.push_str(&format!("<{tag}{attribute}>"));
            open.push((at + entity.length, tag));
        }
        text.extend(character);
        at += length;
    }
    assert!(
        coming.next().is_none() && open.is_empty(),
        "out of range: {part:?}"
    );
    text
}

fn tag(kind: &Kind) -> (&'static str, String) {
    let named = |attribute: &Option<String>| {
        attribute
            .as_ref()
            .map_or(String::new(), |value| format!(" {value}"))
    };
    match kind {
        Kind::Bold => ("b", String::new()),
        Kind::Italic => ("i", String::new()),
        Kind::Strikethrough => ("s", String::new()),
        Kind::Spoiler => ("spoiler", String::new()),
        Kind::Code => ("code", String::new()),
        Kind::Pre { language } => ("pre", named(language)),
        Kind::TextLink { url } => ("a", format!(" {url}")),
        Kind::Blockquote => ("quote", String::new()),
        Kind::ExpandableBlockquote => ("folded", String::new()),
    }
}

fn shown(markdown: &str) -> String {
    let parts: Vec<String> = render(markdown).iter().map(tagged).collect();
    parts.join("\n=====\n")
}

fn shows(cases: &[(&str, &str)]) {
    for (markdown, expected) in cases {
        assert_eq!(shown(markdown), *expected, "of {markdown:?}");
    }
}

#[test]
fn styles_become_entities() {
    shows(&[
        ("plain words", "plain words"),
        (
            "**b** and *i* and ~~s~~",
            "<b>b</b> and <i>i</i> and <s>s</s>",
        ),
        ("***both***", "<i><b>both</b></i>"),
        ("**b *bi* b**", "<b>b <i>bi</i> b</b>"),
        ("*a **b** c*", "<i>a <b>b</b> c</i>"),
        ("**outer __inner__ outer**", "<b>outer inner outer</b>"),
        (
            "snake_case_name 2*3*4 a * b",
            "snake_case_name 2<i>3</i>4 a * b",
        ),
        (r"\*not\* \`code\`", "*not* `code`"),
        (
            "# Title *x*\ntext\n## Next",
            "<b>Title <i>x</i></b>\n\ntext\n\n<b>Next</b>",
        ),
        ("😀 **a😀** b", "😀 <b>a😀</b> b"),
    ]);
}

#[test]
fn one_tilde_means_about() {
    shows(&[("~5 or ~10~ of ~x~", "~5 or ~10~ of ~x~")]);
}

#[test]
fn code_stands_in_nothing_but_quotes() {
    shows(&[
        ("run `make **x**` now", "run <code>make **x**</code> now"),
        (
            "**see `x` there**",
            "<b>see</b> <code>x</code> <b>there</b>",
        ),
        ("# `only`", "<code>only</code>"),
        ("[see `x`](https://e.org)", "<a https://e.org>see x</a>"),
        ("> quoted `x`", "<quote>quoted <code>x</code></quote>"),
        ("`  `", ""),
    ]);
}

#[test]
fn fences_keep_language_and_indentation() {
    shows(&[
        (
            "```rust title=x\n  fn a() {}\n\n  b\n```\nafter",
            "<pre rust>  fn a() {}\n\n  b</pre>\n\nafter",
        ),
        (
            "before\n```\n**x** <b>\n```",
            "before\n\n<pre>**x** <b></pre>",
        ),
        ("```c++,ignore\n\n\n x\n\n```", "<pre c++> x</pre>"),
        ("~~~{.py}\nx\n~~~", "<pre>x</pre>"),
        ("    indented", "<pre>indented</pre>"),
        ("a\n```\n```\nb", "a\n\nb"),
        ("```sh\nmake", "<pre sh>make</pre>"),
        (
            "- item\n  ```sh\n  make\n  ```\n- next",
            "• item\n<pre sh>make</pre>\n• next",
        ),
    ]);
}

#[test]
fn links_that_telegram_takes_are_links_and_others_show_their_address() {
    shows(&[
        (
            "[docs](https://e.org/a?b=c#d)",
            "<a https://e.org/a?b=c#d>docs</a>",
        ),
        (
            "[**bold** docs](http://e.org:8080)",
            "<a http://e.org:8080><b>bold</b> docs</a>",
        ),
        (
            "**[docs](http://e.org)**",
            "<a http://e.org><b>docs</b></a>",
        ),
        (
            "[chat](tg://resolve?domain=x)",
            "<a tg://resolve?domain=x>chat</a>",
        ),
        (
            "<https://e.org/x>",
            "<a https://e.org/x>https://e.org/x</a>",
        ),
        (
            "[](https://e.org/x)",
            "<a https://e.org/x>https://e.org/x</a>",
        ),
        ("https://bare.org/a_b_c", "https://bare.org/a_b_c"),
        ("[file](src/main.rs)", "file (src/main.rs)"),
        ("[src/main.rs](src/main.rs)", "src/main.rs"),
        (
            "[write](mailto:a@e.org) <b@e.org>",
            "write (a@e.org) b@e.org",
        ),
        (
            "[here](http://localhost:8080/x)",
            "here (http://localhost:8080/x)",
        ),
        (
            "[x](javascript:alert(1)) [y](http://) [z]()",
            "x (javascript:alert(1)) y (http://) z",
        ),
        (
            "[bank](https://bank.org@evil.org)",
            "bank (https://bank.org@evil.org)",
        ),
        (
            "![plot](https://e.org/p.png)",
            "<a https://e.org/p.png>plot</a>",
        ),
        (
            "![](https://e.org/p.png)",
            "<a https://e.org/p.png>https://e.org/p.png</a>",
        ),
        (
            "[![build](https://e.org/b.svg)](https://e.org/ci)",
            "<a https://e.org/ci>build</a>",
        ),
        ("[not a link] and [half](", "[not a link] and [half]("),
    ]);
}

#[test]
fn references_are_followed_and_unused_ones_are_kept() {
    shows(&[
        (
            "see [it][1]\n\n[1]: https://e.org",
            "see <a https://e.org>it</a>",
        ),
        (
            "Sources below.\n\n[1]: https://e.org\n[2]: https://f.org",
            "Sources below.\n\n[1]: https://e.org\n[2]: https://f.org",
        ),
        (
            "said[^n].\n\n[^n]: by **him**",
            "said[n].\n\n[n] by <b>him</b>",
        ),
    ]);
}

#[test]
fn lists_are_written_with_bullets_numbers_and_boxes() {
    shows(&[
        (
            "- a\n- b\n  - c\n    1. d\n- e",
            "• a\n• b\n  • c\n    1. d\n• e",
        ),
        ("3. a\n4. b", "3. a\n4. b"),
        ("- a\n\n- b\n\n  more\n\nend", "• a\n• b\n  more\n\nend"),
        (
            "- [ ] open\n- [x] done\n1. [x] first",
            "☐ open\n☑ done\n\n1. ☑ first",
        ),
        (
            "- **bold** item\n- `code`",
            "• <b>bold</b> item\n• <code>code</code>",
        ),
        ("text\n- a\n-\n- b", "text\n\n• a\n•\n• b"),
        ("- - a", "• • a"),
        ("* one\n  two", "• one\n  two"),
    ]);
}

#[test]
fn quotes_are_entities_and_long_ones_are_folded() {
    shows(&[
        ("> one\n> two\n\nend", "<quote>one\ntwo</quote>\n\nend"),
        ("> a\n>\n> > b\n>\n> c", "<quote>a\n\nb\n\nc</quote>"),
        (">       a\n> b", "<quote><pre>  a</pre>\n\nb</quote>"),
        ("> - a\n> - b", "<quote>• a\n• b</quote>"),
        (
            "> ```sh\n> make\n> ```",
            "<quote><pre sh>make</pre></quote>",
        ),
        ("> [!WARNING]\n> hot", "<quote>Warning: hot</quote>"),
        (">", ""),
    ]);
    let long = "> line\n".repeat(9);
    assert!(
        shown(&long).starts_with("<folded>line\nline"),
        "{}",
        shown(&long)
    );
}

#[test]
fn tables_are_aligned_and_their_links_come_below() {
    shows(&[
        (
            "| name | n |\n|:--|--:|\n| a | 1 |\n| 日本 **b** | 100 |",
            "<pre>name   │   n\n───────┼────\na      │   1\n日本 b │ 100</pre>",
        ),
        (
            "|a|\n|-|\n|[x](https://e.org) `c`|",
            "<pre>a\n───\nx c</pre>\n\n<a https://e.org>x</a>",
        ),
        (
            "|a|b|\n|:-:|-|\n|ccc||",
            "<pre> a  │ b\n────┼──\nccc │</pre>",
        ),
    ]);
}

#[test]
fn breaks_and_rules_are_lines() {
    shows(&[
        ("a\nb  \nc\\\nd", "a\nb\nc\nd"),
        ("a\n\n\n\nb", "a\n\nb"),
        ("a\n\n---\n\nb", "a\n\n──────────\n\nb"),
    ]);
}

#[test]
fn html_is_shown_and_never_interpreted() {
    shows(&[
        ("<b>x</b> &amp; &lt;i&gt;", "<b>x</b> & <i>"),
        ("<div>\n*a*\n</div>\n\nb", "<div>\n*a*\n</div>\n\nb"),
        ("<!-- note -->", "<!-- note -->"),
    ]);
    assert!(render("<b>x</b>")[0].entities.is_empty());
}

#[test]
fn bars_hide_and_what_is_hidden_stays_so() {
    shows(&[
        (
            "it is ||the *butler*||.",
            "it is <spoiler>the <i>butler</i></spoiler>.",
        ),
        ("||run `x` now||", "<spoiler>run x now</spoiler>"),
        ("**see ||`x` y|| z**", "<b>see <spoiler>x y</spoiler> z</b>"),
        ("a || b || c", "a || b || c"),
        ("a||b||c", "a||b||c"),
        (r"\||no|| |||x|||", "||no|| |||x|||"),
        ("||open\n\nclose||", "||open\n\nclose||"),
        ("`||x||`", "<code>||x||</code>"),
        ("||a *||b||* c||", "<spoiler>a <i>b</i> c</spoiler>"),
        ("|| ||", "|| ||"),
        ("||||", "||||"),
    ]);
}

#[test]
fn control_characters_are_left_out() {
    shows(&[
        ("a\0b\u{7}c\u{1b}[0m\u{85}", "abc[0m"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("a&#7;b&#0;", "ab\u{fffd}"),
        (
            "`a\0`\n```x\u{1}y\nb\u{2}\n```",
            "<code>a</code>\n\n<pre xy>b</pre>",
        ),
    ]);
}

#[test]
fn nothing_to_see_is_no_part() {
    for blank in [
        "",
        " ",
        "\n\n\t",
        "\0",
        "\u{200b}",
        "\u{2060}\n\u{feff}",
        "```\n\n```",
        "** **\u{3164}",
        "[a]: <\u{200b}",
    ] {
        let parts = render(blank);
        assert!(
            parts
                .iter()
                .all(|part| !part.text.chars().all(document::is_unseen)),
            "{blank:?}: {parts:?}"
        );
        assert!(render_plain("\u{200b}\n ").is_empty());
    }
    assert!(render("\n\u{200b}").is_empty() && render_caption("").is_empty());
}

#[test]
fn entities_are_serialised_like_those_of_the_bot_api() {
    let parts = render("😀 **b** [l](https://e.org)\n```rust\nx\n```\n\n```\ny\n```\n> q");
    let json = serde_json::to_value(&parts[0].entities).unwrap();
    let expected = serde_json::json!([
        {"type": "bold", "offset": 3, "length": 1},
        {"type": "text_link", "offset": 5, "length": 1, "url": "https://e.org"},
        {"type": "pre", "offset": 8, "length": 1, "language": "rust"},
        {"type": "pre", "offset": 11, "length": 1},
        {"type": "blockquote", "offset": 14, "length": 1},
    ]);
    assert_eq!(json, expected);
}
