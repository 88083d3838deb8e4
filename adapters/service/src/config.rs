//! Settings of the client: address, token file, trust and limits.

use std::path::PathBuf;
use std::time::Duration;

use towpath_http::{BadAddress, Url, base_address};

use crate::ServiceError;

/// [`ServiceConfig::new`] fills in the defaults.
#[derive(Debug, Clone)]
pub struct ServiceConfig {
    /// For example `https://updates.example.com`.
    pub url: String,
    /// A file with nothing but the cluster's token. It is read for each request, so a new token is used at once.
    pub token_file: PathBuf,
    /// Certificates (PEM) that are trusted instead of the system's.
    pub ca_file: Option<PathBuf>,
    /// A certificate and its key (PEM), for services that ask for one.
    pub identity_files: Option<(PathBuf, PathBuf)>,
    /// Allow `http://` to other machines. Then the network can read the token.
    pub allow_http: bool,
    /// Use `HTTPS_PROXY` and the like.
    pub environment_proxy: bool,
    pub limits: Limits,
}

/// Limits on size and time. Reaching one is an error, never a hang.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The largest answer to a report. The format limits stamps.
    pub answer_bytes: usize,
    pub connect_timeout: Duration,
    /// From a request to the last byte of its answer.
    pub request_timeout: Duration,
}

impl ServiceConfig {
    /// The defaults: HTTPS except to this machine, the system's certificates and proxies.
    pub fn new(url: impl Into<String>, token_file: impl Into<PathBuf>) -> Self {
        Self {
            url: url.into(),
            token_file: token_file.into(),
            ca_file: None,
            identity_files: None,
            allow_http: false,
            environment_proxy: true,
            limits: Limits::default(),
        }
    }

    /// The address, if we may send a token there.
    pub(crate) fn checked_url(&self) -> Result<Url, ServiceError> {
        let wrong = |problem: &str, remedy: &str| ServiceError::BadConfig {
            // What stands before an @ may be a password.
            place: match self.url.contains('@') {
                true => "the service's address".to_owned(),
                false => format!("the service's address {:?}", self.url),
            },
            problem: problem.to_owned(),
            remedy: remedy.to_owned(),
        };
        base_address(&self.url, self.allow_http).map_err(|problem| {
            let remedy = match problem {
                BadAddress::NoAddress(_) => "write it as in https://updates.example.com",
                BadAddress::Credentials => "put the token into the token file",
                BadAddress::QueryOrFragment => "remove everything after the path",
                BadAddress::PlainHttp => "use https, or allow plain http",
                BadAddress::NotOfTheWeb => "use https",
            };
            wrong(&problem.to_string(), remedy)
        })
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            answer_bytes: 16 << 10,
            connect_timeout: Duration::from_secs(10),
            request_timeout: Duration::from_secs(30),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_goes_in_the_clear_to_this_machine_alone() {
        let checked = |url: &str| ServiceConfig::new(url, "token").checked_url();
        for url in [
            "https://a.example",
            "http://127.0.0.1:8080",
            "http://[::1]:8080/towpath",
            "http://localhost",
        ] {
            assert!(checked(url).is_ok(), "{url}");
        }
        for (url, expected) in [
            ("http://a.example", "in the clear"),
            ("http://localhost.a.example", "in the clear"),
            ("ftp://127.0.0.1", "not an http or https address"),
            ("a.example", "is not an address"),
            ("https://a.example?x=1", "has a query"),
            ("https://me:secret@a.example", "has credentials"),
        ] {
            let error = checked(url).unwrap_err().to_string();
            assert!(
                error.contains(expected) && !error.contains("secret"),
                "{url}: {error}"
            );
        }
        let allowed = ServiceConfig {
            allow_http: true,
            ..ServiceConfig::new("http://a.example", "token")
        };
        assert!(allowed.checked_url().is_ok());
    }
}
