//! An answer: its head has arrived, and its body is read with a limit on size and slowness.

use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use reqwest::header::{HeaderMap, HeaderName, RETRY_AFTER};
use reqwest::{Response, StatusCode, Url};
use towpath_core::retry::retry_after;

use crate::HttpError;

#[derive(Debug)]
pub struct Answer(Response);

#[derive(Debug, Clone, Copy)]
pub struct BodyLimit<'a> {
    pub bytes: u64,
    pub least_rate: Option<LeastRate>,
    /// A shared limit for several answers.
    pub together: Option<&'a Allowance>,
}

/// The lowest rate, in bytes per span. Slower answers are cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeastRate {
    pub bytes: u64,
    pub within: Duration,
}

/// A shared byte budget for several answers.
#[derive(Debug)]
pub struct Allowance {
    bytes: u64,
    left: AtomicU64,
}

/// A body in chunks.
#[derive(Debug)]
pub struct Chunks {
    response: Response,
    pace: Option<Pace>,
}

/// Measures how fast an answer arrives. A server that drips bytes would otherwise hold its reader until the last timeout.
#[derive(Debug)]
struct Pace {
    rate: LeastRate,
    since: Instant,
    bytes: u64,
}

impl Answer {
    pub(crate) fn new(response: Response) -> Self {
        Self(response)
    }

    pub fn status(&self) -> StatusCode {
        self.0.status()
    }

    /// The address that answered, after all redirects.
    pub fn url(&self) -> &Url {
        self.0.url()
    }

    pub fn headers(&self) -> &HeaderMap {
        self.0.headers()
    }

    /// A header, if it is text.
    pub fn header(&self, name: HeaderName) -> Option<&str> {
        self.0.headers().get(name)?.to_str().ok()
    }

    pub fn retry_after(&self) -> Option<Duration> {
        retry_after(self.header(RETRY_AFTER)?, Timestamp::now())
    }

    pub async fn body(self, limit: BodyLimit<'_>) -> Result<Vec<u8>, HttpError> {
        let too_long = HttpError::TooLong(limit.bytes);
        if self
            .0
            .content_length()
            .is_some_and(|told| told > limit.bytes)
        {
            return Err(too_long);
        }
        let (mut chunks, mut body) = (self.chunks(limit.least_rate), Vec::new());
        while let Some(chunk) = chunks.next().await? {
            if (body.len() as u64).saturating_add(chunk.len() as u64) > limit.bytes {
                return Err(too_long);
            }
            if let Some(together) = limit.together {
                together.take(chunk.len())?;
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    /// The body, or only its first bytes if it is longer.
    pub async fn beginning(self, most: usize) -> Result<Vec<u8>, HttpError> {
        let (mut chunks, mut bytes) = (self.chunks(None), Vec::new());
        while bytes.len() < most
            && let Some(chunk) = chunks.next().await?
        {
            bytes.extend_from_slice(&chunk[..chunk.len().min(most - bytes.len())]);
        }
        Ok(bytes)
    }

    pub fn chunks(self, least_rate: Option<LeastRate>) -> Chunks {
        Chunks {
            response: self.0,
            pace: least_rate.map(Pace::new),
        }
    }
}

impl BodyLimit<'_> {
    pub fn bytes(bytes: u64) -> Self {
        Self {
            bytes,
            least_rate: None,
            together: None,
        }
    }
}

impl Chunks {
    /// The next chunk, or an error if they arrive too slowly.
    pub async fn next(&mut self) -> Result<Option<impl Deref<Target = [u8]> + use<>>, HttpError> {
        let chunk = self.response.chunk().await?;
        if let Some(pace) = &mut self.pace {
            pace.came(chunk.as_deref())?;
        }
        Ok(chunk)
    }
}

impl Pace {
    fn new(rate: LeastRate) -> Self {
        Self {
            rate,
            since: Instant::now(),
            bytes: 0,
        }
    }

    fn came(&mut self, chunk: Option<&[u8]>) -> Result<(), HttpError> {
        self.bytes += chunk.map_or(0, |chunk| chunk.len() as u64);
        match (
            self.since.elapsed() >= self.rate.within,
            self.bytes >= self.rate.bytes,
        ) {
            (false, _) => {}
            (true, true) => *self = Self::new(self.rate),
            (true, false) if chunk.is_none() => {}
            (true, false) => return Err(HttpError::TooSlow(self.rate)),
        }
        Ok(())
    }
}

impl Allowance {
    pub fn new(bytes: u64) -> Self {
        Self {
            bytes,
            left: AtomicU64::new(bytes),
        }
    }

    /// Takes this many bytes, or fails if fewer are left.
    pub fn take(&self, bytes: usize) -> Result<(), HttpError> {
        let taken = self
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                left.checked_sub(bytes as u64)
            });
        taken
            .map(|_| ())
            .map_err(|_| HttpError::TogetherTooLong(self.bytes))
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;
    use crate::{HttpClient, HttpOptions, Request, Trust};

    /// The answer of a server that sends this head, and then repeats this chunk until nobody reads.
    async fn answer(head: &'static str, again: &'static [u8], pause: Duration) -> Answer {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            assert!(stream.read(&mut [0; 1_000]).unwrap() > 0);
            stream.write_all(head.as_bytes()).unwrap();
            while stream.write_all(again).is_ok() {
                std::thread::sleep(pause);
            }
        });
        let client = HttpClient::new(&HttpOptions {
            trust: Trust::Nobody,
            environment_proxy: false,
            ..HttpOptions::default()
        });
        let request = Request::get(Url::parse(&url).unwrap());
        client.unwrap().send(request).await.unwrap()
    }

    #[tokio::test]
    async fn an_answer_that_drips_is_cut_off() {
        let head = "HTTP/1.1 200 x\r\ncontent-length: 1000000\r\n\r\n";
        let drips = answer(head, b"x", Duration::from_millis(10)).await;
        let rate = LeastRate {
            bytes: 1_000,
            within: Duration::from_millis(500),
        };
        let limit = BodyLimit {
            least_rate: Some(rate),
            ..BodyLimit::bytes(1 << 20)
        };
        let error = drips.body(limit).await.unwrap_err();
        assert_eq!(error, HttpError::TooSlow(rate));
        assert_eq!(
            error.sentence("it"),
            "less than 1000 bytes arrived within 0.5 s"
        );
    }

    #[tokio::test]
    async fn a_body_ends_at_its_limit() {
        let told = "HTTP/1.1 200 x\r\ncontent-length: 1000001\r\n\r\n";
        let endless = "HTTP/1.1 200 x\r\nretry-after: 7\r\n\r\n";
        for head in [told, endless] {
            let body = answer(head, b"x", Duration::ZERO).await;
            let error = body.body(BodyLimit::bytes(1_000)).await.unwrap_err();
            assert_eq!(error, HttpError::TooLong(1_000));
        }
        let allowance = Allowance::new(10);
        let limit = BodyLimit {
            together: Some(&allowance),
            ..BodyLimit::bytes(1 << 40)
        };
        let body = answer(endless, b"xx", Duration::ZERO).await;
        assert_eq!(body.retry_after(), Some(Duration::from_secs(7)));
        let error = body.body(limit).await.unwrap_err();
        assert_eq!(error, HttpError::TogetherTooLong(10));
        let body = answer(endless, b"xyz", Duration::ZERO).await;
        assert_eq!(body.beginning(5).await.unwrap(), b"xyzxy");
    }
}
