//! Why an answer is missing or incomplete. It holds no address, because a query may contain a secret.

use std::error::Error;

use crate::LeastRate;

/// The longest foreign text that we show to people.
const MAX_CHARS: usize = 300;

#[derive(Debug, Clone, PartialEq)]
pub enum HttpError {
    /// No connection in time.
    ConnectTimeout,
    /// The answer, or its rest, did not arrive in time.
    Timeout,
    Unreachable(String),
    /// The connection ended before the answer did.
    CutShort(String),
    /// The request is invalid.
    NotSent(String),
    /// The server redirects to an address that we refuse. The text follows the server's name.
    Misled(String),
    /// The body is longer than this many bytes.
    TooLong(u64),
    /// Several bodies together are longer than this many bytes.
    TogetherTooLong(u64),
    TooSlow(LeastRate),
}

impl HttpError {
    /// Describes what happened, with a name for the server: "the registry", "it".
    pub fn sentence(&self, server: &str) -> String {
        match self {
            Self::ConnectTimeout => format!("{server} cannot be reached in time"),
            Self::Timeout => format!("{server} does not answer in time"),
            Self::Unreachable(problem) => format!("{server} cannot be reached: {problem}"),
            Self::CutShort(problem) => format!("the answer is cut short: {problem}"),
            Self::NotSent(problem) => format!("{server} cannot be asked: {problem}"),
            Self::Misled(problem) => format!("{server} {problem}"),
            Self::TooLong(limit) => format!("the answer is longer than {limit} bytes"),
            Self::TogetherTooLong(limit) => {
                format!("the answers are longer than {limit} bytes together")
            }
            Self::TooSlow(LeastRate { bytes, within }) => {
                let seconds = within.as_secs_f32();
                format!("less than {bytes} bytes arrived within {seconds} s")
            }
        }
    }
}

impl From<reqwest::Error> for HttpError {
    fn from(error: reqwest::Error) -> Self {
        let error = error.without_url();
        match (error.is_timeout(), error.is_connect()) {
            (true, true) => Self::ConnectTimeout,
            (true, false) => Self::Timeout,
            (false, true) => Self::Unreachable(innermost(&error)),
            (false, false) if error.is_builder() => Self::NotSent(innermost(&error)),
            (false, false) => Self::CutShort(innermost(&error)),
        }
    }
}

/// The innermost error of a chain.
pub(crate) fn innermost(error: &dyn Error) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    clip(&error.to_string())
}

/// Cuts foreign text to one short line.
pub fn clip(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(MAX_CHARS)
        .collect()
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    #[tokio::test]
    async fn no_address_is_told() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            let (mut asked, _) = listener.accept().unwrap();
            let _ = asked.read(&mut [0; 4096]).unwrap();
            asked
                .write_all(b"HTTP/1.1 403 x\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
                .unwrap();
        });
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().no_proxy().tls_certs_only([]);
        let url = format!("http://{address}/?X-Amz-Signature=s3cret");
        let answer = client.build().unwrap().get(url).send().await.unwrap();
        // This one has nothing to tell but its address.
        let error = answer.error_for_status().unwrap_err();
        assert!(error.to_string().contains("s3cret"), "{error}");
        let told = HttpError::from(error).sentence("it");
        assert!(
            told.starts_with("the answer is cut short: ") && !told.contains("s3cret"),
            "{told}"
        );
    }
}
