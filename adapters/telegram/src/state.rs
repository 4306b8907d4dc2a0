//! What the adapter remembers between runs: how far updates are confirmed, which chats have moved, what could not be read.
//!
//! **Invariant:** losing any of it loses no message. The offset may lag, since the store recognises what comes twice; it is never ahead of what is
//! committed.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use homing_domain::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// After a week of silence Telegram numbers updates anew, perhaps lower; an offset from before would then wait for ever.
const OFFSET_LASTS: Duration = Duration::from_secs(6 * 24 * 60 * 60);
/// In bytes. Two files of this size are kept.
const UNREADABLE_LIMIT: u64 = 1024 * 1024;

#[derive(Debug)]
pub(crate) struct State {
    folder: PathBuf,
    now: Mutex<Facts>,
    /// One writer at a time.
    writing: Mutex<()>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Facts {
    /// The first update that is not confirmed, and when it was learnt.
    offset: Option<(i64, Timestamp)>,
    /// Chats that have new numbers: from old to new.
    moved: HashMap<i64, i64>,
}

impl State {
    /// Makes the folder. A file that cannot be read is begun anew: updates come again, and are recognised.
    pub fn open(folder: &Path) -> io::Result<State> {
        fs::create_dir_all(folder)?;
        let path = folder.join(FILE);
        let facts = match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).unwrap_or_else(|error| {
                tracing::warn!(%error, path = %path.display(), "unreadable, and begun anew; updates may come again, none is lost");
                Facts::default()
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Facts::default(),
            Err(error) => return Err(error),
        };
        Ok(State {
            folder: folder.to_owned(),
            now: Mutex::new(facts),
            writing: Mutex::new(()),
        })
    }

    /// What to ask Telegram for.
    pub fn offset(&self, now: Timestamp) -> Option<i64> {
        let (offset, since) = self.facts().offset?;
        (now.since(since) < OFFSET_LASTS).then_some(offset)
    }

    pub fn confirm(&self, offset: i64, now: Timestamp) {
        self.change(|facts| facts.offset = Some((offset, now)));
    }

    pub fn moved(&self) -> HashMap<i64, i64> {
        self.facts().moved
    }

    pub fn note_moved(&self, from: i64, to: i64) {
        self.change(|facts| {
            // A chat of the rules stays one, however often it moves.
            for at in facts.moved.values_mut().filter(|at| **at == from) {
                *at = to;
            }
            facts.moved.insert(from, to);
        });
    }

    /// Keeps an update that was not understood.
    pub fn keep(&self, update: &Value, why: &str, now: Timestamp) -> io::Result<PathBuf> {
        let _one = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let path = self.folder.join("unreadable.jsonl");
        let is_full = fs::metadata(&path).is_ok_and(|file| file.len() >= UNREADABLE_LIMIT);
        if is_full {
            fs::rename(&path, self.folder.join("unreadable.older.jsonl"))?;
        }
        let mut line = serde_json::to_vec(&serde_json::json!({
            "at": now, "why": why, "update": update,
        }))?;
        line.push(b'\n');
        let mut file = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path)?;
        file.write_all(&line)?;
        // It is confirmed to Telegram next, which then forgets it.
        file.sync_data()?;
        Ok(path)
    }

    fn facts(&self) -> Facts {
        self.now
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn change(&self, change: impl FnOnce(&mut Facts)) {
        let _one = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let facts = {
            let mut facts = self.now.lock().unwrap_or_else(PoisonError::into_inner);
            change(&mut facts);
            facts.clone()
        };
        if let Err(error) = self.write(&facts) {
            tracing::warn!(%error, folder = %self.folder.display(), "not written down; after a restart some updates come again");
        }
    }

    fn write(&self, facts: &Facts) -> io::Result<()> {
        let temporary = self.folder.join("state.json.new");
        let mut file = fs::File::create(&temporary)?;
        file.write_all(&serde_json::to_vec(facts)?)?;
        // An offset that is lost costs a repeat; a moved chat that is lost is a group that is not answered any more.
        file.sync_data()?;
        fs::rename(&temporary, self.folder.join(FILE))
    }
}

const FILE: &str = "state.json";

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]
mod tests {
    use super::*;
    use serde_json::json;

    const DAY: Duration = Duration::from_secs(86_400);

    #[test]
    fn the_offset_survives_a_restart_and_not_a_week() {
        let folder = tempfile::tempdir().unwrap();
        let start = Timestamp(1_000);
        let state = State::open(folder.path()).unwrap();
        assert_eq!(state.offset(start), None);
        state.confirm(41, start);
        let state = State::open(folder.path()).unwrap();
        assert_eq!(state.offset(start.plus(DAY * 5)), Some(41));
        assert_eq!(state.offset(start.plus(DAY * 6)), None);
    }

    #[test]
    fn a_broken_file_is_begun_anew() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(FILE), "{\"offset\": ").unwrap();
        let state = State::open(folder.path()).unwrap();
        assert_eq!(state.offset(Timestamp(0)), None);
    }

    // OWN-72
    #[test]
    fn a_chat_that_moves_twice_is_found_by_its_first_number() {
        let folder = tempfile::tempdir().unwrap();
        State::open(folder.path()).unwrap().note_moved(-1, -100);
        let state = State::open(folder.path()).unwrap();
        state.note_moved(-100, -200);
        assert_eq!(state.moved()[&-1], -200);
        assert_eq!(state.moved()[&-100], -200);
    }

    #[test]
    fn what_is_unreadable_is_kept_within_bounds() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::open(folder.path()).unwrap();
        let update = json!({"update_id": 1, "x": "y".repeat(300_000)});
        for _ in 0..9 {
            state.keep(&update, "odd", Timestamp(5)).unwrap();
        }
        let size = |name: &str| fs::metadata(folder.path().join(name)).unwrap().len();
        assert!(size("unreadable.jsonl") < 2 * UNREADABLE_LIMIT);
        assert!(size("unreadable.older.jsonl") < 2 * UNREADABLE_LIMIT);
        let path = state
            .keep(&json!({"update_id": 2}), "odd", Timestamp(6))
            .unwrap();
        let kept = fs::read_to_string(path).unwrap();
        let last: Value = serde_json::from_str(kept.lines().last().unwrap()).unwrap();
        assert_eq!(last["update"]["update_id"], 2);
    }
}
