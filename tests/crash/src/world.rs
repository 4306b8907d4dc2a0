//! One world: a data folder, a simulated platform, its people, and the journal of what ran. Gateways come and go in it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use homing_ports::store::Queries as _;
use homing_simulators::Server;
use homing_store_sqlite::{SqliteReader, SqliteStore};
use tempfile::TempDir;

use crate::child::Child;
use crate::host::clock::Hurried;
use crate::host::{Options, STORE_FILE, Stall};
use crate::people::People;
use crate::planted::Planted;
use crate::sockets;

/// Between two looks at whether it is quiet.
const LOOK: Duration = Duration::from_millis(20);
/// Looks in a row that have to find nothing.
const LOOKS: u32 = 3;
/// Longest wait for the simulator to read on.
const HEARING: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub struct World {
    folder: Option<TempDir>,
    path: PathBuf,
    pub server: Arc<Server>,
    pub people: People,
    pub planted: Option<Planted>,
    /// The gateways' clock, if it is not the machine's.
    pub clock: Option<Hurried>,
}

/// What a gateway is to do besides its work.
#[derive(Debug, Clone, Copy, Default)]
pub struct How<'a> {
    pub point: Option<(&'a str, u32)>,
    pub stall: Option<Stall>,
}

impl World {
    /// Its folder is made in `place`, and removed when it is dropped.
    pub async fn new(place: &Path, threads: u64) -> anyhow::Result<World> {
        let folder = tempfile::Builder::new()
            .prefix("homing-crash-")
            .tempdir_in(place)?;
        let path = folder.path().to_owned();
        std::fs::create_dir(path.join("data"))?;
        let server = Arc::new(Server::start().await.context("starting the simulator")?);
        Ok(World {
            people: People::new(Arc::clone(&server), threads),
            folder: Some(folder),
            path,
            server,
            planted: None,
            clock: None,
        })
    }

    pub fn data(&self) -> PathBuf {
        self.path.join("data")
    }

    pub fn log(&self) -> PathBuf {
        self.path.join("gateway.log")
    }

    pub fn journal(&self) -> PathBuf {
        self.path.join("runs")
    }

    /// Leaves the folder where it is, and says where.
    pub fn keep(&mut self) -> PathBuf {
        if let Some(folder) = self.folder.take() {
            return folder.keep();
        }
        self.path.clone()
    }

    pub fn start(&self, how: How<'_>) -> anyhow::Result<Child> {
        self.start_under(&[], how)
    }

    /// `before` goes in front of the command line.
    pub fn start_under(&self, before: &[String], how: How<'_>) -> anyhow::Result<Child> {
        let options = Options {
            data: self.data(),
            simulator: self.server.url(),
            journal: self.journal(),
            hurried_from: self.clock.map(|clock| clock.from.millis()),
            point: how.point.map(|(name, _)| name.to_owned()),
            hit: how.point.map_or(1, |(_, hit)| hit),
            stall: how.stall,
            planted: self.planted,
        };
        Child::start(before, &options, &self.log())
    }

    pub async fn reader(&self) -> anyhow::Result<SqliteReader> {
        Ok(SqliteStore::open_read_only(&self.data().join(STORE_FILE)).await?)
    }

    /// Returns once the platform has read what a dead gateway has written. A message that is taken later than it was looked for would be a
    /// repeat that no gateway could have known of.
    pub async fn server_has_heard(&self) {
        let url = self.server.url();
        let port = url.rsplit(':').next().and_then(|port| port.parse().ok());
        let Some(port) = port else { return };
        let deadline = Instant::now() + HEARING;
        while sockets::half_open(port) > 0 && Instant::now() < deadline {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// Returns once nothing is under way: everything that was written is handled, every program has ended and is told or held, every message
    /// has left. After `limit` it is an error that says what is not.
    pub async fn quiet(&self, limit: Duration) -> anyhow::Result<()> {
        let deadline = Instant::now() + limit;
        let mut quiet = 0;
        loop {
            let busy = match self.busy().await {
                Ok(busy) if busy.is_empty() => {
                    quiet += 1;
                    // One look is several questions, and what moves from what was asked about to what was not yet is seen by none of them.
                    if quiet == LOOKS {
                        return Ok(());
                    }
                    tokio::time::sleep(LOOK).await;
                    continue;
                }
                Ok(busy) => busy,
                Err(error) => format!("the store cannot be read: {error:#}"),
            };
            quiet = 0;
            if Instant::now() > deadline {
                bail!("not quiet after {} s: {busy}", limit.as_secs());
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// What is under way; empty if nothing is.
    async fn busy(&self) -> anyhow::Result<String> {
        let unconfirmed = self.server.unconfirmed();
        if unconfirmed > 0 {
            return Ok(format!("{unconfirmed} messages are not accepted"));
        }
        let reader = self.reader().await?;
        let totals = reader.totals().await?;
        let delegations = reader.all_running_delegations().await?.len();
        if delegations > 0 {
            return Ok(format!("{delegations} delegations run"));
        }
        if totals.live_processes > 0 {
            return Ok(format!("{} processes live", totals.live_processes));
        }
        let waits =
            |name: &str| ["pending", "claimed", "queued", "sending", "uncertain"].contains(&name);
        let named = totals.notifications.iter().chain(&totals.outbox);
        let waiting: Vec<String> = named
            .filter(|(name, count)| *count > 0 && waits(name))
            .map(|(name, count)| format!("{count} {name}"))
            .collect();
        if !waiting.is_empty() {
            return Ok(waiting.join(", "));
        }
        for conversation in reader.conversations_with_work().await? {
            let inbound = reader.inbound_waiting(conversation, 100).await?.len();
            let turns = reader.running_turns(conversation).await?.len();
            if inbound + turns > 0 {
                return Ok(format!(
                    "{conversation} has {inbound} messages and {turns} turns under way"
                ));
            }
        }
        Ok(String::new())
    }

    /// Brings up a sound gateway, waits until it is quiet, and ends it.
    pub async fn drain(&self, limit: Duration) -> anyhow::Result<()> {
        let mut child = self.start(How::default())?;
        child
            .ready()
            .await?
            .context("the gateway does not start; its log is gateway.log")?;
        let quiet = self.quiet(limit).await;
        child.kill().await?;
        quiet
    }
}
