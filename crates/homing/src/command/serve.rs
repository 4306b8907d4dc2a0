//! `homing serve`: the gateway, until it is told to stop.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, bail};
use homing_config::Config;
use homing_console::Inside;
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::arguments::Serve;
use crate::control::{self, token::Secret};
use crate::{anew, data, logging, wiring};

/// Threads that wait for the disk, for a supervisor that starts, for names to be resolved. Twice as many as starts at once need; each that was ever
/// needed at the same time costs memory from then on.
const WAITING_THREADS: usize = 16;

pub fn run(arguments: Serve, started: Instant) -> anyhow::Result<ExitCode> {
    logging::start();
    let config = read_config(&arguments)?;
    anew::begin(&config)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .max_blocking_threads(WAITING_THREADS)
        .build()
        .context("starting the runtime")?;
    runtime.block_on(serve(config, started))
}

fn read_config(arguments: &Serve) -> anyhow::Result<Config> {
    let mut config = match &arguments.config {
        Some(path) => {
            let text = std::fs::read_to_string(path)
                .with_context(|| format!("reading the settings {}", path.display()))?;
            Config::parse(&text).with_context(|| format!("in {}", path.display()))?
        }
        None => Config::default(),
    };
    if let Some(data) = &arguments.data {
        config.gateway.data.clone_from(data);
    }
    if let Some(listen) = arguments.listen {
        config.gateway.listen = listen;
    }
    config.check()?;
    Ok(config)
}

async fn serve(config: Config, started: Instant) -> anyhow::Result<ExitCode> {
    // First of all: whoever is told that it is ready may stop it at once.
    let signals = Signals::listen()?;
    let folder = data::take(&config.gateway.data)?;
    let listener = listen(config.gateway.listen).await?;
    let address = listener
        .local_addr()
        .context("asking for the address that is listened on")?;
    let secret = Secret::open(&folder.path)?;
    let wired = wiring::wire(&config, &folder.path, secret.access(&folder.path)).await?;
    let inside = Inside {
        inbox: wired.gateway.inbox(),
        queries: std::sync::Arc::new(wired.store.clone()),
        processes: wired.processes.clone(),
    };
    wired.gateway.keep_up();
    let shutdown = CancellationToken::new();
    let console = wired.console.clone();
    let serving = tokio::spawn({
        let shutdown = shutdown.clone();
        async move { console.serve(listener, inside, shutdown).await }
    });
    let telegram = wired.telegram.map(|telegram| {
        let (inbox, shutdown) = (wired.gateway.inbox(), shutdown.clone());
        tokio::spawn(async move {
            // The adapter tells the operator, too; the gateway and the console go on without it.
            if let Err(error) = telegram.serve(inbox, shutdown).await {
                tracing::error!(%error, "Telegram is not served any more");
            }
        })
    });
    let control = control::server::listen(
        &folder.path,
        secret,
        wired.gateway.clone(),
        shutdown.clone(),
    )?;
    say(&format!("ready in {} ms", started.elapsed().as_millis()));
    say(&format!("console: {}", wired.console.login_link(address)));
    let why = signals.wait(&wired.gateway.stopping()).await;
    tracing::info!(?why, "stopping; background processes go on");
    let stopped = wired.gateway.stop(config.gateway.stop_within).await;
    shutdown.cancel();
    match serving.await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::error!(%error, "the console broke off"),
        Err(error) => tracing::error!(%error, "the console broke off"),
    }
    if let Some(serving) = telegram
        && let Err(error) = serving.await
    {
        tracing::error!(%error, "the Telegram adapter broke off");
    }
    control.await.context("ending the control socket")?;
    wired.store.close().await.context("closing the store")?;
    if !stopped.left.idle() {
        tracing::warn!(left = ?stopped.left, "not everything was finished in time; it is taken up at the next start");
    }
    match why {
        Why::Asked => Ok(ExitCode::SUCCESS),
        Why::TakenOver => bail!("another gateway has taken over this store"),
    }
}

async fn listen(address: SocketAddr) -> anyhow::Result<TcpListener> {
    match TcpListener::bind(address).await {
        Ok(listener) => Ok(listener),
        Err(error) if error.kind() == ErrorKind::AddrInUse => {
            bail!(
                "{address} is in use by another program; choose another with --listen 127.0.0.1:PORT (0 picks a free one)"
            )
        }
        Err(error) => Err(error).with_context(|| format!("listening on {address}")),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Why {
    Asked,
    TakenOver,
}

/// ctrl-C and SIGTERM, heard from the moment this is made.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    fn listen() -> anyhow::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt()).context("listening for ctrl-C")?,
            terminate: signal(SignalKind::terminate()).context("listening for SIGTERM")?,
        })
    }

    async fn wait(mut self, stopping: &CancellationToken) -> Why {
        tokio::select! {
            _ = self.interrupt.recv() => Why::Asked,
            _ = self.terminate.recv() => Why::Asked,
            () = stopping.cancelled() => Why::TakenOver,
        }
    }
}

/// A line for whoever started it. That nobody listens any more does not end a gateway.
fn say(text: &str) {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    if let Err(error) = writeln!(out, "{text}").and_then(|()| out.flush()) {
        tracing::warn!(%error, "nobody reads standard output");
    }
}
