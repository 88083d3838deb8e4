//! Answers: bodies made of shared chunks, errors with a stable kind, request ids.

use std::convert::Infallible;
use std::io::IoSlice;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use http_body::{Body, Frame, SizeHint};
use jiff::Timestamp;

/// A body of chunks that are sent with one call, from where they are.
#[derive(Debug, Default)]
pub struct AnswerBody(Option<Chunks>);

/// Chunks that follow each other.
#[derive(Debug)]
pub struct Chunks {
    chunks: Vec<Bytes>,
    /// The first chunk that is not wholly consumed.
    next: usize,
    remaining: usize,
}

impl From<towpath_formats::sheet::Body> for AnswerBody {
    fn from(body: towpath_formats::sheet::Body) -> Self {
        let remaining = usize::try_from(body.length).expect("a body fits into memory");
        Self((remaining > 0).then_some(Chunks { chunks: body.chunks, next: 0, remaining }))
    }
}

impl From<String> for AnswerBody {
    fn from(text: String) -> Self {
        let remaining = text.len();
        Self((remaining > 0).then(|| Chunks { chunks: vec![Bytes::from(text)], next: 0, remaining }))
    }
}

impl Body for AnswerBody {
    type Data = Chunks;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Chunks>, Infallible>>> {
        Poll::Ready(self.0.take().map(|chunks| Ok(Frame::data(chunks))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.as_ref().map_or(0, |chunks| chunks.remaining as u64))
    }
}

impl Buf for Chunks {
    fn remaining(&self) -> usize {
        self.remaining
    }

    fn chunk(&self) -> &[u8] {
        self.chunks.get(self.next).map_or(&[], |chunk| chunk)
    }

    fn chunks_vectored<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        let chunks = self.chunks[self.next..].iter();
        slices.iter_mut().zip(chunks).map(|(slice, chunk)| *slice = IoSlice::new(chunk)).count()
    }

    fn advance(&mut self, mut count: usize) {
        assert!(count <= self.remaining, "advanced past the end");
        self.remaining -= count;
        while count > 0 {
            let chunk = &mut self.chunks[self.next];
            let step = count.min(chunk.len());
            chunk.advance(step);
            count -= step;
            if chunk.is_empty() {
                self.next += 1;
            }
        }
    }
}

/// An error answer: a stable kind and a sentence.
pub(crate) fn error(status: StatusCode, kind: &str, value: &str) -> Response<AnswerBody> {
    json(status, serde_json::json!({"kind": kind, "value": value}).to_string())
}

/// A JSON answer.
pub(crate) fn json(status: StatusCode, text: String) -> Response<AnswerBody> {
    let mut response = Response::new(text.into());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Names for requests: the client's own, or a new one.
pub(crate) struct RequestIds {
    prefix: u64,
    next: AtomicU64,
}

impl RequestIds {
    pub(crate) fn new(started: Timestamp) -> Self {
        Self { prefix: started.as_microsecond().unsigned_abs(), next: AtomicU64::new(1) }
    }

    pub(crate) fn of(&self, headers: &HeaderMap) -> HeaderValue {
        let sane = |id: &&HeaderValue| id.len() <= 64 && id.as_bytes().iter().all(u8::is_ascii_graphic);
        headers.get("x-request-id").filter(sane).cloned().unwrap_or_else(|| {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            HeaderValue::from_str(&format!("{:x}-{number:x}", self.prefix)).expect("hexadecimal digits fit a header")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_one_buffer() {
        let chunks: Vec<Bytes> = ["ab", "cde", "f"].into_iter().map(Bytes::from).collect();
        for first in 0..=6 {
            let mut buffer = Chunks { chunks: chunks.clone(), next: 0, remaining: 6 };
            buffer.advance(first);
            let mut slices = [IoSlice::new(&[]); 8];
            let count = buffer.chunks_vectored(&mut slices);
            let seen: usize = slices[..count].iter().map(|slice| slice.len()).sum();
            assert_eq!((seen, buffer.remaining()), (6 - first, 6 - first));
            assert_eq!(buffer.copy_to_bytes(6 - first), Bytes::from("abcdef").slice(first..));
        }
    }
}
