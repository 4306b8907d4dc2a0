//! What holds for every text.

use proptest::prelude::*;

use super::super::{Input, LONGEST, MOST, grant_key, look};

/// Pieces that mean something to a shell, in any order.
fn shell_like() -> impl Strategy<Value = String> {
    let piece = proptest::sample::select(vec![
        "rm",
        "-rf",
        "ls",
        "sh",
        "-c",
        "eval",
        "sudo",
        "env",
        "xargs",
        "find",
        "-exec",
        "echo",
        "curl",
        "python3",
        "git",
        "a=",
        "$a",
        "${a",
        "}",
        "{",
        "$(",
        "$((",
        "((",
        "$[",
        "]",
        "\"${x:-",
        "alias a=",
        "cd ",
        "))",
        "(",
        ")",
        "`",
        "'",
        "\"",
        "$'",
        "\\",
        "\n",
        " ",
        " ",
        " ",
        ";",
        ";;",
        "&",
        "&&",
        "|",
        "||",
        "<<EOF\n",
        "EOF\n",
        "<",
        ">",
        ">>",
        ">&",
        "<(",
        "<<<",
        "#",
        "*",
        "?",
        "[",
        "[[",
        "]]",
        "if ",
        "then ",
        "else ",
        "fi",
        "for ",
        "in ",
        "do ",
        "done",
        "case ",
        "esac",
        "while ",
        "function ",
        "f()",
        "~",
        "/",
        "/etc",
        "/dev/sda",
        "é",
        "\u{a0}",
        "\u{e000}",
        "\0",
        "1",
        "=",
        "!",
        "{}",
        "{a,b}",
    ]);
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

/// Words of letters; none of them is a shell's.
fn harmless_word() -> impl Strategy<Value = String> {
    "[a-z0-9][a-z0-9._/=:@%+,-]{0,12}"
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn looking_always_ends_with_few_reasons(command in prop_oneof![shell_like(), r"(?s).{0,200}"]) {
        let dangers = look(&command);
        prop_assert!(dangers.len() <= MOST);
        for danger in &dangers {
            prop_assert!(!danger.why.is_empty());
            prop_assert!(!danger.part.contains(|character: char| character.is_control()));
        }
        prop_assert_eq!(&look(&command), &dangers, "the same text, the same answer");
    }

    #[test]
    fn what_comes_after_does_not_hide_what_was_before(rest in shell_like()) {
        let command = format!("rm -rf x\n{rest}");
        prop_assert!(look(&command).iter().any(|danger| danger.part == "rm -rf x"), "{:?}", command);
    }

    #[test]
    fn quoting_a_harmless_word_does_not_make_it_dangerous(words in proptest::collection::vec(harmless_word(), 1..5), at in 0..5usize, quote in 0..3usize) {
        let plain = format!("cat {}", words.join(" "));
        prop_assume!(look(&plain).is_empty());
        let mut quoted = words.clone();
        let at = at % words.len();
        quoted[at] = match quote {
            0 => format!("'{}'", words[at]),
            1 => format!("\"{}\"", words[at]),
            _ => words[at].chars().map(|character| format!("\\{character}")).collect(),
        };
        prop_assert_eq!(look(&format!("cat {}", quoted.join(" "))), vec![]);
    }

    #[test]
    fn quotes_hide_nothing(at in 0..2usize, quote in 0..4usize) {
        let word = "rm";
        let (head, tail) = word.split_at(at);
        let written = match quote {
            0 => format!("{head}''{tail}"),
            1 => format!("{head}\"{tail}\""),
            2 => format!("{head}\\{tail}"),
            _ => format!("'{head}'{tail}"),
        };
        prop_assert!(!look(&format!("{written} -rf x")).is_empty(), "{}", written);
    }

    #[test]
    fn what_is_written_in_parts_is_asked_about_like_the_whole(text in shell_like(), cuts in proptest::collection::vec(0..120usize, 1..4), at in 0..4usize) {
        let command = ["bash", "zsh", "python3", "psql"][at];
        let whole = Input::of(command, true).hear(&text);
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| text.floor_char_boundary(*cut)).collect();
        cuts.push(text.len());
        cuts.sort_unstable();
        let (mut input, mut from, mut asked) = (Input::of(command, true), 0, false);
        for cut in cuts {
            let heard = input.hear(&text[from..cut]);
            asked |= !heard.dangers.is_empty();
            (input, from) = (heard.after, cut);
        }
        prop_assert!(asked || whole.dangers.is_empty(), "{:?}: {:?}", text, whole.dangers);
    }

    #[test]
    fn what_is_complete_is_asked_about_as_a_command_is(text in shell_like()) {
        let command = format!("{text}\nrm -rf x\n");
        let found = look(&command).iter().any(|danger| danger.part == "rm -rf x");
        let heard = Input::of("bash", false).hear(&command);
        prop_assert!(!found || heard.dangers.iter().any(|danger| danger.part == "rm -rf x"), "{:?}", command);
    }

    #[test]
    fn a_key_is_final_and_as_dangerous_as_its_command(command in shell_like()) {
        let key = grant_key(&command);
        prop_assert_eq!(grant_key(&key), key.clone());
        let rules = |text: &str| look(text).iter().map(|danger| danger.rule).collect::<Vec<_>>();
        prop_assert_eq!(rules(&key), rules(&command), "{:?}", command);
    }
}

/// Texts of which a careless reader would read parts again and again. A quadratic one would not end while anybody waits.
#[test]
fn hostile_texts_are_read_in_linear_time() {
    for piece in [
        "$(",
        "`",
        "\\`",
        "(",
        "{ ",
        "'",
        "\"",
        "\"$(",
        "${",
        "${a:-",
        "$((",
        "((",
        "((a",
        "((a)",
        "((a))",
        "(($(",
        "((`",
        "((a;",
        "$[",
        "$[[",
        "\"${a:-'",
        "\"${a:-'\"",
        "cat <<E\n\\\n",
        "a\\\n",
        "alias a=b;a;",
        "alias a='b;b';b;alias b='a;a';",
        "<<E\n",
        "<<E <<F ",
        "a=",
        "a=$a",
        "if ",
        "case x in ",
        "for x in ",
        "f() ",
        "| ",
        "; ",
        "&",
        "\\",
        "$'",
        "[[ ",
        "sh -c '",
        "env ",
        "sudo ",
        "eval ",
        "xargs ",
        "find . -exec ",
        "{a,b}",
        "{",
        "*",
        "<(",
        "\n",
        "é",
        "#",
        "# \n",
        "a b ",
        "DROP ",
        "/* ",
        "x|",
        "x;",
        "git -c a=b ",
        "-e ",
        "echo 'x' | sh;",
        "rm x;",
        "v=1;echo $v;",
        "../",
        "/",
    ] {
        for prefix in [
            "",
            "a=x; for f in 1 2; do ",
            "psql -c '",
            "sed '",
            "python3 -c '",
        ] {
            read(prefix, piece, LONGEST / 16);
        }
    }
    for piece in [
        "$(", "env ", "x;", "a=$a", "<<E\n", "rm x;", "'", "(($(", "((a)", "$[", "cd a;",
    ] {
        read("", piece, LONGEST);
        let heard = Input::of("zsh", true).hear(&piece.repeat(LONGEST / piece.len()));
        assert!(heard.dangers.len() <= MOST && heard.before.is_empty());
    }
    // Twice as long as what is read at all.
    assert_eq!(look(&"$(".repeat(LONGEST)).len(), 1);
}

fn read(prefix: &str, piece: &str, size: usize) {
    let text = format!(
        "{prefix}{}",
        piece.repeat((size - prefix.len()) / piece.len())
    );
    assert!(look(&text).len() <= MOST);
    assert!(grant_key(&text).len() <= text.len());
}

/// A folder may be as long as the text, and every path may begin in it.
#[test]
fn a_long_folder_is_not_followed_again_and_again() {
    let size = 100_000;
    let long = |part: &str, size: usize| part.repeat(size / part.len());
    let texts = [
        long("cd a;", size),
        format!("cd {}; {}", long("a/", size / 2), long("cat x;", size / 2)),
        format!("cd {}; {}", long("a/", 4_000), long("cat x;", size)),
        format!("cd {}; cat {}", long("a/", 4_000), long("x ", size)),
        format!("cd {}; cat {}", long("a/", 4_000), long("<x ", size)),
        format!("cd {}; {}", long("a/", 4_000), long("(cd b);", size)),
        format!("cd {}; {}", long("a/", 4_000), long(">x;", size)),
    ];
    for text in texts {
        assert!(!look(&text).is_empty(), "{}", &text[..20]);
        let heard = Input::of("bash", false).hear(&text);
        assert!(!heard.dangers.is_empty(), "{}", &text[..20]);
    }
    let everyday = format!(
        "cd /home/me/projects/a-name-of-some-length/src; {}",
        long("cat one two;", 60_000)
    );
    assert_eq!(look(&everyday), vec![]);
}
