//! Settings of the OCM client: address, token file, organisations and limits.

use std::collections::BTreeSet;
use std::fmt;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use towpath_core::fleet::Name;
use towpath_core::retry::{Backoff, Retry};
use towpath_http::{BadAddress, Url, base_address};

use crate::{Login, OcmError};

/// [`OcmConfig::new`] fills in the defaults.
#[derive(Debug, Clone)]
pub struct OcmConfig {
    /// For example `https://api.openshift.com`.
    pub base_url: String,
    pub login: Login,
    /// Certificates (PEM) that are trusted instead of the system's.
    pub ca_file: Option<PathBuf>,
    /// Allow `http://` to other machines. Then the network can read the token.
    pub allow_http: bool,
    /// Use `HTTPS_PROXY` and the like.
    pub environment_proxy: bool,
    /// Read only clusters of these organisations, by id. Empty: all that the token can see.
    pub organisations: Option<BTreeSet<Name>>,
    pub limits: Limits,
    /// How we wait between attempts.
    pub sleep: Sleep,
    /// The seed of the jitter. Replicas should have different ones.
    pub jitter_seed: u64,
}

/// Limits on size and time. Reaching one is an error, never a hang.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub response_bytes: usize,
    /// The page size. The real API allows at most 100.
    pub page_size: usize,
    /// The most pages of one list.
    pub pages: usize,
    pub connect_timeout: Duration,
    /// From a request to the last byte of its answer.
    pub request_timeout: Duration,
    /// For a whole [`crate::Ocm::fleet`].
    pub fleet_timeout: Duration,
    /// How often a read is tried. Writes are tried once. If the API asks for a longer wait than ours, we give up.
    pub retry: Retry,
    /// How many clusters are read at once.
    pub concurrency: usize,
    /// How many clusters may fail before we blame the API and give up.
    pub failed_clusters: usize,
}

/// A way to wait. Tests give one that does not.
#[derive(Clone)]
pub struct Sleep(Arc<dyn Fn(Duration) -> Wait + Send + Sync>);

type Wait = Pin<Box<dyn Future<Output = ()> + Send>>;

impl OcmConfig {
    /// The defaults: HTTPS only, the system's certificates, generous limits.
    pub fn new(base_url: impl Into<String>, login: impl Into<Login>) -> Self {
        Self {
            base_url: base_url.into(),
            login: login.into(),
            ca_file: None,
            allow_http: false,
            environment_proxy: true,
            organisations: None,
            limits: Limits::default(),
            sleep: Sleep::default(),
            jitter_seed: 0,
        }
    }

    /// The address, if we may send a token there.
    pub(crate) fn checked_url(&self) -> Result<Url, OcmError> {
        let wrong = |problem: &str, remedy: &str| OcmError::BadConfig {
            // What stands before an @ may be a password.
            place: match self.base_url.contains('@') {
                true => "base_url".to_owned(),
                false => format!("base_url {:?}", self.base_url),
            },
            problem: problem.to_owned(),
            remedy: remedy.to_owned(),
        };
        base_address(&self.base_url, self.allow_http).map_err(|problem| {
            let remedy = match problem {
                BadAddress::NoAddress(_) => "write it as in https://api.openshift.com",
                BadAddress::Credentials => "put the token into a file",
                BadAddress::QueryOrFragment => "remove everything after the path",
                BadAddress::PlainHttp => "use https, or set allow_http",
                BadAddress::NotOfTheWeb => "use https",
            };
            wrong(&problem.to_string(), remedy)
        })
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            response_bytes: 32 << 20,
            page_size: 100,
            pages: 2_000,
            connect_timeout: Duration::from_secs(10),
            request_timeout: Duration::from_secs(60),
            fleet_timeout: Duration::from_secs(30 * 60),
            retry: Retry {
                attempts: 4,
                backoff: Backoff {
                    first: Duration::from_millis(250),
                    longest: Duration::from_secs(60),
                },
            },
            concurrency: 8,
            failed_clusters: 16,
        }
    }
}

impl Sleep {
    pub fn new<F: Future<Output = ()> + Send + 'static>(
        wait: impl Fn(Duration) -> F + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(move |time| Box::pin(wait(time))))
    }

    pub(crate) async fn wait(&self, time: Duration) {
        (self.0)(time).await;
    }
}

impl Default for Sleep {
    fn default() -> Self {
        Self::new(tokio::time::sleep)
    }
}

impl fmt::Debug for Sleep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sleep")
    }
}
