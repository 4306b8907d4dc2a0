#![allow(clippy::unwrap_used, reason = "tests")]

use super::*;
use proptest::prelude::*;

const US: &[&str] = &["HomingBot", "@second_bot"];

fn command(text: &str) -> Invocation {
    match parse(text, US) {
        Parsed::Command(invocation) => invocation,
        other => panic!("{text:?} is read as {other:?}"),
    }
}

#[test]
fn a_command_has_a_name_words_and_the_rest_as_typed() {
    let plain = command("  /Adopt  prc_1   now ");
    assert_eq!(
        (plain.name.as_str(), plain.rest.as_str()),
        ("adopt", "prc_1   now")
    );
    assert_eq!(plain.arguments, ["prc_1", "now"]);
    assert_eq!(
        command("/new"),
        Invocation {
            name: "new".into(),
            arguments: vec![],
            rest: String::new()
        }
    );
    assert_eq!(command("/a_b-9 x").name, "a_b-9");
    assert_eq!(command(&format!("/{}", "a".repeat(32))).name.len(), 32);
}

#[test]
fn a_path_a_lone_slash_and_a_comment_are_text() {
    let long = format!("/{}", "a".repeat(33));
    for text in [
        "",
        "/",
        "//",
        "// note",
        "/ new",
        "/2",
        "/-x",
        "/usr/bin/foo bar",
        "/new.",
        "/new!",
        "/naïve",
        "hello /new",
        "new",
        &long,
    ] {
        assert_eq!(parse(text, US), Parsed::NotACommand, "{text:?}");
    }
}

#[test]
fn a_mention_decides_whom_it_is_for() {
    assert_eq!(command("/ps@homingbot all").arguments, ["all"]);
    assert_eq!(command("/ps@Second_Bot").name, "ps");
    assert_eq!(parse("/ps@other_bot all", US), Parsed::ForAnotherBot);
    assert_eq!(parse("/ps@homingbot", &[]), Parsed::ForAnotherBot);
    assert_eq!(parse("/ps@", US), Parsed::NotACommand);
    assert_eq!(parse("/ps@ homingbot", US), Parsed::NotACommand);
    assert_eq!(parse("/ps@homingbot/x", US), Parsed::NotACommand);
}

#[test]
fn arguments_are_of_the_commands_own_line() {
    let two = command("/title Release day\nand then\n  some more ");
    assert_eq!(two.arguments, ["Release", "day"]);
    assert_eq!(two.rest, "Release day\nand then\n  some more");
    assert!(command("/new\nlet us begin").arguments.is_empty());
}

#[test]
fn quotes_and_backslashes() {
    let said = |line: &str| words(line);
    assert_eq!(said(r#"a "b c" 'd "e"' f"#), ["a", "b c", "d \"e\"", "f"]);
    assert_eq!(said(r#""say \"hi\" \\ \d""#), [r#"say "hi" \ \d"#]);
    assert_eq!(
        said(r"a\ b re:\d+\s 'x\y' c:\dir"),
        ["a b", r"re:\d+\s", r"x\y", r"c:\dir"]
    );
    assert_eq!(said(r#"--name="a b" x"#), ["--name=a b", "x"]);
    assert_eq!(said("don't and won't"), ["don't", "and", "won't"]);
    assert_eq!(said(r#"an "open end"#), ["an", "\"open", "end"]);
    assert_eq!(said("“from a telephone” „so“"), ["from a telephone", "so"]);
    assert_eq!(said(r#""" ''"#), ["", ""]);
    assert_eq!(said(r"end\"), [r"end\"]);
    assert_eq!(said(r"'x\' y"), [r"x\", "y"]);
    assert!(said("  \t ").is_empty());
}

#[test]
fn shell_forms() {
    use ShellRequest::*;
    let watch = |patterns: &[&str], command: &str| Watch {
        patterns: patterns.iter().map(|pattern| (*pattern).into()).collect(),
        command: command.into(),
    };
    let cases = [
        ("!make test", Run("make test".into())),
        (" !./run.sh\necho 2 ", Run("./run.sh\necho 2".into())),
        (
            "!bg sleep 20; echo 'a  b'",
            Background("sleep 20; echo 'a  b'".into()),
        ),
        ("!bgrun", Run("bgrun".into())),
        ("! bg", Run("bg".into())),
        ("! watch -n1 date", Run("watch -n1 date".into())),
        ("!delegate ls", Delegate("ls".into())),
        ("!", Help),
        ("  ! ", Help),
        ("!help", Help),
        ("!help cd", Run("help cd".into())),
        ("!watch ERR -- make -- all", watch(&["ERR"], "make -- all")),
        (
            r#"!watch "build failed" 're:^\d+ x' — make  "a b""#,
            watch(&["build failed", r"re:^\d+ x"], "make  \"a b\""),
        ),
        (r#"!watch "--" -- cat"#, watch(&["--"], "cat")),
        ("make", NotShell),
        ("", NotShell),
        ("!!", NotShell),
        ("!?", NotShell),
        ("wow!", NotShell),
    ];
    for (text, expected) in cases {
        assert_eq!(shell_request(text), expected, "{text:?}");
    }
}

#[test]
fn what_is_missing_is_named() {
    for (text, mention) in [
        ("!bg", "needs a command"),
        ("!delegate ", "needs a command"),
        ("!watch", "` -- `"),
        ("!watch ERR make", "` -- `"),
        ("!watch -- make", "needs a pattern"),
        ("!watch '' -- make", "is empty"),
        ("!watch ERR --", "after ` -- `"),
    ] {
        match shell_request(text) {
            ShellRequest::Malformed(reason) => {
                assert!(reason.contains(mention), "{text:?}: {reason}")
            }
            other => panic!("{text:?} is read as {other:?}"),
        }
    }
}

#[test]
fn a_slip_is_guessed_and_a_stranger_is_not() {
    let known = [
        "new",
        "reset",
        "resume",
        "ps",
        "processes",
        "log",
        "kill",
        "adopt",
    ];
    for (typed, meant) in [
        ("nwe", "new"),
        ("rest", "reset"),
        ("RESUM", "resume"),
        ("proceses", "processes"),
        ("adotp", "adopt"),
        ("proc", "processes"),
    ] {
        assert_eq!(suggest(typed, &known), Some(meant), "{typed}");
    }
    for typed in ["", "weather", "zzz", "re"] {
        assert_eq!(suggest(typed, &known), None, "{typed}");
    }
}

proptest! {
    #[test]
    fn nothing_panics_and_names_keep_their_grammar(text in r#"[/!]?[a-zA-Z@"' \\\n=—“-]{0,40}|.{0,60}"#) {
        let _ = (shell_request(&text), suggest(&text, &["new", "reset"]));
        if let Parsed::Command(invocation) = parse(&text, US) {
            prop_assert!(is_command_name(&invocation.name) && !invocation.name.contains(char::is_uppercase));
            prop_assert!(text.contains(&invocation.rest));
        }
    }

    #[test]
    fn a_quoted_word_is_read_back(word in r#"[a-z "'\\]{0,12}"#) {
        let quoted = format!("\"{}\"", word.replace('\\', r"\\").replace('"', "\\\""));
        prop_assert_eq!(words(&format!("{quoted} end")), [word, "end".into()]);
    }

    #[test]
    fn distance_is_symmetric(a in "[ab]{0,6}", b in "[ab]{0,6}") {
        prop_assert_eq!(distance(&a, &b), distance(&b, &a));
        prop_assert_eq!(distance(&a, &b) == 0, a == b);
    }
}
