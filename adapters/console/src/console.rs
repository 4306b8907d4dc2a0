//! The public face: made once, registered as a platform, served on one listener.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::get;
use homing_domain::origin::AccountName;
use homing_ports::inbox::Inbox;
use homing_ports::platform::Platform;
use homing_ports::processes::Processes;
use homing_ports::store::Queries;
use homing_ports::{Clock, IdSource};
use tokio::net::TcpListener;
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

use crate::guard::{self, Guard};
use crate::login::Login;
use crate::platform::{ConsolePlatform, Partial, Sent};
use crate::windows::Windows;
use crate::{api, assets, errors, metrics, pages, stream, threads};

/// How long `serve` waits for open connections once it is told to stop.
const GOODBYE: Duration = Duration::from_secs(3);
/// Sends that a slow page may lag behind before it is told to read everything again.
const SENT_BACKLOG: usize = 256;
/// Of what is being written. A page that is slower than this misses states of it, and draws the next one.
const PARTIALS_BACKLOG: usize = 64;

#[derive(Debug, Clone)]
pub struct ConsoleSettings {
    /// The agent identity that new conversations belong to.
    pub profile: String,
    /// The agent runs what is written behind a `!`: the page says so.
    pub shell: bool,
}

impl Default for ConsoleSettings {
    fn default() -> Self {
        Self {
            profile: "main".to_owned(),
            shell: true,
        }
    }
}

/// The gateway, as the console needs it.
#[derive(Clone)]
#[expect(
    missing_debug_implementations,
    reason = "three trait objects of the inside, which do not print"
)]
pub struct Inside {
    pub inbox: Arc<dyn Inbox>,
    pub queries: Arc<dyn Queries>,
    pub processes: Arc<dyn Processes>,
}

/// Cheap to clone; every clone is the same console.
#[derive(Debug, Clone)]
pub struct Console {
    settings: Arc<ConsoleSettings>,
    clock: Arc<dyn Clock>,
    ids: IdSource,
    login: Arc<Login>,
    sent: broadcast::Sender<Sent>,
    partials: broadcast::Sender<Partial>,
}

impl Console {
    pub fn new(
        settings: ConsoleSettings,
        clock: Arc<dyn Clock>,
        ids: IdSource,
        login: Login,
    ) -> Self {
        let (sent, _) = broadcast::channel(SENT_BACKLOG);
        let (partials, _) = broadcast::channel(PARTIALS_BACKLOG);
        Self {
            settings: Arc::new(settings),
            clock,
            ids,
            login: Arc::new(login),
            sent,
            partials,
        }
    }

    /// To be registered with the gateway for [`Console::account`].
    pub fn platform(&self) -> Arc<dyn Platform> {
        Arc::new(ConsolePlatform::new(
            self.sent.clone(),
            self.partials.clone(),
        ))
    }

    /// What the gateway knows this platform by.
    pub fn account(&self) -> AccountName {
        AccountName {
            profile: self.settings.profile.clone(),
            platform: threads::PLATFORM.to_owned(),
            account: None,
        }
    }

    /// A link that logs in once. Every call makes a new one; the oldest of too many unused ones stops working.
    pub fn login_link(&self, address: SocketAddr) -> String {
        let token = self.login.issue().unwrap_or_else(|error| {
            tracing::error!(%error, "no login link could be made: this one will be refused");
            String::new()
        });
        format!("http://{address}/login?token={token}")
    }

    /// Serves until `shutdown`. Refuses a listener that others than this machine could reach.
    pub async fn serve(
        &self,
        listener: TcpListener,
        inside: Inside,
        shutdown: CancellationToken,
    ) -> io::Result<()> {
        let address = listener.local_addr()?;
        if !address.ip().is_loopback() {
            let refusal = format!(
                "the console only listens on loopback, not on {address}: set it to 127.0.0.1 and reach it through `ssh -L`"
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, refusal));
        }
        let windows = Windows::new(self.clock.clone(), inside.inbox.clone());
        let app = Arc::new(App {
            settings: self.settings.clone(),
            clock: self.clock.clone(),
            ids: self.ids.clone(),
            login: self.login.clone(),
            sent: self.sent.clone(),
            partials: self.partials.clone(),
            guard: Guard::for_port(address.port()),
            windows: windows.clone(),
            inside,
            shutdown: shutdown.clone(),
        });
        windows.recall(app.inside.queries.as_ref()).await;
        let closing = tokio::spawn(windows.keep(shutdown.clone()));
        let serving = axum::serve(listener, router(app))
            .with_graceful_shutdown(shutdown.clone().cancelled_owned());
        // Streams end by themselves at shutdown; a connection that does not is left behind after a moment.
        let result = tokio::select! {
            served = async { serving.await } => served,
            () = async { shutdown.cancelled().await; tokio::time::sleep(GOODBYE).await } => Ok(()),
        };
        closing.abort();
        result
    }
}

/// What every request handler sees.
pub(crate) struct App {
    pub settings: Arc<ConsoleSettings>,
    pub clock: Arc<dyn Clock>,
    pub ids: IdSource,
    pub login: Arc<Login>,
    pub sent: broadcast::Sender<Sent>,
    pub partials: broadcast::Sender<Partial>,
    pub guard: Guard,
    pub windows: Arc<Windows>,
    pub inside: Inside,
    pub shutdown: CancellationToken,
}

fn router(app: Arc<App>) -> Router {
    let behind_login = Router::new()
        .merge(api::routes())
        .route("/stream", get(stream::open))
        .fallback(errors::no_such_path)
        .method_not_allowed_fallback(errors::wrong_method)
        .layer(from_fn_with_state(app.clone(), guard::require_login));
    Router::new()
        .nest("/api/v1", behind_login)
        .route("/", get(pages::home))
        // Whoever only asks for the head (a link checker, say) must not use the token up.
        .route("/login", get(pages::login).head(metrics::health))
        .route("/healthz", get(metrics::health))
        .route("/metrics", get(metrics::metrics))
        .route("/assets/{name}", get(assets::serve))
        .fallback(pages::not_found)
        .layer(from_fn_with_state(app.clone(), guard::check))
        .with_state(app)
}
