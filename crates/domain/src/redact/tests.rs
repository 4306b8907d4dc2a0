#![allow(clippy::unwrap_used, reason = "tests")]

use super::*;
use proptest::prelude::*;

/// Canaries are built at run time so that no scanner takes this file for a leak.
fn canary(prefix: &str, length: usize) -> String {
    prefix.to_owned() + &"aB3xY9kQ7m".repeat(length / 10 + 1)[..length]
}

fn gone(text: &str, secret: &str) {
    let redacted = redact(text);
    assert!(!redacted.contains(secret), "{text:?} became {redacted:?}");
    assert!(redacted.contains(REDACTED), "{text:?} became {redacted:?}");
}

#[test]
fn shapes_are_recognised_without_a_name() {
    for secret in [
        canary("1234567890:", 35),
        canary("sk-", 32),
        canary("sk-proj-", 40),
        canary("ghp_", 36),
        canary("gho_", 36),
        canary("github_pat_", 40),
        canary("glpat-", 20),
        canary("xoxb-1234-", 24),
        canary("xoxp-", 24),
        canary("AIza", 35),
        canary("npm_", 36),
        canary("sk_live_", 24),
        format!("AKIA{}", "A1B2C3D4E5F6G7H8"),
        format!(
            "{}.{}.{}",
            canary("eyJ", 20),
            canary("eyJ", 30),
            canary("", 43)
        ),
        format!("{}.{}.{}", canary("M", 23), "GhIjKl", canary("", 30)),
    ] {
        for text in [
            secret.clone(),
            format!("got {secret}, then went on"),
            format!("(\"{secret}\")\n"),
        ] {
            gone(&text, &secret);
        }
    }
    assert_eq!(
        redact(&format!("a {} b", canary("ghp_", 36))),
        "a [redacted] b"
    );
    let url = format!(
        "https://api.telegram.org/bot{}/sendMessage",
        canary("123456789:", 35)
    );
    assert_eq!(
        redact(&url),
        "https://api.telegram.org/bot[redacted]/sendMessage"
    );
}

#[test]
fn names_are_kept_and_values_are_not() {
    for (text, redacted) in [
        ("password=hunter2", "password=[redacted]"),
        (
            "PASSWORD: hunter2 and more",
            "PASSWORD: [redacted] and more",
        ),
        (
            "export DB_PASSWORD='a b&c'",
            "export DB_PASSWORD='[redacted]'",
        ),
        (
            "AWS_SECRET_ACCESS_KEY=abc/def+ghi",
            "AWS_SECRET_ACCESS_KEY=[redacted]",
        ),
        ("SECRET_KEY_BASE=aaaa", "SECRET_KEY_BASE=[redacted]"),
        ("TOKEN=abcdef make test", "TOKEN=[redacted] make test"),
        (
            "https://x.org/a?user=3&token=abc&page=2",
            "https://x.org/a?user=3&token=[redacted]&page=2",
        ),
        (
            "https://x.org/a?key=AbCd1234efgh&page=2",
            "https://x.org/a?key=[redacted]&page=2",
        ),
        (
            r#"{"password": "hun\"ter2", "user": "ann"}"#,
            r#"{"password": "[redacted]", "user": "ann"}"#,
        ),
        (r#"{'api_key':'x1'}"#, r#"{'api_key':'[redacted]'}"#),
        (
            r#""{\"client_secret\":\"x1 y\",\"n\":1}""#,
            r#""{\"client_secret\":\"[redacted]\",\"n\":1}""#,
        ),
        ("api-key: x1", "api-key: [redacted]"),
        ("token: abc12345x", "token: [redacted]"),
        ("refresh_token = abcdef", "refresh_token = [redacted]"),
        ("SMTP_PASS=hunter2hunter", "SMTP_PASS=[redacted]"),
        (
            "login(password=abc), done",
            "login(password=[redacted]), done",
        ),
        (
            "mysql --password hunter2 --host db",
            "mysql --password [redacted] --host db",
        ),
        ("cli --api-key=abc run", "cli --api-key=[redacted] run"),
        (
            "postgres://ann:p@ss:w0rd@db:5432/x",
            "postgres://ann:[redacted]@db:5432/x",
        ),
        ("redis://:secretive@cache", "redis://:[redacted]@cache"),
        (
            "Authorization: Bearer abc",
            "Authorization: Bearer [redacted]",
        ),
        (
            "curl -H 'Authorization: Basic YTpi' https://x.org",
            "curl -H 'Authorization: Basic [redacted]' https://x.org",
        ),
        ("authorization: abc12345", "authorization: [redacted]"),
        ("uses bearer abc123def456.", "uses bearer [redacted]."),
        ("Cookie: session=abc; theme=dark", "Cookie: [redacted]"),
        (
            "https://hooks.slack.com/services/T0/B0/abcdef",
            "https://hooks.slack.com/services/[redacted]",
        ),
    ] {
        assert_eq!(redact(text), redacted, "{text:?}");
    }
}

// Found by `twice_is_once`: what hid the secret from the first pass is what the first pass took.
#[test]
fn a_secret_is_not_hidden_by_another_name_before_it() {
    let secret = canary("", 12);
    gone(&format!("--secret Bearer KEY=Bearer {secret}"), &secret);
    gone(&format!("Bearer KEY=Bearer {secret}"), &secret);
}

#[test]
fn private_keys_go_whole_or_cut() {
    let body = "MIIEpAIBAAKCAQEA7bq\nabcd+/==\n";
    let begin = format!("-----BEGIN {}PRIVATE KEY-----", "RSA ");
    let end = format!("-----END {}PRIVATE KEY-----", "RSA ");
    for text in [
        format!("x\n{begin}\n{body}{end}\ny"),
        format!("x\n{begin}\n{body}"),
        format!("{body}{end}\ny"),
    ] {
        let redacted = redact(&text);
        assert!(
            !redacted.contains("MII") && !redacted.contains("abcd+"),
            "{redacted}"
        );
    }
    assert!(redact(&format!("x\n{begin}\n{body}{end}\ny")).ends_with("\ny"));
    gone(&format!(r#"{{"pem": "{begin}\nMIIEpA\n{end}"}}"#), "MIIEpA");
}

#[test]
fn ordinary_text_is_left_alone() {
    for text in [
        "",
        "error: unexpected token: `}`",
        "error: expected one of `,` or `}`, found token `foo`",
        "max_tokens=4096 prompt_tokens: 512, token_count=12345678",
        "let token = lexer.next();",
        "let key = map.keys().next();",
        "fn login(password: &str, token: String) -> Option<Secret>",
        "password: required",
        "the password is wrong",
        "Password:",
        "password=\nnext line",
        "sort key=name, primary_key=id, key: value",
        "press any key: continue",
        "tests: pass=5 fail=2",
        "key=v2, auth: v1, token: t3",
        "usage: login --password --host db",
        "PWD=/home/ann/projects/2024",
        "PASSWORD=$DB_PASSWORD TOKEN=${TOKEN}",
        "git@github.com:owner/repo.git https://example.org:8080/a@b ssh://git@host/x",
        "see https://example.org/a:b and http://localhost:3000",
        "bearer of good news, bearer authentication, bearer responsibilities",
        "Authorization: required for this page",
        "a task-management-system-for-everyone, sk-learn-compatible-estimators",
        "12:34:56 12345678:short 2026-01-01T00:00:00Z",
        "commit 1f0c2d3e4b5a69788796a5b4c3d2e1f001234567",
        "cookie: chocolate chip",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "monkey=business, keyboard: qwerty, secretary: Ann, tokenizer=fast",
        "author: Ann Smith1234 <ann@example.org>",
        "прошло 3 мин — готово",
    ] {
        let redacted = redact(text);
        assert_eq!(redacted, text);
        assert!(matches!(redacted, Cow::Borrowed(_)), "{text:?}");
    }
}

#[test]
fn long_texts_take_no_time_to_speak_of() {
    for piece in [
        "token",
        "password=",
        "-----BEGIN PRIVATE KEY-----",
        "a://b:c",
        "abcd\n",
        "authorization: ",
        "\\\"key\\\":\\\"",
    ] {
        let text = piece.repeat(300_000 / piece.len());
        let _ = redact(&text);
    }
}

proptest! {
    #[test]
    fn twice_is_once(text in r#"([a-z =:"'\\,.@/\[\]$-]|token|password|_key|KEY=|Bearer |abc12345|\[redacted\]|://|Cookie: |--secret ){0,24}|.{0,80}"#) {
        let once = redact(&text).into_owned();
        prop_assert_eq!(redact(&once), once.as_str());
    }

    #[test]
    fn a_named_secret_never_survives(
        name in "(DB_|my-|x\\.)?(password|PASSWORD|client_secret|api_key|access-token)",
        separator in "=|: |\": \"|' : '| = ",
        secret in "[A-Za-z0-9+/_!%-]{6,30}[0-9]",
    ) {
        let text = format!("run {name}{separator}{secret} now");
        prop_assert!(!redact(&text).contains(&secret));
    }
}
