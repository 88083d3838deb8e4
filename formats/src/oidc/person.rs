//! The person in a token's claims: a name that is shown and compared, the subject that never changes, and groups.
//!
//! Names decide who may do what, so a claim that people can fill in themselves must not become one. An `email` counts only
//! if the issuer says that it verified it. Names that begin with `system:` belong to Kubernetes.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::Value;
use towpath_core::finding::escaped;

use super::claims::{JwtClaims, texts};
use super::jwt::JwtProblem;

/// The claim that is believed only if the issuer verified it.
const EMAIL: &str = "email";
const EMAIL_VERIFIED: &str = "email_verified";
/// Kubernetes' own names begin so.
const RESERVED: &str = "system:";
/// The longest name of a person or a group, in bytes.
const MAX_NAME_BYTES: usize = 256;
const MAX_GROUPS: usize = 1_000;

/// Which claims say who it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PersonClaims {
    pub name: String,
    pub groups: String,
}

/// A person whom an issuer knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssuedPerson {
    pub name: String,
    /// The issuer's own name for the person, which no other person gets.
    pub subject: String,
    pub groups: BTreeSet<String>,
    /// When the token ends.
    pub ends: Timestamp,
}

impl PersonClaims {
    pub const NAME: &str = EMAIL;
    pub const GROUPS: &str = "groups";

    /// The person, or why the claims do not name one.
    pub fn person(&self, claims: &JwtClaims) -> Result<IssuedPerson, JwtProblem> {
        let subject = usable(claims.text("sub"), "sub")?;
        let name = usable(claims.text(&self.name), &self.name)?;
        if self.name == EMAIL && claims.value(EMAIL_VERIFIED) != Some(&Value::Bool(true)) {
            return Err(JwtProblem::Nameless(
                "the token has an email that its issuer has not verified (\"email_verified\" is not true); verify it there, or name another claim with --oidc-name-claim".to_owned(),
            ));
        }
        if name.starts_with(RESERVED) {
            return Err(JwtProblem::Nameless(format!(
                "the token's {:?} begins with {RESERVED:?}, which belongs to Kubernetes; name another claim with --oidc-name-claim",
                self.name
            )));
        }
        let no_end = || JwtProblem::malformed("it has no end (\"exp\")");
        Ok(IssuedPerson {
            name: name.to_owned(),
            subject: subject.to_owned(),
            groups: self.groups(claims)?,
            ends: claims.time("exp")?.ok_or_else(no_end)?,
        })
    }

    /// A person without the claim has no groups. What is there and cannot be read refuses the token.
    fn groups(&self, claims: &JwtClaims) -> Result<BTreeSet<String>, JwtProblem> {
        let name = &self.groups;
        let Some(value) = claims.value(name) else {
            return Ok(BTreeSet::new());
        };
        let wrong = |problem: &str| {
            JwtProblem::Nameless(format!(
                "the token's {name:?} {problem}; correct it at the issuer, or name another claim with --oidc-groups-claim"
            ))
        };
        let groups = texts(Some(value)).ok_or_else(|| wrong("is not a list of texts"))?;
        if groups.len() > MAX_GROUPS {
            return Err(wrong(&format!("has more than {MAX_GROUPS} groups")));
        }
        for group in &groups {
            usable(Some(group), name)?;
        }
        // A group of Kubernetes' is nobody's through this issuer.
        let groups = groups
            .into_iter()
            .filter(|group| !group.starts_with(RESERVED));
        Ok(groups.map(str::to_owned).collect())
    }
}

/// A text that can be compared and shown as it is.
fn usable<'a>(text: Option<&'a str>, claim: &str) -> Result<&'a str, JwtProblem> {
    let wrong = |problem: &str| {
        JwtProblem::Nameless(format!(
            "the token's {claim:?} {problem}; have the issuer set it, or name another claim with --oidc-name-claim"
        ))
    };
    let text = text.ok_or_else(|| wrong("is missing, or is no text"))?;
    let is_plain = text.trim() == text && escaped(text) == text;
    match (text.is_empty(), text.len() <= MAX_NAME_BYTES, is_plain) {
        (true, ..) => Err(wrong("is empty")),
        (_, false, _) => Err(wrong(&format!("has more than {MAX_NAME_BYTES} bytes"))),
        (_, _, false) => Err(wrong("has characters that cannot be shown")),
        (false, true, true) => Ok(text),
    }
}
