//! A small door for a process that serves no graphs: alive, ready, metrics, and nothing else.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::{Method, Request, Response, StatusCode, header};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use crate::AnswerBody;

/// Connections at once; one more waits its turn.
const MAX_CONNECTIONS: usize = 64;
/// How long a client may take for a request's head, and how long a connection may live.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
const LONGEST: Duration = Duration::from_secs(120);

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Probe {
    /// Whether it runs, or has to be started anew.
    Alive,
    /// Whether it knows what it has to know.
    Ready,
    /// All that is measured.
    Metrics,
}

/// What is said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProbeAnswer {
    /// It is so.
    Yes(String),
    /// It is not so.
    No(String),
    /// Measurements, in OpenMetrics' form.
    Metrics(String),
}

/// Who answers.
type Answerer = Arc<dyn Fn(Probe) -> ProbeAnswer + Send + Sync>;

/// The door.
pub struct Probes {
    listener: TcpListener,
    answerer: Answerer,
}

impl Probes {
    /// Listens.
    pub async fn bind(
        address: SocketAddr,
        answerer: impl Fn(Probe) -> ProbeAnswer + Send + Sync + 'static,
    ) -> io::Result<Self> {
        Ok(Self { listener: TcpListener::bind(address).await?, answerer: Arc::new(answerer) })
    }

    /// Where it listens; of interest where the port was left to the system.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Answers for ever.
    pub async fn serve(self) {
        let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        loop {
            let Ok(place) = places.clone().acquire_owned().await else { return };
            match self.listener.accept().await {
                Ok((stream, _)) => {
                    let answerer = self.answerer.clone();
                    tokio::spawn(async move {
                        talk(stream, answerer).await;
                        drop(place);
                    });
                }
                Err(error) => {
                    // Out of descriptors, most likely: give connections time to end rather than spin.
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
    }
}

async fn talk(stream: TcpStream, answerer: Answerer) {
    let service = service_fn(move |request| {
        let answer = answer(&request, &answerer);
        async move { Ok::<_, Infallible>(answer) }
    });
    let talk = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(16 << 10)
        .serve_connection(TokioIo::new(stream), service);
    if let Ok(Err(error)) = tokio::time::timeout(LONGEST, talk).await {
        tracing::debug!(%error, "a connection ended early");
    }
}

fn answer(request: &Request<Incoming>, answerer: &Answerer) -> Response<AnswerBody> {
    let probe = match (request.method(), request.uri().path()) {
        (&Method::GET | &Method::HEAD, "/livez") => Probe::Alive,
        (&Method::GET | &Method::HEAD, "/readyz") => Probe::Ready,
        (&Method::GET | &Method::HEAD, "/metrics") => Probe::Metrics,
        _ => return text(StatusCode::NOT_FOUND, PLAIN, "there are /livez, /readyz and /metrics\n".to_owned()),
    };
    match answerer(probe) {
        ProbeAnswer::Yes(said) => text(StatusCode::OK, PLAIN, said),
        ProbeAnswer::No(said) => text(StatusCode::SERVICE_UNAVAILABLE, PLAIN, said),
        ProbeAnswer::Metrics(said) => text(StatusCode::OK, OPEN_METRICS, said),
    }
}

const PLAIN: &str = "text/plain; charset=utf-8";
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

fn text(status: StatusCode, kind: &'static str, said: String) -> Response<AnswerBody> {
    let mut response = Response::new(AnswerBody::from(said));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static(kind));
    response
}
