//! Options that take a value: neither the option nor its value is taken for what is done.

use super::super::Rule::{self, *};
use super::{asked_about, missed};

#[rustfmt::skip]
const ROWS: &[(Rule, &str)] = &[
    (Database, "psql --command='DELETE FROM users'"),
    (Database, "psql --command 'DELETE FROM users'"),
    (Database, "mysql app --execute='UPDATE users SET admin=1'"),
    (Database, "psql -c'DELETE FROM users'"),
    (Database, "psql -qAtcDELETE' FROM users'"),
    (Database, "mysql app -e'TRUNCATE users'"),
    (Database, "psql -c '-- all of them\nDELETE FROM users'"),
    (HiddenCode, "psql -qc \"$statement\""),
    (Containers, "docker --context prod system prune -af"),
    (Containers, "docker -H tcp://h volume rm data"),
    (Containers, "docker -H=tcp://h --log-level debug rm -f web"),
    (Containers, "docker --context prod compose down -v"),
    (Containers, "docker-compose -f x.yml down -v"),
    (Containers, "podman --url ssh://h system reset"),
    (Containers, "podman system reset -f"),
    (Privilege, "docker --context prod run --privileged img ls"),
    (HiddenCode, "docker --context prod $verb web"),
    (Cloud, "kubectl -n logs delete pod x"),
    (Cloud, "kubectl -n config delete pod x"),
    (Cloud, "kubectl --namespace get delete pod x"),
    (Cloud, "kubectl --context=prod -n get drain x"),
    (Cloud, "kubectl --unknown value delete pod x"),
    (HiddenCode, "kubectl -n prod $verb pod x"),
    (Cloud, "pulumi -C infra destroy"),
    (Cloud, "pulumi --stack prod destroy --yes"),
    (Cloud, "terragrunt --terragrunt-working-dir infra destroy"),
    (Cloud, "terraform -chdir=infra destroy"),
    (Cloud, "cdk -a app destroy"),
    (SystemFiles, "curl -Lo /usr/local/bin/kubectl https://example.com/kubectl"),
    (SystemFiles, "curl -fsSLo/usr/local/bin/x https://example.com/x"),
    (SystemFiles, "curl -O https://example.com/a -o /usr/bin/x https://example.com/b"),
    (Persistence, "curl -fsSLo ~/.bashrc https://example.com/x"),
    (SystemFiles, "wget -qO /etc/apt/trusted.gpg.d/x.asc https://example.com/x"),
    (SystemFiles, "wget -qP /etc/x https://example.com/x"),
    (SystemFiles, "cp -rt /etc x"),
    (SystemFiles, "mv -vt/etc x"),
    (SystemFiles, "ln -sft /usr/local/bin x"),
    (SystemFiles, "install -Dt /usr/local/bin x"),
    (SystemFiles, "sort -uo /etc/hosts x"),
    (SystemFiles, "tar -xC /usr/local -f x.tgz"),
    (SystemFiles, "unzip -od /usr/local x.zip"),
    (HomingItself, "kill $(pgrep -f homing)"),
    (HomingItself, "kill -9 `pidof homing`"),
    (HomingItself, "pid=$(pgrep homing); kill $pid"),
    (HomingItself, "pgrep homing | xargs kill -9"),
    (GitHistory, "git checkout HEAD src/main.rs"),
    (GitHistory, "git checkout HEAD~3 dir/"),
    (GitHistory, "git checkout -q origin/main Cargo.lock README.md"),
    (GitHistory, "git checkout src/"),
    (GitHistory, "git checkout ./main"),
    (GitHistory, "git checkout '*.rs'"),
    (GitHistory, "git checkout src/main.rs"),
];

#[test]
fn options_with_values_hide_nothing() {
    let missed = missed(ROWS);
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[rustfmt::skip]
const HARMLESS: &[&str] = &[
    "psql --command='SELECT 1'", "psql -c'SELECT 1'", "psql --dbname=app -c 'DELETE FROM users WHERE id = 1'", "mysql app --execute='SHOW TABLES'", "psql -qAtc 'SELECT 1'", "psql --set=x=1 -f dump.sql",
    "docker --context prod ps", "docker -H tcp://h logs web", "docker --context rm ps", "docker-compose -f x.yml down", "podman system df", "kubectl -n delete get pods", "kubectl -n drain logs x", "kubectl --context prod -n x get pods",
    "kubectl config use-context prod", "pulumi -C infra preview", "pulumi -s destroy preview", "terraform -chdir=infra plan", "cdk -a app diff",
    "curl -Lo kubectl https://example.com/kubectl", "curl -fsSLo /tmp/x https://example.com/x", "curl -fsSLO https://example.com/x", "curl -sSL https://example.com/x -H 'Accept: text/html'", "wget -qO- https://example.com/x", "wget -qO x.html https://example.com/x",
    "cp -rt out x", "cp -r /etc/nginx conf", "rsync -rt /etc/nginx/ conf/", "sort -uo x x", "tar -xzf x.tgz -C out", "unzip -qod out x.zip", "unzip -l x.zip",
    "pgrep -f server", "kill $(pgrep -f server)", "pidof node", "pgrep node | xargs kill", "ps aux | grep homing",
    "git checkout -b x origin/main", "git checkout --track origin/x", "git checkout -t origin/x", "git checkout --orphan pages main", "git checkout feature/x", "git checkout v1.2.3", "git checkout release/1.2", "git checkout HEAD~1", "git checkout -", "git checkout -q main", "git checkout --detach abc123",
];

#[test]
fn options_with_values_are_no_danger_by_themselves() {
    let asked = asked_about(HARMLESS);
    assert!(asked.is_empty(), "{}", asked.join("\n"));
}
