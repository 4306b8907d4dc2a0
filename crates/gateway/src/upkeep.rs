//! Upkeep: automatic resets that are due, and output and files that have been kept for long enough.
//!
//! **Invariant:** a reset is only proposed here; the conversation's own task decides whether it may happen (OWN-15). The output of a result
//! that nobody was told of yet is never removed.
//! **Absent on purpose:** haste. It looks once a minute, at a few rows that an index finds.

use std::fs::{DirEntry, Metadata};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use homing_domain::session::Boundary;
use homing_domain::time::Timestamp;
use homing_ports::processes::ProcessError;
use homing_ports::store::{Change, StoreError};
use jiff::tz::TimeZone;
use jiff::{ToSpan, ZonedDateTime};

use crate::conversation::Wake;
use crate::inside::Inside;
use crate::settings::AutoReset;

/// Pause between two looks.
const EVERY: Duration = Duration::from_secs(60);
/// Rows of one look.
const AT_ONCE: u32 = 500;

/// Runs until the gateway stops.
pub(crate) async fn run(inside: Arc<Inside>) {
    loop {
        let pause = inside.clock.sleep_until(inside.now().plus(EVERY));
        if inside.stopping.run_until_cancelled(pause).await.is_none() {
            return;
        }
        if let Err(error) = look(&inside).await {
            if matches!(error, StoreError::Fenced { .. }) {
                tracing::error!(%error, "stopping");
                inside.stopping.cancel();
                return;
            }
            tracing::warn!(%error, "upkeep could not ask the store; it will the next time");
        }
    }
}

async fn look(inside: &Arc<Inside>) -> Result<(), StoreError> {
    propose_resets(inside).await?;
    forget_output(inside).await?;
    forget_files(inside).await;
    clean(inside).await
}

/// What was delivered and handled long ago.
async fn clean(inside: &Arc<Inside>) -> Result<(), StoreError> {
    let Some(keep) = inside.settings.keep_records_for else {
        return Ok(());
    };
    let before = Timestamp(
        inside
            .now()
            .millis()
            .saturating_sub(keep.as_millis() as i64),
    );
    let removed = inside.store.clean(before, AT_ONCE).await?;
    if removed > 0 {
        tracing::info!(
            removed,
            "removed records of messages that were delivered or handled long ago"
        );
    }
    Ok(())
}

async fn propose_resets(inside: &Arc<Inside>) -> Result<(), StoreError> {
    let Some((before, why)) = due(&inside.settings.reset, inside.now()) else {
        return Ok(());
    };
    for conversation in inside.store.idle_conversations(before, AT_ONCE).await? {
        let (answer, _nobody_asks) = tokio::sync::oneshot::channel();
        inside
            .mailboxes
            .wake(inside, conversation, Wake::AutoReset { why, answer });
    }
    Ok(())
}

/// Sessions without activity since then are to be reset, and why. Pure.
fn due(reset: &AutoReset, now: Timestamp) -> Option<(Timestamp, Boundary)> {
    match reset {
        AutoReset::Off => None,
        AutoReset::Idle { after } => Some((
            Timestamp(now.millis().saturating_sub(after.as_millis() as i64)),
            Boundary::Idle,
        )),
        AutoReset::Daily { hour, zone } => {
            Some((last_time_it_was(*hour, zone, now)?, Boundary::Daily))
        }
    }
}

/// The newest moment, not after `now`, at which the clocks of `zone` showed this hour. A day on which they skip it counts from the hour after.
fn last_time_it_was(hour: u8, zone: &TimeZone, now: Timestamp) -> Option<Timestamp> {
    let here: ZonedDateTime = jiff::Timestamp::from_millisecond(now.millis())
        .ok()?
        .to_zoned_datetime(zone.clone());
    // An hour that no day has is no moment: `at` would end the program.
    let hour = jiff::civil::Time::new(i8::try_from(hour).ok()?, 0, 0, 0).ok()?;
    let at = |day: &ZonedDateTime| {
        day.date()
            .to_datetime(hour)
            .to_zoned_datetime(zone.clone())
            .ok()
    };
    let today = at(&here)?;
    let latest = match today <= here {
        true => today,
        false => at(&here.checked_sub(1.day()).ok()?)?,
    };
    Some(Timestamp(latest.timestamp().as_millisecond()))
}

async fn forget_output(inside: &Arc<Inside>) -> Result<(), StoreError> {
    let keep = inside.settings.keep_output_for.as_millis() as i64;
    let before = Timestamp(inside.now().millis().saturating_sub(keep));
    for (process, conversation) in inside.store.output_to_forget(before, AT_ONCE).await? {
        match inside.processes.forget(process).await {
            Ok(()) | Err(ProcessError::Unknown(_)) => {
                // Unmet when somebody was faster, which is as good.
                let _forgotten = inside
                    .commit(conversation, vec![Change::ForgetOutput { process }])
                    .await?;
            }
            // What it left behind still runs under its supervisor: later.
            Err(ProcessError::Running(_)) => {}
            Err(error) => {
                tracing::warn!(process.id = %process, %error, "its run folder cannot be removed now")
            }
        }
    }
    Ok(())
}

/// Copies of files, a folder for each conversation, by the time of their last change.
async fn forget_files(inside: &Arc<Inside>) {
    let before = Timestamp(
        inside
            .now()
            .millis()
            .saturating_sub(inside.settings.keep_output_for.as_millis() as i64),
    );
    let folder = inside.settings.files.clone();
    let removed = tokio::task::spawn_blocking(move || remove_files(&folder, before)).await;
    match removed {
        Ok(Ok(0)) => {}
        Ok(Ok(removed)) => tracing::info!(
            removed,
            "removed copies of files that were kept for long enough"
        ),
        Ok(Err(error)) => tracing::warn!(%error, "old files cannot be removed now"),
        Err(error) => tracing::warn!(%error, "removing old files broke off"),
    }
}

/// Of the files in the folders below it, those that were last changed before that. Everything else is somebody else's.
fn remove_files(folder: &Path, before: Timestamp) -> std::io::Result<u64> {
    let mut removed = 0;
    for conversation in entries(folder)? {
        if !conversation.file_type()?.is_dir() {
            continue;
        }
        for file in entries(&conversation.path())? {
            let about = file.metadata()?;
            if about.is_file() && changed_at(&about)? < before {
                std::fs::remove_file(file.path())?;
                removed += 1;
            }
        }
    }
    Ok(removed)
}

/// None where the folder is not there yet.
fn entries(folder: &Path) -> std::io::Result<Vec<DirEntry>> {
    match std::fs::read_dir(folder) {
        Ok(entries) => entries.collect(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

fn changed_at(about: &Metadata) -> std::io::Result<Timestamp> {
    let since = about.modified()?.duration_since(SystemTime::UNIX_EPOCH);
    let millis = since.map_or(0, |since| since.as_millis());
    Ok(Timestamp(i64::try_from(millis).unwrap_or(i64::MAX)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn moment(text: &str) -> Timestamp {
        Timestamp(text.parse::<jiff::Timestamp>().unwrap().as_millisecond())
    }

    // OWN-15
    #[test]
    fn a_day_begins_at_its_hour_in_its_zone() {
        let berlin = TimeZone::get("Europe/Berlin").unwrap();
        let last = |now: &str| last_time_it_was(4, &berlin, moment(now)).unwrap();
        assert_eq!(last("2026-11-29T12:00:00Z"), moment("2026-11-29T03:00:00Z"));
        assert_eq!(last("2026-11-29T02:59:59Z"), moment("2026-11-28T03:00:00Z"));
        // Summer time.
        assert_eq!(last("2026-07-01T02:00:00Z"), moment("2026-07-01T02:00:00Z"));
        // The night in which the clocks go forward at two has no half past two; four is there.
        assert_eq!(last("2026-03-29T02:00:00Z"), moment("2026-03-29T02:00:00Z"));
        for no_hour in [24, 127, 255] {
            let now = moment("2026-11-29T12:00:00Z");
            assert_eq!(last_time_it_was(no_hour, &berlin, now), None);
        }
    }

    #[test]
    fn files_go_when_they_were_kept_for_long_enough_and_nothing_else_does() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(
            remove_files(&folder.path().join("nothing"), Timestamp(0)).unwrap(),
            0
        );
        let conversation = folder.path().join("cnv_1");
        std::fs::create_dir_all(conversation.join("deeper")).unwrap();
        let write = |path: std::path::PathBuf, age: u64| {
            let file = std::fs::File::create(path).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(age))
                .unwrap();
        };
        write(conversation.join("old"), 10);
        write(conversation.join("new"), 30);
        write(conversation.join("deeper/old"), 10);
        // A folder in it is not ours to remove, however old.
        let deeper = std::fs::File::open(conversation.join("deeper")).unwrap();
        deeper.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        write(folder.path().join("beside"), 10);
        assert_eq!(remove_files(folder.path(), Timestamp(20_000)).unwrap(), 1);
        assert!(!conversation.join("old").exists());
        for kept in [
            conversation.join("new"),
            conversation.join("deeper/old"),
            folder.path().join("beside"),
        ] {
            assert!(kept.exists(), "{}", kept.display());
        }
    }

    #[test]
    fn off_proposes_nothing_and_idle_counts_back() {
        let now = moment("2026-11-29T12:00:00Z");
        assert_eq!(due(&AutoReset::Off, now), None);
        let idle = AutoReset::Idle {
            after: Duration::from_secs(3_600),
        };
        assert_eq!(
            due(&idle, now),
            Some((moment("2026-11-29T11:00:00Z"), Boundary::Idle))
        );
    }
}
