//! Known-bad gateways: the loop must find each of them, or it proves nothing about the good one.
//!
//! **Absent on purpose:** changes to the gateway itself. What is wrong is a wrapper around a port, or done to the files between two lives.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::ValueEnum as _;

use crate::check::Figures;
use crate::crash_loop::{self, Kill, Round};
use crate::random::Random;
use crate::report;

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Planted {
    /// A message is confirmed to the platform before it is stored.
    AckBeforeAccept,
    /// A commit that marks a send is answered before it is made.
    DoneBeforeCommit,
    /// The end of the log is gone after a crash, as after a power cut with `synchronous=OFF`.
    CutLog,
    /// A program runs before its row is committed.
    StartBeforeRow,
    /// An end and its notification are two transactions.
    EndInTwoSteps,
    /// What may have arrived is sent again under another id.
    FreshIdAfterCrash,
    /// A send is confirmed to the outbox before it is made.
    ConfirmBeforeSend,
    /// Results leave beside the outbox, when they like.
    BesideTheOutbox,
    /// Results go to another thread.
    OtherThread,
    /// A restart starts what it finds once more.
    StartAgain,
    /// An unknown end is rounded to success.
    LostAsSuccess,
    /// What may be a repeat does not say so.
    UnmarkedRepeat,
    /// A search for what may have arrived finds nothing.
    BlindSearch,
    /// Results forget the window that they are addressed to.
    WindowForgotten,
    /// A window that is closed still counts as open.
    ClosedWindowOwns,
    /// The end of a sub-agent is recorded with two notifications.
    DelegationEndsTwice,
    /// A sub-agent that was cut short is recorded as finished.
    InterruptedAsFinished,
    /// What matched and was not told yet is left out of the end.
    MatchesDroppedAtExit,
    /// What an automatic reset asks about living processes is answered with none.
    ResetOfLiveWork,
}

/// Rounds that a bad gateway is given to be found in.
const TRIES: u64 = 6;
const ROUND: Duration = Duration::from_secs(4);
/// Programs have to live for a while beside a gateway that does.
const CALM: Duration = Duration::from_millis(3_000);
/// Some of them never become quiet, which is found as well, but is not what they are planted for.
const DRAIN: Duration = Duration::from_secs(6);

impl Planted {
    fn name(self) -> String {
        self.to_possible_value()
            .map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// What gives it away, and nothing else counts.
    fn caught_by(self, figures: &Figures) -> u64 {
        match self {
            Planted::AckBeforeAccept => figures.confirmations_missing,
            Planted::DoneBeforeCommit => figures.duplicated,
            Planted::CutLog => figures.lost + figures.duplicated + figures.confirmations_missing,
            Planted::StartBeforeRow | Planted::EndInTwoSteps | Planted::LostAsSuccess => {
                figures.lost
            }
            Planted::FreshIdAfterCrash
            | Planted::UnmarkedRepeat
            | Planted::BlindSearch
            | Planted::DelegationEndsTwice => figures.duplicated,
            Planted::InterruptedAsFinished | Planted::MatchesDroppedAtExit => figures.lost,
            Planted::WindowForgotten | Planted::ClosedWindowOwns => figures.misrouted,
            Planted::ResetOfLiveWork => figures.resets_too_early,
            Planted::ConfirmBeforeSend => figures.false_delivered,
            Planted::BesideTheOutbox | Planted::OtherThread => figures.misrouted,
            Planted::StartAgain => figures.ran_twice,
        }
    }

    fn kill(self) -> Kill {
        match self {
            Planted::LostAsSuccess => Kill::Both,
            // These take their time, so the gateway has to live.
            Planted::BesideTheOutbox
            | Planted::ClosedWindowOwns
            | Planted::MatchesDroppedAtExit
            | Planted::ResetOfLiveWork => Kill::Shim,
            _ => Kill::Gateway,
        }
    }
}

#[derive(serde::Serialize)]
struct Printed {
    seed: u64,
    planted: u64,
    caught: u64,
    /// By name, what was found of it.
    by: serde_json::Map<String, serde_json::Value>,
}

/// `true` if all were caught.
pub async fn run(seed: u64, place: &Path, only: &[Planted], json: bool) -> anyhow::Result<bool> {
    let all = match only {
        [] => Planted::value_variants(),
        only => only,
    };
    let mut printed = Printed {
        seed,
        planted: all.len() as u64,
        caught: 0,
        by: serde_json::Map::new(),
    };
    // Two at a time: each mostly waits.
    for pair in all.chunks(2) {
        let caught: Vec<_> = pair
            .iter()
            .map(|planted| tokio::spawn(catch(*planted, seed, place.to_owned())))
            .collect();
        for (planted, caught) in pair.iter().zip(caught) {
            let times = caught.await??;
            printed.caught += u64::from(times > 0);
            printed.by.insert(planted.name(), times.into());
            if times == 0 {
                report::note(&format!("{}: not caught", planted.name()));
            }
        }
    }
    report::figures("planted", &printed, json)?;
    Ok(printed.caught == printed.planted)
}

/// How often it was found; 0 if in no round.
async fn catch(planted: Planted, seed: u64, place: PathBuf) -> anyhow::Result<u64> {
    for tried in 0..TRIES {
        let round = Round {
            seed: seed.wrapping_add(tried),
            lasts: ROUND,
            kill: planted.kill(),
            calm: CALM,
            planted: Some(planted),
            drain: DRAIN,
        };
        let outcome = crash_loop::round(round, &place).await?;
        let times = planted.caught_by(&outcome.found.figures);
        if times > 0 {
            return Ok(times);
        }
        report::faults(&planted.name(), &outcome.found.faults);
    }
    Ok(0)
}

/// Longest piece that is cut off, in bytes.
const CUT: u64 = 64 * 1024;
/// Of SQLite's log.
const LOG_HEADER: u64 = 32;

/// Cuts off the end of the store's log, of which a power cut would leave nothing if it was never synced.
pub fn cut_log(data: &Path, random: &mut Random) -> anyhow::Result<()> {
    let log = data.join(format!("{}-wal", crate::host::STORE_FILE));
    let Ok(file) = OpenOptions::new().write(true).open(&log) else {
        // There is none yet.
        return Ok(());
    };
    let length = file.metadata()?.len();
    if length > LOG_HEADER {
        let cut = random.below(CUT.min(length - LOG_HEADER));
        file.set_len(length - cut)?;
    }
    Ok(())
}
