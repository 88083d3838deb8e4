//! The signature policy: which releases stay, given what is known of their signatures.
//!
//! A signature covers a digest, so releases of one payload share one verdict. A payload whose
//! signature nobody looked for is not verified.

pub mod seal;
pub mod signature;

pub use seal::{GraphSeal, SealRefusal};
pub use signature::{PayloadDigest, Refusal, SignaturePolicy, SignatureVerdict, Signer};
use std::collections::{BTreeMap, BTreeSet};

use crate::finding::{Finding, Place};
use crate::graph::{DeclaredRelease, Releases, Trust};
use crate::intake::{Summary, Supply};

/// How many releases are named; a thousand say no more than the first few.
pub const MAX_NAMED: usize = 20;

/// The verdict on each payload that was looked at.
pub type Verdicts = BTreeMap<PayloadDigest, SignatureVerdict>;

/// The payloads whose signatures the policy asks for, each once.
pub fn wanted(policy: SignaturePolicy, releases: &Releases) -> BTreeSet<PayloadDigest> {
    match policy {
        SignaturePolicy::Off => BTreeSet::new(),
        SignaturePolicy::Require | SignaturePolicy::Warn => {
            releases.releases.iter().filter_map(digest).collect()
        }
    }
}

/// Marks what is verified of each source, and tells of what is not, each release and payload once. All findings are warnings: a graph without a release
/// can be served, and without all of them too (that a source shrank is for others to judge).
///
/// This comes before the sources are united, for what is signed overrules what is not; leaving out comes behind it.
pub fn mark(policy: SignaturePolicy, supplies: &mut [Supply], verdicts: &Verdicts) -> Vec<Finding> {
    if policy == SignaturePolicy::Off {
        return Vec::new();
    }
    let (mut told, mut seen) = (UnverifiedReleases::new(policy), BTreeSet::new());
    for release in supplies
        .iter_mut()
        .flat_map(|supply| &mut supply.releases.releases)
    {
        match judged(release, verdicts) {
            Ok(()) => release.trust = Trust::Verified,
            Err(reason) => {
                release.trust = Trust::Unverified;
                let payload = digest(release)
                    .map_or_else(|| release.payload.clone(), |digest| digest.to_string());
                if seen.insert((release.version.clone(), release.arch.clone(), payload)) {
                    told.add(release, reason);
                }
            }
        }
    }
    told.findings()
}

/// Leaves out what is not verified, if the policy says so.
pub fn leave_out(policy: SignaturePolicy, mut releases: Releases) -> Releases {
    if policy == SignaturePolicy::Require {
        releases.retain(|release| release.trust == Trust::Verified);
    }
    releases
}

/// What is left of a copy once it is verified, for the guard against shrinking; nothing to compare where unverified releases stay. What nobody has looked
/// for yet is not left: a copy that brings nothing but such releases would empty the graph.
pub fn verified_summary(
    policy: SignaturePolicy,
    releases: &Releases,
    verdicts: &Verdicts,
) -> Summary {
    match policy {
        SignaturePolicy::Require => {
            let verified = releases
                .releases
                .iter()
                .filter(|release| judged(release, verdicts).is_ok())
                .count();
            Summary::of_verified(verified)
        }
        SignaturePolicy::Warn | SignaturePolicy::Off => Summary::default(),
    }
}

fn digest(release: &DeclaredRelease) -> Option<PayloadDigest> {
    PayloadDigest::of_pull_spec(&release.payload)
}

/// Why a release is not verified.
struct Reason {
    code: &'static str,
    problem: String,
    remedy: &'static str,
}

fn judged(release: &DeclaredRelease, verdicts: &Verdicts) -> Result<(), Reason> {
    let Some(digest) = digest(release) else {
        return Err(Reason {
            code: "no-digest",
            problem: format!(
                "its payload {:?} has no digest that could be signed",
                release.payload
            ),
            remedy: "name the payload by digest: registry/release@sha256:…",
        });
    };
    match verdicts.get(&digest) {
        Some(SignatureVerdict::Verified(_)) => Ok(()),
        Some(verdict) => Err(Reason {
            code: verdict.code(),
            problem: format!("{verdict} ({digest})"),
            remedy: verdict.remedy(),
        }),
        None => Err(Reason {
            code: "signature-not-known",
            problem: format!("nobody has looked for its signature yet ({digest})"),
            remedy: "wait until the signature stores were read",
        }),
    }
}

/// What is told of releases that are not verified: the first few of each kind of problem, and how many more there are.
struct UnverifiedReleases {
    policy: SignaturePolicy,
    named: Vec<Finding>,
    more: BTreeMap<&'static str, usize>,
}

impl UnverifiedReleases {
    fn new(policy: SignaturePolicy) -> Self {
        Self {
            policy,
            named: Vec::new(),
            more: BTreeMap::new(),
        }
    }

    fn add(&mut self, release: &DeclaredRelease, reason: Reason) {
        if self.named.len() >= MAX_NAMED {
            *self.more.entry(reason.code).or_default() += 1;
            return;
        }
        let fate = match self.policy {
            SignaturePolicy::Require => "left out",
            SignaturePolicy::Warn | SignaturePolicy::Off => "not verified",
        };
        let problem = format!(
            "{} of {} is {fate}: {}",
            release.version, release.arch, reason.problem
        );
        self.named.push(Finding::warning(
            reason.code,
            place(),
            problem,
            reason.remedy,
        ));
    }

    fn findings(self) -> Vec<Finding> {
        let more = self.more.into_iter().map(|(code, count)| {
            let releases = if count == 1 {
                "release is"
            } else {
                "releases are"
            };
            let problem = format!("{count} more {releases} not verified ({code})");
            Finding::warning(
                code,
                place(),
                problem,
                "`towpath releases verify` lists them all",
            )
        });
        let mut findings: Vec<Finding> = self.named.into_iter().chain(more).collect();
        findings.sort();
        findings
    }
}

fn place() -> Place {
    Place::file("signatures")
}
