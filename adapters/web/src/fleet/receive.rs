//! Receives a JSON body, with limits on size and time.

use std::future::poll_fn;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, StatusCode, header};
use http_body::Body;

use crate::refusal::{OrRefusal, Refusal};

const MAX_BYTES: usize = towpath_formats::fleet::report::MAX_BYTES;
/// How much of an unwanted body is still read: closing with unread bytes would destroy the answer.
const MAX_DISCARDED: usize = 1 << 20;
/// How long that may take.
const LINGER: Duration = Duration::from_secs(1);

/// Why a body was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NotReceived {
    NotJson,
    TooLarge,
    TooSlow,
    NotText,
    Broken,
}

impl From<NotReceived> for Refusal {
    fn from(why: NotReceived) -> Self {
        let (status, kind, sentence) = match why {
            NotReceived::NotJson => (
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "unsupported_media_type",
                "the body must be JSON: send Content-Type: application/json",
            ),
            NotReceived::TooLarge => (
                StatusCode::PAYLOAD_TOO_LARGE,
                "body_too_large",
                "the body is larger than 65536 bytes; send less",
            ),
            NotReceived::TooSlow => (
                StatusCode::REQUEST_TIMEOUT,
                "body_too_slow",
                "the body did not arrive in time; send it at once",
            ),
            NotReceived::NotText => return Self::invalid_body("the body is not UTF-8".to_owned()),
            NotReceived::Broken => return Self::invalid_body("the body ended early".to_owned()),
        };
        Self::new(status, kind, sentence)
    }
}

/// Whether there is no body at all.
pub(crate) fn is_empty<B: Body>(body: &B) -> bool {
    body.is_end_stream()
}

/// Reads a body to its end, within the limits.
pub(crate) async fn text<B>(
    headers: &HeaderMap,
    body: &mut B,
    within: Duration,
) -> OrRefusal<String>
where
    B: Body<Data = Bytes> + Unpin,
{
    Ok(read(headers, body, within).await?)
}

async fn read<B>(headers: &HeaderMap, body: &mut B, within: Duration) -> Result<String, NotReceived>
where
    B: Body<Data = Bytes> + Unpin,
{
    if !is_json(headers) {
        return Err(NotReceived::NotJson);
    }
    // What the header says is not taken at its word; only a lie that would be too much saves us the reading.
    if body.size_hint().lower() > MAX_BYTES as u64 {
        return Err(NotReceived::TooLarge);
    }
    let bytes = tokio::time::timeout(within, all(body))
        .await
        .map_err(|_| NotReceived::TooSlow)??;
    String::from_utf8(bytes).map_err(|_| NotReceived::NotText)
}

/// Reads what is left of a body that is not wanted, so that the client gets to read why.
pub(crate) async fn discard<B>(headers: &HeaderMap, body: &mut B)
where
    B: Body<Data = Bytes> + Unpin,
{
    // One that asked whether to send has not sent it; reading would tell it to.
    if headers.contains_key(header::EXPECT) {
        return;
    }
    let reading = async {
        let mut read = 0;
        while let Some(Ok(bytes)) = next(body).await {
            read += bytes.len();
            if read > MAX_DISCARDED {
                break;
            }
        }
    };
    if tokio::time::timeout(LINGER, reading).await.is_err() {
        tracing::debug!("a body that is not wanted did not end in time");
    }
}

async fn all<B>(body: &mut B) -> Result<Vec<u8>, NotReceived>
where
    B: Body<Data = Bytes> + Unpin,
{
    let mut bytes = Vec::new();
    while let Some(more) = next(body).await {
        let more = more?;
        if bytes.len() + more.len() > MAX_BYTES {
            return Err(NotReceived::TooLarge);
        }
        bytes.extend_from_slice(&more);
    }
    Ok(bytes)
}

/// The next bytes; trailers have none.
async fn next<B>(body: &mut B) -> Option<Result<Bytes, NotReceived>>
where
    B: Body<Data = Bytes> + Unpin,
{
    let frame = poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await?;
    Some(
        frame
            .map(|frame| frame.into_data().unwrap_or_default())
            .map_err(|_| NotReceived::Broken),
    )
}

fn is_json(headers: &HeaderMap) -> bool {
    let content_type = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let media_type = content_type.split(';').next().unwrap_or_default().trim();
    media_type.eq_ignore_ascii_case("application/json")
}
