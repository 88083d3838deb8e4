//! The cluster's token: from a file that somebody else keeps fresh.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use reqwest::header::HeaderValue;
use towpath_core::domain::ClusterId;
use towpath_formats::token::{self, Claims, Grant};

use crate::ServiceError;

const MAX_BYTES: u64 = 2 * token::MAX_CHARACTERS as u64;

/// A token. It is a secret: nothing shows it.
pub(crate) struct Token {
    text: String,
    /// What it says; nothing, if it is of the first version.
    claims: Option<Claims>,
}

impl Token {
    /// The token that is in the file now.
    pub(crate) fn read(file: &Path) -> Result<Self, ServiceError> {
        let wrong = |problem: String| {
            ServiceError::BadConfig {
            place: format!("the token file {}", file.display()),
            problem,
            remedy: "put the token that `towpath fleet token --cluster ID --org ID --name NAME` makes there".to_owned(),
        }
        };
        let mut text = String::new();
        File::open(file)
            .and_then(|opened| opened.take(MAX_BYTES + 1).read_to_string(&mut text))
            .map_err(|e| wrong(format!("cannot be read: {e}")))?;
        if text.len() as u64 > MAX_BYTES {
            return Err(wrong(format!("is longer than {MAX_BYTES} bytes")));
        }
        let token = token::bearer(&text).map_err(|problem| wrong(problem.to_owned()))?;
        let claims = match token.starts_with(token::PREFIX) {
            true => Some(
                token::Token::parse(token)
                    .map_err(|problem| wrong(format!("has no token: {problem}")))?,
            ),
            false => None,
        };
        let claims = claims.map(|token| token.claims().clone());
        match claims.as_ref().map(|claims| &claims.grant) {
            Some(Grant::Cluster(_)) | None => Ok(Self {
                text: token.to_owned(),
                claims,
            }),
            Some(other) => Err(wrong(format!(
                "has a token of role {}, not a cluster's",
                other.role()
            ))),
        }
    }

    /// What it says; nothing, if it is of the first version.
    pub(crate) fn claims(&self) -> Option<&Claims> {
        self.claims.as_ref()
    }

    /// The token, if it is this cluster's as far as it says whose it is.
    pub(crate) fn of(self, cluster: &ClusterId, file: &Path) -> Result<Self, ServiceError> {
        match self.claims().map(|claims| &claims.grant) {
            Some(Grant::Cluster(enrolment)) if enrolment.id != *cluster => {
                Err(ServiceError::BadConfig {
                    place: format!("the token file {}", file.display()),
                    problem: format!(
                        "has the token of cluster {}, and this is {cluster}",
                        enrolment.id
                    ),
                    remedy: format!(
                        "put the token that `towpath fleet token --cluster {cluster} --org ID --name NAME` makes there"
                    ),
                })
            }
            _ => Ok(self),
        }
    }

    /// As the key of a stamp.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    pub(crate) fn header(&self) -> HeaderValue {
        let header = HeaderValue::from_str(&format!("Bearer {}", self.text));
        let mut header = header.unwrap_or_else(|_| unreachable!("its characters were looked at"));
        header.set_sensitive(true);
        header
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}
