//! What `strace -f -yy` wrote, read in its order.
//!
//! **Invariant:** a call counts against us as soon as it begins and for us only once it has returned: a write is unsynced from its first moment, a
//! sync covers what was written before it began.

use std::collections::HashMap;

/// The store's log, as `-yy` names an open file.
const LOG: &str = "-wal>";

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Trace {
    pub sends: u64,
    pub unsynced_sends: u64,
    /// Polls that confirm something.
    pub confirmations: u64,
    /// Of them, those before which nothing was synced since the poll before.
    pub unsynced_confirmations: u64,
    pub log_writes: u64,
    pub syncs: u64,
}

/// What is known at one line.
#[derive(Default)]
struct Reading {
    trace: Trace,
    /// Writes of the log that are on disk.
    synced: u64,
    /// By thread: the writes that a sync under way covers.
    syncing: HashMap<String, u64>,
    offset: u64,
    synced_at_poll: u64,
}

impl Trace {
    pub fn read(text: &str) -> Trace {
        let mut reading = Reading::default();
        for line in text.lines() {
            if let Some((thread, call)) = line.split_once(' ') {
                reading.line(thread, call.trim_start());
            }
        }
        reading.trace
    }
}

impl Reading {
    fn line(&mut self, thread: &str, call: &str) {
        if call.starts_with("<... f") {
            if let Some(covered) = self.syncing.remove(thread) {
                self.synced(covered, call);
            }
            return;
        }
        let Some((name, arguments)) = call.split_once('(') else {
            return;
        };
        let target = arguments.split(',').next().unwrap_or_default();
        match name {
            "fsync" | "fdatasync" if arguments.contains(LOG) => {
                let covered = self.trace.log_writes;
                match call.ends_with("<unfinished ...>") {
                    true => drop(self.syncing.insert(thread.to_owned(), covered)),
                    false => self.synced(covered, call),
                }
            }
            "write" | "writev" | "pwrite64" | "pwritev" if target.contains(LOG) => {
                self.trace.log_writes += 1;
            }
            "write" | "writev" | "sendto" | "sendmsg" if target.contains("<TCP") => {
                self.sent(arguments);
            }
            _ => {}
        }
    }

    fn synced(&mut self, covered: u64, call: &str) {
        let made = call.ends_with("= 0");
        if made {
            self.trace.syncs += 1;
            self.synced = self.synced.max(covered);
        }
    }

    fn sent(&mut self, arguments: &str) {
        if arguments.contains("\"POST /") {
            self.trace.sends += 1;
            self.trace.unsynced_sends += u64::from(self.synced < self.trace.log_writes);
        } else if let Some(offset) = offset(arguments) {
            if offset > self.offset {
                self.trace.confirmations += 1;
                self.trace.unsynced_confirmations += u64::from(self.synced <= self.synced_at_poll);
            }
            self.offset = offset;
            self.synced_at_poll = self.synced;
        }
    }
}

/// Of a poll.
fn offset(arguments: &str) -> Option<u64> {
    let (_, rest) = arguments.split_once("updates?offset=")?;
    let digits = rest.split(|letter: char| !letter.is_ascii_digit()).next()?;
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOCKET: &str = "7<TCP:[127.0.0.1:1->127.0.0.1:2]>";

    fn read(lines: &[&str]) -> Trace {
        Trace::read(&lines.join("\n"))
    }

    #[test]
    fn a_send_after_the_sync_is_sound_and_one_before_it_is_not() {
        let write = r#"11 pwrite64(9</d/homing.db-wal>, "x", 1, 0) = 1"#;
        let sync = "11 fdatasync(9</d/homing.db-wal>) = 0";
        let send =
            format!(r#"12 sendto({SOCKET}, "POST /v1/a/b/send HTTP"..., 9, 0, NULL, 0) = 9"#);
        let sound = read(&[write, sync, &send]);
        assert_eq!((sound.sends, sound.unsynced_sends, sound.syncs), (1, 0, 1));
        assert_eq!(read(&[write, &send, sync]).unsynced_sends, 1);
        // Written again after it was synced.
        assert_eq!(read(&[write, sync, write, &send]).unsynced_sends, 1);
        // An answer of the tracer's own is no sync.
        let injected = format!("{sync} (INJECTED)");
        assert_eq!(read(&[write, &injected, &send]).unsynced_sends, 1);
    }

    #[test]
    fn a_sync_counts_when_it_has_returned_and_for_what_was_before_it() {
        let write = r#"11 pwrite64(9</d/homing.db-wal>, "x", 1, 0) = 1"#;
        let begin = "11 fdatasync(9</d/homing.db-wal> <unfinished ...>";
        let end = "11 <... fdatasync resumed>) = 0";
        let send =
            format!(r#"12 writev({SOCKET}, [{{iov_base="POST /v1/"..., iov_len=9}}], 1) = 9"#);
        assert_eq!(read(&[write, begin, &send, end]).unsynced_sends, 1);
        assert_eq!(read(&[write, begin, end, &send]).unsynced_sends, 0);
        assert_eq!(read(&[write, begin, write, end, &send]).unsynced_sends, 1);
    }

    #[test]
    fn a_confirmation_needs_a_sync_since_the_last_poll() {
        let poll = |offset: u64| {
            format!(
                r#"12 sendto({SOCKET}, "GET /v1/a/b/updates?offset={offset}&wait_ms=1 HTTP"..., 9, 0, NULL, 0) = 9"#
            )
        };
        let write = r#"11 pwrite64(9</d/homing.db-wal>, "x", 1, 0) = 1"#;
        let sync = "11 fdatasync(9</d/homing.db-wal>) = 0";
        let sound = read(&[&poll(0), write, sync, &poll(3), &poll(3)]);
        assert_eq!((sound.confirmations, sound.unsynced_confirmations), (1, 0));
        assert_eq!(
            read(&[&poll(0), write, &poll(3), sync]).unsynced_confirmations,
            1
        );
    }
}
