//! A small server for a process without graphs: liveness, readiness and metrics.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::request::Parts;
use http::{Method, Request, Response, StatusCode, header};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use towpath_core::repeats::Repeats;

use crate::{Admission, AllowedHosts, AnswerBody};

/// The most connections at once. Others wait.
const MAX_CONNECTIONS: usize = 64;
/// How long a client may take for a request's head, and how long a connection may live.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
const LONGEST: Duration = Duration::from_secs(120);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Probe {
    /// Whether the process works, or must be restarted.
    Alive,
    /// Whether it is ready.
    Ready,
    Metrics,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProbeAnswer {
    Yes(String),
    No(String),
    Metrics(String),
}

type Answerer = Arc<dyn Fn(Probe) -> ProbeAnswer + Send + Sync>;

pub struct Probes {
    listener: TcpListener,
    answerer: Answerer,
}

impl Probes {
    pub async fn bind(
        address: SocketAddr,
        answerer: impl Fn(Probe) -> ProbeAnswer + Send + Sync + 'static,
    ) -> io::Result<Self> {
        Ok(Self {
            listener: TcpListener::bind(address).await?,
            answerer: Arc::new(answerer),
        })
    }

    /// The listening address, for when the system chose the port.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// On loopback, only IP addresses and `localhost` are accepted, so that web pages cannot read it under another name.
    fn hosts(&self) -> AllowedHosts {
        match self.listener.local_addr() {
            Ok(address) if !address.ip().is_loopback() => AllowedHosts::Any,
            _ => AllowedHosts::Names(BTreeSet::new()),
        }
    }

    pub async fn serve(self) {
        let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        let (mut failures, began) = (Repeats::default(), Instant::now());
        let admission = Arc::new(Admission {
            hosts: self.hosts(),
            ..Admission::default()
        });
        loop {
            let Ok(place) = places.clone().acquire_owned().await else {
                return;
            };
            match self.listener.accept().await {
                Ok((stream, _)) => {
                    if let Some(more) = failures.ended(began.elapsed()) {
                        tracing::warn!("connections can be accepted again{more}");
                    }
                    let (answerer, admission) = (self.answerer.clone(), admission.clone());
                    tokio::spawn(async move {
                        talk(stream, answerer, &admission).await;
                        drop(place);
                    });
                }
                Err(error) => {
                    // Out of descriptors, most likely: give connections time to end rather than spin.
                    if let Some(more) = failures.came(began.elapsed()) {
                        tracing::warn!(%error, "a connection could not be accepted{more}");
                    }
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
    }
}

async fn talk(stream: TcpStream, answerer: Answerer, admission: &Admission) {
    let service = service_fn(move |request: Request<Incoming>| {
        let (head, _) = request.into_parts();
        let mut answer = admission
            .refusal(&head)
            .unwrap_or_else(|| answer(&head, &answerer));
        let nosniff = header::HeaderValue::from_static("nosniff");
        answer
            .headers_mut()
            .insert(header::X_CONTENT_TYPE_OPTIONS, nosniff);
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

fn answer(head: &Parts, answerer: &Answerer) -> Response<AnswerBody> {
    let probe = match (&head.method, head.uri.path()) {
        (&Method::GET | &Method::HEAD, "/livez") => Probe::Alive,
        (&Method::GET | &Method::HEAD, "/readyz") => Probe::Ready,
        (&Method::GET | &Method::HEAD, "/metrics") => Probe::Metrics,
        _ => {
            return text(
                StatusCode::NOT_FOUND,
                PLAIN,
                "there are /livez, /readyz and /metrics\n".to_owned(),
            );
        }
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
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, header::HeaderValue::from_static(kind));
    response
}
