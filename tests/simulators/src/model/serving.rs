//! Where the model servers listen.

use std::io;
use std::net::SocketAddr;

use axum::Router;
use axum::serve::ListenerExt as _;
use tokio::net::TcpListener;

/// A free port of the loopback interface, served until it is dropped.
#[derive(Debug)]
pub struct Serving {
    address: SocketAddr,
    task: tokio::task::JoinHandle<()>,
}

impl Serving {
    pub async fn start(router: Router) -> io::Result<Serving> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        // Without this, small packets wait for the peer's delayed acknowledgement.
        let listener = listener.tap_io(|stream| {
            let _ = stream.set_nodelay(true);
        });
        let task = tokio::spawn(async move {
            if let Err(error) = axum::serve(listener, router).await {
                tracing::error!(%error, "the simulated model server stopped");
            }
        });
        Ok(Serving { address, task })
    }

    /// What a client has as its `base_url`.
    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.task.abort();
    }
}
