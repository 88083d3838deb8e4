//! The signed statement: which image it is about, and that it is about an image at all.
//!
//! Everything in `critical` counts, so an unknown field there is a condition that we cannot check.
//! Anybody may write anything in `optional`.

use serde::Deserialize;
use towpath_core::signatures::{PayloadDigest, Refusal};

/// The only kind of statement that is about an image.
const KIND: &str = "atomic container signature";
/// How much of a stranger's text is shown.
const MAX_SHOWN_CHARS: usize = 100;

#[derive(Deserialize)]
struct Statement {
    critical: Critical,
    #[serde(rename = "optional")]
    _optional: Option<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Critical {
    image: Image,
    #[serde(rename = "identity")]
    _identity: Identity,
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Image {
    #[serde(rename = "docker-manifest-digest")]
    digest: String,
}

/// Under which name it was pushed. Mirrors have other names, so this is read, and not compared.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Identity {
    #[serde(rename = "docker-reference")]
    _reference: String,
}

/// Whether what is signed is this image.
pub(super) fn check(body: &[u8], digest: PayloadDigest) -> Result<(), Refusal> {
    let statement: Statement = serde_json::from_slice(body).map_err(|error| {
        let problem = error.to_string();
        let sentence = problem.split(" at line ").next().unwrap_or(&problem);
        Refusal::NotAStatement {
            problem: shown(sentence),
        }
    })?;
    let Critical { image, kind, .. } = statement.critical;
    match (
        kind == KIND,
        PayloadDigest::parse(&image.digest) == Some(digest),
    ) {
        (true, true) => Ok(()),
        (true, false) => Err(Refusal::OtherDigest {
            digest: shown(&image.digest),
        }),
        (false, _) => Err(Refusal::OtherKind { kind: shown(&kind) }),
    }
}

/// Foreign text for people: one line, not too long.
pub(super) fn shown(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(MAX_SHOWN_CHARS)
        .collect()
}
