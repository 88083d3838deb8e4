//! Answers: bodies made of shared chunks or of events, errors with a stable kind, request ids.

use std::convert::Infallible;
use std::io::IoSlice;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use http_body::{Body, Frame, SizeHint};
use jiff::Timestamp;
use tokio::sync::OwnedSemaphorePermit;

use crate::events::EventStream;

/// A body of chunks, sent with one call and without copying, or a stream of events.
#[derive(Debug, Default)]
pub struct AnswerBody(Content);

#[derive(Debug, Default)]
enum Content {
    #[default]
    Nothing,
    Chunks(Chunks),
    Events(Box<EventStream>),
}

/// Consecutive chunks, shared with other answers.
#[derive(Debug)]
pub struct Chunks {
    chunks: Arc<[Bytes]>,
    /// The first chunk that is not completely consumed, …
    next: usize,
    /// … and how much of it is consumed.
    consumed: usize,
    remaining: usize,
    /// Released once all is written or the reader is gone.
    held: Option<OwnedSemaphorePermit>,
}

impl AnswerBody {
    /// Chunks with this many bytes in total.
    pub(crate) fn new(chunks: Arc<[Bytes]>, bytes: usize) -> Self {
        if bytes == 0 {
            return Self::default();
        }
        Self(Content::Chunks(Chunks {
            chunks,
            next: 0,
            consumed: 0,
            remaining: bytes,
            held: None,
        }))
    }

    /// Holds a place until the body is sent or dropped.
    pub(crate) fn holding(mut self, place: Option<OwnedSemaphorePermit>) -> Self {
        if let Content::Chunks(chunks) = &mut self.0 {
            chunks.held = place;
        }
        self
    }
}

impl From<String> for AnswerBody {
    fn from(text: String) -> Self {
        let bytes = text.len();
        Self::new(Arc::new([Bytes::from(text)]), bytes)
    }
}

impl From<EventStream> for AnswerBody {
    fn from(events: EventStream) -> Self {
        Self(Content::Events(Box::new(events)))
    }
}

impl From<Bytes> for Chunks {
    fn from(bytes: Bytes) -> Self {
        Self {
            remaining: bytes.len(),
            chunks: Arc::new([bytes]),
            next: 0,
            consumed: 0,
            held: None,
        }
    }
}

impl Body for AnswerBody {
    type Data = Chunks;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Chunks>, Infallible>>> {
        if let Content::Events(events) = &mut self.0 {
            let next = events.poll_next(cx);
            return next.map(|frame| Some(Ok(Frame::data(frame?.into()))));
        }
        match std::mem::take(&mut self.0) {
            Content::Chunks(chunks) => Poll::Ready(Some(Ok(Frame::data(chunks)))),
            _ => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.0, Content::Nothing)
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Content::Nothing => SizeHint::with_exact(0),
            Content::Chunks(chunks) => SizeHint::with_exact(chunks.remaining as u64),
            Content::Events(_) => SizeHint::default(),
        }
    }
}

impl Buf for Chunks {
    fn remaining(&self) -> usize {
        self.remaining
    }

    fn chunk(&self) -> &[u8] {
        self.chunks
            .get(self.next)
            .map_or(&[], |chunk| &chunk[self.consumed..])
    }

    fn chunks_vectored<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        let rest = self
            .chunks
            .get(self.next + 1..)
            .unwrap_or_default()
            .iter()
            .map(|chunk| &chunk[..]);
        let first = Some(self.chunk()).filter(|chunk| !chunk.is_empty());
        let chunks = first.into_iter().chain(rest);
        slices
            .iter_mut()
            .zip(chunks)
            .map(|(slice, chunk)| *slice = IoSlice::new(chunk))
            .count()
    }

    fn advance(&mut self, mut count: usize) {
        assert!(count <= self.remaining, "advanced past the end");
        self.remaining -= count;
        while count > 0 {
            let step = count.min(self.chunk().len());
            self.consumed += step;
            count -= step;
            if self.chunk().is_empty() {
                (self.next, self.consumed) = (self.next + 1, 0);
            }
        }
    }
}

/// An error answer: a stable kind and a sentence.
pub(crate) fn error(status: StatusCode, kind: &str, value: &str) -> Response<AnswerBody> {
    json(
        status,
        serde_json::json!({"kind": kind, "value": value}).to_string(),
    )
}

pub(crate) fn json(status: StatusCode, text: String) -> Response<AnswerBody> {
    let mut response = Response::new(text.into());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Something that is looked at. Whatever stands in it, a browser runs nothing of it.
pub(crate) fn drawing(text: String, content_type: &'static str) -> Response<AnswerBody> {
    let mut response = Response::new(text.into());
    let headers = response.headers_mut();
    let fixed = HeaderValue::from_static;
    headers.insert(header::CONTENT_TYPE, fixed(content_type));
    headers.insert(header::CACHE_CONTROL, fixed("no-store"));
    headers.insert(header::CONTENT_SECURITY_POLICY, DRAWN_POLICY);
    response
}

/// A drawing has its own styles, and needs nothing else.
pub(crate) const DRAWN_POLICY: HeaderValue =
    HeaderValue::from_static("default-src 'none'; style-src 'unsafe-inline'; sandbox");

/// The header with a request's id.
pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Ids for requests: the client's own, or a new one.
pub(crate) struct RequestIds {
    prefix: Vec<u8>,
    next: AtomicU64,
}

impl RequestIds {
    pub(crate) fn new(started: Timestamp) -> Self {
        let prefix = format!("{:x}-", started.as_microsecond());
        Self {
            prefix: prefix.into_bytes(),
            next: AtomicU64::new(1),
        }
    }

    pub(crate) fn of(&self, headers: &HeaderMap) -> HeaderValue {
        let sane =
            |id: &&HeaderValue| id.len() <= 64 && id.as_bytes().iter().all(u8::is_ascii_graphic);
        headers
            .get(&REQUEST_ID)
            .filter(sane)
            .cloned()
            .unwrap_or_else(|| {
                let number = self.next.fetch_add(1, Ordering::Relaxed);
                HeaderValue::from_maybe_shared(Bytes::from(
                    [&*self.prefix, &hexadecimal(number)].concat(),
                ))
                .expect("digits fit a header")
            })
    }
}

/// A number in sixteen hexadecimal digits. Every answer has one, so `format!` would be too slow.
fn hexadecimal(number: u64) -> [u8; 16] {
    std::array::from_fn(|at| b"0123456789abcdef"[(number >> (60 - 4 * at) & 15) as usize])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_one_buffer() {
        let chunks: Arc<[Bytes]> = ["ab", "cde", "f"].into_iter().map(Bytes::from).collect();
        for first in 0..=6 {
            let mut buffer = Chunks {
                chunks: chunks.clone(),
                next: 0,
                consumed: 0,
                remaining: 6,
                held: None,
            };
            buffer.advance(first);
            let mut slices = [IoSlice::new(&[]); 8];
            let count = buffer.chunks_vectored(&mut slices);
            let seen: usize = slices[..count].iter().map(|slice| slice.len()).sum();
            assert_eq!((seen, buffer.remaining()), (6 - first, 6 - first));
            assert_eq!(
                buffer.copy_to_bytes(6 - first),
                Bytes::from("abcdef").slice(first..)
            );
        }
    }
}
