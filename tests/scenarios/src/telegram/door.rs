//! The way from one bot's adapter to the simulator, which can be closed: then nobody answers, as when the network is away.
//!
//! **Invariant:** while it is closed, connecting is refused and nothing that was under way goes on. The address stays the same.

use std::io;
use std::net::SocketAddr;

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use tokio_util::sync::CancellationToken;

#[derive(Debug)]
pub struct Door {
    address: SocketAddr,
    to: SocketAddr,
    open: Option<Open>,
    /// Keeps the address while nobody listens there.
    _reserved: TcpSocket,
}

#[derive(Debug)]
struct Open {
    close: CancellationToken,
    serving: JoinHandle<()>,
}

impl Door {
    pub fn open_to(to: SocketAddr) -> io::Result<Door> {
        let reserved = socket()?;
        reserved.bind(SocketAddr::from(([127, 0, 0, 1], 0)))?;
        let mut door = Door {
            address: reserved.local_addr()?,
            to,
            open: None,
            _reserved: reserved,
        };
        door.open()?;
        Ok(door)
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    pub fn open(&mut self) -> io::Result<()> {
        if self.is_open() {
            return Ok(());
        }
        let socket = socket()?;
        socket.bind(self.address)?;
        let listener = socket.listen(64)?;
        let close = CancellationToken::new();
        let serving = tokio::spawn(serve(listener, self.to, close.clone()));
        self.open = Some(Open { close, serving });
        Ok(())
    }

    pub async fn close(&mut self) {
        if let Some(Open { close, serving }) = self.open.take() {
            close.cancel();
            // It ends by itself, and has nothing to say.
            let _ = serving.await;
        }
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        if let Some(open) = &self.open {
            open.close.cancel();
        }
    }
}

fn socket() -> io::Result<TcpSocket> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    Ok(socket)
}

async fn serve(listener: TcpListener, to: SocketAddr, close: CancellationToken) {
    let mut passing = JoinSet::new();
    loop {
        tokio::select! {
            () = close.cancelled() => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => drop(passing.spawn(pass(stream, to))),
                Err(error) => tracing::warn!(%error, "a connection was lost at the door"),
            },
            Some(_) = passing.join_next() => {}
        }
    }
    drop(listener);
    passing.shutdown().await;
}

/// Until one of both ends it. An end is an end for both: a client that was killed must not seem to wait on.
async fn pass(mut client: TcpStream, to: SocketAddr) {
    let Ok(mut server) = TcpStream::connect(to).await else {
        return;
    };
    let nodelay = client
        .set_nodelay(true)
        .and_then(|()| server.set_nodelay(true));
    if nodelay.is_ok() {
        // Broken connections are what a door is for.
        let _ = copy_bidirectional(&mut client, &mut server).await;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    #[tokio::test]
    async fn a_closed_door_refuses_ends_what_was_under_way_and_opens_at_the_same_address() {
        let behind = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut door = Door::open_to(behind.local_addr().unwrap()).unwrap();
        let address = door.address;
        let mut client = TcpStream::connect(address).await.unwrap();
        let (mut server, _) = behind.accept().await.unwrap();
        client.write_all(b"hello").await.unwrap();
        let mut heard = [0; 5];
        server.read_exact(&mut heard).await.unwrap();
        assert_eq!(&heard, b"hello");

        door.close().await;
        assert!(matches!(client.read(&mut heard).await, Ok(0) | Err(_)));
        let refused = TcpStream::connect(address).await.unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);

        door.open().unwrap();
        assert_eq!(door.url(), format!("http://{address}"));
        let (client, _) = tokio::join!(TcpStream::connect(address), behind.accept());
        client.unwrap();
    }
}
