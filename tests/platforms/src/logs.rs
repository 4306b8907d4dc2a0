//! Everything that is logged in this process, from the first call on.

use std::io::{self, Write};
use std::sync::Mutex;

static LOGGED: Mutex<Vec<u8>> = Mutex::new(Vec::new());

struct Logged;

impl Write for Logged {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        LOGGED.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// From every library, down to the last detail.
pub fn capture() {
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_ansi(false)
        .with_writer(|| Logged)
        .finish();
    // Another check of this process may have done it.
    drop(tracing::subscriber::set_global_default(subscriber));
}

pub fn captured() -> String {
    String::from_utf8_lossy(&LOGGED.lock().unwrap()).into_owned()
}
