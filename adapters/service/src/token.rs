//! The cluster's token, read from a file that others renew.

use towpath_core::cluster::ClusterId;
use towpath_formats::fleet::token::{self, Claims, Grant};
use towpath_http::header::HeaderValue;
use towpath_http::{BearerToken, TokenFile};

use crate::ServiceError;

pub(crate) const MAX_BYTES: u64 = 2 * token::MAX_CHARACTERS as u64;

/// A cluster's token and its file.
#[derive(Debug)]
pub(crate) struct Token {
    bearer: BearerToken,
    /// Its claims. Tokens of the first version have none.
    claims: Option<Claims>,
    place: String,
}

impl Token {
    /// Reads the current token.
    pub(crate) fn read(file: &TokenFile) -> Result<Self, ServiceError> {
        let place = format!("the token file {}", file.path().display());
        let wrong = |problem: String| ServiceError::BadConfig {
            place: place.clone(),
            problem,
            remedy: remedy("ID"),
        };
        let bearer = file.read().map_err(wrong)?;
        let claims = match bearer.as_str().starts_with(token::PREFIX) {
            true => Some(
                token::Token::parse(bearer.as_str())
                    .map_err(|problem| wrong(format!("has no token: {problem}")))?,
            ),
            false => None,
        };
        let claims = claims.map(|token| token.claims().clone());
        match claims.as_ref().map(|claims| &claims.grant) {
            Some(Grant::Cluster(_)) | None => Ok(Self {
                bearer,
                claims,
                place,
            }),
            Some(other) => Err(wrong(format!(
                "has a token of role {}, not a cluster's",
                other.role()
            ))),
        }
    }

    /// Its claims. Tokens of the first version have none.
    pub(crate) fn claims(&self) -> Option<&Claims> {
        self.claims.as_ref()
    }

    /// The token, unless it names another cluster.
    pub(crate) fn of(self, cluster: &ClusterId) -> Result<Self, ServiceError> {
        match self.claims().map(|claims| &claims.grant) {
            Some(Grant::Cluster(enrolment)) if enrolment.id != *cluster => {
                Err(ServiceError::BadConfig {
                    problem: format!(
                        "has the token of cluster {}, and this is {cluster}",
                        enrolment.id
                    ),
                    remedy: remedy(cluster.as_str()),
                    place: self.place,
                })
            }
            _ => Ok(self),
        }
    }

    /// As the key of a stamp.
    pub(crate) fn as_str(&self) -> &str {
        self.bearer.as_str()
    }

    pub(crate) fn header(&self) -> HeaderValue {
        self.bearer.header()
    }
}

fn remedy(cluster: &str) -> String {
    format!(
        "put the token that `towpath fleet token --cluster {cluster} --org ID --name NAME` makes there"
    )
}
