//! What a command prints, for what reads it.

use super::super::call::{Call, Flow};
use super::super::{paths, rules};

/// What a command prints, as far as that matters to what reads it.
pub fn output(call: &Call<'_>) -> Flow {
    let passed = Flow {
        piped: true,
        text: None,
        ..call.input.clone()
    };
    match call.name {
        "echo" => Flow {
            text: echoed(call),
            ..Flow::unknown()
        },
        "printf" => Flow {
            text: printed(call),
            ..Flow::unknown()
        },
        "tee" => Flow {
            text: call.input.text.clone(),
            ..passed
        },
        "cat" if call.operands().all(|operand| operand.text == "-") => Flow {
            text: call.input.text.clone(),
            ..passed
        },
        "curl" | "wget" | "fetch" | "http" | "https" | "xh" | "aria2c" | "lynx" | "w3m" | "nc"
        | "ncat" | "netcat" | "socat" | "telnet" | "ftp" | "ssh" | "dig" | "gsutil" | "gh"
        | "aws" => Flow {
            remote: true,
            ..passed
        },
        "env" | "printenv" | "set" | "declare" | "export" if call.operands().next().is_none() => {
            Flow {
                secret: true,
                ..passed
            }
        }
        name => {
            let secret = !rules::leaves_contents_alone(name)
                && call
                    .operands()
                    .any(|operand| paths::is_private(&paths::normal(&operand.text, call.folder)));
            let remote = call
                .operands()
                .any(|operand| operand.file.as_ref().is_some_and(|flow| flow.remote));
            Flow {
                secret: passed.secret || secret,
                remote: passed.remote || remote,
                ..passed
            }
        }
    }
}

fn echoed(call: &Call<'_>) -> Option<std::rc::Rc<str>> {
    let words: Vec<&str> = call
        .texts()
        .skip_while(|text| matches!(*text, "-n" | "-e" | "-E" | "-ne" | "-en"))
        .collect();
    unescaped(&words.join(" "))
}

fn printed(call: &Call<'_>) -> Option<std::rc::Rc<str>> {
    let operands: Vec<&str> = call
        .operands()
        .map(|operand| operand.text.as_str())
        .collect();
    match operands.as_slice() {
        ["%s" | "%s\\n" | "%b" | "%b\\n", words @ ..] => unescaped(&words.join("\n")),
        [text] if !text.contains('%') => unescaped(text),
        _ => None,
    }
}

/// `None` if it has escapes that are not followed here.
fn unescaped(text: &str) -> Option<std::rc::Rc<str>> {
    let text = text.replace("\\n", "\n").replace("\\t", "\t");
    (!text.contains('\\')).then(|| text.into())
}
