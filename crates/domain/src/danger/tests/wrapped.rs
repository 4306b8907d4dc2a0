//! Commands behind the options and operands of other programs, and what such programs read when they run.

use super::super::Input;
use super::super::Rule::{self, *};
use super::{asked_about, look, missed};

#[rustfmt::skip]
const ROWS: &[(Rule, &str)] = &[
    // OpenSSH goes on with its options after the host.
    (RecursiveDelete, "ssh host -p 2222 rm -rf /var/www"),
    (RecursiveDelete, "ssh -p 2222 host -tt rm -rf x"),
    (RecursiveDelete, "ssh u@h -- rm -rf x"),
    (RecursiveDelete, "ssh -- host rm -rf x"),
    (RecursiveDelete, "ssh -P tag host rm -rf x"),
    (RecursiveDelete, "ssh host -o 'ProxyCommand rm -rf x'"),
    (RecursiveDelete, "ssh -to RemoteCommand='rm -rf x' host"),
    (SystemState, "ssh host -t sudo reboot"),
    (Privilege, "ssh host -t sudo reboot"),
    (RecursiveDelete, "mosh host -- rm -rf x"),
    (RecursiveDelete, "mosh -p 60001 host -- sh -c 'rm -rf x'"),
    (RecursiveDelete, "mosh --ssh='ssh -p 22' host rm -rf x"),
    (RecursiveDelete, "mosh --ssh='rm -rf x' host"),
    (RecursiveDelete, "sshpass -p x ssh host 'rm -rf /'"),
    (RecursiveDelete, "sshpass -f file ssh -p 22 host rm -rf x"),
    (Database, "docker-compose exec db psql -c 'DROP TABLE users'"),
    (Database, "podman-compose -f x.yml exec -T db psql -c 'DROP TABLE users'"),
    (RecursiveDelete, "docker-compose run --rm web rm -rf x"),
    (RecursiveDelete, "docker compose -p run exec web rm -rf x"),
    (RecursiveDelete, "docker run --entrypoint sh img -c 'rm -rf /w'"),
    (RecursiveDelete, "docker run --rm --entrypoint=/bin/rm img -rf /w"),
    (RecursiveDelete, "podman run --entrypoint '[\"sh\", \"-c\"]' img 'rm -rf /w'"),
    (RecursiveDelete, "docker run -ea=a img rm -rf x"),
    (RecursiveDelete, "docker run --oom-kill-disable img rm -rf x"),
    (RecursiveDelete, "docker container exec web rm -rf x"),
    (RecursiveDelete, "lxc exec web --cwd /x -- rm -rf x"),
    (RecursiveDelete, "kubectl exec pod rm -rf /data"),
    (RecursiveDelete, "kubectl -n exec exec -c web pod rm -rf /data"),
    (RecursiveDelete, "kubectl exec deploy/web -c web -it -- rm -rf /data"),
    (RecursiveDelete, "kubectl exec --unknown value pod -- rm -rf /data"),
    (RecursiveDelete, "kubectl exec pod rm -rf -- /data"),
    (RecursiveDelete, "kubectl exec pod sh -- -c 'rm -rf /data'"),
    (RecursiveDelete, "oc rsh pod rm -rf /data"),
    (RecursiveDelete, "env - rm -rf x"),
    (RecursiveDelete, "env - A=1 rm -rf x"),
    (RecursiveDelete, "env -iS 'rm -rf x'"),
    (RecursiveDelete, "env -vS 'A=1 rm -rf x'"),
    (RecursiveDelete, "env -S'rm -rf x'"),
    (RecursiveDelete, "env -S '-i rm -rf x'"),
    (RecursiveDelete, "env -S 'rm\\_-rf\\_x'"),
    (RecursiveDelete, "env -S rm -rf x"),
    (RecursiveDelete, "env -S 'sh -c' 'rm -rf x'"),
    (RecursiveDelete, "env -S 'sh \"-c\"' 'rm -rf x'"),
    (RecursiveDelete, "env --split-string='-u A rm' -rf x"),
    (RecursiveDelete, "script -qc 'rm -rf x' /dev/null"),
    (RecursiveDelete, "script -qec 'rm -rf x'"),
    (RecursiveDelete, "script -q /dev/null rm -rf x"),
    (RecursiveDelete, "script log -- rm -rf x"),
    (RecursiveDelete, "script -q -- rm -rf x"),
    (RecursiveDelete, "script log -c 'rm -rf x'"),
    (RecursiveDelete, "su -lc 'rm -rf x' me"),
    (RecursiveDelete, "runuser -l me -c 'rm -rf x'"),
    (RecursiveDelete, "runuser -u me -- rm -rf x"),
    (RecursiveDelete, "gosu me rm -rf x"),
    (RecursiveDelete, "su-exec me:me rm -rf x"),
    (RecursiveDelete, "numactl -N 0 --membind 0 rm -rf x"),
    (RecursiveDelete, "sg docker -c 'rm -rf x'"),
    (RecursiveDelete, "sg docker 'rm -rf x'"),
    (RecursiveDelete, "adb shell rm -rf /sdcard"),
    (RecursiveDelete, "adb -s 123 shell -t 'rm -rf /sdcard'"),
    (RecursiveDelete, "vagrant ssh -c 'rm -rf x'"),
    (RecursiveDelete, "vagrant ssh web --command 'rm -rf x'"),
    (RecursiveDelete, "vagrant ssh web -- -t rm -rf x"),
    (RecursiveDelete, "distrobox enter b -- rm -rf x"),
    (RecursiveDelete, "distrobox-enter -n b -e rm -rf x"),
    (RecursiveDelete, "toolbox run rm -rf x"),
    (RecursiveDelete, "toolbox run -c b rm -rf x"),
    (RecursiveDelete, "echo rm -rf x | adb shell"),
    (RecursiveDelete, "echo rm -rf x | distrobox enter b"),
    (HiddenCode, "cat x | vagrant ssh"),
    (RecursiveDelete, "npx -c 'rm -rf x'"),
    (RecursiveDelete, "npx -yc 'rm -rf x'"),
    (RecursiveDelete, "npx --call='rm -rf x'"),
    (RecursiveDelete, "npm exec -c 'rm -rf x'"),
    (RecursiveDelete, "npm exec --call='rm -rf x'"),
    (RecursiveDelete, "pnpm -c exec 'rm -rf x'"),
    (RecursiveDelete, "npx rimraf dist"),
    (RecursiveDelete, "npx -y rimraf@5 dist"),
    (RecursiveDelete, "pnpm dlx rimraf dist"),
    (RecursiveDelete, "yarn dlx rimraf dist"),
    (RecursiveDelete, "rimraf dist"),
    (RecursiveDelete, "direnv exec . rm -rf x"),
    (RecursiveDelete, "mise exec node@20 -- rm -rf x"),
    // What stands for each line.
    (RecursiveDelete, "find . | parallel rm"),
    (RecursiveDelete, "find . | parallel rm {}"),
    (RecursiveDelete, "find . | parallel rm {.}.o"),
    (RecursiveDelete, "find . | parallel -j 4 'cd {//} && rm {/}'"),
    (RecursiveDelete, "find . | parallel --colsep , rm {1}"),
    (RecursiveDelete, "find . | parallel -I% rm %"),
    (RecursiveDelete, "find . | parallel -q sh -c 'rm {}'"),
    (RecursiveDelete, "find . | parallel --tmpdir /tmp --retries 3 rm -rf"),
    (HiddenCode, "cat cmds | parallel sh -c '{}'"),
    (HiddenCode, "cat cmds | parallel '{}'"),
    (HiddenCode, "cat cmds | parallel -j4 {}"),
    (HiddenCode, "cat cmds | parallel bash -c"),
    (RecursiveDelete, "ls | xargs --replace rm -rf {}"),
    (RecursiveDelete, "ls | xargs --max-lines rm -rf"),
    (RecursiveDelete, "ls | xargs --eof rm -rf"),
    (RecursiveDelete, "ls | xargs --max-args 1 rm -rf"),
    (RecursiveDelete, "ls | xargs --max-a 1 rm -rf"),
    (RecursiveDelete, "ls | xargs -iE rm -rf E"),
    (RecursiveDelete, "ls | xargs -l rm -rf"),
    (RecursiveDelete, "ls | xargs -0I% rm %"),
    (RecursiveDelete, "ls | xargs rm -i"),
    (HiddenCode, "ls | xargs -i sh -c {}"),
    (HiddenCode, "ls | xargs --replace=% sh -c %"),
];

#[test]
fn what_other_programs_are_given_to_run_is_looked_at() {
    let missed = missed(ROWS);
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[rustfmt::skip]
const HARMLESS: &[&str] = &[
    "ssh host -p 2222 uptime", "ssh -p 2222 host -t htop", "ssh host -L 8080:localhost:80 -N", "ssh u@h -- ls -la", "ssh -o StrictHostKeyChecking=no host ls", "mosh host -- tmux attach",
    "sshpass -p x ssh host uptime", "docker-compose exec web ls", "docker-compose run --rm web npm test", "docker-compose up -d", "docker run --rm --entrypoint sh img -c 'ls /w'",
    "docker run --rm --entrypoint '' img ls", "docker run -d -p 80:80 --name rm nginx", "kubectl exec pod ls", "kubectl exec -it pod -c web -- ls -la", "kubectl run x --image=nginx",
    "env - ls", "env -iS 'ls -la'", "env -S 'node --test'", "script -qc 'make test' /dev/null", "script -q log", "numactl --membind=0 ./bench", "gosu me ls", "adb shell ls /sdcard", "adb devices", "adb install x.apk", "vagrant ssh -c uptime",
    "vagrant up", "cat x.apk | adb install -", "yes | vagrant box add x", "yes | toolbox create", "kubectl exec -it pod -- psql -c 'SELECT 1'", "docker compose exec db psql -c 'SELECT 1'", "docker-compose exec -T db pg_dump app",
    "npx --yes create-vite@latest app -- --template react", "npm exec --package=x -- y", "ssh -t host 'tmux attach'", "env -u A -i B=1 ls", "env --split-string='ls -la' x",
"distrobox enter b -- ls", "toolbox run ls", "npx -c 'tsc --noEmit'", "npx prettier@3 --write .", "npx eslint src --fix", "npm exec -- tsc", "pnpm exec tsc", "yarn dlx create-react-app x", "npm run rm",
    "find . | parallel gzip", "find . -name '*.png' | parallel convert {} {.}.jpg", "parallel -j4 'gzip -9 {}' ::: a b", "parallel echo {1} {2} ::: a b ::: c d", "ls | parallel 'wc -l {} > {/.}.txt'", "parallel \"awk '{print}' {}\" ::: a",
    "parallel ::: 'make a' 'make b'",
    "ls | xargs -i cp {} /tmp/x", "ls | xargs --replace cp {} /tmp/x", "ls | xargs -I % mv % out", "ls | xargs --max-lines wc -l", "ls | xargs -n1 -P4 gzip", "ls | xargs grep -i sh", "find . -print0 | xargs -0 -r ls -l",
];

#[test]
fn harmless_commands_behind_other_programs_are_not_asked_about() {
    let asked = asked_about(HARMLESS);
    assert!(asked.is_empty(), "{}", asked.join("\n"));
}

/// None of them gives what it runs twice, or the time would double with each.
#[test]
fn wrappers_in_wrappers_come_to_an_end() {
    for wrapper in [
        "script log -- ",
        "script -c x log ",
        "kubectl exec pod ",
        "kubectl exec x pod -- ",
        "vagrant ssh -c x -- ",
        "ssh host -- ",
        "env -S env - ",
        "npx -c x ",
        "npm exec -c x ",
        "parallel -q ",
        "parallel -Ia a ",
        "xargs -i ",
        "docker run --entrypoint env img ",
        "docker-compose exec web ",
    ] {
        look(&format!("{}ls", wrapper.repeat(100)));
    }
}

/// Commands that run what is written to them.
#[rustfmt::skip]
const SHELLS: &[&str] = &[
    "ssh host -t", "ssh host -p 22", "ssh -p 22 host -tt", "ssh u@h --", "ssh host -t bash -l", "mosh host -- bash", "sshpass -p x ssh host", "docker-compose exec web sh", "podman-compose exec web bash", "docker-compose run web", "docker compose run web",
    "docker run -it --entrypoint bash img", "docker run -i --entrypoint=/bin/sh img", "kubectl exec -it pod bash", "kubectl exec -i pod -c web -- bash", "oc rsh pod", "env - bash", "env -iS bash", "script -qc bash /dev/null", "script -q /dev/null bash",
    "gosu me bash", "su-exec me sh", "numactl -N 0 bash", "sg docker", "sg docker -c bash", "adb shell", "adb -s 123 shell", "adb shell sh", "vagrant ssh", "vagrant ssh web -- -t", "distrobox enter b", "distrobox enter b -- bash", "toolbox enter", "toolbox run bash",
    "runuser -l me", "runuser -u me bash", "su -lc bash me", "npx -c bash", "parallel -j4",
];
/// Commands that do not.
#[rustfmt::skip]
const OTHERS: &[&str] = &[
    "ssh host -p 22 cat", "ssh host -t htop", "docker-compose exec -T web cat", "docker run -i --entrypoint cat img", "kubectl exec -i pod -- cat", "kubectl exec -i pod cat", "env - cat", "env -iS cat", "script -qc cat /dev/null", "gosu me cat",
    "adb shell cat", "vagrant ssh -c cat", "distrobox enter b -- cat", "toolbox run cat", "npx serve", "parallel gzip",
];

#[test]
fn what_is_written_to_them_is_looked_at_if_they_run_it() {
    let is_asked = |command: &str| {
        let heard = Input::of(command, true).hear("rm -rf /\n");
        let mut rules = heard.dangers.iter().map(|danger| danger.rule);
        rules.any(|rule| rule == RecursiveDelete)
    };
    let missed: Vec<&&str> = SHELLS.iter().filter(|row| !is_asked(row)).collect();
    assert!(missed.is_empty(), "{missed:?}");
    let asked: Vec<&&str> = OTHERS.iter().filter(|row| is_asked(row)).collect();
    assert!(asked.is_empty(), "{asked:?}");
}
