//! A request, before it is sent.

use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Url};

#[derive(Clone)]
pub struct Request {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) authorization: Option<HeaderValue>,
    pub(crate) body: Option<Vec<u8>>,
    pub(crate) timeout: Option<Duration>,
}

impl Request {
    pub fn new(method: Method, url: Url) -> Self {
        Self {
            method,
            url,
            headers: HeaderMap::new(),
            authorization: None,
            body: None,
            timeout: None,
        }
    }

    pub fn get(url: Url) -> Self {
        Self::new(Method::GET, url)
    }

    /// Adds a header for every server on the way. An invalid value is left out, since it may come from a server.
    pub fn header(mut self, name: HeaderName, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.insert(name, value);
        }
        self
    }

    /// Adds credentials. Only the server of this address gets them; redirects to others do not.
    pub fn authorization(mut self, value: Option<HeaderValue>) -> Self {
        self.authorization = value;
        self
    }

    pub fn body(self, content_type: &'static str, body: impl Into<Vec<u8>>) -> Self {
        let mut request = self.header(CONTENT_TYPE, content_type);
        request.body = Some(body.into());
        request
    }

    /// Replaces the client's limit on the time to the last byte.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }
}
