//! A layer around every request: it counts the request, adds the newest token, and limits the wait for an answer.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http::header::AUTHORIZATION;
use http::{Request, Response};
use kube::client::Body;
use tower::{BoxError, Layer, Service};
use towpath_http::TokenFile;

use crate::count::Counter;

/// Adds the layer to a client.
#[derive(Debug, Clone)]
pub(crate) struct DoorLayer {
    pub(crate) counter: Counter,
    pub(crate) token: Option<TokenFile>,
    pub(crate) answer_within: Duration,
}

#[derive(Debug, Clone)]
pub(crate) struct Door<S> {
    inner: S,
    settings: DoorLayer,
}

impl<S> Layer<S> for DoorLayer {
    type Service = Door<S>;

    fn layer(&self, inner: S) -> Door<S> {
        Door {
            inner,
            settings: self.clone(),
        }
    }
}

impl<S, B> Service<Request<Body>> for Door<S>
where
    S: Service<Request<Body>, Response = Response<B>>,
    S::Future: Send + 'static,
    S::Error: Into<BoxError>,
    B: 'static,
{
    type Response = Response<B>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let (uri, limit) = (request.uri(), self.settings.answer_within);
        self.settings.counter.add(
            request.method(),
            uri.path(),
            uri.query().unwrap_or_default(),
        );
        // It was read when the client was made, so there is at least the last one.
        if let Some(Ok(token)) = self.settings.token.as_ref().map(TokenFile::read_or_last) {
            request.headers_mut().insert(AUTHORIZATION, token.header());
        }
        let answer = self.inner.call(request);
        Box::pin(async move {
            match tokio::time::timeout(limit, answer).await {
                Ok(answer) => answer.map_err(Into::into),
                Err(_) => Err(format!("no answer began within {} s", limit.as_secs_f64()).into()),
            }
        })
    }
}
