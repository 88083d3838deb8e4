//! Who signed each release, or why its signature does not count, as text and as JSON.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use towpath_core::graph::DeclaredRelease;
use towpath_core::signatures::{PayloadDigest, SignatureVerdict, Verdicts};

use crate::room::Room;
use crate::tables::{fitted, shown};
use crate::words::{counted, minute};

/// A release, and what is known of its signature; none if its payload has no digest.
pub struct SignedRelease<'a> {
    release: &'a DeclaredRelease,
    verdict: Option<&'a SignatureVerdict>,
}

impl<'a> SignedRelease<'a> {
    pub fn new(release: &'a DeclaredRelease, verdicts: &'a Verdicts) -> Self {
        let digest = PayloadDigest::of_pull_spec(&release.payload);
        Self {
            release,
            verdict: digest.and_then(|digest| verdicts.get(&digest)),
        }
    }

    pub fn is_verified(&self) -> bool {
        matches!(self.verdict, Some(SignatureVerdict::Verified(_)))
    }

    fn code(&self) -> &'static str {
        self.verdict.map_or("no-digest", SignatureVerdict::code)
    }

    fn sentence(&self) -> String {
        match self.verdict {
            Some(SignatureVerdict::Verified(signer)) => {
                let user = if signer.user_id.is_empty() {
                    &signer.fingerprint
                } else {
                    &signer.user_id
                };
                format!("signed {} by {user}", minute(signer.signed_at))
            }
            Some(verdict) => verdict.to_string(),
            None => "its payload has no digest that could be signed".to_owned(),
        }
    }
}

pub fn text(judged: &[SignedRelease<'_>], room: Room) -> String {
    let head = ["RELEASE", "VERDICT", "WHY"];
    let mut rows = fitted(head, room.width);
    for one in judged {
        let release = format!("{}+{}", one.release.version, one.release.arch);
        rows.add_row([release, one.code().to_owned(), one.sentence()]);
    }
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    judged
        .iter()
        .for_each(|one| *counts.entry(one.code()).or_default() += 1);
    let counts: Vec<String> = counts
        .iter()
        .map(|(code, number)| format!("{number} {code}"))
        .collect();
    format!(
        "{}\n{}: {}\n",
        shown(&rows),
        counted(judged.len(), "release"),
        counts.join(", ")
    )
}

pub fn json(judged: &[SignedRelease<'_>]) -> Value {
    let one = |one: &SignedRelease<'_>| {
        let mut value = json!({
            "version": one.release.version.to_string(),
            "arch": one.release.arch.as_str(),
            "payload": one.release.payload,
            "verdict": one.code(),
        });
        match one.verdict {
            Some(SignatureVerdict::Verified(signer)) => {
                value["signer"] = json!({
                    "fingerprint": signer.fingerprint,
                    "userId": signer.user_id,
                    "signedAt": signer.signed_at.to_string(),
                    "until": signer.until.map(|until| until.to_string()),
                });
            }
            _ => value["problem"] = one.sentence().into(),
        }
        value
    };
    json!({
        "releases": judged.iter().map(one).collect::<Vec<_>>(),
        "verified": judged.iter().filter(|one| one.is_verified()).count(),
        "unverified": judged.iter().filter(|one| !one.is_verified()).count(),
    })
}
