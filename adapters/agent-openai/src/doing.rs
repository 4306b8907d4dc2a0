//! What a call does, for a person who waits. Pure.

use serde_json::{Map, Value};

use super::client::ToolCall;
use super::text::glance;

const WIDTH: usize = 60;

/// One line. A call that nobody can read gets its name.
pub fn of(call: &ToolCall) -> String {
    let arguments = call.arguments().unwrap_or_default();
    let named = |name: &str| glance(text(&arguments, name), WIDTH);
    match call.name.as_str() {
        "terminal" => format!("runs `{}`", named("command")),
        "process" => format!(
            "{} {}",
            process(text(&arguments, "action")),
            named("process")
        ),
        "delegate" => "asks sub-agents".into(),
        "read_file" => format!("reads {}", named("path")),
        "write_file" => format!("writes {}", named("path")),
        "edit_file" => format!("edits {}", named("path")),
        "send_file" => format!("sends {}", named("path")),
        "search_files" => format!("searches for `{}`", named("pattern")),
        "session_search" => "searches the history".into(),
        other => format!("uses `{}`", glance(other, WIDTH)),
    }
    .trim_end()
    .to_owned()
}

fn process(action: &str) -> &'static str {
    match action {
        "wait" => "waits for",
        "log" => "reads the output of",
        "write" | "close" => "writes to",
        "kill" => "stops",
        _ => "looks at processes",
    }
}

fn text<'a>(arguments: &'a Map<String, Value>, name: &str) -> &'a str {
    arguments
        .get(name)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_sees_what_is_done() {
        for (name, arguments, shown) in [
            (
                "terminal",
                r#"{"command":"make -j2\nmake install"}"#,
                "runs `make -j2…`",
            ),
            (
                "process",
                r#"{"action":"wait","process":"prc_1"}"#,
                "waits for prc_1",
            ),
            ("process", r#"{"action":"list"}"#, "looks at processes"),
            ("read_file", r#"{"path":"a.txt"}"#, "reads a.txt"),
            ("read_file", "{broken", "reads"),
            ("unheard of", "{}", "uses `unheard of`"),
        ] {
            let call = ToolCall {
                name: name.into(),
                raw_arguments: arguments.into(),
                ..ToolCall::default()
            };
            assert_eq!(of(&call), shown);
        }
    }
}
