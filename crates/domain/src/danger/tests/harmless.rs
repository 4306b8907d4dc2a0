//! Ordinary work, about which nobody is asked.

use super::asked_about;

#[rustfmt::skip]
const ROWS: &[&str] = &[
    "", " ", "# nothing", "ls -la", "make -j8 && make test", "cargo build --release", "cargo test -p x -- --nocapture", "git status", "git log --oneline -5",
    "git diff HEAD~1 -- src", "git pull", "git pull --rebase", "git push", "git push -u origin feature/x", "git commit -m 'remove -f and --force'",
    "git commit -am \"rm -rf was wrong\"", "git checkout main", "git checkout -b feature", "git switch -c x", "git restore --staged .", "git stash", "git stash pop",
    "git branch -a", "git branch -d merged", "git fetch --all --prune", "git tag v1.0", "git add -A", "git merge x", "git rebase main", "git reset HEAD file", "git clean -n",
    "git show HEAD:src/lib.rs", "git -C repo status", "git clone https://example.com/x.git", "git config user.name me", "git rev-parse --show-toplevel", "git rm --cached file",
    "rm file.txt", "rm a.o b.o", "rm -v file.txt", "rm *.o", "rm -i x", "rm /tmp/x.txt", "rm -- -rf", "for f in *.tmp; do rm \"$f\"; done", "rmdir empty",
    "echo \"rm -rf /\"", "echo 'sudo reboot'", "echo rm -rf / > notes.txt", "grep -r 'sudo' .", "grep -rn \"rm -rf\" src", "printf 'DROP TABLE x'", "printf '%s\\n' \"$x\"",
    "cat README.md | grep shutdown", "cat script.sh", "python script.py", "python3 -m pytest -q", "python3 -c 'print(1)'", "python3 -c \"import json,sys; print(json.load(sys.stdin)['a'])\" < x.json",
    "cat x.json | python3 -m json.tool", "cat x | python3 filter.py", "python3 - <<'EOF'\nprint(sum(range(10)))\nEOF", "python3 -m venv .venv && . .venv/bin/activate && pip install -r requirements.txt",
    "source .venv/bin/activate", "npm ci", "npm install", "npm run build", "npm test -- --watch=false", "npx tsc --noEmit", "yarn install", "pnpm i", "pip install requests", "node server.js",
    "node -e 'console.log(1 + 1)'", "ruby -e 'puts 1'", "perl -pe 's/a/b/' x.txt", "perl -ne 'print if /system/' x.txt", "go test ./...", "mvn -q package", "./gradlew build", "cmake -S . -B build && cmake --build build",
    "docker ps", "docker build -t x .", "docker run --rm -it alpine ls", "docker compose up -d", "docker compose down", "docker logs -f web", "docker exec -it web ls /app", "docker rm web",
    "docker images", "kubectl get pods -n delete-me", "kubectl logs -f x", "kubectl describe pod x", "kubectl apply -f x.yml", "helm list", "terraform plan", "terraform init", "aws s3 ls", "aws s3 cp a s3://x/a",
    "gcloud compute instances list", "az group list", "gh pr list", "gh pr create --title 'delete things' --body x", "gh api repos/x/y",
    "sed 's/a/b/' file", "sed -i 's/a/b/' src/main.rs", "sed -n 1,10p file", "sed -e 's/e/x/g' -e '/^$/d' file", "awk '{print $1}' file", "awk -F: '$3 > 10 {print $1}' x", "find . -name '*.rs'",
    "find . -name '*.rs' -exec wc -l {} +", "find . -type f | xargs grep foo", "find src -name '*.c' -exec sh -c 'wc -l \"$1\"' _ {} \\;", "xargs -n1 echo < list",
    "curl https://x | jq .", "curl -s https://example.com -o page.html", "curl -fsSL https://example.com/x.tgz | tar xz", "wget https://example.com/x.tgz", "curl -X POST -d '{\"a\": 1, \"b\": 2}' https://example.com",
    "curl -H \"Authorization: Bearer $TOKEN\" https://example.com", "curl -d @body.json https://example.com", "ping -c 3 example.com", "dig example.com", "ssh host uptime", "ssh -i ~/.ssh/id_ed25519 host 'ls -la'", "scp -i ~/.ssh/id_rsa a host:b", "scp a host:/tmp/b", "rsync -av a/ b/",
    "kill 1234", "kill -9 1234", "kill %1", "kill -TERM $!", "kill -l", "pkill -f my_dev_server", "pgrep -f server", "ps aux | grep node", "lsof -i :8080", "top -b -n1 | head", "free -h", "df -h", "du -sh *", "uptime", "uname -a",
    "cp a b", "cp -r src dst", "mv a b", "mv old.txt ../new.txt", "ln -s a b", "mkdir -p a/b/c", "mkdir -p src/{a,b}", "touch x", "echo x > out.txt", "echo x >> out.txt", "ls > /dev/null 2>&1", "ls &> log.txt", "cmd 2>/dev/null", "ls 2>&1 | tee log",
    "chmod +x run.sh", "chmod 755 run.sh", "chmod 644 a", "chmod 600 ~/.ssh/id_ed25519", "chmod u+w a", "sleep 20; echo done", "for f in *.txt; do wc -l \"$f\"; done", "for i in 1 2 3; do echo $i; done", "for ((i = 0; i < 3; i++)); do echo x; done", "while read -r line; do echo \"$line\"; done < file",
    "while true; do date; sleep 1; done", "X=1 ./run", "X=$(date +%s) ./run", "RUST_LOG=debug cargo run", "PATH=$PATH:./bin make", "export PATH=\"$HOME/.local/bin:$PATH\"", "test -f x && echo y || echo n", "[ -f x ] && echo y", "[[ $a == b* && -n $c ]] && echo y",
    "if [ -d x ]; then ls x; else mkdir x; fi", "case $x in a|b) echo a;; *) echo b;; esac", "f() { echo hi; }; f", "(cd src && ls)", "{ echo a; echo b; } > out", "cat <<EOF > x.txt\nrm -rf / and $(date)\nEOF", "cat > run.sh <<'EOF'\nrm -rf build\nEOF",
    "echo $((1 + 2 * 3))", "echo $(date)", "echo `date`", "echo \"$(git rev-parse HEAD)\"", "echo \"${x:-default}\"", "x=5; echo $x", "cmd=ls; $cmd -la", "timeout 60 make test", "nohup ./server > log 2>&1 &", "nice -n 10 make", "env FOO=1 make", "time make", "command -v cargo", "which python", "type ls",
    "bash script.sh", "sh -c 'ls -la'", "bash -lc 'cargo test'", "bash -c \"cd src && make\"", "echo ls | sh", "eval 'ls -la'", "watch -n1 date", "exec ./server", "trap 'echo bye' EXIT", "set -euo pipefail; make", "cd \"$(pwd)\" && ls", "make -j$(nproc)", "sqlite3 x.db 'SELECT * FROM users'",
    "sqlite3 x.db \"DELETE FROM users WHERE id = 3\"", "psql -c 'SELECT 1'", "psql < dump.sql", "redis-cli GET key", "mysql -e 'SHOW TABLES'", "systemctl status nginx", "systemctl --user list-units", "journalctl -u nginx -n 50", "service nginx status", "crontab -l", "iptables -L -n", "ip addr", "ip a show eth0", "mount", "dmesg | tail",
    "apt list --installed", "apt-cache policy jq", "dpkg -l", "brew list", "pip list", "npm ls -g", "pacman -Ss jq", "tar czf x.tgz src", "tar xzf x.tgz", "unzip x.zip", "gzip x", "zip -r x.zip src", "cat ~/.ssh/id_ed25519.pub", "ls -la ~/.ssh", "cat .env.example", "cat /etc/os-release", "cat /proc/cpuinfo", "cat /etc/hosts | grep local",
    "diff <(sort a) <(sort b)", "jq '.[] | {name, id}' x.json", "jq -r '.a|keys[]' x.json", "head -c 100 /dev/urandom | base64", "dd if=/dev/zero of=test.img bs=1M count=10", "date -u +%FT%TZ", "hostname", "id", "whoami", "pwd; ls", "ls \\\n  -la", "ls # rm -rf /", "echo a; # sudo b\necho c", "test $? -eq 0", "ls *.rs | wc -l", "echo {1..3}",
    "uv run pytest", "poetry run mypy src", "bundle exec rspec", "tail -f log/development.log", "less README.md", "vim -c ':q' x", "convert a.png b.jpg", "ffmpeg -i a.mp4 b.webm", "stat -c %s x", "sort -u x -o y", "homing status", "grep -r homing .", "cd /usr/share/doc && ls", "xxd x | head", "echo 'it'\\''s fine'", "echo \"a\\\"b\"",
];

#[test]
fn ordinary_work_is_not_asked_about() {
    let asked = asked_about(ROWS);
    assert!(asked.is_empty(), "{}", asked.join("\n"));
    assert!(ROWS.len() >= 150);
}

/// Texts that are only harmless if they are read exactly.
#[rustfmt::skip]
const EXACT: &[&str] = &[
    "(cd /usr/include && grep -r foo .); echo done > out.txt", "x=$(cd /usr/share && ls); touch a", "cd /usr/share | ls; touch a", "ls /x | (cd /usr && ls); touch a",
    "diff <(cd /usr/share && ls) a > b", "cd /usr/share && ls & echo x > out", "sh -c 'cd /usr/share && ls'; touch a", "ssh host 'cd /etc && ls'; touch a",
    "docker exec web sh -c 'cd /etc && cat hosts' > hosts", "(cd a && make) && (cd b && make) && echo x > out", "./server & sleep 1; curl localhost > out; kill $!",
    "echo \"${MSG:-don't know}\"", "echo \"${A:-don't}\" \"${B:-can't}\"", "echo \"${x:-'a b'}\"", "echo \"${x#'a'}\" ${y:-'b c'}", "echo $'a\\tb'", "IFS=$'\\n'; ls", "grep $'\\t' file", "echo \"it's $'\"",
    "((i++))", "((i += 1)); ls", "((x = 1 + 2)) && echo y", "((x = (1 + 2) * 3))", "if ((a > 3 && b < 2)); then ls; fi", "while ((i < 10)); do ((i++)); done", "((cd a && make) && ls)", "((echo a); echo b)", "echo $[1+2] \"$[a[1] * 2]\"", "echo $((1 << 2))", "echo \"$[\"",
    "cat <<EOF\nfoo \\\nbar\nEOF", "cat <<EOF\nEOF", "cat <<'EOF' > run.sh\ncargo build \\\n  --release\nEOF\nls", "cat <<A <<B\na\nA\nb\nB\nls", "cat <<-EOF\n\tfoo\n\tEOF\nls", "cat <<EOF\r\nfoo\r\nEOF\r\nls\r\n", "cat <<EOF\nit's ${x:-don't}\nEOF\nls",
    "alias ll='ls -l'\nll src", "alias ls='ls --color'\nls -a $dir", "alias g=git\ng status && g push", "alias", "alias -p", "alias ..='cd ..'\n..\nls", "alias rm='rm -i'\nrm x", "alias k=kubectl\nk get pods", "alias grep='grep --color=auto' egrep='egrep --color=auto'\ngrep \"$x\" y | egrep z",
];

#[test]
fn what_is_read_exactly_is_not_asked_about() {
    let asked = asked_about(EXACT);
    assert!(asked.is_empty(), "{}", asked.join("\n"));
}
