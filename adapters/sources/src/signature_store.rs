//! Signature stores: they hold the signatures of a payload as `sha256=<digest>/signature-1`, `-2`, …
//!
//! A store is a directory or an HTTP(S) address. Plain HTTP is safe, because a changed signature is refused.
//! A missing signature is an answer; an error is not. This module does not interpret signatures.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use towpath_core::finding::{Finding, Place};
use towpath_core::retry::Backoff;
use towpath_core::signatures::PayloadDigest;
use towpath_http::{
    BadAddress, Certificates, HttpClient, HttpError, HttpOptions, Redirects, Request, StatusCode,
    Trust, Url, base_address,
};

#[derive(Debug, Clone)]
pub struct StoreAccess {
    /// Certificate authorities besides the system's, in PEM.
    pub ca: Option<Vec<u8>>,
    /// How long a connection may take.
    pub connect_timeout: Duration,
    /// How long a whole answer may take.
    pub request_timeout: Duration,
    /// The most bytes of a signature. One more byte is read, to detect larger ones.
    pub max_bytes: usize,
    /// How often a store that fails is asked.
    pub attempts: u32,
    pub backoff: Backoff,
}

impl Default for StoreAccess {
    fn default() -> Self {
        Self {
            ca: None,
            connect_timeout: Duration::from_secs(5),
            request_timeout: Duration::from_secs(15),
            max_bytes: 64 << 10,
            attempts: 3,
            backoff: Backoff {
                first: Duration::from_millis(200),
                longest: Duration::from_secs(60),
            },
        }
    }
}

#[derive(Debug, Clone)]
pub struct SignatureStore {
    place: StorePlace,
    access: StoreAccess,
}

#[derive(Debug, Clone)]
enum StorePlace {
    /// A directory that may be unavailable, like a server.
    Directory(PathBuf),
    /// Our own directory, created at the first write.
    Cache(PathBuf),
    Http {
        client: HttpClient,
        base: Url,
    },
}

const MAX_REDIRECTS: usize = 4;

impl SignatureStore {
    /// A store by name: a directory, or an address that begins with `http://` or `https://`.
    pub fn open(name: &str, access: &StoreAccess) -> Result<Self, Finding> {
        let place = match name.starts_with("http://") || name.starts_with("https://") {
            true => http(name, access)?,
            false => StorePlace::Directory(name.into()),
        };
        Ok(Self {
            place,
            access: access.clone(),
        })
    }

    /// Our own store, created at the first write.
    pub fn cache(directory: &Path) -> Self {
        Self {
            place: StorePlace::Cache(directory.to_owned()),
            access: StoreAccess::default(),
        }
    }

    /// Its name, as it was given.
    pub fn name(&self) -> String {
        match &self.place {
            StorePlace::Directory(path) | StorePlace::Cache(path) => path.display().to_string(),
            StorePlace::Http { base, .. } => base.to_string(),
        }
    }

    /// The signature of a payload with this number (from 1), if there is one. An error means: unknown.
    pub async fn signature(
        &self,
        digest: PayloadDigest,
        number: usize,
    ) -> Result<Option<Vec<u8>>, Finding> {
        match &self.place {
            StorePlace::Directory(directory) if !directory.is_dir() => {
                let remedy =
                    "name a directory, or an address: https://mirror.example.org/signatures";
                Err(Finding::error(
                    "no-signature-store",
                    Place::file(self.name()),
                    "it is not a directory",
                    remedy,
                ))
            }
            StorePlace::Directory(directory) | StorePlace::Cache(directory) => {
                self.read(&file(directory, digest, number))
            }
            StorePlace::Http { client, base } => {
                let mut url = base.clone();
                let path = format!(
                    "{}/sha256={}/signature-{number}",
                    base.path().trim_end_matches('/'),
                    digest.hex()
                );
                url.set_path(&path);
                self.get(client, &url).await
            }
        }
    }

    /// Writes a signature, replacing an existing one. Works only in our own store.
    pub fn keep(&self, digest: PayloadDigest, bytes: &[u8]) -> Result<(), Finding> {
        let StorePlace::Cache(directory) = &self.place else {
            let problem = "signatures can only be written to our own store";
            return Err(Finding::error(
                "not-kept",
                Place::file(self.name()),
                problem,
                "name a directory for it",
            ));
        };
        let path = file(directory, digest, 1);
        write(&path, bytes).map_err(|error| {
            let problem = format!("it cannot be written: {error}");
            let remedy = "free disk space, or check the permissions";
            Finding::warning("not-kept", &*path, problem, remedy)
        })
    }

    fn read(&self, path: &Path) -> Result<Option<Vec<u8>>, Finding> {
        let failed = |error: std::io::Error| {
            let remedy = "check the path and its permissions";
            let problem = format!("it cannot be read: {error}");
            Err(Finding::error("signature-store", path, problem, remedy))
        };
        let open = std::fs::metadata(path).and_then(|metadata| match metadata.is_file() {
            true => File::open(path),
            // Reading a pipe would wait for somebody to write.
            false => Err(std::io::Error::other("it is not a file")),
        });
        let file = match open {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return failed(error),
        };
        let mut bytes = Vec::new();
        match file
            .take(self.access.max_bytes as u64 + 1)
            .read_to_end(&mut bytes)
        {
            Ok(_) => Ok(Some(bytes)),
            Err(error) => failed(error),
        }
    }

    async fn get(&self, client: &HttpClient, url: &Url) -> Result<Option<Vec<u8>>, Finding> {
        let mut failures = 0;
        loop {
            let failure = match self.get_once(client, url).await {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            failures += 1;
            if !failure.may_pass || failures >= self.access.attempts {
                let remedy = "check the address, and that the store is up";
                return Err(Finding::error(
                    "signature-store",
                    Place::file(url.as_str()),
                    failure.problem,
                    remedy,
                ));
            }
            tokio::time::sleep(self.access.backoff.wait(failures)).await;
        }
    }

    async fn get_once(&self, client: &HttpClient, url: &Url) -> Result<Option<Vec<u8>>, Failure> {
        let redirects = Redirects {
            most: MAX_REDIRECTS,
            plain_http: true,
            sent: None,
        };
        let answer = client.follow(Request::get(url.clone()), redirects).await?;
        match answer.status() {
            // A byte more than there may be, so that it is seen to be too large.
            StatusCode::OK => Ok(Some(answer.beginning(self.access.max_bytes + 1).await?)),
            StatusCode::NOT_FOUND | StatusCode::GONE => Ok(None),
            status => Err(Failure {
                problem: format!("it answers {status}"),
                may_pass: status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS,
            }),
        }
    }
}

struct Failure {
    problem: String,
    may_pass: bool,
}

impl From<HttpError> for Failure {
    fn from(error: HttpError) -> Self {
        Self {
            problem: error.sentence("it"),
            may_pass: !matches!(error, HttpError::Misled(_) | HttpError::NotSent(_)),
        }
    }
}

fn file(directory: &Path, digest: PayloadDigest, number: usize) -> PathBuf {
    directory
        .join(format!("sha256={}", digest.hex()))
        .join(format!("signature-{number}"))
}

/// Writes a file atomically.
fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    crate::private::create_folders(folder)?;
    let unfinished = folder.join(format!(".unfinished-{}", std::process::id()));
    crate::private::create(&unfinished)?.write_all(bytes)?;
    std::fs::rename(&unfinished, path)
}

fn http(name: &str, access: &StoreAccess) -> Result<StorePlace, Finding> {
    let wrong = |problem: String| {
        let remedy = "write it as in https://mirror.example.org/signatures";
        Finding::error("no-signature-store", Place::file(name), problem, remedy)
    };
    let base = base_address(name, true).map_err(|problem| match problem {
        BadAddress::Credentials => {
            // Its name is not shown, for there is a secret in it.
            let url = Url::parse(name).ok();
            let host = url.as_ref().and_then(Url::host_str);
            Finding::error(
                "no-signature-store",
                Place::file(host.unwrap_or("a signature store")),
                "its address contains credentials",
                "remove them: signatures are public",
            )
        }
        problem => wrong(format!("it {problem}")),
    })?;
    let certificates = access.ca.as_deref().map(Certificates::from_pem).transpose();
    let certificates = certificates.map_err(|problem| wrong(format!("the CA file {problem}")))?;
    let client = HttpClient::new(&HttpOptions {
        trust: certificates
            .map_or_else(|| Trust::usual(base.scheme() == "https"), Trust::SystemAnd),
        connect_timeout: access.connect_timeout,
        request_timeout: Some(access.request_timeout),
        ..HttpOptions::default()
    });
    Ok(StorePlace::Http {
        client: client.map_err(wrong)?,
        base,
    })
}
