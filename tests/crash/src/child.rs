//! A gateway in a process of its own, as its parent holds it.
//!
//! **Invariant:** once [`Child::kill`] or [`Child::ended`] has returned, the process is gone: it has been waited for.

use std::fs::File;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{ChildStdin, Command};
use tokio::task::JoinHandle;

use crate::host::{Options, READY};

/// A gateway that has not started by then never will.
pub const START_LIMIT: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub struct Child {
    process: tokio::process::Child,
    /// Closed when this is dropped: then the child ends as well.
    input: ChildStdin,
    begun: Instant,
    ready: Option<JoinHandle<Option<Instant>>>,
}

impl Child {
    /// `before` goes in front of the command line: a tracer and its arguments.
    pub fn start(before: &[String], options: &Options, log: &Path) -> anyhow::Result<Child> {
        let log = File::options().create(true).append(true).open(log)?;
        let own = std::env::current_exe()?.display().to_string();
        let line: Vec<String> = [before, &[own, "host".to_owned()], &options.arguments()].concat();
        let (program, arguments) = line.split_first().context("nothing to start")?;
        let begun = Instant::now();
        let mut process = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("starting {program}"))?;
        let input = process.stdin.take().context("no standard input")?;
        let output = process.stdout.take().context("no standard output")?;
        let ready = tokio::spawn(async move {
            let mut lines = BufReader::new(output).lines();
            let first = lines.next_line().await.ok()??;
            (first == READY).then(Instant::now)
        });
        Ok(Child {
            process,
            input,
            begun,
            ready: Some(ready),
        })
    }

    /// How long it took until its adapter was open. `None` if it ended before.
    pub async fn ready(&mut self) -> anyhow::Result<Option<Duration>> {
        let Some(ready) = self.ready.take() else {
            return Ok(None);
        };
        let at = tokio::time::timeout(START_LIMIT, ready).await;
        let at = at.with_context(|| format!("not ready within {} s", START_LIMIT.as_secs()))?;
        Ok(at?.map(|at| at.duration_since(self.begun)))
    }

    /// SIGKILL.
    pub async fn kill(mut self) -> anyhow::Result<ExitStatus> {
        // It may be gone already; the wait says how it ended.
        let _gone = self.process.start_kill();
        Ok(self.process.wait().await?)
    }

    /// Lets it end by itself, and so lets a tracer in front of it write down everything.
    pub async fn let_go(self) -> anyhow::Result<ExitStatus> {
        let Child {
            mut process, input, ..
        } = self;
        drop(input);
        let ended = tokio::time::timeout(START_LIMIT, process.wait()).await;
        Ok(ended.context("it does not end")??)
    }

    pub async fn ended(&mut self) -> anyhow::Result<ExitStatus> {
        Ok(self.process.wait().await?)
    }
}
