//! The server: accepts connections within limits, and shuts down without losing requests.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{Receiver, channel};
use towpath_core::repeats::Repeats;

use crate::admission::Admission;
use crate::ending::Stage;
use crate::places::{NoPlace, Places, RESERVE_PLACES};
use crate::workers::{ConnectionGuard, Workers};
use crate::{Service, locked};

/// The longest path and query that we read; a longer one is answered with 414.
pub(crate) const MAX_TARGET_BYTES: usize = 8 * 1024;
/// The most connections over the limit that get an answer. Others are just closed.
const MAX_LINGERING: usize = 16;
/// How long that answer may take.
const LINGER: Duration = Duration::from_secs(1);
/// How long a client that was connected when we stopped listening may take for its first request.
const FIRST_REQUEST: Duration = Duration::from_secs(10);
/// How long to wait after a connection could not be accepted.
const AFTER_FAILURE: Duration = Duration::from_millis(50);

/// Limits on clients.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The most connections. Others are told to come back.
    pub connections: usize,
    /// The most connections of one address; none for no limit.
    pub connections_per_address: Option<usize>,
    /// How long a client may take for a request's head, and how long a connection may idle.
    pub head_timeout: Duration,
    /// How long a client may read nothing of its answer.
    pub write_timeout: Duration,
    /// How long a stopping server still accepts connections.
    pub drain: Duration,
    /// How long open requests have to end after that.
    pub shutdown_timeout: Duration,
    /// The most large pieces that are mirrored in files. Each needs a descriptor.
    pub mirrored_pieces: usize,
}

impl Limits {
    /// Descriptors that connections over the limit need.
    pub const RESERVED_CONNECTIONS: usize = RESERVE_PLACES + MAX_LINGERING;
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 10_000,
            connections_per_address: Some(5_000),
            head_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(30),
            drain: Duration::from_secs(5),
            shutdown_timeout: Duration::from_secs(20),
            mirrored_pieces: 512,
        }
    }
}

pub struct Server {
    listener: TcpListener,
    service: Arc<Service>,
    limits: Limits,
    admission: Arc<Admission>,
}

/// The parts that accept connections.
struct Gate {
    workers: Workers,
    places: Places,
    lingering: Arc<Semaphore>,
    open: ConnectionGuard,
    failures: Mutex<Repeats>,
    began: Instant,
}

impl Server {
    pub async fn bind(
        address: SocketAddr,
        service: Arc<Service>,
        limits: Limits,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        service.page_cache.limit(limits.mirrored_pieces);
        crate::page::prepare();
        Ok(Self {
            listener,
            service,
            limits,
            admission: Arc::default(),
        })
    }

    /// Sets the conditions on requests.
    pub fn admitting(self, admission: Admission) -> Self {
        Self {
            admission: Arc::new(admission),
            ..self
        }
    }

    /// The listening address, for when the system chose the port.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until told to stop, and ends as [`serve_until`](Self::serve_until) does.
    pub async fn serve(self, stop: impl Future<Output = ()>) -> io::Result<()> {
        self.serve_until(stop, std::future::pending()).await
    }

    /// Serves until told to stop. Then it drains: it is not ready, still accepts connections for a while, and closes each after
    /// its answer. Then it stops listening and waits for open requests. When told to stop at once, it returns.
    pub async fn serve_until(
        self,
        stop: impl Future<Output = ()>,
        at_once: impl Future<Output = ()>,
    ) -> io::Result<()> {
        let (gate, gone) = self.gate()?;
        let ending = async {
            tokio::select! {
                () = self.accept(&gate) => {}
                () = stop => {}
            }
            self.service.ending.enter(Stage::Draining);
            if !self.limits.drain.is_zero() {
                tracing::info!(
                    seconds = self.limits.drain.as_secs(),
                    "draining: not ready, and connections are still taken; a second signal stops at once"
                );
            }
            tokio::select! {
                () = self.accept(&gate) => {}
                () = tokio::time::sleep(self.limits.drain) => {}
            }
        };
        let mut at_once = pin!(at_once);
        tokio::select! {
            () = ending => {}
            () = &mut at_once => return Ok(()),
        }
        tokio::select! {
            ended = self.end(gate, gone) => ended,
            () = &mut at_once => Ok(()),
        }
    }

    fn gate(&self) -> io::Result<(Gate, Receiver<Infallible>)> {
        let limits = self.limits;
        let (open, gone) = channel(1);
        let gate = Gate {
            workers: Workers::start(&self.service, limits, &self.admission)?,
            places: Places::new(
                limits.connections,
                limits.connections_per_address,
                self.admission.clone(),
            ),
            lingering: Arc::new(Semaphore::new(MAX_LINGERING)),
            open,
            failures: Mutex::default(),
            began: Instant::now(),
        };
        Ok((gate, gone))
    }

    async fn accept(&self, gate: &Gate) {
        loop {
            match self.listener.accept().await {
                Ok((stream, peer)) => {
                    gate.recovered();
                    match gate.places.take(peer.ip()).await {
                        Some(place) => gate.workers.take(stream, place, gate.open.clone()),
                        None => self.turn_away(stream, &gate.lingering),
                    }
                }
                Err(error) => {
                    // Out of descriptors, most likely: give connections time to end rather than spin.
                    gate.failed(&error);
                    tokio::time::sleep(AFTER_FAILURE).await;
                }
            }
        }
    }

    /// Stops listening, closes idle connections, and waits for open requests.
    async fn end(self, gate: Gate, mut gone: Receiver<Infallible>) -> io::Result<()> {
        tracing::info!("stopping: no new connections, open requests may end");
        let listener = self.listener.into_std()?;
        gate.take_waiting(&listener);
        drop(listener);
        drop(gate);
        let deadline = tokio::time::Instant::now() + self.limits.shutdown_timeout;
        self.service.ending.enter(Stage::ClosingKept);
        let first_requests = FIRST_REQUEST.min(self.limits.shutdown_timeout);
        if tokio::time::timeout(first_requests, gone.recv())
            .await
            .is_ok()
        {
            return Ok(());
        }
        self.service.ending.enter(Stage::ClosingAll);
        if tokio::time::timeout_at(deadline, gone.recv())
            .await
            .is_err()
        {
            tracing::warn!("some requests did not end in time");
        }
        Ok(())
    }

    /// Tells a connection over the limit to come back, and closes it.
    fn turn_away(&self, stream: TcpStream, lingering: &Arc<Semaphore>) {
        self.service
            .metrics
            .connection_closed(NoPlace::All.reason());
        // Over TLS, saying so would cost as much as what there is no place for.
        let is_plain = self.service.tls.load().is_none();
        if let (true, Ok(place)) = (is_plain, lingering.clone().try_acquire_owned()) {
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

impl Gate {
    /// Accepts connections that the kernel has already established, because their clients may have sent requests.
    fn take_waiting(&self, listener: &std::net::TcpListener) {
        while let Ok((stream, peer)) = listener.accept() {
            if let (Ok(()), Some(place)) = (
                stream.set_nonblocking(true),
                self.places.take_at_once(peer.ip()),
            ) {
                self.workers.take_std(stream, place, self.open.clone());
            }
        }
    }

    fn failed(&self, error: &io::Error) {
        let mut failures = locked(&self.failures);
        if let Some(more) = failures.came(self.began.elapsed()) {
            tracing::warn!(%error, "a connection could not be accepted{more}");
        }
    }

    fn recovered(&self) {
        let mut failures = locked(&self.failures);
        if let Some(more) = failures.ended(self.began.elapsed()) {
            tracing::warn!("connections can be accepted again{more}");
        }
    }
}

/// Sends the refusal, and reads what the client has sent: closing with unread bytes would destroy the answer.
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
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nx-content-type-options: nosniff\r\nretry-after: 5\r\nconnection: close\r\n\r\n{body}"
    )
}
