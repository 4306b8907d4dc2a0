//! The one choke point where what looks like a secret leaves a text.
//!
//! **Invariant:** a redacted text stays as it is when it is redacted again, and the work is linear in the text (no backtracking).
//! **Absent on purpose:** knowledge of the secrets themselves. This recognises shapes and names: an unnamed password in the middle of a sentence
//! passes. Values that we do know are kept in types that do not print.
//!
//! The names of things are kept, so that a reader can tell what was there. Where a name says "secret" (`password`, `client_secret`), whatever follows
//! goes; where it may also be an ordinary word (`token`, `key`), the value has to look like one, so that compilers may go on about unexpected tokens.

use regex::{Captures, Regex};
use std::borrow::Cow;
use std::sync::LazyLock;

/// What stands where a secret was.
pub const REDACTED: &str = "[redacted]";

/// Replaces what looks like a secret by [`REDACTED`]. Borrows if there is nothing to replace.
///
/// Redact before you cut: half a token does not look like one.
pub fn redact(text: &str) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(text);
    for _ in 0..PASSES {
        let Some(changed) = pass(&text) else { break };
        text = Cow::Owned(changed);
    }
    text
}

/// `None`: there is nothing to replace.
fn pass(text: &str) -> Option<String> {
    let mut whole: Option<String> = None;
    for rule in RULES.iter() {
        let now = whole.as_deref().unwrap_or(text);
        match rule.regex.replace_all(now, rule.replace) {
            Cow::Owned(changed) if changed != now => whole = Some(changed),
            Cow::Owned(_) | Cow::Borrowed(_) => {}
        }
    }
    whole
}

/// What one rule leaves may be the beginning of what an earlier one looks for.
const PASSES: usize = 4;

struct Rule {
    regex: Regex,
    replace: fn(&Captures<'_>) -> String,
}

impl Rule {
    fn new(pattern: &str, replace: fn(&Captures<'_>) -> String) -> Rule {
        Rule {
            regex: Regex::new(pattern)
                .expect("the patterns are constants of this file, and every test compiles them"),
            replace,
        }
    }
}

/// Several lines first, then what is recognised by name, then by shape.
static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    vec![
        Rule::new(PRIVATE_KEY, |found| {
            format!(
                "-----BEGIN {0}-----\n{REDACTED}\n-----END {0}-----",
                &found[1]
            )
        }),
        Rule::new(PRIVATE_KEY_END, |found| {
            format!("{REDACTED}\n{}", &found[1])
        }),
        Rule::new(AUTHORIZATION, |found| format!("{}{REDACTED}", &found[1])),
        Rule::new(AUTHORIZATION_BARE, |found| keep_unless(looks_random, found)),
        Rule::new(COOKIE, |found| format!("{}{REDACTED}", &found[1])),
        Rule::new(BEARER, |found| keep_unless(looks_random, found)),
        Rule::new(&assignment(SECRET_NAMES, r"[ \t]*[:=][ \t]*"), |found| {
            keep_unless(is_value, found)
        }),
        Rule::new(&assignment("token", "="), |found| {
            keep_unless(is_value, found)
        }),
        Rule::new(&assignment(MAYBE_NAMES, r"[ \t]*[:=][ \t]*"), |found| {
            keep_unless(looks_random, found)
        }),
        Rule::new(&assignment(FLAG_NAMES, r"[ \t]+"), |found| {
            keep_unless(is_flag_value, found)
        }),
        Rule::new(USER_INFO, |found| format!("{}{REDACTED}@", &found[1])),
        Rule::new(WEBHOOK, |found| format!("{}{REDACTED}", &found[1])),
        Rule::new(SHAPES, |_| REDACTED.into()),
        Rule::new(DASHED_KEY, |found| keep_unless(has_digit, found)),
    ]
});

/// Also one whose end was cut off.
const PRIVATE_KEY: &str = r"(?s)-----BEGIN ([A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?)-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\z)";
/// And one whose beginning was: the tail of an output begins anywhere.
const PRIVATE_KEY_END: &str =
    r"(?m)^(?:[A-Za-z0-9+/=]+\r?\n)+(-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----)";
const AUTHORIZATION: &str = r#"(?i)(authorization\\*["']?[ \t]*[:=][ \t]*\\*["']?(?:bearer|basic|token|digest|bot|negotiate|apikey)[ \t]+)[^\r\n"'\\]+"#;
const AUTHORIZATION_BARE: &str =
    r#"(?i)(authorization\\*["']?[ \t]*[:=][ \t]*\\*["']?)([^\s"'\\]+)"#;
const COOKIE: &str = r#"(?i)(\b(?:set-)?cookie:[ \t]*)[^\s=;"']+=[^\r\n"']+"#;
/// As RFC 6750 has it: `=` stands at the end only. Else the value of `Bearer key=Bearer …` would hide the second one.
const BEARER: &str = r"(?i)(\bbearer[ \t]+)([A-Za-z0-9._~+/-]{8,}=*)";
/// A name that ends so is a secret's, whatever stands before it (`AWS_SECRET_ACCESS_KEY`, `db.password`).
const SECRET_NAMES: &str = "password|passwd|passphrase|secret|(?:api|access|private|secret|signing|encryption|master|account)[_-]?key|secret_key_base|\
                            (?:access|refresh|id|auth|bot|session|api)[_-]?token|connection[_-]?string";
/// A name that ends so may be.
const MAYBE_NAMES: &str = r"token|key|_pass|_pwd|credentials?|\bauth|signature|\bsig";
const FLAG_NAMES: &str =
    r"(?:^|[\s'\x22])--?[a-z0-9-]*(?:password|passphrase|token|secret|api-?key)";
/// A password may itself hold a `@` that nobody encoded.
const USER_INFO: &str = r#"(?i)(\b[a-z][a-z0-9+.-]*://[^\s/:@"'<>]*:)[^\s/"'<>]+@"#;
const WEBHOOK: &str =
    r"(hooks\.slack\.com/services/|discord(?:app)?\.com/api/webhooks/[0-9]+/)[A-Za-z0-9_/-]{8,}";
/// In order: Telegram, GitHub, GitLab, Slack, AWS, Google, npm, PyPI, JWT, Discord, Stripe.
const SHAPES: &str = r"(?x)
    [0-9]{6,}:[A-Za-z0-9_-]{30,}
  | \bgh[oprsu]_[A-Za-z0-9]{20,} | \bgithub_pat_[A-Za-z0-9_]{20,}
  | \bgl(?:pat|ptt|rt)-[A-Za-z0-9_-]{16,}
  | \bxox[abeoprs]-[A-Za-z0-9-]{8,} | \bxapp-[A-Za-z0-9-]{16,}
  | \b(?:AKIA|ASIA)[A-Z0-9]{12,}
  | \bAIza[A-Za-z0-9_-]{30,}
  | \bnpm_[A-Za-z0-9]{30,} | \bpypi-[A-Za-z0-9_-]{30,}
  | \beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?
  | \b[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}
  | \b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}";
/// `sk-` also begins words (`sk-learn-compatible-estimators`): a digit decides.
const DASHED_KEY: &str = r"(\bsk-)([A-Za-z0-9_-]{16,})";

/// `name = value`, in the manner of the environment, of JSON (also inside a JSON string), of YAML and of query strings.
/// Group 1 is kept, group 2 is the value without its quotes.
fn assignment(names: &str, separator: &str) -> String {
    let quoted = r#"\\+"[^"\\\r\n]*|"(?:[^"\\\r\n]|\\.)*|'[^'\r\n]*|`[^`\r\n]*"#;
    format!(r#"(?im)((?:{names})(?:\\*["'`])?{separator})({quoted}|[^\s"'&`]+)"#)
}

/// Replaces group 2 if `is_secret` says so of it.
fn keep_unless(is_secret: fn(&str, Quoted) -> bool, found: &Captures<'_>) -> String {
    let (name, value) = (&found[1], &found[2]);
    let body = value.trim_start_matches(['\\', '"', '\'', '`']);
    let opening = &value[..value.len() - body.len()];
    let quoted = if opening.is_empty() {
        Quoted::No
    } else {
        Quoted::Yes
    };
    // A bare value ends before the sentence or the bracket does.
    let secret = match quoted {
        Quoted::Yes => body,
        Quoted::No => body.trim_end_matches([',', ';', '.', ')', ']', '}', '>']),
    };
    if body.starts_with(REDACTED)
        && body[REDACTED.len()..]
            .chars()
            .all(|rest| rest.is_ascii_punctuation())
    {
        return found[0].into();
    }
    if !is_secret(secret, quoted) {
        return found[0].into();
    }
    format!("{name}{opening}{REDACTED}{}", &body[secret.len()..])
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Quoted {
    Yes,
    No,
}

/// Words that follow a secret's name in code, in types and in complaints.
const PLAIN_WORDS: [&str; 20] = [
    "string",
    "str",
    "&str",
    "none",
    "null",
    "nil",
    "undefined",
    "true",
    "false",
    "required",
    "optional",
    "missing",
    "invalid",
    "incorrect",
    "expected",
    "prompt",
    "is",
    "not",
    "and",
    "or",
];

/// Something that stands for itself: not a reference to a variable, a call, or a word of the language.
fn is_value(text: &str, quoted: Quoted) -> bool {
    let reference = text.starts_with('$')
        && text[1..]
            .chars()
            .all(|character| character.is_alphanumeric() || "_{}".contains(character));
    let call = quoted == Quoted::No && (text.contains('(') || text.starts_with("Option<"));
    !text.is_empty()
        && !reference
        && !call
        && !PLAIN_WORDS
            .iter()
            .any(|word| word.eq_ignore_ascii_case(text))
}

fn is_flag_value(text: &str, quoted: Quoted) -> bool {
    is_value(text, quoted) && !text.starts_with('-')
}

/// Long enough, and not a word: letters together with digits, or letter case that changes more than names do.
fn looks_random(text: &str, quoted: Quoted) -> bool {
    let letters = text.bytes().filter(u8::is_ascii_alphabetic).count();
    let changes = text
        .as_bytes()
        .windows(2)
        .filter(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase())
        .count();
    let mixed = letters > 0 && text.bytes().any(|byte| byte.is_ascii_digit());
    is_value(text, quoted)
        && text.len() >= 8
        && !text.contains("::")
        && (mixed || (text.len() >= 20 && changes >= 4))
}

fn has_digit(text: &str, _: Quoted) -> bool {
    text.bytes().any(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests;
