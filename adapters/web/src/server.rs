//! Listening: connections within limits, and a quiet end.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper_util::server::graceful::GracefulShutdown;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use crate::Service;
use crate::metrics::ReasonLabels;
use crate::workers::Workers;

/// The longest path and query that we read; a longer one is answered with 414.
pub(crate) const MAX_TARGET_BYTES: usize = 8 * 1024;
/// Connections over the limit that are told so at once; further ones are closed without a word.
const MAX_LINGERING: usize = 64;
/// How long telling them may take.
const LINGER: Duration = Duration::from_secs(1);

/// What a stranger may take up.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Connections at once; one more is told to come back.
    pub connections: usize,
    /// How long a client may take for a request's head, and how long a connection may idle.
    pub head_timeout: Duration,
    /// How long a client may take nothing of its answer.
    pub write_timeout: Duration,
    /// How long open requests have to end when the server stops.
    pub shutdown_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 10_000,
            head_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(30),
            shutdown_timeout: Duration::from_secs(20),
        }
    }
}

/// A listening server.
pub struct Server {
    listener: TcpListener,
    service: Arc<Service>,
    limits: Limits,
}

impl Server {
    /// Listens.
    pub async fn bind(address: SocketAddr, service: Arc<Service>, limits: Limits) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        Ok(Self { listener, service, limits })
    }

    /// Where it listens; of interest where the port was left to the system.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until told to stop, then lets open requests end.
    pub async fn serve(self, stop: impl Future<Output = ()>) -> io::Result<()> {
        let workers = Workers::start(&self.service, self.limits)?;
        let places = Arc::new(Semaphore::new(self.limits.connections));
        let lingering = Arc::new(Semaphore::new(MAX_LINGERING));
        let graceful = GracefulShutdown::new();
        tokio::pin!(stop);
        loop {
            let accepted = tokio::select! {
                accepted = self.listener.accept() => accepted,
                () = &mut stop => break,
            };
            match (accepted, places.clone().try_acquire_owned()) {
                (Ok((stream, _)), Ok(place)) => workers.take(stream, place, graceful.watcher()),
                (Ok((stream, _)), Err(_)) => self.turn_away(stream, &lingering),
                (Err(error), _) => {
                    // Out of descriptors, most likely: give connections time to end rather than spin.
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
        drop(self.listener);
        if tokio::time::timeout(self.limits.shutdown_timeout, graceful.shutdown()).await.is_err() {
            tracing::warn!("some requests did not end in time");
        }
        Ok(())
    }

    /// Tells a connection over the limit to come back, and closes it once it has heard that.
    fn turn_away(&self, stream: TcpStream, lingering: &Arc<Semaphore>) {
        self.service.metrics.connections_closed.get_or_create(&ReasonLabels { reason: "too_many" }).inc();
        if let Ok(place) = lingering.clone().try_acquire_owned() {
            tokio::spawn(async move {
                let farewell = say_and_close(stream);
                if tokio::time::timeout(LINGER, farewell).await.is_err() {
                    tracing::debug!("a connection over the limit did not close in time");
                }
                drop(place);
            });
        }
    }
}

/// Says it, and reads what the client had sent: a close with bytes unread would take the answer back.
async fn say_and_close(mut stream: TcpStream) {
    let mut unread = [0; 1024];
    let said = async {
        stream.write_all(full().as_bytes()).await?;
        stream.shutdown().await?;
        while stream.read(&mut unread).await? > 0 {}
        io::Result::Ok(())
    };
    if let Err(error) = said.await {
        tracing::debug!(%error, "a connection over the limit could not be told so");
    }
}

/// What a connection over the limit gets before it is closed.
fn full() -> String {
    let body = r#"{"kind":"too_many_connections","value":"try again in a few seconds"}"#;
    let length = body.len();
    format!(
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nretry-after: 5\r\nconnection: close\r\n\r\n{body}"
    )
}
