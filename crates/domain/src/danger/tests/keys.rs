//! The key of "always allow this command".

use super::super::grant_key;

#[test]
fn blanks_outside_of_quotes_do_not_matter() {
    assert_eq!(
        grant_key("  make   -j8\t&&  make test  "),
        "make -j8 && make test"
    );
    assert_eq!(grant_key("ls  \n  pwd\n"), "ls\npwd\n");
}

#[test]
fn everything_else_does() {
    for (one, other) in [
        ("echo 'a  b'", "echo 'a b'"),
        ("echo \"a  b\"", "echo \"a b\""),
        ("echo a\\  b", "echo a\\ b"),
        ("echo a;b", "echo a; b"),
        ("ls\nrm", "ls rm"),
        ("ls", "LS"),
        ("echo \"\\\"  \"", "echo \"\\\" \""),
        ("cat <<EOF\na  b\nEOF", "cat <<EOF\na b\nEOF"),
        ("echo a\u{a0}b", "echo a b"),
        ("echo 'a' b", "echo a b"),
        ("ls # it's\nrm  x", "ls # it's\nrm x"),
        ("rm -rf ~/\\\n build", "rm -rf ~/build"),
        ("rm -rf ~/\\\n build", "rm -rf ~/\\\nbuild"),
        ("echo \"$(printf \"a  b\")\"", "echo \"$(printf \"a b\")\""),
        ("echo \"${x:-\"a  b\"}\"", "echo \"${x:-\"a b\"}\""),
        ("echo \"`printf \"a  b\"`\"", "echo \"`printf \"a b\"`\""),
        ("x=${y#a  b}", "x=${y#a b}"),
        ("echo $'\\'  x' \\'", "echo $'\\' x' \\'"),
    ] {
        assert_ne!(grant_key(one), grant_key(other), "{one:?}");
    }
}

#[test]
fn a_key_is_its_own_key() {
    for command in [
        "a  b",
        " 'a  ",
        "a\\ ",
        "\"a\\\"  b\"  c",
        "a \n\n b",
        "a \\",
        "a\t\\\n  b",
        "echo \"$(ls  \"a\")\"  b",
        "echo  ${a}",
    ] {
        let key = grant_key(command);
        assert_eq!(grant_key(&key), key, "{command:?}");
    }
}
