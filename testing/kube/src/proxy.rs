//! A proxy to the API server that can lose answers: requests arrive and take effect, but the client gets no answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// A proxy that runs until it is dropped. It forwards bytes, so TLS works.
#[derive(Debug)]
pub struct Proxy {
    port: u16,
    loses_answers: Arc<AtomicBool>,
    task: JoinHandle<()>,
}

impl Proxy {
    pub(crate) async fn start(to: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let loses_answers = Arc::new(AtomicBool::new(false));
        let task = tokio::spawn(accept(listener, to, loses_answers.clone()));
        Self {
            port,
            loses_answers,
            task,
        }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// From now on no answer arrives, on old and new connections.
    pub fn lose_answers(&self) {
        self.loses_answers.store(true, Ordering::SeqCst);
    }

    /// From now on new connections work again. Connections that lost answers stay silent.
    pub fn heal(&self) {
        self.loses_answers.store(false, Ordering::SeqCst);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, to: u16, loses_answers: Arc<AtomicBool>) {
    while let Ok((client, _)) = listener.accept().await {
        let Ok(server) = TcpStream::connect(("127.0.0.1", to)).await else {
            continue;
        };
        let ((from_client, to_client), (from_server, to_server)) =
            (client.into_split(), server.into_split());
        tokio::spawn(carry(from_client, to_server, None));
        tokio::spawn(carry(from_server, to_client, Some(loses_answers.clone())));
    }
}

/// Forwards bytes in one direction, until answers are to be lost. From then on this connection forwards none.
async fn carry(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, loses: Option<Arc<AtomicBool>>) {
    let (mut buffer, mut is_lost) = (vec![0; 16 << 10], false);
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        is_lost |= loses
            .as_ref()
            .is_some_and(|loses| loses.load(Ordering::SeqCst));
        if !is_lost && to.write_all(&buffer[..count]).await.is_err() {
            return;
        }
    }
}
