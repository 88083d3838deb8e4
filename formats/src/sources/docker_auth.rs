//! Registry credentials, in Docker's `config.json` format: `config.json`, `auth.json`, a pull
//! secret.
//!
//! No part of the file ever gets into a message, whether it can be read or not.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use serde::Deserialize;
use towpath_core::finding::{Finding, Place};

use crate::read::json;
use crate::sources::oci::Repository;

/// What one is known by at some registries.
#[derive(Debug, Clone, Default)]
pub struct AuthFile {
    credentials: BTreeMap<String, Credential>,
    /// Registries whose credentials only a program knows.
    helpers: BTreeSet<String>,
}

/// What one is known by.
#[derive(Clone, PartialEq, Eq)]
pub enum Credential {
    /// A name and a password.
    Basic { user: String, password: String },
    /// A token that is good for getting others.
    Identity(String),
    /// A token that is good as it is.
    Bearer(String),
}

/// Which kind it is, and no more.
impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Basic { .. } => "Basic",
            Self::Identity(_) => "Identity",
            Self::Bearer(_) => "Bearer",
        })
    }
}

#[derive(Deserialize)]
struct AuthFileBody {
    #[serde(default)]
    auths: BTreeMap<String, AuthEntry>,
    #[serde(default, rename = "credHelpers")]
    helpers: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct AuthEntry {
    auth: Option<String>,
    username: Option<String>,
    password: Option<String>,
    identitytoken: Option<String>,
    registrytoken: Option<String>,
}

const REMEDY: &str = "write it as `podman login --authfile` does";

pub fn read(place: &Place, bytes: &[u8]) -> Result<AuthFile, Finding> {
    let wire: AuthFileBody = serde_json::from_slice(bytes).map_err(|error| {
        // What serde says would quote what it found.
        let at = json::at(place, &error);
        Finding::error(
            "bad-auth-file",
            at,
            "it cannot be read as an auth file",
            REMEDY,
        )
    })?;
    let mut credentials = BTreeMap::new();
    for (name, entry) in wire.auths {
        let wrong = |problem: &str| {
            Finding::error(
                "bad-auth-file",
                place.clone(),
                format!("auths[{name:?}]: {problem}"),
                REMEDY,
            )
        };
        if let Some(credential) = entry.credential().map_err(wrong)? {
            credentials.insert(plain_key(&name), credential);
        }
    }
    let helpers = wire.helpers.keys().map(|name| plain_key(name)).collect();
    Ok(AuthFile {
        credentials,
        helpers,
    })
}

impl AuthEntry {
    /// None if there is nothing in it, as `docker login` with a helper leaves it.
    fn credential(self) -> Result<Option<Credential>, &'static str> {
        let is_given = |text: &String| !text.is_empty();
        if let Some(token) = self.registrytoken.filter(is_given) {
            return Ok(Some(Credential::Bearer(token)));
        }
        if let Some(token) = self.identitytoken.filter(is_given) {
            return Ok(Some(Credential::Identity(token)));
        }
        let Some(auth) = self.auth.filter(is_given) else {
            let both = self.username.filter(is_given).zip(self.password);
            return Ok(both.map(|(user, password)| Credential::Basic { user, password }));
        };
        let decoded = STANDARD
            .decode(auth.trim())
            .or_else(|_| STANDARD_NO_PAD.decode(auth.trim()));
        let text = decoded
            .ok()
            .and_then(|bytes| String::from_utf8(bytes).ok())
            .ok_or("auth is not base64 of a text")?;
        let (user, password) = text
            .split_once(':')
            .ok_or("auth is not base64 of user:password")?;
        let password = password.trim_end_matches('\0').to_owned();
        Ok(Some(Credential::Basic {
            user: user.to_owned(),
            password,
        }))
    }
}

impl AuthFile {
    /// What one is known by at a repository: the entry with the longest path that leads to it, as podman has it.
    pub fn credential_for(&self, repository: &Repository) -> Option<&Credential> {
        keys(repository).find_map(|key| self.credentials.get(&key))
    }

    /// Whether only a program that we do not run would know.
    pub fn needs_helper(&self, repository: &Repository) -> bool {
        self.credential_for(repository).is_none()
            && keys(repository).any(|key| self.helpers.contains(&key))
    }
}

/// `quay.io/a/b`, `quay.io/a`, `quay.io`.
fn keys(repository: &Repository) -> impl Iterator<Item = String> {
    let host = plain_key(repository.host());
    let whole = format!("{host}/{}", repository.path());
    std::iter::successors(Some(whole), move |key| {
        key.rsplit_once('/').map(|(shorter, _)| shorter.to_owned())
    })
}

/// A key without what older files have around it: `https://index.docker.io/v1/` is `docker.io`.
fn plain_key(key: &str) -> String {
    let key = key
        .strip_prefix("https://")
        .or_else(|| key.strip_prefix("http://"))
        .unwrap_or(key);
    let key = key.trim_end_matches('/');
    let key = key
        .strip_suffix("/v1")
        .or_else(|| key.strip_suffix("/v2"))
        .unwrap_or(key);
    match key {
        "index.docker.io" | "registry-1.docker.io" => "docker.io".to_owned(),
        key => key.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn file(value: &Value) -> Result<AuthFile, Finding> {
        read(&Place::file("auth.json"), value.to_string().as_bytes())
    }

    fn auth(user: &str) -> Value {
        json!({"auth": STANDARD.encode(format!("{user}:pass:word"))})
    }

    fn user(file: &AuthFile, repository: &str) -> Option<String> {
        match file.credential_for(&Repository::parse(repository).unwrap()) {
            Some(Credential::Basic { user, password }) => {
                assert_eq!(password, "pass:word");
                Some(user.clone())
            }
            Some(other) => Some(format!("{other:?}")),
            None => None,
        }
    }

    #[test]
    fn the_longest_path_that_leads_there_counts() {
        let file = file(&json!({"auths": {
            "quay.io": auth("all"), "quay.io/a": auth("a"), "quay.io/a/b": auth("ab"), "https://index.docker.io/v1/": auth("docker"),
            "https://old.example.com": auth("old"), "localhost:5000": {"username": "u", "password": "pass:word"},
            "id.example.com": {"auth": "eDo=", "identitytoken": "t"}, "bearer.example.com": {"registrytoken": "t"},
            "empty.example.com": {},
        }}))
        .unwrap();
        for (repository, expected) in [
            ("quay.io/a/b", Some("ab")),
            ("quay.io/a/b/c", Some("ab")),
            ("quay.io/a/bc", Some("a")),
            ("quay.io/x", Some("all")),
            ("docker.io/library/x", Some("docker")),
            ("old.example.com/x", Some("old")),
            ("localhost:5000/x", Some("u")),
            ("localhost:5001/x", None),
            ("id.example.com/x", Some("Identity")),
            ("bearer.example.com/x", Some("Bearer")),
            ("empty.example.com/x", None),
            ("evil-quay.io/a", None),
        ] {
            assert_eq!(user(&file, repository).as_deref(), expected, "{repository}");
        }
    }

    #[test]
    fn helpers_are_named_where_they_would_be_needed() {
        let file = file(&json!({"credHelpers": {"gcr.io": "gcloud", "quay.io": "x"}, "auths": {"quay.io": auth("a")}}))
            .unwrap();
        let needs = |repository: &str| file.needs_helper(&Repository::parse(repository).unwrap());
        assert_eq!(
            [needs("gcr.io/a/b"), needs("quay.io/a"), needs("ghcr.io/a")],
            [true, false, false]
        );
    }

    #[test]
    fn secrets_are_in_no_message() {
        for value in [
            json!({"auths": {"quay.io": {"auth": "geheim!!"}}}),
            json!({"auths": {"quay.io": {"auth": STANDARD.encode("geheim")}}}),
            json!({"auths": {"quay.io": "geheim"}}),
            json!({"auths": {"quay.io": {"auth": ["geheim"]}}}),
            json!("geheim"),
        ] {
            let finding = file(&value).unwrap_err();
            assert_eq!(finding.code, "bad-auth-file");
            assert!(!finding.to_string().contains("geheim"), "{finding}");
        }
        let credential = Credential::Basic {
            user: "u".into(),
            password: "geheim".into(),
        };
        assert!(!format!("{credential:?}").contains("geheim"));
    }
}
