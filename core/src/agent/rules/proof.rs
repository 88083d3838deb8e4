//! Proof: the release is signed, and its image confirms the offer.
//!
//! The image must declare the offered version and the cluster's architecture. A signed image must
//! name the update.
//!
//! So somebody who can write the graph cannot install an unreleased image, or an old release under
//! a new name. Nor can they install one for another architecture, or join two releases that do not
//! follow each other.

use super::forwards::CURRENT_UNKNOWN;
use super::{OfferQuestion, OfferRule};
use crate::agent::{Evidence, ImageDeclaration, RequiredProof};
use crate::cluster::Fact;
use crate::signatures::{PayloadDigest, SignatureVerdict};
use crate::verdict::{Code, Value, Verdict};

/// Its image is named by something that may mean another image tomorrow.
static NO_DIGEST: Code = Code::new(
    "NoDigest",
    "its image is not named by a digest",
    "let the upstream name images by their digest",
);

pub static NOT_PROVED: Code = Code::new(
    "NotProved",
    "its signature and metadata have not been looked at",
    "nothing; it is looked at once nothing else stands in the way",
);

/// Its image is not signed by a key of the keyring, or that is not known.
pub static NOT_SIGNED: Code = Code::new(
    "NotSigned",
    "{found}",
    "if it should be signed, look at keyring and stores; if not, at who offers it",
)
.with(&[("found", "there is no signature for it")]);

/// Whoever can edit the policy must not be able to switch proof off alone.
static UNPROVEN_NOT_ALLOWED: Code = Code::new(
    "UnprovenNotAllowed",
    "the policy says `proof: nothing`, and the agent runs without --allow-unproven-updates",
    "remove `proof: nothing` from the policy; if it is meant, start the agent with --allow-unproven-updates",
);

static METADATA_UNKNOWN: Code = Code::new(
    "MetadataUnknown",
    "what its image says of itself cannot be read",
    "see that the agent can read the image in its registry",
);

pub static OTHER_RELEASE: Code = Code::new(
    "OtherRelease",
    "its image is signed, but is {is}",
    "find out who offers it: this is how an attack looks",
)
.with(&[("is", "4.19.0")]);

pub static OTHER_ARCH: Code = Code::new(
    "OtherArch",
    "its image is signed, but is for {is}, and the cluster runs a release for {runs}",
    "let the cluster ask for the updates of its own architecture",
)
.with(&[("is", "arm64"), ("runs", "amd64")]);

/// For which machines the cluster's own release is, is not known for certain.
static ARCH_UNKNOWN: Code = Code::new(
    "ArchUnknown",
    "the signed image of {current}, which the cluster runs, cannot be read, so nobody knows which machines it is for",
    "see that the agent can read the image that the cluster runs, and its signature",
)
.with(&[("current", "4.20.1")]);

/// Neither its image nor that of the cluster's release names this update, so only the graph says that there is one.
pub static ONLY_CLAIMED: Code = Code::new(
    "OnlyClaimed",
    "only the graph claims an update from {current}: neither release's signed image names the other",
    "take it by hand if it is right for you",
)
.with(&[("current", "4.20.1")]);

pub(super) static RULE: OfferRule = OfferRule::new(
    &[
        &NO_DIGEST,
        &UNPROVEN_NOT_ALLOWED,
        &NOT_PROVED,
        &NOT_SIGNED,
        &METADATA_UNKNOWN,
        &OTHER_RELEASE,
        &OTHER_ARCH,
        &ARCH_UNKNOWN,
        &ONLY_CLAIMED,
    ],
    judge,
);

fn judge(q: &OfferQuestion<'_>) -> Verdict {
    match q.at.policy.proof {
        RequiredProof::Nothing => return Verdict::recommend(),
        RequiredProof::NothingUnallowed => return Verdict::refuse(UNPROVEN_NOT_ALLOWED.alone()),
        RequiredProof::Signed => {}
    }
    let digest = PayloadDigest::of_pull_spec(&q.offer.image);
    match (digest, q.at.evidence.get(&q.offer.image)) {
        (None, _) => Verdict::refuse(NO_DIGEST.alone()),
        (Some(_), None) => Verdict::wait(NOT_PROVED.alone()),
        (Some(_), Some(evidence)) => proved(q, evidence),
    }
}

fn proved(q: &OfferQuestion<'_>, evidence: &Evidence) -> Verdict {
    let not_signed =
        |verdict: &SignatureVerdict| NOT_SIGNED.because([("found", Value::text(verdict))]);
    let declared = match (&evidence.target.signature, &evidence.target.declared) {
        (SignatureVerdict::Verified(_), Fact::Known(declared)) => declared,
        (SignatureVerdict::Verified(_), Fact::Unknown) => {
            return Verdict::wait(METADATA_UNKNOWN.alone());
        }
        (unknown @ SignatureVerdict::NotKnown(_), _) => return Verdict::wait(not_signed(unknown)),
        (other, _) => return Verdict::refuse(not_signed(other)),
    };
    match *declared.version == *q.offer.version.to_string() {
        true => named(q, declared, evidence),
        false => Verdict::refuse(OTHER_RELEASE.because([("is", (&declared.version).into())])),
    }
}

fn named(q: &OfferQuestion<'_>, target: &ImageDeclaration, evidence: &Evidence) -> Verdict {
    let Some(current) = q.at.standing.current() else {
        return Verdict::refuse(CURRENT_UNKNOWN.alone());
    };
    if q.offer.version == *current {
        // It runs already, and no image names itself. `NotNewer` refuses it.
        return Verdict::recommend();
    }
    let source = evidence.source.signed();
    let source = source.filter(|source| *source.version == *current.to_string());
    let goes_back = q.offer.version < *current;
    let by_source = source.is_some_and(|source| {
        // Where downgrades are allowed, an update that the newer image names may be gone back.
        let is_way_back = goes_back && source.previous.contains(&q.offer.version);
        source.next.contains(&q.offer.version) || is_way_back
    });
    if !target.previous.contains(current) && !by_source {
        return Verdict::refuse(ONLY_CLAIMED.because([("current", current.into())]));
    }
    // What the cluster runs may no longer be in the registry; what it is for is then not known, and is not guessed.
    match source {
        None => Verdict::wait(ARCH_UNKNOWN.because([("current", current.into())])),
        Some(source) if source.arch == target.arch => Verdict::recommend(),
        Some(source) => Verdict::refuse(OTHER_ARCH.because([
            ("is", target.arch.as_str().into()),
            ("runs", source.arch.as_str().into()),
        ])),
    }
}
