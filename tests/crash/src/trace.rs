//! What `strace -f -yy` wrote, read in its order.
//!
//! **Invariant:** a call counts against us as soon as it begins and for us only once it has returned: a sync covers what was written before it
//! began. What counts as written is what the pages say, not that there were some: several conversations write at the same time.

mod call;
mod page;

use std::collections::{BTreeMap, HashMap};

use homing_domain::ids::OutboxId;

use call::{Call, bytes_in};

/// The store's log, as `-yy` names an open file.
const LOG: &str = "-wal>";

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Trace {
    pub sends: u64,
    /// Sends of an attempt that no synced page of the store says is being made.
    pub unsynced_sends: u64,
    /// Polls that confirm something.
    pub confirmations: u64,
    /// Of them, those of a message that no synced page of the store holds.
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
    /// The first write of the log that says that this attempt is being made.
    sending: BTreeMap<(OutboxId, u64), u64>,
    /// The first that holds this message: platform, and the platform's id of it.
    accepted: BTreeMap<(String, String), u64>,
    /// By platform, the offset of the last poll.
    offsets: BTreeMap<String, u64>,
}

impl Trace {
    pub fn read(text: &str) -> Trace {
        let mut reading = Reading::default();
        for line in text.lines() {
            if let Some(call) = Call::read(line) {
                reading.call(&call);
            }
        }
        reading.trace
    }
}

impl Reading {
    fn call(&mut self, call: &Call<'_>) {
        match call {
            Call::Resumed { thread, made } => {
                if let Some(covered) = self.syncing.remove(*thread) {
                    self.synced(covered, *made);
                }
            }
            Call::Sync { thread, file, made } if file.contains(LOG) => {
                let covered = self.trace.log_writes;
                match made {
                    None => drop(self.syncing.insert((*thread).to_owned(), covered)),
                    Some(made) => self.synced(covered, *made),
                }
            }
            Call::Write { file, arguments } if file.contains(LOG) => {
                self.trace.log_writes += 1;
                self.page(&bytes_in(arguments));
            }
            Call::Write { file, arguments } if file.contains("<TCP") => {
                self.said(&bytes_in(arguments));
            }
            Call::Sync { .. } | Call::Write { .. } => {}
        }
    }

    fn synced(&mut self, covered: u64, made: bool) {
        if made {
            self.trace.syncs += 1;
            self.synced = self.synced.max(covered);
        }
    }

    /// Writes are counted from 1.
    fn page(&mut self, bytes: &[u8]) {
        let write = self.trace.log_writes;
        for row in page::rows(bytes) {
            if let Some(attempt) = row.sending() {
                self.sending.entry(attempt).or_insert(write);
            }
            if let Some(message) = row.accepted() {
                self.accepted.entry(message).or_insert(write);
            }
        }
    }

    fn is_synced(&self, write: Option<&u64>) -> bool {
        write.is_some_and(|write| *write <= self.synced)
    }

    fn said(&mut self, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes);
        if text.starts_with("POST /") {
            self.trace.sends += 1;
            let sound = attempt(&text).is_some_and(|sent| self.is_synced(self.sending.get(&sent)));
            self.trace.unsynced_sends += u64::from(!sound);
        } else if let Some((platform, offset)) = poll(&text) {
            let before = self.offsets.insert(platform.clone(), offset).unwrap_or(0);
            if offset > before {
                // The newest of those that it confirms.
                let newest = (platform, (offset - 1).to_string());
                let sound = self.is_synced(self.accepted.get(&newest));
                self.trace.confirmations += 1;
                self.trace.unsynced_confirmations += u64::from(!sound);
            }
        }
    }
}

/// Which item a send is of, and the how manieth time.
fn attempt(request: &str) -> Option<(OutboxId, u64)> {
    let id = after(request, "\"id\":\"")?.split('"').next()?;
    let attempt = number(after(request, "\"attempt\":")?)?;
    Some((id.parse().ok()?, attempt))
}

fn poll(request: &str) -> Option<(String, u64)> {
    let platform = request.strip_prefix("GET /v1/")?.split('/').next()?;
    let offset = number(after(request, "updates?offset=")?)?;
    Some((platform.to_owned(), offset))
}

fn after<'a>(text: &'a str, mark: &str) -> Option<&'a str> {
    Some(text.split_once(mark)?.1)
}

fn number(text: &str) -> Option<u64> {
    let digits = text.split(|letter: char| !letter.is_ascii_digit()).next()?;
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use call::quoted;
    use page::leaf;

    const SOCKET: &str = "7<TCP:[127.0.0.1:1->127.0.0.1:2]>";
    const SYNC: &str = "11 fdatasync(9</d/homing.db-wal>) = 0";

    fn read(lines: &[&str]) -> Trace {
        Trace::read(&lines.join("\n"))
    }

    fn item(number: u64) -> OutboxId {
        OutboxId::from_number(number)
    }

    fn write(page: &[u8]) -> String {
        format!(
            "11 pwrite64(9</d/homing.db-wal>, {}, 4096, 0) = 4096",
            quoted(page)
        )
    }

    fn row(number: u64, state: &str, attempt: u64) -> String {
        write(&leaf::outbox(item(number), state, attempt))
    }

    fn send(number: u64, attempt: u64) -> String {
        let body = format!(
            r#"{{"id":"{}","deduplicate":true,"attempt":{attempt}}}"#,
            item(number)
        );
        let request = format!("POST /v1/a/b/send HTTP/1.1\r\n\r\n{body}");
        format!(
            "12 sendto({SOCKET}, {}, 9, 0, NULL, 0) = 9",
            quoted(request.as_bytes())
        )
    }

    #[test]
    fn a_send_after_the_sync_is_sound_and_one_before_it_is_not() {
        let (write, send) = (row(5, "sending", 1), send(5, 1));
        let sound = read(&[&write, SYNC, &send]);
        assert_eq!((sound.sends, sound.unsynced_sends, sound.syncs), (1, 0, 1));
        assert_eq!(read(&[&write, &send, SYNC]).unsynced_sends, 1);
        assert_eq!(read(&[SYNC, &send]).unsynced_sends, 1);
        // An answer of the tracer's own is no sync.
        let injected = format!("{SYNC} (INJECTED)");
        assert_eq!(read(&[&write, &injected, &send]).unsynced_sends, 1);
    }

    #[test]
    fn what_another_conversation_writes_meanwhile_is_nothing_to_a_send() {
        let (mine, other) = (row(5, "sending", 1), row(6, "sending", 1));
        assert_eq!(read(&[&mine, SYNC, &other, &send(5, 1)]).unsynced_sends, 0);
        // And its sync is no help.
        assert_eq!(read(&[&other, SYNC, &mine, &send(5, 1)]).unsynced_sends, 1);
    }

    #[test]
    fn the_page_must_say_that_this_attempt_is_being_made() {
        for page in [row(5, "queued", 0), row(5, "sending", 1), row(5, "sent", 2)] {
            assert_eq!(read(&[&page, SYNC, &send(5, 2)]).unsynced_sends, 1);
        }
    }

    #[test]
    fn a_sync_counts_when_it_has_returned_and_for_what_was_before_it() {
        let (write, send) = (row(5, "sending", 1), send(5, 1));
        let begin = "11 fdatasync(9</d/homing.db-wal> <unfinished ...>";
        let end = "11 <... fdatasync resumed>) = 0";
        assert_eq!(read(&[&write, begin, &send, end]).unsynced_sends, 1);
        assert_eq!(read(&[&write, begin, end, &send]).unsynced_sends, 0);
        assert_eq!(read(&[begin, &write, end, &send]).unsynced_sends, 1);
    }

    #[test]
    fn a_confirmation_needs_its_newest_message_on_disk() {
        let poll = |offset: u64| {
            let request = format!("GET /v1/somewhere/b/updates?offset={offset}&wait_ms=1 HTTP/1.1");
            format!(
                "12 sendto({SOCKET}, {}, 9, 0, NULL, 0) = 9",
                quoted(request.as_bytes())
            )
        };
        let write = write(&leaf::inbound("somewhere", "2"));
        let sound = read(&[&poll(0), &write, SYNC, &poll(3), &poll(3)]);
        assert_eq!((sound.confirmations, sound.unsynced_confirmations), (1, 0));
        assert_eq!(
            read(&[&poll(0), &write, &poll(3), SYNC]).unsynced_confirmations,
            1
        );
        assert_eq!(
            read(&[&poll(0), &write, SYNC, &poll(9)]).unsynced_confirmations,
            1
        );
    }
}
