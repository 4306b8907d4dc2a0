//! The runner's handle of the process that hosts the gateway.
//!
//! **Invariant:** what the host said before it ended, however it ended, is in `said` once [`GatewayProcess::kill`] or `stop` has returned.

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::protocol::{Answer, Ask, BackgroundTurn, Handed, Line, Request, Setup};

/// How long a host may take to start, to answer and to stop. Its own waits are shorter, and say more when they fail.
const LIMIT: Duration = Duration::from_secs(30);
/// Characters of the log's end that a failure shows.
const LOG_SHOWN: usize = 600;

#[derive(Debug)]
pub struct GatewayProcess {
    child: Child,
    input: ChildStdin,
    heard: Arc<Heard>,
    listening: JoinHandle<()>,
    next: u64,
    log: PathBuf,
}

/// What all hosts of a scenario have told.
#[derive(Debug, Clone, Default)]
pub struct Told(Arc<Mutex<Reports>>);

#[derive(Debug, Default)]
struct Reports {
    turns: Vec<BackgroundTurn>,
    handed: Vec<Handed>,
}

impl Told {
    pub fn turn_count(&self) -> usize {
        self.lock().turns.len()
    }

    pub fn turns_since(&self, index: usize) -> Vec<BackgroundTurn> {
        self.lock().turns.get(index..).unwrap_or_default().to_vec()
    }

    /// What was given to real adapters, in order.
    pub fn handed(&self) -> Vec<Handed> {
        self.lock().handed.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Reports> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Who waits for which answer.
type Waiting = HashMap<u64, oneshot::Sender<Result<Answer, String>>>;

#[derive(Debug)]
struct Heard {
    /// `None` once nothing more will be said.
    waiting: Mutex<Option<Waiting>>,
    told: Told,
}

impl GatewayProcess {
    pub async fn start(setup: &Setup, log: &Path, told: Told) -> anyhow::Result<GatewayProcess> {
        let log_file = File::options()
            .create(true)
            .append(true)
            .open(log)
            .context("opening the host's log")?;
        let mut child = Command::new(std::env::current_exe()?)
            .arg("host")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log_file)
            .kill_on_drop(true)
            .spawn()
            .context("starting the process that hosts the gateway")?;
        let mut input = child
            .stdin
            .take()
            .context("the host has no standard input")?;
        let output = child
            .stdout
            .take()
            .context("the host has no standard output")?;
        write_line(&mut input, setup).await?;
        let heard = Arc::new(Heard {
            waiting: Mutex::new(Some(HashMap::new())),
            told,
        });
        let (ready, started) = oneshot::channel();
        let listening = tokio::spawn(listen(output, Arc::clone(&heard), ready));
        let process = GatewayProcess {
            child,
            input,
            heard,
            listening,
            next: 0,
            log: log.to_owned(),
        };
        match tokio::time::timeout(LIMIT, started).await {
            Ok(Ok(Ok(()))) => Ok(process),
            Ok(Ok(Err(refused))) => anyhow::bail!("the gateway does not start: {refused}"),
            Ok(Err(_)) => anyhow::bail!("the gateway does not start: {}", process.last_words()),
            Err(_) => anyhow::bail!(
                "the gateway has not started within {} s: {}",
                LIMIT.as_secs(),
                process.last_words()
            ),
        }
    }

    pub async fn ask(&mut self, request: Request) -> Result<Answer, String> {
        let number = self.next;
        self.next += 1;
        let (answer, answered) = oneshot::channel();
        match self.heard.lock().as_mut() {
            Some(waiting) => drop(waiting.insert(number, answer)),
            None => return Err(self.ended_by_itself()),
        }
        if write_line(&mut self.input, &Ask { number, request })
            .await
            .is_err()
        {
            return Err(self.ended_by_itself());
        }
        match tokio::time::timeout(LIMIT, answered).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(self.ended_by_itself()),
            Err(_) => Err(format!(
                "an answer of the gateway's process within {} s",
                LIMIT.as_secs()
            )),
        }
    }

    /// SIGKILL.
    pub async fn kill(mut self) -> anyhow::Result<()> {
        self.child.start_kill().context("killing the gateway")?;
        self.gone().await
    }

    /// SIGTERM.
    pub async fn stop(mut self) -> anyhow::Result<()> {
        let pid = self
            .child
            .id()
            .and_then(|pid| i32::try_from(pid).ok())
            .and_then(Pid::from_raw);
        kill_process(
            pid.context("the gateway has ended by itself")?,
            Signal::TERM,
        )
        .context("stopping the gateway")?;
        self.gone().await
    }

    async fn gone(&mut self) -> anyhow::Result<()> {
        let ended = tokio::time::timeout(LIMIT, self.child.wait()).await;
        ended
            .context("the gateway does not stop")?
            .context("waiting for the gateway")?;
        // Whoever inherited the pipe would keep it open; the gateway itself is gone.
        let _heard_all = tokio::time::timeout(Duration::from_secs(2), &mut self.listening).await;
        Ok(())
    }

    fn ended_by_itself(&self) -> String {
        format!(
            "a running gateway; its process has ended: {}",
            self.last_words()
        )
    }

    /// The end of its log, on one line.
    fn last_words(&self) -> String {
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        let end: String = log.chars().rev().take(LOG_SHOWN).collect();
        end.chars()
            .rev()
            .map(|letter| if letter == '\n' { '|' } else { letter })
            .collect()
    }
}

async fn write_line(input: &mut ChildStdin, what: &impl serde::Serialize) -> anyhow::Result<()> {
    let mut line = serde_json::to_vec(what)?;
    line.push(b'\n');
    input.write_all(&line).await?;
    Ok(input.flush().await?)
}

impl Heard {
    fn lock(&self) -> MutexGuard<'_, Option<Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn listen(
    output: ChildStdout,
    heard: Arc<Heard>,
    ready: oneshot::Sender<Result<(), String>>,
) {
    let mut ready = Some(ready);
    let mut begin = |how: Result<(), String>| {
        if let Some(ready) = ready.take() {
            // Nobody waits any more: the start has taken too long.
            let _ = ready.send(how);
        }
    };
    let mut lines = BufReader::new(output).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        match serde_json::from_str(&line) {
            Ok(Line::Ready) => begin(Ok(())),
            Ok(Line::Refused(why)) => begin(Err(why)),
            Ok(Line::Turn(turn)) => heard.told.lock().turns.push(turn),
            Ok(Line::Handed(handed)) => heard.told.lock().handed.push(handed),
            Ok(Line::Answer { number, answer }) => {
                if let Some(asker) = heard
                    .lock()
                    .as_mut()
                    .and_then(|waiting| waiting.remove(&number))
                {
                    let _ = asker.send(answer);
                }
            }
            Err(error) => {
                tracing::error!(%error, line, "the host said something that is not part of the protocol")
            }
        }
    }
    // Everyone who still waits hears that there will be no answer.
    heard.lock().take();
}
