//! Workers: one thread per core, each with its own connections.
//!
//! A connection stays on its thread, so an answer wakes no other thread. New connections go to the workers in turn.

use std::convert::Infallible;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use prometheus_client::metrics::gauge::Gauge;
use tokio::net::TcpStream;
use tokio::runtime::Handle;
use tokio::sync::mpsc::{Sender, UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::admission::Admission;
use crate::connection::{Peer, TimeoutStream};
use crate::ending::{ConnectionState, Stage};
use crate::places::{Place, ProbePlace};
use crate::questions::{Queue, Urgency};
use crate::tls::PeerCertificate;
use crate::transport::{HANDSHAKE_TIMEOUT, Transport, secured};
use crate::{Limits, Service, entrance};

/// The largest request head that we read; a larger one is answered with 431.
const MAX_HEAD_BYTES: usize = 16 * 1024;
const MAX_HEADERS: usize = 64;
/// How long a connection of the reserve may take for its question, and for all.
const PROBE_HEAD_TIMEOUT: Duration = Duration::from_secs(3);
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);
/// Threads for slow questions.
pub(crate) const QUESTION_THREADS: usize = 2;
/// The most queued questions. Others are told to come back.
pub(crate) const MAX_QUESTIONS: usize = 64;
/// The most queued scrapes.
const MAX_SCRAPES: usize = 16;

pub(crate) struct Workers {
    /// Bounded by the limit of connections: each waiting one holds its place.
    queues: Vec<UnboundedSender<Connection>>,
    next: AtomicUsize,
}

struct Connection {
    stream: std::net::TcpStream,
    place: Place,
    open: ConnectionGuard,
}

/// Held by every open connection. The other end learns when the last one is closed.
pub(crate) type ConnectionGuard = Sender<Infallible>;

/// What a request uses besides the service.
#[derive(Clone)]
pub(crate) struct Surroundings {
    /// How long a body may take.
    pub(crate) body_timeout: Duration,
    /// Runs work that must not delay graphs.
    pub(crate) runtime: Handle,
    /// The queue of slow questions.
    pub(crate) questions: Arc<Queue>,
    /// The queue of scrapes, separate from questions.
    pub(crate) scrapes: Arc<Queue>,
    /// The client of this connection.
    pub(crate) peer: Arc<Peer>,
    /// The certificate that it has shown.
    pub(crate) certificate: Option<Arc<PeerCertificate>>,
    /// Whether the network reads what should not be read.
    pub(crate) is_exposed: bool,
}

impl Workers {
    /// Starts the workers. Other work runs on the current runtime.
    pub(crate) fn start(
        service: &Arc<Service>,
        limits: Limits,
        admission: &Arc<Admission>,
    ) -> io::Result<Self> {
        let cores = std::thread::available_parallelism()?.get();
        let results = &service.metrics.questions;
        let questions = Arc::new(Queue::start(
            "question",
            Urgency::AfterGraphs,
            QUESTION_THREADS,
            MAX_QUESTIONS,
            results,
        )?);
        let scrapes = Arc::new(Queue::start(
            "scrape",
            Urgency::LikeGraphs,
            1,
            MAX_SCRAPES,
            results,
        )?);
        let start = |number: usize| {
            let (sender, connections) = unbounded_channel();
            // The one blocking thread compiles sheets, and does nothing else.
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .max_blocking_threads(1)
                .build()?;
            let service = service.clone();
            let (questions, scrapes) = (questions.clone(), scrapes.clone());
            let (body_timeout, runtime_beside) = (limits.head_timeout, Handle::current());
            let around = Surroundings {
                body_timeout,
                runtime: runtime_beside,
                questions,
                scrapes,
                peer: Arc::default(),
                certificate: None,
                is_exposed: false,
            };
            let admission = admission.clone();
            let work =
                move || runtime.block_on(work(connections, service, limits, around, admission));
            std::thread::Builder::new()
                .name(format!("worker-{number}"))
                .spawn(work)?;
            Ok(sender)
        };
        Ok(Self {
            queues: (0..cores).map(start).collect::<io::Result<_>>()?,
            next: AtomicUsize::new(0),
        })
    }

    /// Gives a connection to the next worker.
    pub(crate) fn take(&self, stream: TcpStream, place: Place, open: ConnectionGuard) {
        match stream.into_std() {
            Ok(stream) => self.take_std(stream, place, open),
            Err(error) => tracing::debug!(%error, "a connection could not be handed over"),
        }
    }

    /// The same, for a non-blocking stream.
    pub(crate) fn take_std(
        &self,
        stream: std::net::TcpStream,
        place: Place,
        open: ConnectionGuard,
    ) {
        let turn = self.next.fetch_add(1, Ordering::Relaxed) % self.queues.len();
        drop(self.queues[turn].send(Connection {
            stream,
            place,
            open,
        }));
    }
}

async fn work(
    mut connections: UnboundedReceiver<Connection>,
    service: Arc<Service>,
    limits: Limits,
    around: Surroundings,
    admission: Arc<Admission>,
) {
    while let Some(connection) = connections.recv().await {
        tokio::spawn(serve(
            connection,
            service.clone(),
            limits,
            around.clone(),
            admission.clone(),
        ));
    }
    // No more will come; those that are open may end.
    std::future::pending::<()>().await;
}

async fn serve(
    connection: Connection,
    service: Arc<Service>,
    limits: Limits,
    around: Surroundings,
    admission: Arc<Admission>,
) {
    let Connection {
        stream,
        place,
        open,
    } = connection;
    let _counted = OpenConnection::new(&service.metrics.connections);
    let stream = match TcpStream::from_std(stream) {
        Ok(stream) => stream,
        Err(error) => return tracing::debug!(%error, "a connection could not be taken over"),
    };
    let talking = serve_stream(stream, &service, limits, &around, &admission, &place);
    match &place {
        Place::Full(_) => talking.await,
        Place::Probe(place) => within_the_reserve(talking, place, &service).await,
    }
    drop((place, open));
}

/// Serves a connection of the reserve, which closes after a short time, or when there are many newer ones.
async fn within_the_reserve(
    talking: impl Future<Output = ()>,
    place: &ProbePlace,
    service: &Service,
) {
    let reason = tokio::select! {
        () = talking => return,
        () = place.sent_away() => place.why.reason(),
        () = tokio::time::sleep(PROBE_TIMEOUT) => "timeout",
    };
    service.metrics.connection_closed(reason);
}

/// Counts a connection while it is open.
struct OpenConnection(Gauge);

impl OpenConnection {
    fn new(open: &Gauge) -> Self {
        open.inc();
        Self(open.clone())
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.dec();
    }
}

async fn serve_stream(
    stream: TcpStream,
    service: &Arc<Service>,
    limits: Limits,
    around: &Surroundings,
    admission: &Admission,
    place: &Place,
) {
    // Answers are written whole; waiting for more would only delay them.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "TCP_NODELAY could not be set");
    }
    let (keep_alive, head_timeout) = match place {
        Place::Full(_) => (true, limits.head_timeout),
        Place::Probe(_) => (false, limits.head_timeout.min(PROBE_HEAD_TIMEOUT)),
    };
    let is_exposed = service.tls.load().is_none()
        && stream
            .peer_addr()
            .map_or(true, |peer| admission.is_exposed(peer.ip()));
    let Some((stream, certificate)) = transport(stream, service, head_timeout).await else {
        return;
    };
    let talk = Arc::new(ConnectionState::new(service.ending.clone()));
    let around = &Surroundings {
        peer: Arc::default(),
        certificate,
        is_exposed,
        ..around.clone()
    };
    let answering = service_fn(|request: Request<Incoming>| {
        let talk = &talk;
        async move {
            let _answering = talk.begin();
            Ok::<_, Infallible>(
                entrance::answer(service, request.into_parts(), around, admission, place).await,
            )
        }
    });
    let stream_with_timeout = TimeoutStream::new(
        stream,
        service.page_cache.clone(),
        limits.write_timeout,
        talk.clone(),
        around.peer.clone(),
    );
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(head_timeout)
        .keep_alive(keep_alive)
        .max_buf_size(MAX_HEAD_BYTES)
        .max_headers(MAX_HEADERS)
        .half_close(true)
        .serve_connection(TokioIo::new(stream_with_timeout), answering);
    let mut connection = pin!(connection);
    let mut stages = service.ending.stages();
    let ended = loop {
        tokio::select! {
            ended = &mut connection => break ended,
            // It is polled again, and so sees the stage; in the last one, it is told to end.
            Ok(()) = stages.changed() => {
                if *stages.borrow_and_update() == Stage::ClosingAll {
                    connection.as_mut().graceful_shutdown();
                }
            }
        }
    };
    if let Err(error) = ended {
        service.metrics.connection_closed(reason(&error));
        tracing::debug!(%error, "a connection ended early");
    }
}

/// The connection as it is, or within TLS; none if the client and we do not agree on keys in time, or the server stops before.
async fn transport(
    stream: TcpStream,
    service: &Service,
    head_timeout: Duration,
) -> Option<(Transport, Option<Arc<PeerCertificate>>)> {
    let Some(tls) = service.tls.load_full() else {
        return Some((Transport::Plain(stream), None));
    };
    let mut stages = service.ending.stages();
    let secured = tokio::select! {
        secured = secured(stream, &tls, head_timeout.min(HANDSHAKE_TIMEOUT)) => secured,
        _ = stages.wait_for(|stage| *stage == Stage::ClosingAll) => return None,
    };
    secured
        .map_err(|reason| service.metrics.connection_closed(reason))
        .ok()
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
