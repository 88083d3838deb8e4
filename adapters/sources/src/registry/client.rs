//! The registry client: tags, manifests and blobs, with retries. It counts its requests.
//!
//! We follow redirects ourselves: registries redirect to other hosts for blobs, and those must not get our credentials.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use towpath_core::finding::{Finding, Place};
use towpath_core::retry::Jitter;
use towpath_formats::graph::release_images::Requests;
use towpath_formats::sources::oci::{
    self, Descriptor, Digest, Layer, LayerEntry, LayerLimits, Reference, Repository, Spent,
};
use towpath_http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use towpath_http::{
    Answer, BodyLimit, Certificates, HttpClient, HttpError, HttpOptions, Method, Redirects,
    Request, Trust, Url, is_same_origin, random_seed,
};

use super::auth::{Auth, Door, unauthorised};
use super::failure::{Attempts, Failure, lasting};
use super::options::{RegistryLimits, RegistryOptions};
use crate::directory::read_file;

const MAX_CA_FILE_BYTES: u64 = 16 << 20;
const MAX_REDIRECTS: usize = 5;

/// A client for registries, with one set of options. Clones share connections, tokens and counts.
#[derive(Debug, Clone)]
pub struct Registry(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    http: HttpClient,
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

/// A request to a registry.
pub(super) struct RegistryQuery<'a> {
    repository: &'a Repository,
    method: Method,
    url: Url,
    accept: &'static str,
    timeout: Duration,
    count: &'a AtomicU64,
}

/// A manifest whose digest is right.
pub(super) struct RegistryAnswer {
    pub(super) content_type: String,
    pub(super) bytes: Vec<u8>,
    /// The digest that the registry gave.
    told: Option<Digest>,
}

impl Registry {
    /// Reads the files that the options name.
    pub fn new(options: RegistryOptions) -> Result<Self, Finding> {
        Ok(Self(Arc::new(Inner {
            http: client(&options)?,
            auth: Auth::new(options.auth_file)?,
            plain_http: options.plain_http,
            limits: options.limits,
            jitter: Jitter::new(random_seed()),
            counts: Counts::default(),
        })))
    }

    /// The requests so far.
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

    /// Limits the total time, so that no registry holds its reader forever.
    pub(super) async fn in_time<T>(
        &self,
        place: Place,
        work: impl Future<Output = Result<T, Finding>>,
    ) -> Result<T, Finding> {
        let limit = self.0.limits.whole_timeout;
        tokio::time::timeout(limit, work).await.unwrap_or_else(|_| {
            let problem = format!(
                "reading it took longer than {} s, so we stopped",
                limit.as_secs()
            );
            let remedy = "check the registry, and try again: cached images are not read again";
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

    /// The digest that a tag points at.
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

    /// The digest that a tag points at, with the manifest if the registry names its digest. That saves a request.
    pub(super) async fn tagged(
        &self,
        repository: &Repository,
        tag: &Reference,
    ) -> Result<(Digest, Option<RegistryAnswer>), Failure> {
        let fetched = self.manifest(repository, tag).await?;
        match fetched.told.clone() {
            Some(digest) => Ok((digest, Some(fetched))),
            // Nothing tells whether this is what was pushed.
            None => Ok((self.digest(repository, tag).await?, None)),
        }
    }

    /// A manifest. By digest, the digest is checked; by tag, the one that the registry names, if any.
    pub(super) async fn manifest(
        &self,
        repository: &Repository,
        reference: &Reference,
    ) -> Result<RegistryAnswer, Failure> {
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
        ask: &RegistryQuery<'_>,
        reference: &Reference,
    ) -> Result<RegistryAnswer, Failure> {
        let answer = self.open(ask).await?;
        let content_type = answer.header(CONTENT_TYPE).unwrap_or_default().to_owned();
        let told = told_digest(answer.headers());
        let limit = self.0.limits.manifest_bytes;
        let bytes = body(answer, "the manifest", limit, &self.0.limits).await?;
        let expected = match reference {
            Reference::Digest(digest) => Some(digest),
            Reference::Tag(_) => told.as_ref(),
        };
        if let Some(expected) = expected {
            check(expected, &Digest::of(&bytes), "the manifest")?;
        }
        Ok(RegistryAnswer {
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

    /// The wanted files of a layer, or what is wrong with a layer whose digest is right.
    pub(super) async fn layer(
        &self,
        repository: &Repository,
        blob: &Descriptor,
        wanted: fn(&str) -> bool,
        limits: LayerLimits,
        spent: Spent,
    ) -> Result<Result<(Vec<LayerEntry>, Spent), String>, Failure> {
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

    /// Reads a blob in chunks, and checks its digest at the end.
    async fn stream(
        &self,
        ask: &RegistryQuery<'_>,
        blob: &Descriptor,
        mut take: impl FnMut(&[u8]),
    ) -> Result<(), Failure> {
        let answer = self.open(ask).await?;
        let mut chunks = answer.chunks(Some(self.0.limits.least_rate));
        let (mut hash, mut left) = (Sha256::new(), blob.bytes);
        while let Some(chunk) = chunks.next().await? {
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
    ) -> Result<RegistryQuery<'a>, Failure> {
        let url = self.url(repository, &format!("blobs/{}", blob.digest))?;
        let ask = self.ask(repository, Method::GET, url, "*/*", &self.0.counts.blobs);
        Ok(RegistryQuery {
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
    ) -> RegistryQuery<'a> {
        RegistryQuery {
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
        ask: &RegistryQuery<'_>,
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
        ask: &RegistryQuery<'_>,
        what: &str,
        limit: u64,
    ) -> Result<(HeaderMap, Vec<u8>), Failure> {
        let answer = self.open(ask).await?;
        Ok((
            answer.headers().clone(),
            body(answer, what, limit, &self.0.limits).await?,
        ))
    }

    fn attempts(&self) -> Attempts<'_> {
        Attempts {
            failed: 0,
            retry: self.0.limits.retry,
            jitter: &self.0.jitter,
        }
    }

    /// Sends a request; a second time if the registry asks for credentials.
    async fn open(&self, ask: &RegistryQuery<'_>) -> Result<Answer, Failure> {
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

    /// Sends a request and follows redirects. Only the registry itself gets our credentials.
    async fn follow(
        &self,
        ask: &RegistryQuery<'_>,
        authorisation: Option<&HeaderValue>,
    ) -> Result<Answer, Failure> {
        let request = Request::new(ask.method.clone(), ask.url.clone())
            .header(ACCEPT, ask.accept)
            .authorization(authorisation.cloned())
            .timeout(ask.timeout);
        let redirects = Redirects {
            most: MAX_REDIRECTS,
            plain_http: true,
            sent: Some(ask.count),
        };
        Ok(self.0.http.follow(request, redirects).await?)
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
        Url::parse(&url).map_err(|error| lasting(format!("{host} is not a host: {error}")))
    }
}

fn client(options: &RegistryOptions) -> Result<HttpClient, Finding> {
    let wrong = |place: &str, problem: String, remedy| {
        Finding::error("bad-ca-file", Place::file(place), problem, remedy)
    };
    let file = options.ca_file.as_deref();
    let place = file.map(|file| file.display().to_string());
    let trust = match (file, &place) {
        (Some(file), Some(place)) => {
            let pem = read_file(file, MAX_CA_FILE_BYTES)?;
            let remedy = "name a file with certificates in PEM form";
            Trust::SystemAnd(
                Certificates::from_pem(&pem)
                    .map_err(|problem| wrong(place, format!("it {problem}"), remedy))?,
            )
        }
        _ => Trust::usual(!options.plain_http),
    };
    let client = HttpClient::new(&HttpOptions {
        trust,
        https_only: !options.plain_http,
        connect_timeout: options.limits.connect_timeout,
        idle_timeout: Some(options.limits.idle_timeout),
        ..HttpOptions::default()
    });
    client.map_err(|problem| {
        let remedy = "check the CA file, and that this system has CA certificates";
        wrong(place.as_deref().unwrap_or("HTTP client"), problem, remedy)
    })
}

fn judged(answer: Answer) -> Result<Answer, Failure> {
    let status = answer.status().as_u16();
    match status {
        200 => Ok(answer),
        401 => Err(unauthorised(
            "the registry does not accept our credentials",
            "log in again, and name the new file",
        )),
        403 => Err(unauthorised(
            "the registry forbids it",
            "ask for permission to pull from this repository",
        )),
        404 => Err(Failure::Lasting {
            code: "not-found",
            problem: "the registry does not have it".to_owned(),
            remedy: "check the name, and that our account may see it",
        }),
        408 | 429 | 500.. => Err(Failure::Passing {
            problem: format!("the registry answered {status}"),
            wait: answer.retry_after(),
        }),
        status => Err(lasting(format!("the registry answered {status}"))),
    }
}

/// A body, up to a limit.
pub(super) async fn body(
    answer: Answer,
    what: &str,
    bytes: u64,
    limits: &RegistryLimits,
) -> Result<Vec<u8>, Failure> {
    let limit = BodyLimit {
        least_rate: Some(limits.least_rate),
        ..BodyLimit::bytes(bytes)
    };
    answer.body(limit).await.map_err(|error| match error {
        HttpError::TooLong(limit) => Failure::too_large(what, limit),
        error => error.into(),
    })
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
