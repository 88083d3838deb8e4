//! Listening: connections within limits, and a quiet end.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::Service;
use crate::connection::Patient;
use crate::metrics::ReasonLabels;

/// The longest path and query that we read; a longer one is answered with 414.
pub(crate) const MAX_TARGET_BYTES: usize = 8 * 1024;
/// The largest request head that we read; a larger one is answered with 431.
const MAX_HEAD_BYTES: usize = 16 * 1024;
const MAX_HEADERS: usize = 64;
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
    pub async fn serve(self, stop: impl Future<Output = ()>) {
        let places = Arc::new(Semaphore::new(self.limits.connections));
        let graceful = GracefulShutdown::new();
        tokio::pin!(stop);
        loop {
            let accepted = tokio::select! {
                accepted = self.listener.accept() => accepted,
                () = &mut stop => break,
            };
            match (accepted, places.clone().try_acquire_owned()) {
                (Ok((stream, _)), Ok(place)) => self.spawn(stream, place, graceful.watcher()),
                (Ok((stream, _)), Err(_)) => self.turn_away(&stream),
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
    }

    fn spawn(&self, stream: TcpStream, place: OwnedSemaphorePermit, watcher: Watcher) {
        let (service, limits) = (self.service.clone(), self.limits);
        // Answers are written whole; waiting for more would only delay them.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "TCP_NODELAY could not be set");
        }
        tokio::spawn(async move {
            service.metrics.connections.inc();
            let io = TokioIo::new(Patient::new(stream, limits.write_timeout));
            let answering = service_fn(|request| std::future::ready(Ok::<_, Infallible>(service.answer(&request))));
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(limits.head_timeout)
                .max_buf_size(MAX_HEAD_BYTES)
                .max_headers(MAX_HEADERS)
                .serve_connection(io, answering);
            if let Err(error) = watcher.watch(connection).await {
                service.metrics.connections_closed.get_or_create(&ReasonLabels { reason: reason(&error) }).inc();
                tracing::debug!(%error, "a connection ended early");
            }
            service.metrics.connections.dec();
            drop(place);
        });
    }

    fn turn_away(&self, stream: &TcpStream) {
        self.service.metrics.connections_closed.get_or_create(&ReasonLabels { reason: "too_many" }).inc();
        // The socket's buffer is empty, so this does not wait; if it fails, the close says the same.
        if let Err(error) = stream.try_write(full().as_bytes()) {
            tracing::debug!(%error, "a connection over the limit could not be told so");
        }
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

fn reason(error: &hyper::Error) -> &'static str {
    match error {
        e if e.is_timeout() => "timeout",
        e if e.is_parse_too_large() => "head_too_large",
        e if e.is_parse() => "not_http",
        e if e.is_incomplete_message() => "incomplete",
        _ => "io",
    }
}
