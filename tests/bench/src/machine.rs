//! What the machine says: its clock, and what processes and threads use.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use anyhow::Context as _;
use rustix::time::{ClockId, clock_gettime};

/// Names of threads, by which their CPU time is told apart.
pub const GATEWAY: &str = "gateway";
pub const SIMULATOR: &str = "simulator";

/// CLOCK_MONOTONIC in nanoseconds: the same for all processes of the machine.
pub fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}

/// Where an `Instant` stands on [`monotonic_ns`]. On Linux both are the same clock, but an `Instant` does not say its number.
#[derive(Debug, Clone, Copy)]
pub struct Anchor {
    instant: Instant,
    ns: u64,
}

impl Anchor {
    pub fn new() -> Anchor {
        Anchor {
            instant: Instant::now(),
            ns: monotonic_ns(),
        }
    }

    /// Milliseconds from a stamp to an instant; negative if the stamp is later.
    pub fn ms_since(&self, stamp_ns: u64, instant: Instant) -> f64 {
        let at = self.ns as f64 + instant.saturating_duration_since(self.instant).as_nanos() as f64;
        (at - stamp_ns as f64) / 1e6
    }
}

/// Who used the CPU, in microseconds.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cpu {
    /// Threads of the gateway's runtime, the adapter's HTTP included.
    pub gateway: f64,
    /// The store's writer and its connection, which is the first that is opened.
    pub writer: f64,
    /// The store's other connections.
    pub readers: f64,
    /// Threads of the simulated platform and of the people on it.
    pub simulator: f64,
}

impl Cpu {
    /// Of this process until now. A thread that has ended is forgotten, so compare readings of one phase only.
    pub fn now() -> anyhow::Result<Cpu> {
        let mut cpu = Cpu::default();
        let mut connections = BTreeMap::new();
        let threads = std::fs::read_dir("/proc/self/task").context("listing threads")?;
        for thread in threads.flatten() {
            let read = |file: &str| std::fs::read_to_string(thread.path().join(file));
            // A thread may end while it is looked at.
            let (Ok(name), Ok(used)) = (read("comm"), read("schedstat")) else {
                continue;
            };
            let used = used.split_whitespace().next();
            let used = used.and_then(|ns| ns.parse().ok()).unwrap_or(0.0) / 1e3;
            match name.trim() {
                GATEWAY => cpu.gateway += used,
                SIMULATOR => cpu.simulator += used,
                name if name.starts_with("homing-writer") => cpu.writer += used,
                name if name.starts_with("sqlx-sqlite") => {
                    let number = thread.file_name().to_string_lossy().parse::<u32>();
                    connections.insert(number.unwrap_or(u32::MAX), used);
                }
                _ => {}
            }
        }
        let mut connections = connections.into_values();
        cpu.writer += connections.next().unwrap_or(0.0);
        cpu.readers = connections.sum();
        Ok(cpu)
    }

    pub fn since(self, before: Cpu) -> Cpu {
        Cpu {
            gateway: self.gateway - before.gateway,
            writer: self.writer - before.writer,
            readers: self.readers - before.readers,
            simulator: self.simulator - before.simulator,
        }
    }
}

/// The memory lines of a process's status, in KiB.
#[derive(Debug)]
pub struct Memory(BTreeMap<String, f64>);

impl Memory {
    pub fn of(pid: u32) -> anyhow::Result<Memory> {
        let path = format!("/proc/{pid}/status");
        let status = std::fs::read_to_string(&path).with_context(|| format!("reading {path}"))?;
        let lines = status.lines().filter_map(|line| {
            let (name, rest) = line.split_once(':')?;
            Some((
                name.to_owned(),
                rest.split_whitespace().next()?.parse().ok()?,
            ))
        });
        Ok(Memory(lines.collect()))
    }

    pub fn kib(&self, name: &str) -> anyhow::Result<f64> {
        self.0
            .get(name)
            .copied()
            .with_context(|| format!("the kernel does not tell {name}"))
    }

    /// In millions of bytes.
    pub fn mb(&self, name: &str) -> anyhow::Result<f64> {
        Ok(self.kib(name)? * 1024.0 / 1e6)
    }
}

/// The size of a file in millions of bytes.
pub fn file_mb(path: &Path) -> anyhow::Result<f64> {
    let metadata = path
        .metadata()
        .with_context(|| format!("looking at {}", path.display()))?;
    Ok(metadata.len() as f64 / 1e6)
}
