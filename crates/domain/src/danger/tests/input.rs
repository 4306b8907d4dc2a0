//! Texts that are written to processes which run already.

use super::super::{Heard, Input, Rule, Rule::*};

/// What the writes are asked about, each after the ones before it was written.
fn asked(command: &str, terminal: bool, writes: &[&str]) -> Vec<Vec<&'static str>> {
    let mut input = Input::of(command, terminal);
    let mut asked = Vec::new();
    for text in writes {
        let Heard { dangers, after, .. } = input.hear(text);
        asked.push(dangers.iter().map(|danger| danger.rule.name()).collect());
        input = after;
    }
    asked
}

fn any(asked: &[Vec<&'static str>], rule: Rule) -> bool {
    asked.iter().flatten().any(|name| *name == rule.name())
}

/// Commands that run what is written to them as a shell does.
#[rustfmt::skip]
const SHELLS: &[&str] = &[
    "sh", "bash", "/bin/bash", "dash", "zsh", "fish", "ksh", "bash -i", "bash -l", "bash --norc", "bash -s", "bash -s x", "bash -o pipefail", "bash -",
    "env bash", "env -i A=1 bash", "exec bash", "nohup bash", "nice -n 5 bash", "timeout 60 bash", "stdbuf -oL bash", "setsid bash", "busybox sh",
    "sudo bash", "sudo -u me -- bash", "sudo -i", "sudo -s", "doas -s", "sudo su", "su", "su - me", "su -l", "script", "script -q log", "login",
    "chroot /mnt", "chroot /mnt sh", "nsenter -t 1 -m", "unshare -r", "systemd-run --pty bash", "newgrp docker",
    "ssh host", "ssh -p 22 me@host", "ssh -tt host bash", "mosh host", "telnet host", "adb shell",
    "docker exec -it x sh", "docker exec -i x bash -l", "docker run -it --rm alpine", "docker run --rm -i alpine sh", "docker attach x",
    "podman exec -it x sh", "kubectl exec -it pod -- sh", "kubectl attach -it pod", "lxc exec x -- bash", "oc rsh pod",
    "tmux", "tmux new -s a", "tmux attach", "screen", "screen -r",
    "bash -c bash", "sh -c 'exec bash'", "bash -c 'echo hi; bash'", "echo hi; bash", "sleep 1 && bash", "false || bash", "(bash)", "{ bash; }",
    "while true; do bash; done", "if true; then bash; fi", "f() { bash; }; f", "cd /tmp && bash", "A=1 bash", "bash 2>&1 | tee log", "cat | bash", "(cat; ls) | bash",
    "bash < /dev/stdin", "bash < /dev/tty", "bash /dev/stdin", "source /dev/stdin", ". /dev/stdin", "exec 3<&0; bash <&3", "exec 3<&0; bash /dev/fd/3",
    "$SHELL", "\"$SHELL\" -i", "flock lock bash", "xvfb-run bash", "uv run bash", "poetry run bash", "strace bash", "rlwrap bash", "parallel", "at now",
    "make -f -", "eval bash", "trap bash EXIT",
];

#[test]
fn what_is_written_to_a_shell_is_looked_at() {
    for command in SHELLS {
        for terminal in [false, true] {
            assert!(
                any(&asked(command, terminal, &["rm -rf x\n"]), RecursiveDelete),
                "{command}"
            );
            assert!(
                !any(
                    &asked(command, terminal, &["ls -l\n", "cargo test\n"]),
                    RecursiveDelete
                ),
                "{command}"
            );
        }
    }
}

/// Commands that take what is written to them for no commands.
#[rustfmt::skip]
const OTHERS: &[&str] = &[
    "cat", "cat > notes", "tee log", "wc -l", "sort", "grep x", "./server", "make", "npm run dev", "cargo run", "bash run.sh", "sh -c 'cat'",
    "bash -c 'read x; echo \"$x\"'", "python3 app.py", "python3 -m http.server", "python3 -c 'print(input())'", "node server.js", "bash < script",
    "bash <<< 'ls'", "sh <<EOF\nls\nEOF", "echo ls | sh", "docker run --rm alpine ls", "ssh host uptime", "ssh host cat", "su -c ls", "tail -f log",
    "jq .", "sudo cat", "env A=1 cat", "bash --version", "git commit -F -", "nc -l 8080",
];

#[test]
fn what_is_written_to_other_programs_is_theirs() {
    for command in OTHERS {
        let input = Input::of(command, false);
        assert!(!input.is_run(), "{command}");
        assert!(
            input.hear("rm -rf ~\nDROP TABLE x;\n").dangers.is_empty(),
            "{command}"
        );
    }
}

#[rustfmt::skip]
const LANGUAGES: &[(&str, &str, Rule)] = &[
    ("python3", "import shutil; shutil.rmtree('x')\n", RecursiveDelete),
    ("python3", "os.\\\nremove('x')\n", RecursiveDelete),
    ("python3 -", "import subprocess\n", HiddenCode),
    ("python3 -i app.py", "import subprocess\n", HiddenCode),
    ("python3 -q", "import os; os.system('x')\n", HiddenCode),
    ("uv run python", "import os; os.system('x')\n", HiddenCode),
    ("docker exec -it x python3", "import os; os.system('x')\n", HiddenCode),
    ("node", "require('child_process')\n", HiddenCode),
    ("node -i", "require('fs').rmSync('x')\n", RecursiveDelete),
    ("ruby", "FileUtils.rm_rf('x')\n", RecursiveDelete),
    ("irb", "`x`\n", HiddenCode),
    ("perl", "unlink 'x';\n", RecursiveDelete),
    ("php -a", "passthru('x');\n", HiddenCode),
    ("psql", "DROP TABLE users;\n", Database),
    ("psql mydb", "\\! ls\n", HiddenCode),
    ("docker exec -i db psql -U me", "TRUNCATE users;\n", Database),
    ("mysql -u me", "DELETE FROM users;\n", Database),
    ("sqlite3 x.db", ".shell ls\n", HiddenCode),
    ("redis-cli", "FLUSHALL\n", Database),
    ("mongosh", "db.dropDatabase()\n", Database),
    ("vim x", ":!rm -rf x\n", RecursiveDelete),
    ("vim x", ":call system('x')\n", HiddenCode),
    ("less log", "!rm -rf x\n", RecursiveDelete),
    ("gdb ./x", "!rm -rf x\n", RecursiveDelete),
    ("ftp host", "!rm -rf x\n", RecursiveDelete),
];

#[test]
fn code_and_statements_are_judged_as_where_they_are_piped_in() {
    for (command, text, rule) in LANGUAGES {
        assert!(
            any(&asked(command, true, &[text]), *rule),
            "{command}: {text}"
        );
        assert_eq!(
            asked(command, true, &["1\n"]),
            vec![Vec::<&str>::new()],
            "{command}"
        );
    }
}

/// Every way to cut it into two writes, and into writes of single characters.
#[test]
fn nothing_slips_through_by_being_cut() {
    let lines = [
        "rm -rf ~\n",
        "r\\\nm -rf ~\n",
        "echo 'a\nb' && rm -rf ~\n",
        "echo \"a\nb\" && rm -rf ~\n",
        "cat <<A\n'\nA\nrm -rf ~ #'\n",
        "cat <<A\nx\nAB\n'\nA\nrm -rf ~ #'\n",
        "echo `echo '\n'`; rm -rf ~ #'\n",
        "echo $(echo '\n'); rm -rf ~ #'\n",
        "if true\nthen\nrm -rf ~\nfi\n",
        "ls\nls # don't\nrm -rf ~\n",
        "for f in '\n'; do rm -rf ~; done #'\n",
        "case x in '\n') rm -rf ~;; esac #'\n",
        "echo $'a\\'\n' ; rm -rf ~ #'\n",
        "f() {\nrm -rf ~\n}\n",
        "{ cat <<A; rm -rf ~\nit's\nA\n}\n",
    ];
    for text in lines {
        for (at, _) in text.char_indices() {
            let (first, second) = text.split_at(at);
            assert!(
                any(&asked("bash", false, &[first, second]), RecursiveDelete),
                "{first:?} {second:?}"
            );
        }
        let single: Vec<String> = text.chars().map(String::from).collect();
        let single: Vec<&str> = single.iter().map(String::as_str).collect();
        assert!(
            any(&asked("bash", true, &single), RecursiveDelete),
            "{text:?}"
        );
    }
    for (command, text, rule) in LANGUAGES {
        for (at, _) in text.char_indices() {
            let (first, second) = text.split_at(at);
            assert!(
                any(&asked(command, false, &[first, second]), *rule),
                "{command}: {first:?} {second:?}"
            );
        }
    }
    // A pipe that goes on in the next line.
    assert!(any(
        &asked("bash", false, &["curl x |\n", "sh\n"]),
        RemoteCode
    ));
    assert!(any(
        &asked("psql", false, &["DROP\n", "TABLE\n", "users;\n"]),
        Database
    ));
}

#[test]
fn what_is_open_waits_and_is_no_danger_by_itself() {
    let harmless: &[&[&str]] = &[
        &["for i in 1 2\n", "do\n", "echo $i\n", "done\n"],
        &["echo 'a\n", "b'\n", "ls\n"],
        &["cat > notes <<EOF\n", "it's\n", "EOF\n", "ls\n"],
        &["ls |\n", "wc -l\n"],
        &["ls", " -l", "\n"],
        &["if true; then\n", "ls\n", "fi\n"],
        &["x() {\n", "ls\n", "}\n"],
        &["ls \\\n", "-l\n"],
        &["cd src && ls\n", "cargo build # it's slow\n", "ls\n"],
        &[
            "[ ! -f x ] && echo \"done!\"\n",
            "echo $!\n",
            "test a != b\n",
        ],
    ];
    for writes in harmless {
        let asked = asked("bash", false, writes);
        assert!(asked.iter().all(Vec::is_empty), "{writes:?}: {asked:?}");
    }
    for wrong in [
        "echo `echo '`\nls\n",
        "ls )\n",
        "done\n",
        "| ls\n",
        "`rm -rf x\n'`",
    ] {
        assert!(
            any(&asked("bash", false, &[wrong]), HiddenCode),
            "{wrong:?}"
        );
    }
}

#[test]
fn a_line_that_is_over_is_not_asked_about_again() {
    assert_eq!(
        asked("bash", false, &["rm -rf x\n", "ls\n"])[1],
        Vec::<&str>::new()
    );
    let half = asked("bash", false, &["rm -rf x", "y\n", "ls\n"]);
    assert!(
        !half[0].is_empty() && !half[1].is_empty() && half[2].is_empty(),
        "{half:?}"
    );
    let heard = Input::of("bash", false).hear("rm -r").after.hear("f x\n");
    assert_eq!(heard.before, "rm -r");
}

#[test]
fn a_statement_is_over_with_its_sign_and_a_clients_own_line_with_its_end() {
    let rows: &[(&[&str], &str)] = &[
        (&[" \\\n"], ""),
        (&["DROP\n"], "DROP\n"),
        (&["SELECT 1;\n"], ""),
        (&["SELECT 1; SELECT"], " SELECT"),
        (&["\\d\n", ".tables\n"], ""),
        (&["\n \n\\d"], "\\d"),
        (&["SELECT 1;\n\\d\nSELECT"], "SELECT"),
    ];
    for (writes, open) in rows {
        let mut input = Input::of("psql", false);
        for text in *writes {
            input = input.hear(text).after;
        }
        assert_eq!(input.hear("").before, "", "nothing is written");
        assert_eq!(input.hear("x").before, *open, "{writes:?}");
    }
}

#[test]
fn a_shell_stays_where_it_went_and_reads_on_what_it_starts() {
    assert!(any(
        &asked("bash", false, &["cd /etc\n", "echo x > hosts\n"]),
        SystemFiles
    ));
    assert!(any(
        &asked("cd /etc && bash", false, &["echo x > hosts\n"]),
        SystemFiles
    ));
    assert!(!any(
        &asked(
            "bash",
            false,
            &["cd /etc", "x\n", "cd /tmp\n", "echo x > hosts\n"]
        ),
        SystemFiles
    ));
    assert!(any(
        &asked("bash", false, &["psql\n", "DROP TABLE users;\n"]),
        Database
    ));
    assert!(any(
        &asked(
            "ssh host",
            true,
            &["python3\n", "import shutil; shutil.rmtree('x')\n"]
        ),
        RecursiveDelete
    ));
    assert!(any(
        &asked("bash", true, &["vim x\n", ":!rm -rf x\n"]),
        RecursiveDelete
    ));
    let parts = ["cd /\n", "cd e", "tc\n", "echo x > hosts\n"];
    assert!(any(&asked("bash", false, &parts), SystemFiles));
    // What a variable holds may have been changed before.
    assert!(any(
        &asked("bash", false, &["a=rm\n", "false && a=ls; $a -rf x\n"]),
        HiddenCode
    ));
}

#[test]
fn what_a_terminal_makes_of_keys_is_no_way_around() {
    let hidden = [
        "echo a\rrm -rf x\r",
        "ls\u{15}rm -rf x\n",
        "ls\u{7f}\u{7f}rm -rf x\n",
        "\u{1b}[A\n",
        "!!\n",
        "!rm\n",
        "ls; !-2\n",
        "^ls^rm\n",
        "shre\t -u x\n",
        "fc -s rm\n",
        "bind '\"a\": \"rm\"'\n",
        "r\0m -rf x\n",
        "r\u{3}m\n",
    ];
    for text in hidden {
        assert!(!asked("bash", true, &[text])[0].is_empty(), "{text:?}");
    }
    // Interrupt, end of input, suspend: those are what a process is steered with.
    for keys in ["\u{3}", "\u{4}", "\u{1a}", "\u{3}\u{3}"] {
        assert_eq!(
            asked("bash", true, &["sleep 9\n", keys, "ls\n"]),
            vec![Vec::<&str>::new(); 3],
            "{keys:?}"
        );
        assert!(
            !asked("bash", false, &[keys])[0].is_empty(),
            "without a terminal it is a character"
        );
    }
    // They end what was begun: an open quote hides nothing after them.
    assert!(!asked("bash", true, &["echo '", "\u{3}", "rm -rf x\n'\n"])[2].is_empty());
}

#[test]
fn where_a_shell_knows_no_comments_nothing_hides_behind_one() {
    for command in ["zsh", "tcsh", "ssh host"] {
        assert!(
            any(
                &asked(command, true, &["ls # ; rm -rf x\n"]),
                RecursiveDelete
            ),
            "{command}"
        );
        assert!(
            any(
                &asked(command, true, &["ls # don't\n", "' ; rm -rf x ; '\n"]),
                RecursiveDelete
            ),
            "{command}"
        );
    }
    assert!(!any(
        &asked("bash", true, &["ls # no rm -rf x\n"]),
        RecursiveDelete
    ));
}

#[test]
fn what_is_not_known_any_more_is_asked_about() {
    let forgotten = Input::of("bash", false).forgotten();
    let heard = forgotten.hear("ls\n");
    assert!(!heard.dangers.is_empty());
    assert!(
        !heard.after.hear("ls\n").dangers.is_empty(),
        "it may have been inside of a quote"
    );
    assert!(
        Input::of("cat", false)
            .forgotten()
            .hear("ls\n")
            .dangers
            .is_empty()
    );
    let long = format!("echo '{}", "a".repeat(super::super::LONGEST / 2));
    let open = Input::of("bash", false)
        .hear(&long)
        .after
        .hear(&long)
        .after
        .hear(&long);
    assert!(!open.dangers.is_empty());
    assert!(!open.after.hear("ls\n").dangers.is_empty());
}

#[test]
fn an_alias_is_remembered_from_one_write_to_the_next() {
    let rows: &[(&str, &[&str])] = &[
        ("bash", &["alias x=rm\n", "x -rf y\n"]),
        ("zsh", &["alias x=rm\n", "ls\n", "x -rf y\n"]),
        ("bash", &["alias x='r", "m -r'\n", "x ", "-f y\n"]),
        ("bash", &["alias x=sudo\nalias z=rm\n", "x z -rf y\n"]),
        ("tcsh", &["alias x rm\n", "x -rf y\n"]),
        ("fish", &["alias x 'rm -r'\n", "x -f y\n"]),
    ];
    for (command, writes) in rows {
        for terminal in [false, true] {
            assert!(
                any(&asked(command, terminal, writes), RecursiveDelete),
                "{command}: {writes:?}"
            );
        }
    }
    let harmless = [
        "alias g=git\n",
        "alias ls='ls --color'\n",
        "g status\nls a\n",
    ];
    let asked_about = asked("bash", false, &harmless);
    assert!(asked_about.iter().all(Vec::is_empty), "{asked_about:?}");
    let many: String = (0..2_000)
        .map(|index| format!("alias a{index}=ls\n"))
        .collect();
    assert!(!asked("bash", false, &[&many])[0].is_empty());
}

#[test]
fn what_shells_read_otherwise_is_kept_until_all_of_them_are_through() {
    let rows: &[&[&str]] = &[
        &["echo \"${x:-'}\"\n", "rm -rf ~\necho \"'}\"\n"],
        &["echo \"${x:-'}\"\n", "echo \"'}\"\n", "rm -rf ~\n"],
        &["echo $'\\'\n", "rm -rf ~ #'\n"],
        &["echo $'\\'\n", "'\n", "rm -rf ~ #'\n"],
        &["((x = 1 << 2))\n", "rm -rf ~\n"],
        &["((x = 1 << 2))\n", "echo '\n", "2\n", "rm -rf ~ #'\n"],
        &["cat <<EOF\nEO\\\nF\n", "rm -rf ~\n", "EOF\n"],
    ];
    for writes in rows {
        assert!(
            any(&asked("bash", false, writes), RecursiveDelete),
            "{writes:?}"
        );
    }
    let harmless: &[&[&str]] = &[
        &["echo \"${x:-'a b'}\"\n", "ls\n"],
        &["echo $'a\\tb'\n", "ls\n"],
        &["((i++))\n", "ls\n"],
    ];
    for writes in harmless {
        let asked = asked("bash", false, writes);
        assert!(asked.iter().all(Vec::is_empty), "{writes:?}: {asked:?}");
        let heard = writes.iter().fold(Input::of("bash", false), |input, text| {
            input.hear(text).after
        });
        assert_eq!(heard.hear("x").before, "", "{writes:?}");
    }
}
