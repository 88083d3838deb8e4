//! A Prometheus that is asked one query, at a time of our choice. What the answer means, the formats say.
//!
//! The query goes along as part of the address, because reading needs fewer rights than posting where somebody guards the API.

use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use towpath_core::finding::{Finding, Place};
use towpath_http::{TokenFile, Url, base_address};

use crate::http::{FetchResponse, Http};

/// How long an answer may take, to its last byte.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long Prometheus may work on it.
const ITS_PATIENCE: &str = "25s";
const MAX_TOKEN_BYTES: u64 = 64 << 10;

/// Where it is, and what it is asked.
pub struct Prometheus {
    http: Http,
    url: Url,
    query: String,
    token: Option<TokenFile>,
}

impl Prometheus {
    /// The address is that of the server, without `/api/v1`. The token's file is read for each question.
    pub fn new(
        http: Http,
        address: &str,
        query: &str,
        token: Option<PathBuf>,
    ) -> Result<Self, String> {
        let url = base_address(address, http.allows_plain_http());
        let mut url = url.map_err(|problem| problem.to_string())?;
        let path = format!("{}/api/v1/query", url.path().trim_end_matches('/'));
        url.set_path(&path);
        Ok(Self {
            http,
            url,
            query: query.to_owned(),
            token: token.map(|path| TokenFile::new(path, MAX_TOKEN_BYTES)),
        })
    }

    /// Where findings say that they come from.
    pub fn place(&self) -> Place {
        Place::file(self.url.to_string())
    }

    /// Asks, and returns what came back, whatever it is.
    pub async fn ask(&self, at: Timestamp, max_bytes: usize) -> Result<FetchResponse, Finding> {
        let token = self.token.as_ref().map(TokenFile::read_or_last);
        let token = token
            .transpose()
            .map_err(|problem| self.no_token(&problem))?;
        let mut url = self.url.clone();
        url.query_pairs_mut()
            .append_pair("query", &self.query)
            .append_pair("time", &at.as_second().to_string())
            .append_pair("timeout", ITS_PATIENCE);
        let answer = self
            .http
            .ask(url, token.as_ref(), PATIENCE, max_bytes)
            .await;
        answer.map_err(|problem| {
            let remedy = "check the address, and that Prometheus is up";
            Finding::error("outcomes-query", self.place(), problem, remedy)
        })
    }

    fn no_token(&self, problem: &str) -> Finding {
        let path = self.token.as_ref().map_or(Path::new(""), TokenFile::path);
        let problem = format!("the token file {} {problem}", path.display());
        let remedy = "name a file with nothing but a token, with --outcomes-token";
        Finding::error("outcomes-query", self.place(), problem, remedy)
    }
}
