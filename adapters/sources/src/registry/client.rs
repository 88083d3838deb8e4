//! The client: tags, manifests, blobs. Each is asked for until it is had or given up; what was asked is counted.
//!
//! Redirects are followed by hand: registries send us to other hosts for blobs, and those must not see what we are known by.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use reqwest::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION, RETRY_AFTER,
};
use reqwest::{Method, Response, Url};
use sha2::{Digest as _, Sha256};
use towpath_core::finding::{Finding, Place};
use towpath_core::retry::{Jitter, retry_after};
use towpath_formats::oci::{
    self, Descriptor, Digest, Entry, Layer, LayerLimits, Reference, Repository, Spent,
};

use super::auth::{Auth, Door, unauthorised};
use super::connection::Connection;
use super::failure::{Attempts, Failure};
use super::options::{LeastRate, RegistryLimits, RegistryOptions};
use super::ways::may_lead;

const MAX_REDIRECTS: usize = 5;

/// Registries, as seen with one set of options. Copies share connections, tokens and counts.
#[derive(Debug, Clone)]
pub struct Registry(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    http: Connection,
    auth: Auth,
    plain_http: bool,
    limits: RegistryLimits,
    jitter: Jitter,
    counts: Counts,
}

#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) tags: AtomicU64,
    manifests: AtomicU64,
    blobs: AtomicU64,
    blob_bytes: AtomicU64,
}

/// How much was asked of registries so far, attempts included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Requests {
    pub tags: u64,
    /// Manifests, whole or only their digest.
    pub manifests: u64,
    pub blobs: u64,
    pub blob_bytes: u64,
}

/// Something to be asked for.
pub(super) struct Ask<'a> {
    repository: &'a Repository,
    method: Method,
    url: Url,
    accept: &'static str,
    timeout: Duration,
    count: &'a AtomicU64,
}

/// A manifest whose digest is right.
pub(super) struct Fetched {
    pub(super) content_type: String,
    pub(super) bytes: Vec<u8>,
    /// What the registry says that it is.
    told: Option<Digest>,
}

impl Registry {
    /// Registries with these options; their files are read now.
    pub fn new(options: RegistryOptions) -> Result<Self, Finding> {
        let seed = u64::from(std::process::id()) ^ Timestamp::now().as_nanosecond() as u64;
        Ok(Self(Arc::new(Inner {
            http: Connection::new(&options)?,
            auth: Auth::new(options.auth_file)?,
            plain_http: options.plain_http,
            limits: options.limits,
            jitter: Jitter::new(seed),
            counts: Counts::default(),
        })))
    }

    /// What was asked so far.
    pub fn requests(&self) -> Requests {
        let Counts {
            tags,
            manifests,
            blobs,
            blob_bytes,
        } = &self.0.counts;
        let [tags, manifests, blobs, blob_bytes] =
            [tags, manifests, blobs, blob_bytes].map(|count| count.load(Ordering::Relaxed));
        Requests {
            tags,
            manifests,
            blobs,
            blob_bytes,
        }
    }

    /// Ends what takes too long as a whole, so that no registry holds its reader for ever.
    pub(super) async fn in_time<T>(
        &self,
        place: Place,
        work: impl Future<Output = Result<T, Finding>>,
    ) -> Result<T, Finding> {
        let limit = self.0.limits.whole_timeout;
        tokio::time::timeout(limit, work).await.unwrap_or_else(|_| {
            let problem = format!(
                "reading it took longer than {} s, and then we stopped",
                limit.as_secs()
            );
            let remedy =
                "look at the registry, and try again: what a cache has of it is not read again";
            Err(Finding::error(
                "registry-unreachable",
                place,
                problem,
                remedy,
            ))
        })
    }

    pub(super) fn limits(&self) -> &RegistryLimits {
        &self.0.limits
    }

    pub(super) fn counts(&self) -> &Counts {
        &self.0.counts
    }

    /// The digest of what a tag points at.
    pub(super) async fn digest(
        &self,
        repository: &Repository,
        tag: &Reference,
    ) -> Result<Digest, Failure> {
        let url = self.url(repository, &format!("manifests/{}", tag.as_str()))?;
        let ask = self.ask(
            repository,
            Method::HEAD,
            url,
            oci::ACCEPT,
            &self.0.counts.manifests,
        );
        let mut attempts = self.attempts();
        let told = loop {
            match self.open(&ask).await {
                Ok(answer) => break Ok(told_digest(answer.headers())),
                Err(failure) => match attempts.pause(failure).await {
                    Ok(()) => {}
                    Err(failure) => break Err(failure),
                },
            }
        };
        match told {
            Ok(Some(digest)) => Ok(digest),
            // It does not say, or does not know HEAD.
            Ok(None) | Err(Failure::Lasting { code: "http", .. }) => {
                Ok(Digest::of(&self.manifest(repository, tag).await?.bytes))
            }
            Err(failure) => Err(failure),
        }
    }

    /// What a tag points at, with its manifest if the registry says what that is: so nobody has to ask for it again.
    pub(super) async fn tagged(
        &self,
        repository: &Repository,
        tag: &Reference,
    ) -> Result<(Digest, Option<Fetched>), Failure> {
        let fetched = self.manifest(repository, tag).await?;
        match fetched.told.clone() {
            Some(digest) => Ok((digest, Some(fetched))),
            // Nothing tells whether this is what was pushed.
            None => Ok((self.digest(repository, tag).await?, None)),
        }
    }

    /// A manifest; by digest, it is what the digest says, and by tag what the registry says, if it does.
    pub(super) async fn manifest(
        &self,
        repository: &Repository,
        reference: &Reference,
    ) -> Result<Fetched, Failure> {
        let url = self.url(repository, &format!("manifests/{}", reference.as_str()))?;
        let ask = self.ask(
            repository,
            Method::GET,
            url,
            oci::ACCEPT,
            &self.0.counts.manifests,
        );
        let mut attempts = self.attempts();
        loop {
            match self.manifest_once(&ask, reference).await {
                Ok(fetched) => return Ok(fetched),
                Err(failure) => attempts.pause(failure).await?,
            }
        }
    }

    async fn manifest_once(
        &self,
        ask: &Ask<'_>,
        reference: &Reference,
    ) -> Result<Fetched, Failure> {
        let answer = self.open(ask).await?;
        let content_type = answer
            .headers()
            .get(CONTENT_TYPE)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default();
        let content_type = content_type.to_owned();
        let told = told_digest(answer.headers());
        let bytes = body(
            answer,
            "the manifest",
            self.0.limits.manifest_bytes,
            self.0.limits.least_rate,
        )
        .await?;
        let expected = match reference {
            Reference::Digest(digest) => Some(digest),
            Reference::Tag(_) => told.as_ref(),
        };
        if let Some(expected) = expected {
            check(expected, &Digest::of(&bytes), "the manifest")?;
        }
        Ok(Fetched {
            content_type,
            bytes,
            told,
        })
    }

    pub(super) async fn blob(
        &self,
        repository: &Repository,
        blob: &Descriptor,
    ) -> Result<Vec<u8>, Failure> {
        let limit = self.0.limits.manifest_bytes;
        if blob.bytes > limit {
            return Err(Failure::too_large("the configuration", limit));
        }
        let ask = self.blob_ask(repository, blob)?;
        let mut attempts = self.attempts();
        loop {
            let mut bytes = Vec::new();
            match self
                .stream(&ask, blob, |chunk| bytes.extend_from_slice(chunk))
                .await
            {
                Ok(()) => return Ok(bytes),
                Err(failure) => attempts.pause(failure).await?,
            }
        }
    }

    /// What is wanted of a layer; or what is wrong with the layer, whose digest is right all the same.
    pub(super) async fn layer(
        &self,
        repository: &Repository,
        blob: &Descriptor,
        wanted: fn(&str) -> bool,
        limits: LayerLimits,
        spent: Spent,
    ) -> Result<Result<(Vec<Entry>, Spent), String>, Failure> {
        let ask = self.blob_ask(repository, blob)?;
        let mut attempts = self.attempts();
        loop {
            let (mut layer, mut problem) = (Layer::new(wanted, limits, spent), None);
            let push = |chunk: &[u8]| {
                // What is wrong counts only if it is what the digest stands for; so the rest is still looked at.
                if problem.is_none() {
                    problem = layer.push(chunk).err();
                }
            };
            match self.stream(&ask, blob, push).await {
                Ok(()) => return Ok(problem.map_or_else(|| layer.finish(), Err)),
                Err(failure) => attempts.pause(failure).await?,
            }
        }
    }

    /// A blob, chunk by chunk, and its digest at the end.
    async fn stream(
        &self,
        ask: &Ask<'_>,
        blob: &Descriptor,
        mut take: impl FnMut(&[u8]),
    ) -> Result<(), Failure> {
        let mut answer = self.open(ask).await?;
        let (mut hash, mut left) = (Sha256::new(), blob.bytes);
        let mut pace = Pace::new(self.0.limits.least_rate);
        while let Some(chunk) = pace.next(&mut answer).await? {
            self.0
                .counts
                .blob_bytes
                .fetch_add(chunk.len() as u64, Ordering::Relaxed);
            let longer = || Failure::Untrue("the blob is longer than its manifest says");
            left = left.checked_sub(chunk.len() as u64).ok_or_else(longer)?;
            hash.update(&*chunk);
            take(&chunk);
        }
        check(&blob.digest, &Digest::finished(hash), "the blob")
    }

    fn blob_ask<'a>(
        &'a self,
        repository: &'a Repository,
        blob: &Descriptor,
    ) -> Result<Ask<'a>, Failure> {
        let url = self.url(repository, &format!("blobs/{}", blob.digest))?;
        let ask = self.ask(repository, Method::GET, url, "*/*", &self.0.counts.blobs);
        Ok(Ask {
            timeout: self.0.limits.blob_timeout,
            ..ask
        })
    }

    pub(super) fn ask<'a>(
        &self,
        repository: &'a Repository,
        method: Method,
        url: Url,
        accept: &'static str,
        count: &'a AtomicU64,
    ) -> Ask<'a> {
        Ask {
            repository,
            method,
            url,
            accept,
            timeout: self.0.limits.answer_timeout,
            count,
        }
    }

    /// An answer with its whole body.
    pub(super) async fn whole(
        &self,
        ask: &Ask<'_>,
        what: &str,
        limit: u64,
    ) -> Result<(HeaderMap, Vec<u8>), Failure> {
        let mut attempts = self.attempts();
        loop {
            match self.whole_once(ask, what, limit).await {
                Ok(got) => return Ok(got),
                Err(failure) => attempts.pause(failure).await?,
            }
        }
    }

    async fn whole_once(
        &self,
        ask: &Ask<'_>,
        what: &str,
        limit: u64,
    ) -> Result<(HeaderMap, Vec<u8>), Failure> {
        let answer = self.open(ask).await?;
        Ok((
            answer.headers().clone(),
            body(answer, what, limit, self.0.limits.least_rate).await?,
        ))
    }

    fn attempts(&self) -> Attempts<'_> {
        Attempts {
            made: 0,
            limits: &self.0.limits,
            jitter: &self.0.jitter,
        }
    }

    /// Asks once; a second time if we have to say first who we are.
    async fn open(&self, ask: &Ask<'_>) -> Result<Response, Failure> {
        let held = self.0.auth.header(ask.repository).await;
        let answer = self.follow(ask, held.as_ref()).await?;
        if answer.status().as_u16() != 401 || !is_same_origin(answer.url(), &ask.url) {
            return judged(answer);
        }
        let door = Door {
            http: &self.0.http,
            limits: &self.0.limits,
            registry: &ask.url,
        };
        let header = self
            .0
            .auth
            .answer(ask.repository, answer.headers(), held.as_ref(), &door)
            .await?;
        judged(self.follow(ask, Some(&header)).await?)
    }

    /// Asks, and goes where it is sent. Only the registry itself is told who we are.
    async fn follow(
        &self,
        ask: &Ask<'_>,
        authorisation: Option<&HeaderValue>,
    ) -> Result<Response, Failure> {
        let mut url = ask.url.clone();
        for _ in 0..=MAX_REDIRECTS {
            ask.count.fetch_add(1, Ordering::Relaxed);
            let http = self.0.http.to(&url, &ask.url);
            let mut request = http
                .request(ask.method.clone(), url.clone())
                .header(ACCEPT, ask.accept);
            if let Some(authorisation) = authorisation.filter(|_| is_same_origin(&url, &ask.url)) {
                request = request.header(AUTHORIZATION, authorisation);
            }
            let answer = request
                .timeout(ask.timeout)
                .send()
                .await
                .map_err(Failure::from)?;
            if !matches!(answer.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
                return Ok(answer);
            }
            let to = answer
                .headers()
                .get(LOCATION)
                .and_then(|to| to.to_str().ok());
            let to = to
                .and_then(|to| url.join(to).ok())
                .filter(|to| may_lead(&url, to) && may_lead(&ask.url, to));
            url =
                to.ok_or_else(|| lasting("the registry sends us where we do not go".to_owned()))?;
        }
        Err(lasting(format!(
            "the registry redirects more than {MAX_REDIRECTS} times"
        )))
    }

    pub(super) fn url(&self, repository: &Repository, rest: &str) -> Result<Url, Failure> {
        let scheme = if self.0.plain_http { "http" } else { "https" };
        // Where Docker's own registry is asked has another name than where its images are said to be.
        let host = if repository.host() == "docker.io" {
            "registry-1.docker.io"
        } else {
            repository.host()
        };
        let url = format!("{scheme}://{host}/v2/{}/{rest}", repository.path());
        Url::parse(&url).map_err(|error| lasting(format!("{host} is no host: {error}")))
    }
}

fn judged(answer: Response) -> Result<Response, Failure> {
    let status = answer.status().as_u16();
    match status {
        200 => Ok(answer),
        401 => Err(unauthorised(
            "the registry does not accept our credentials",
            "log in anew, and name the new file",
        )),
        403 => Err(unauthorised(
            "the registry forbids it",
            "ask for the right to pull from this repository",
        )),
        404 => Err(Failure::Lasting {
            code: "not-found",
            problem: "the registry does not have it".to_owned(),
            remedy: "check the name, and that we may see it",
        }),
        408 | 429 | 500.. => {
            let asked = answer
                .headers()
                .get(RETRY_AFTER)
                .and_then(|value| value.to_str().ok());
            let wait = asked.and_then(|text| retry_after(text, Timestamp::now()));
            Err(Failure::Passing {
                problem: format!("the registry answered {status}"),
                wait,
            })
        }
        status => Err(lasting(format!("the registry answered {status}"))),
    }
}

/// A body, up to a limit.
pub(super) async fn body(
    mut answer: Response,
    what: &str,
    limit: u64,
    rate: LeastRate,
) -> Result<Vec<u8>, Failure> {
    let (mut pace, mut bytes) = (Pace::new(rate), Vec::new());
    if answer.content_length().is_some_and(|told| told > limit) {
        return Err(Failure::too_large(what, limit));
    }
    while let Some(chunk) = pace.next(&mut answer).await? {
        if (bytes.len() as u64).saturating_add(chunk.len() as u64) > limit {
            return Err(Failure::too_large(what, limit));
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

/// How fast an answer comes. One that drips is never silent for long, and would hold its reader until the last limit.
struct Pace {
    rate: LeastRate,
    since: Instant,
    bytes: u64,
}

impl Pace {
    fn new(rate: LeastRate) -> Self {
        Self {
            rate,
            since: Instant::now(),
            bytes: 0,
        }
    }

    /// The next piece of an answer, unless they come too slowly.
    async fn next(
        &mut self,
        answer: &mut Response,
    ) -> Result<Option<impl Deref<Target = [u8]> + use<>>, Failure> {
        let chunk = answer.chunk().await.map_err(Failure::from)?;
        self.bytes += chunk.as_ref().map_or(0, |chunk| chunk.len() as u64);
        match (
            self.since.elapsed() >= self.rate.within,
            self.bytes >= self.rate.bytes,
        ) {
            (false, _) => {}
            (true, true) => *self = Self::new(self.rate),
            (true, false) if chunk.is_none() => {}
            (true, false) => {
                let LeastRate { bytes, within } = self.rate;
                let problem = format!(
                    "less than {bytes} bytes came within {} s",
                    within.as_secs_f32()
                );
                return Err(Failure::passing(problem));
            }
        }
        Ok(chunk)
    }
}

fn told_digest(headers: &HeaderMap) -> Option<Digest> {
    headers
        .get("docker-content-digest")
        .and_then(|value| value.to_str().ok())
        .and_then(Digest::parse)
}

fn check(expected: &Digest, got: &Digest, what: &str) -> Result<(), Failure> {
    match expected == got {
        true => Ok(()),
        // A proxy may have mangled it; then it is right the next time.
        false => Err(Failure::passing(format!(
            "{what} that came is not {expected}"
        ))),
    }
}

pub(super) fn is_same_origin(a: &Url, b: &Url) -> bool {
    (a.scheme(), a.host_str(), a.port_or_known_default())
        == (b.scheme(), b.host_str(), b.port_or_known_default())
}

pub(super) fn lasting(problem: String) -> Failure {
    Failure::Lasting {
        code: "http",
        problem,
        remedy: "check that this is a registry, and the right one",
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    #[tokio::test]
    async fn an_answer_that_drips_is_cut_off() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            assert!(stream.read(&mut [0; 1_000]).unwrap() > 0);
            stream
                .write_all(b"HTTP/1.1 200 x\r\ncontent-length: 1000000\r\n\r\n")
                .unwrap();
            // Until whoever asked has gone.
            while stream.write_all(b"x").is_ok() {
                std::thread::sleep(Duration::from_millis(10));
            }
        });
        let client = reqwest::Client::builder()
            .no_proxy()
            .tls_certs_only([])
            .build()
            .unwrap();
        let answer = client
            .get(format!("http://{address}/"))
            .send()
            .await
            .unwrap();
        let rate = LeastRate {
            bytes: 1_000,
            within: Duration::from_millis(500),
        };
        let failure = body(answer, "it", 1 << 20, rate).await.unwrap_err();
        assert_eq!(failure.problem(), "less than 1000 bytes came within 0.5 s");
    }
}
