//! A new token before the old one ends: asked for, checked, and written in place of the old one.
//!
//! The old token stays good until its end. The new one is written to another file first, which then takes the place of the
//! old: whoever stops in between leaves one whole token.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use jiff::Timestamp;
use serde::Deserialize;
use towpath_core::access::{Renewal, renewal};
use towpath_core::cluster::ClusterId;
use towpath_formats::fleet::token::{self, Claims};
use towpath_http::{Method, Request, StatusCode};

use crate::client::{body, said};
use crate::token::Token;
use crate::{ServiceClient, ServiceError};

/// The name of the request in messages.
const TOKEN: &str = "a new token";

/// A token that the service made in place of the one that soon ends.
#[derive(Clone, PartialEq, Eq)]
pub struct NewToken {
    text: String,
    pub end: Timestamp,
}

impl NewToken {
    /// The token, as a file has it. It is a secret.
    pub fn line(&self) -> String {
        format!("{}\n", self.text)
    }
}

impl std::fmt::Debug for NewToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a token until {}", self.end)
    }
}

#[derive(Deserialize)]
struct Body {
    token: String,
}

impl ServiceClient {
    /// Asks for a new token, if the current one soon ends; none if it does not.
    pub async fn new_token(
        &self,
        cluster: &ClusterId,
        now: Timestamp,
    ) -> Result<Option<NewToken>, ServiceError> {
        let token = Token::read(&self.token_file)?.of(cluster)?;
        // One of the first version does not say when it ends.
        let Some(old) = token.claims().cloned() else {
            return Ok(None);
        };
        if let Renewal::From(_) = renewal(old.made, old.end, now) {
            return Ok(None);
        }
        let request = Request::new(Method::POST, self.url(cluster, "token"));
        let request = request.body("application/json", b"{}");
        let (answer, after) = self.send(TOKEN, &token, request).await?;
        let status = answer.status();
        let bytes = body(TOKEN, answer, self.limits.answer_bytes).await?;
        match status {
            StatusCode::OK => {
                let wrong = |problem: String| ServiceError::BadAnswer {
                    what: TOKEN,
                    problem,
                };
                checked(&bytes, &old).map(Some).map_err(wrong)
            }
            status => Err(ServiceError::Refused {
                what: TOKEN,
                status: status.as_u16(),
                said: said(status, &bytes),
                after,
            }),
        }
    }

    /// Writes a new token in place of the old one, in the token's file.
    pub fn keep_token(&self, token: &NewToken) -> Result<(), ServiceError> {
        let path = self.token_file.path();
        replace(path, &token.line()).map_err(|error| ServiceError::BadConfig {
            place: format!("the token file {}", path.display()),
            problem: format!("cannot be replaced by a new token: {error}"),
            remedy:
                "let the agent write that folder; a token in a mounted Secret is replaced by hand"
                    .to_owned(),
        })
    }
}

/// The token of an answer. It must be for the same cluster, and good for longer: anything else would lock us out.
fn checked(bytes: &[u8], old: &Claims) -> Result<NewToken, String> {
    let body: Body = serde_json::from_slice(bytes)
        .map_err(|_| "the answer has no token; check the service's address".to_owned())?;
    let new = token::Token::parse(&body.token)
        .map_err(|problem| format!("the answer has no token: {problem}"))?;
    let claims = new.claims();
    let is_same = claims.grant == old.grant && claims.serial == old.serial;
    match (is_same, claims.end > old.end) {
        (true, true) => Ok(NewToken {
            end: claims.end,
            text: body.token,
        }),
        (false, _) => Err("the new token is not for this cluster; the old one is kept".to_owned()),
        (true, false) => {
            Err("the new token ends no later than the old one, which is kept".to_owned())
        }
    }
}

/// Writes the file anew beside itself, and puts it in place. Whoever could read it can read it still.
fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    // A link stays one: what it leads to is replaced.
    let path = std::fs::canonicalize(path)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let beside = path.with_file_name(format!(".{name}.new"));
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&path)?.permissions());
    let written = || {
        // One of an earlier attempt may be there.
        let _ = std::fs::remove_file(&beside);
        let mut options = OpenOptions::new();
        let mut file = options
            .write(true)
            .create_new(true)
            .mode(mode & 0o7777)
            .open(&beside)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&beside, &path)?;
        match path.parent() {
            Some(folder) => File::open(folder)?.sync_all(),
            None => Ok(()),
        }
    };
    written().inspect_err(|_| {
        let _ = std::fs::remove_file(&beside);
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_file_is_replaced_as_a_whole_and_keeps_its_mode() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        std::fs::write(&path, "old").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        std::fs::write(folder.path().join(".token.new"), "half").unwrap();
        replace(&link, "new\n").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "new\n");
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert!(link.symlink_metadata().unwrap().is_symlink());
        assert!(!folder.path().join(".token.new").exists());
        assert!(replace(&folder.path().join("absent"), "new").is_err());
    }
}
