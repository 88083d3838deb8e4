//! An upstream Cincinnati service, asked for some channels and architectures. Each answer is one file; unchanged answers
//! are not sent again.
//!
//! All answers share one size limit, whether they are new or kept from before.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use towpath_core::finding::{Finding, Place};
use towpath_formats::SourceFile;
use towpath_formats::graph::upstream;
use towpath_http::{Allowance, Url};

use crate::http::{GetOutcome, Http, Validators};
use crate::shown::without_credentials;

const MAX_ANSWER_BYTES: usize = 64 << 20;
const MAX_BYTES: usize = 256 << 20;
/// How many requests run at once.
const MAX_AT_ONCE: usize = 4;
/// The content type of the protocol.
const ACCEPT: &str = "application/json";

/// A service, and what it last answered.
pub struct Upstream {
    http: Http,
    url: String,
    questions: Vec<(String, String)>,
    max_bytes: usize,
    known: BTreeMap<String, (Validators, Arc<[u8]>)>,
}

impl Upstream {
    /// The service at an address (`…/graph`), for these channels and architectures.
    pub fn new(http: Http, url: &str, channels: &[String], arches: &[String]) -> Self {
        let of = |channel: &String| {
            arches
                .iter()
                .map(|arch| (channel.clone(), arch.clone()))
                .collect::<Vec<_>>()
        };
        let questions = channels.iter().flat_map(of).collect();
        Self {
            http,
            url: url.to_owned(),
            questions,
            max_bytes: MAX_BYTES,
            known: BTreeMap::new(),
        }
    }

    /// Sets the size limit of all answers together.
    pub fn bounded(self, max_bytes: usize) -> Self {
        Self { max_bytes, ..self }
    }

    /// Asks for everything. If one answer fails, all fail: half of the answers would be another graph.
    pub async fn read(&mut self) -> Result<Vec<SourceFile>, Finding> {
        let (at_once, together) = (
            Arc::new(Semaphore::new(MAX_AT_ONCE)),
            Arc::new(Allowance::new(self.max_bytes as u64)),
        );
        let mut asking = JoinSet::new();
        for (channel, arch) in &self.questions {
            let name = upstream::file_name(channel, arch);
            let url = self.question(channel, arch)?;
            let validators = self
                .known
                .get(&name)
                .map(|(validators, _)| validators.clone())
                .unwrap_or_default();
            let (http, at_once, together) = (self.http.clone(), at_once.clone(), together.clone());
            asking.spawn(async move {
                let _turn = at_once.acquire().await;
                (
                    name,
                    http.get_within(&url, ACCEPT, &validators, MAX_ANSWER_BYTES, &together)
                        .await,
                )
            });
        }
        let mut known = BTreeMap::new();
        while let Some(answered) = asking.join_next().await {
            let (name, got) = answered.map_err(|error| self.failed(error.to_string()))?;
            let kept = match got? {
                GetOutcome::Body { bytes, validators } => Some((validators, bytes.into())),
                GetOutcome::Unchanged => {
                    let held = self.known.get(&name).cloned();
                    let bytes = held.as_ref().map_or(0, |(_, bytes)| bytes.len());
                    together
                        .take(bytes)
                        .map_err(|error| self.failed(error.sentence("it")))?;
                    held
                }
            };
            known.extend(kept.map(|kept| (name, kept)));
        }
        self.known = known;
        Ok(self
            .known
            .iter()
            .map(|(path, (_, bytes))| SourceFile::new(path.clone(), bytes.clone()))
            .collect())
    }

    fn question(&self, channel: &str, arch: &str) -> Result<String, Finding> {
        let mut url = Url::parse(&self.url).map_err(|error| self.failed(error.to_string()))?;
        url.query_pairs_mut()
            .append_pair("channel", channel)
            .append_pair("arch", arch);
        Ok(url.into())
    }

    fn failed(&self, problem: String) -> Finding {
        let remedy = "check the address, and that the service is up";
        Finding::error(
            "http",
            Place::file(without_credentials(&self.url)),
            problem,
            remedy,
        )
    }
}
