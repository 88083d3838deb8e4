//! The client: tags, manifests, blobs. Each is asked for until it is had or given up; what was asked is counted.
//!
//! Redirects are followed by hand: registries send us to other hosts for blobs, and those must not see what we are known by.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, LINK, LOCATION, RETRY_AFTER};
use reqwest::{Certificate, Client, Method, Response, Url};
use sha2::{Digest as _, Sha256};
use towpath_core::finding::{Finding, Place};
use towpath_formats::docker_auth::{self, AuthFile};
use towpath_formats::oci::{self, Descriptor, Digest, Entry, Layer, LayerLimits, Reference, Repository};

use super::auth::{Auth, Door, unauthorised};
use super::failure::{Attempts, Failure, Jitter, clip, innermost, retry_after};
use super::options::{RegistryLimits, RegistryOptions};
use crate::directory::read_file;

const MAX_REDIRECTS: usize = 5;
const MAX_AUTH_FILE_BYTES: u64 = 4 << 20;
const MAX_CA_FILE_BYTES: u64 = 16 << 20;
const MANY_TAGS: &str = "1000";

/// Registries, as seen with one set of options. Copies share connections, tokens and counts.
#[derive(Debug, Clone)]
pub struct Registry(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    http: Client,
    auth: Auth,
    plain_http: bool,
    limits: RegistryLimits,
    jitter: Jitter,
    counts: Counts,
}

#[derive(Debug, Default)]
struct Counts {
    tags: AtomicU64,
    manifests: AtomicU64,
    blobs: AtomicU64,
    blob_bytes: AtomicU64,
}

/// How much was asked of registries so far, attempts included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Requests {
    /// Pages of tags.
    pub tags: u64,
    /// Manifests, whole or only their digest.
    pub manifests: u64,
    /// Blobs: configurations and layers.
    pub blobs: u64,
    /// What came of blobs.
    pub blob_bytes: u64,
}

/// Something to be asked for.
struct Ask<'a> {
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
}

impl Registry {
    /// Registries with these options; their files are read now.
    pub fn new(options: RegistryOptions) -> Result<Self, Finding> {
        let credentials = match &options.auth_file {
            Some(path) => {
                let place = Place::file(path.display().to_string());
                docker_auth::read(&place, &read_file(path, MAX_AUTH_FILE_BYTES)?)?
            }
            None => AuthFile::default(),
        };
        let seed = u64::from(std::process::id()) ^ Timestamp::now().as_nanosecond() as u64;
        Ok(Self(Arc::new(Inner {
            http: client(&options)?,
            auth: Auth::new(credentials),
            plain_http: options.plain_http,
            limits: options.limits,
            jitter: Jitter::new(seed),
            counts: Counts::default(),
        })))
    }

    /// What was asked so far.
    pub fn requests(&self) -> Requests {
        let Counts { tags, manifests, blobs, blob_bytes } = &self.0.counts;
        let [tags, manifests, blobs, blob_bytes] =
            [tags, manifests, blobs, blob_bytes].map(|count| count.load(Ordering::Relaxed));
        Requests { tags, manifests, blobs, blob_bytes }
    }

    pub(super) fn limits(&self) -> &RegistryLimits {
        &self.0.limits
    }

    /// All tags of a repository, over all pages.
    pub(super) async fn tags(&self, repository: &Repository) -> Result<BTreeSet<String>, Failure> {
        let first = self.url(repository, &format!("tags/list?n={MANY_TAGS}"))?;
        let mut tags = BTreeSet::new();
        let mut next = Some(first.clone());
        while let Some(url) = next {
            let ask = self.ask(repository, Method::GET, url.clone(), "application/json", &self.0.counts.tags);
            let (headers, body) = self.whole(&ask, "a page of tags", self.0.limits.tags_bytes).await?;
            let page = oci::read_tags(&body)
                .map_err(|problem| lasting(format!("the list of tags cannot be read: {problem}")))?;
            let before = tags.len();
            tags.extend(page);
            if tags.len() > self.0.limits.tags {
                return Err(lasting(format!("the repository has more than {} tags", self.0.limits.tags)));
            }
            next = next_page(&headers, &url)?;
            if next.is_some() && tags.len() == before {
                return Err(lasting("the list of tags does not end".to_owned()));
            }
        }
        Ok(tags)
    }

    /// The digest of what a tag points at.
    pub(super) async fn digest(&self, repository: &Repository, tag: &Reference) -> Result<Digest, Failure> {
        let url = self.url(repository, &format!("manifests/{}", tag.as_str()))?;
        let ask = self.ask(repository, Method::HEAD, url, oci::ACCEPT, &self.0.counts.manifests);
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

    /// A manifest; by digest, it is what the digest says.
    pub(super) async fn manifest(&self, repository: &Repository, reference: &Reference) -> Result<Fetched, Failure> {
        let url = self.url(repository, &format!("manifests/{}", reference.as_str()))?;
        let ask = self.ask(repository, Method::GET, url, oci::ACCEPT, &self.0.counts.manifests);
        let mut attempts = self.attempts();
        loop {
            match self.manifest_once(&ask, reference).await {
                Ok(fetched) => return Ok(fetched),
                Err(failure) => attempts.pause(failure).await?,
            }
        }
    }

    async fn manifest_once(&self, ask: &Ask<'_>, reference: &Reference) -> Result<Fetched, Failure> {
        let answer = self.open(ask).await?;
        let content_type = answer.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let content_type = content_type.to_owned();
        let bytes = body(answer, "the manifest", self.0.limits.manifest_bytes).await?;
        if let Reference::Digest(digest) = reference {
            check(digest, &Digest::of(&bytes), "the manifest")?;
        }
        Ok(Fetched { content_type, bytes })
    }

    /// A small blob, whole.
    pub(super) async fn blob(&self, repository: &Repository, blob: &Descriptor) -> Result<Vec<u8>, Failure> {
        let limit = self.0.limits.manifest_bytes;
        if blob.bytes > limit {
            return Err(Failure::too_large("the configuration", limit));
        }
        let ask = self.blob_ask(repository, blob)?;
        let mut attempts = self.attempts();
        loop {
            let mut bytes = Vec::new();
            match self.stream(&ask, blob, |chunk| bytes.extend_from_slice(chunk)).await {
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
    ) -> Result<Result<Vec<Entry>, String>, Failure> {
        let ask = self.blob_ask(repository, blob)?;
        let mut attempts = self.attempts();
        loop {
            let (mut layer, mut problem) = (Layer::new(wanted, limits), None);
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
    async fn stream(&self, ask: &Ask<'_>, blob: &Descriptor, mut take: impl FnMut(&[u8])) -> Result<(), Failure> {
        let mut answer = self.open(ask).await?;
        let (mut hash, mut left) = (Sha256::new(), blob.bytes);
        while let Some(chunk) = answer.chunk().await.map_err(|error| Failure::from(&error))? {
            self.0.counts.blob_bytes.fetch_add(chunk.len() as u64, Ordering::Relaxed);
            let longer = || Failure::passing("the blob is longer than its manifest says");
            left = left.checked_sub(chunk.len() as u64).ok_or_else(longer)?;
            hash.update(&chunk);
            take(&chunk);
        }
        check(&blob.digest, &Digest::finished(hash), "the blob")
    }

    fn blob_ask<'a>(&'a self, repository: &'a Repository, blob: &Descriptor) -> Result<Ask<'a>, Failure> {
        let url = self.url(repository, &format!("blobs/{}", blob.digest))?;
        let ask = self.ask(repository, Method::GET, url, "*/*", &self.0.counts.blobs);
        Ok(Ask { timeout: self.0.limits.blob_timeout, ..ask })
    }

    fn ask<'a>(
        &self,
        repository: &'a Repository,
        method: Method,
        url: Url,
        accept: &'static str,
        count: &'a AtomicU64,
    ) -> Ask<'a> {
        Ask { repository, method, url, accept, timeout: self.0.limits.answer_timeout, count }
    }

    /// An answer with its whole body.
    async fn whole(&self, ask: &Ask<'_>, what: &str, limit: u64) -> Result<(HeaderMap, Vec<u8>), Failure> {
        let mut attempts = self.attempts();
        loop {
            match self.whole_once(ask, what, limit).await {
                Ok(got) => return Ok(got),
                Err(failure) => attempts.pause(failure).await?,
            }
        }
    }

    async fn whole_once(&self, ask: &Ask<'_>, what: &str, limit: u64) -> Result<(HeaderMap, Vec<u8>), Failure> {
        let answer = self.open(ask).await?;
        Ok((answer.headers().clone(), body(answer, what, limit).await?))
    }

    fn attempts(&self) -> Attempts<'_> {
        Attempts { made: 0, limits: &self.0.limits, jitter: &self.0.jitter }
    }

    /// Asks once; a second time if we have to say first who we are.
    async fn open(&self, ask: &Ask<'_>) -> Result<Response, Failure> {
        let held = self.0.auth.header(ask.repository).await;
        let answer = self.follow(ask, held.as_ref()).await?;
        if answer.status().as_u16() != 401 || !is_same_origin(answer.url(), &ask.url) {
            return judged(answer);
        }
        let door = Door { http: &self.0.http, limits: &self.0.limits, plain_http: self.0.plain_http };
        let header = self.0.auth.answer(ask.repository, answer.headers(), held.as_ref(), &door).await?;
        judged(self.follow(ask, Some(&header)).await?)
    }

    /// Asks, and goes where it is sent. Only the registry itself is told who we are.
    async fn follow(&self, ask: &Ask<'_>, authorisation: Option<&HeaderValue>) -> Result<Response, Failure> {
        let mut url = ask.url.clone();
        for _ in 0..=MAX_REDIRECTS {
            ask.count.fetch_add(1, Ordering::Relaxed);
            let mut request = self.0.http.request(ask.method.clone(), url.clone()).header(ACCEPT, ask.accept);
            if let Some(authorisation) = authorisation.filter(|_| is_same_origin(&url, &ask.url)) {
                request = request.header(AUTHORIZATION, authorisation);
            }
            let answer = request.timeout(ask.timeout).send().await.map_err(|error| Failure::from(&error))?;
            if !matches!(answer.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
                return Ok(answer);
            }
            let to = answer.headers().get(LOCATION).and_then(|to| to.to_str().ok());
            let to = to.and_then(|to| url.join(to).ok()).filter(|to| self.may_go(to));
            url = to.ok_or_else(|| lasting("the registry sends us where we do not go".to_owned()))?;
        }
        Err(lasting(format!("the registry redirects more than {MAX_REDIRECTS} times")))
    }

    fn may_go(&self, url: &Url) -> bool {
        url.has_host() && (url.scheme() == "https" || (url.scheme() == "http" && self.0.plain_http))
    }

    fn url(&self, repository: &Repository, rest: &str) -> Result<Url, Failure> {
        let scheme = if self.0.plain_http { "http" } else { "https" };
        // Where Docker's own registry is asked has another name than where its images are said to be.
        let host = if repository.host() == "docker.io" { "registry-1.docker.io" } else { repository.host() };
        let url = format!("{scheme}://{host}/v2/{}/{rest}", repository.path());
        Url::parse(&url).map_err(|error| lasting(format!("{host} is no host: {error}")))
    }
}

fn judged(answer: Response) -> Result<Response, Failure> {
    let status = answer.status().as_u16();
    match status {
        200 => Ok(answer),
        401 => Err(unauthorised("the registry does not accept our credentials", "log in anew, and name the new file")),
        403 => Err(unauthorised("the registry forbids it", "ask for the right to pull from this repository")),
        404 => Err(Failure::Lasting {
            code: "not-found",
            problem: "the registry does not have it".to_owned(),
            remedy: "check the name, and that we may see it",
        }),
        408 | 429 | 500.. => {
            let asked = answer.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
            let wait = asked.and_then(|text| retry_after(text, Timestamp::now()));
            Err(Failure::Passing { problem: format!("the registry answered {status}"), wait })
        }
        status => Err(lasting(format!("the registry answered {status}"))),
    }
}

/// A body, up to a limit.
pub(super) async fn body(mut answer: Response, what: &str, limit: u64) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    if answer.content_length().is_some_and(|told| told > limit) {
        return Err(Failure::too_large(what, limit));
    }
    while let Some(chunk) = answer.chunk().await.map_err(|error| Failure::from(&error))? {
        if (bytes.len() + chunk.len()) as u64 > limit {
            return Err(Failure::too_large(what, limit));
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

fn told_digest(headers: &HeaderMap) -> Option<Digest> {
    headers.get("docker-content-digest").and_then(|value| value.to_str().ok()).and_then(Digest::parse)
}

fn next_page(headers: &HeaderMap, here: &Url) -> Result<Option<Url>, Failure> {
    let Some(link) = headers.get(LINK).and_then(|link| link.to_str().ok()).and_then(oci::next_link) else {
        return Ok(None);
    };
    match here.join(link) {
        Ok(next) if is_same_origin(&next, here) => Ok(Some(next)),
        _ => Err(lasting(format!("the next page of tags is said to be at {:?}, where we do not go", clip(link)))),
    }
}

fn check(expected: &Digest, got: &Digest, what: &str) -> Result<(), Failure> {
    match expected == got {
        true => Ok(()),
        // A proxy may have mangled it; then it is right the next time.
        false => Err(Failure::passing(format!("{what} that came is not {expected}"))),
    }
}

fn is_same_origin(a: &Url, b: &Url) -> bool {
    (a.scheme(), a.host_str(), a.port_or_known_default()) == (b.scheme(), b.host_str(), b.port_or_known_default())
}

fn lasting(problem: String) -> Failure {
    Failure::Lasting { code: "http", problem, remedy: "check that this is a registry, and the right one" }
}

fn client(options: &RegistryOptions) -> Result<Client, Finding> {
    // Fails if there is one already, which will do as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let limits = &options.limits;
    let builder = Client::builder()
        .user_agent(concat!("towpath/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .https_only(!options.plain_http)
        .connect_timeout(limits.connect_timeout)
        .read_timeout(limits.idle_timeout);
    let (builder, place) = match (&options.ca_file, options.plain_http) {
        (Some(file), _) => (builder.tls_certs_merge(certificates(file)?), file.display().to_string()),
        // The system's certificates are not needed, and where there are none, asking for them fails.
        (None, true) => (builder.tls_certs_only([]), "HTTP client".to_owned()),
        (None, false) => (builder, "HTTP client".to_owned()),
    };
    builder.build().map_err(|error| {
        let remedy = "check the CA file, and that this system has CA certificates";
        Finding::error("bad-ca-file", Place::file(place), innermost(&error), remedy)
    })
}

fn certificates(file: &std::path::Path) -> Result<Vec<Certificate>, Finding> {
    let wrong = |problem: String| {
        let place = Place::file(file.display().to_string());
        Finding::error("bad-ca-file", place, problem, "name a file with certificates in PEM form")
    };
    let pem = read_file(file, MAX_CA_FILE_BYTES)?;
    let certificates = Certificate::from_pem_bundle(&pem).map_err(|error| wrong(innermost(&error)))?;
    match certificates.is_empty() {
        true => Err(wrong("it has no certificate in it".to_owned())),
        false => Ok(certificates),
    }
}
