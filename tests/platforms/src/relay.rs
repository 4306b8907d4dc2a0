//! The road between an adapter and its platform: bytes go through, until nobody is there any more.
//!
//! **Invariant:** while it is away, a connection to its address is refused, as by a machine on which nothing listens.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Mutex;

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

#[derive(Debug)]
pub struct Relay {
    address: SocketAddr,
    to: SocketAddr,
    open: Mutex<Option<JoinHandle<()>>>,
}

impl Relay {
    /// To a server at `http://127.0.0.1:PORT`.
    pub fn to(url: &str) -> Relay {
        let to = url.trim_start_matches("http://").parse().unwrap();
        let listener = listen(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
        let address = listener.local_addr().unwrap();
        let open = tokio::spawn(serve(listener, to));
        Relay {
            address,
            to,
            open: Mutex::new(Some(open)),
        }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What is under way breaks, and whoever comes is refused.
    pub async fn go_away(&self) {
        let open = self.open.lock().unwrap().take();
        if let Some(open) = open {
            open.abort();
            // Only then is the listener closed.
            drop(open.await);
        }
    }

    pub fn come_back(&self) {
        let open = tokio::spawn(serve(listen(self.address), self.to));
        *self.open.lock().unwrap() = Some(open);
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        if let Some(open) = self.open.lock().unwrap().take() {
            open.abort();
        }
    }
}

fn listen(address: SocketAddr) -> TcpListener {
    let socket = TcpSocket::new_v4().unwrap();
    // It comes back under its old address, whatever connections of before still linger there.
    socket.set_reuseaddr(true).unwrap();
    socket.bind(address).unwrap();
    socket.listen(64).unwrap()
}

async fn serve(listener: TcpListener, to: SocketAddr) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => if let Ok((stream, _)) = accepted {
                connections.spawn(forward(stream, to));
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn forward(mut stream: TcpStream, to: SocketAddr) {
    let _ = stream.set_nodelay(true);
    if let Ok(mut server) = TcpStream::connect(to).await {
        let _ = server.set_nodelay(true);
        let _ = copy_bidirectional(&mut stream, &mut server).await;
    }
}
