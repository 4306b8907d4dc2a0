//! One line of a trace: which call it is, on which file, and the bytes it was given.

#[derive(Debug, PartialEq, Eq)]
pub enum Call<'a> {
    /// `made`: whether it succeeded; `None` while it is under way.
    Sync {
        thread: &'a str,
        file: &'a str,
        made: Option<bool>,
    },
    /// A sync that was under way has returned.
    Resumed {
        thread: &'a str,
        made: bool,
    },
    Write {
        file: &'a str,
        arguments: &'a str,
    },
}

impl<'a> Call<'a> {
    pub fn read(line: &'a str) -> Option<Call<'a>> {
        let (thread, call) = line.split_once(' ')?;
        let call = call.trim_start();
        let made = call.ends_with("= 0");
        if call.starts_with("<... f") {
            return Some(Call::Resumed { thread, made });
        }
        let (name, arguments) = call.split_once('(')?;
        match name {
            "fsync" | "fdatasync" => {
                let under_way = call.ends_with("<unfinished ...>");
                Some(Call::Sync {
                    thread,
                    file: arguments,
                    made: (!under_way).then_some(made),
                })
            }
            "write" | "writev" | "pwrite64" | "pwritev" | "sendto" | "sendmsg" => {
                Some(Call::Write {
                    file: arguments.split(',').next().unwrap_or_default(),
                    arguments,
                })
            }
            _ => None,
        }
    }
}

/// The bytes of every quoted string, joined.
pub fn bytes_in(arguments: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = arguments.as_bytes();
    while let Some(begin) = rest.iter().position(|byte| *byte == b'"') {
        rest = unquote(rest.get(begin + 1..).unwrap_or_default(), &mut bytes);
    }
    bytes
}

/// Up to the closing quote; what is behind it.
fn unquote<'a>(mut text: &'a [u8], bytes: &mut Vec<u8>) -> &'a [u8] {
    loop {
        match text {
            [] => return text,
            [b'"', rest @ ..] => return rest,
            [b'\\', b'x', high, low, rest @ ..] => {
                bytes.push(digit(*high) * 16 + digit(*low));
                text = rest;
            }
            [b'\\', rest @ ..] => {
                let octal = rest
                    .iter()
                    .take(3)
                    .take_while(|byte| (b'0'..=b'7').contains(byte))
                    .count();
                if octal > 0 {
                    let digits = rest.iter().take(octal);
                    bytes.push(digits.fold(0, |sum: u8, one| {
                        sum.wrapping_mul(8).wrapping_add(digit(*one))
                    }));
                    text = rest.get(octal..).unwrap_or_default();
                } else if let [letter, rest @ ..] = rest {
                    bytes.push(escaped(*letter));
                    text = rest;
                } else {
                    return rest;
                }
            }
            [byte, rest @ ..] => {
                bytes.push(*byte);
                text = rest;
            }
        }
    }
}

fn escaped(letter: u8) -> u8 {
    match letter {
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'v' => 0x0b,
        b'f' => 0x0c,
        other => other,
    }
}

fn digit(letter: u8) -> u8 {
    let value = char::from(letter).to_digit(16);
    value.and_then(|value| value.try_into().ok()).unwrap_or(0)
}

/// As the tracer writes them.
#[cfg(test)]
pub fn quoted(bytes: &[u8]) -> String {
    let mut text = String::from("\"");
    for (index, byte) in bytes.iter().enumerate() {
        let digit_follows = bytes.get(index + 1).is_some_and(u8::is_ascii_digit);
        match byte {
            b'"' | b'\\' => text.extend(['\\', char::from(*byte)]),
            b'\n' => text.push_str("\\n"),
            b'\r' => text.push_str("\\r"),
            0x20..=0x7e => text.push(char::from(*byte)),
            _ if digit_follows => text.push_str(&format!("\\{byte:03o}")),
            _ => text.push_str(&format!("\\{byte:o}")),
        }
    }
    text + "\""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_as_they_were_written() {
        let all: Vec<u8> = (0..=255).chain(*b"7\"\\8\x001").collect();
        assert_eq!(bytes_in(&quoted(&all)), all);
        let two = format!(
            "[{{iov_base={}, iov_len=1}}, {{iov_base={}}}]",
            quoted(b"a"),
            quoted(b"b")
        );
        assert_eq!(bytes_in(&two), b"ab");
        assert_eq!(bytes_in(r#"7<x>, "\x41\x0a"..., 9"#), b"A\n");
    }
}
