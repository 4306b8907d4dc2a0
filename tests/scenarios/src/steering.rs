//! The runner's side of steered programs.
//!
//! **Invariant:** a program's connection is open exactly as long as it runs. Dropping [`Steering`] ends all of them.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinHandle, JoinSet};

use crate::steer::{Done, Hello, Order};

/// How long a program may take to connect, to obey, and to end.
const LIMIT: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub struct Steering {
    socket: PathBuf,
    programs: Arc<Programs>,
    listening: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct Programs {
    by_label: Mutex<HashMap<String, Program>>,
    changed: watch::Sender<u64>,
}

#[derive(Debug)]
struct Program {
    orders: Option<OwnedWriteHalf>,
    answers: Option<mpsc::UnboundedReceiver<Done>>,
    ended: watch::Receiver<bool>,
}

impl Steering {
    pub fn start(folder: &Path) -> io::Result<Steering> {
        let socket = folder.join("steer");
        let listener = UnixListener::bind(&socket)?;
        let programs = Arc::<Programs>::default();
        let listening = tokio::spawn(listen(listener, Arc::clone(&programs)));
        Ok(Steering {
            socket,
            programs,
            listening,
        })
    }

    /// What a shell runs to get a program that answers to `label`. The label comes first, so that a command that is cut short still shows it.
    pub fn command(&self, label: &str) -> io::Result<String> {
        let program = std::env::current_exe()?;
        let quoted = |text: &str| format!("'{}'", text.replace('\'', r"'\''"));
        let [program, socket] =
            [program.as_path(), self.socket.as_path()].map(|path| quoted(&path.to_string_lossy()));
        Ok(format!(
            ": {label}; exec {program} steer {} {socket}",
            quoted(label)
        ))
    }

    pub async fn connected(&self, label: &str) -> Result<(), String> {
        let mut changes = self.programs.changed.subscribe();
        let here = changes.wait_for(|_| self.programs.lock().contains_key(label));
        match tokio::time::timeout(LIMIT, here).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(format!(
                "{label} was started but has not run within {} s",
                LIMIT.as_secs()
            )),
        }
    }

    /// Whether it runs. A program that never connected does not.
    pub fn runs(&self, label: &str) -> bool {
        self.programs
            .lock()
            .get(label)
            .is_some_and(|program| !*program.ended.borrow())
    }

    pub async fn write(&self, label: &str, text: &str) -> Result<(), String> {
        self.order(label, &Order::Write(text.to_owned())).await
    }

    /// Orders it to end, and returns once it has.
    pub async fn end(&self, label: &str, order: Order) -> Result<(), String> {
        self.order(label, &order).await?;
        self.ended(label).await
    }

    pub async fn ended(&self, label: &str) -> Result<(), String> {
        let Some(mut ended) = self
            .programs
            .lock()
            .get(label)
            .map(|program| program.ended.clone())
        else {
            return Ok(());
        };
        let over = tokio::time::timeout(LIMIT, ended.wait_for(|ended| *ended)).await;
        over.map(drop)
            .map_err(|_| format!("{label} still runs after {} s", LIMIT.as_secs()))
    }

    async fn order(&self, label: &str, order: &Order) -> Result<(), String> {
        let gone = || format!("{label} does not run any more");
        // Taken out while the order is under way: a scenario gives one at a time.
        let (mut orders, mut answers) = {
            let mut programs = self.programs.lock();
            let program = programs.get_mut(label).ok_or_else(gone)?;
            (
                program.orders.take().ok_or_else(gone)?,
                program.answers.take().ok_or_else(gone)?,
            )
        };
        let mut line = serde_json::to_vec(order).map_err(|error| error.to_string())?;
        line.push(b'\n');
        orders.write_all(&line).await.map_err(|_| gone())?;
        let done = tokio::time::timeout(LIMIT, answers.recv())
            .await
            .map_err(|_| format!("{label} does not obey"))?;
        if let Some(program) = self.programs.lock().get_mut(label) {
            program.orders = Some(orders);
            program.answers = Some(answers);
        }
        done.unwrap_or_else(|| Err(gone()))
    }
}

impl Drop for Steering {
    fn drop(&mut self) {
        // With the listener go the tasks that hold the connections, and a program that loses its connection ends.
        self.listening.abort();
        self.programs.lock().clear();
    }
}

impl Programs {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Program>> {
        self.by_label.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn listen(listener: UnixListener, programs: Arc<Programs>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        connections.spawn(hear(stream, Arc::clone(&programs)));
    }
}

/// One program, from its first word to its end.
async fn hear(stream: UnixStream, programs: Arc<Programs>) {
    let (read, write) = stream.into_split();
    let mut lines = BufReader::new(read).lines();
    let Some(Hello { label, .. }) = next(&mut lines).await else {
        return;
    };
    let (answer, answers) = mpsc::unbounded_channel();
    let (end, ended) = watch::channel(false);
    programs.lock().insert(
        label,
        Program {
            orders: Some(write),
            answers: Some(answers),
            ended,
        },
    );
    programs.changed.send_modify(|version| *version += 1);
    while let Some(done) = next::<Done>(&mut lines).await {
        // The runner may have stopped waiting.
        let _ = answer.send(done);
    }
    let _ = end.send(true);
    programs.changed.send_modify(|version| *version += 1);
}

async fn next<T: serde::de::DeserializeOwned>(
    lines: &mut Lines<BufReader<OwnedReadHalf>>,
) -> Option<T> {
    let line = lines.next_line().await.ok()??;
    serde_json::from_str(&line).ok()
}
