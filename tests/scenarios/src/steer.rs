//! The program that scenarios run in the background: it connects to the runner, does what it is told, and nothing else.
//!
//! **Invariant:** every order is answered once it is done; bytes are written exactly as ordered. When the runner is gone, it ends.
//! **Absent on purpose:** threads, timers and an async runtime. It is a stand-in for anybody's program.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use serde::{Deserialize, Serialize};

/// The first line from a steered program.
#[derive(Debug, Serialize, Deserialize)]
pub struct Hello {
    pub label: String,
    pub pid: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Order {
    Write(String),
    Exit(u8),
    /// Ends itself by this signal.
    Signal(i32),
}

/// Done, or why not.
pub type Done = Result<(), String>;

/// Exit codes for "there was nobody to be steered by": no scenario expects them.
const NOBODY: u8 = 98;
const LEFT_ALONE: u8 = 99;

/// Runs until it is told to end. Returns the exit code.
pub fn main(arguments: &[String]) -> u8 {
    let [label, socket] = arguments else {
        return NOBODY;
    };
    let Ok(stream) = UnixStream::connect(socket) else {
        return NOBODY;
    };
    obey(label, stream).unwrap_or(LEFT_ALONE)
}

fn obey(label: &str, stream: UnixStream) -> io::Result<u8> {
    let mut answers = stream.try_clone()?;
    say(
        &mut answers,
        &Hello {
            label: label.to_owned(),
            pid: std::process::id(),
        },
    )?;
    for line in BufReader::new(stream).lines() {
        match serde_json::from_str(&line?)? {
            Order::Write(text) => say(&mut answers, &write(&text))?,
            Order::Exit(code) => {
                say(&mut answers, &Done::Ok(()))?;
                return Ok(code);
            }
            Order::Signal(signal) => {
                say(&mut answers, &Done::Ok(()))?;
                return Err(end_by(signal));
            }
        }
    }
    Ok(LEFT_ALONE)
}

fn write(text: &str) -> Done {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(|error| error.to_string())
}

/// A shell in our place: it has the signal's default again, which the runtime of this program may have changed.
fn end_by(signal: i32) -> io::Error {
    Command::new("/bin/sh")
        .arg("-c")
        .arg(format!("ulimit -c 0; kill -{signal} $$"))
        .exec()
}

fn say(stream: &mut UnixStream, what: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(what)?;
    line.push(b'\n');
    stream.write_all(&line)
}
