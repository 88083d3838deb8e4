//! Proof: a release is signed, is the one it is offered as, for the machines that the cluster has, and is named as an update by an image that is signed.
//!
//! So whoever writes the graph can install nothing that was not released, put no old release under a new name, nor one for other machines, and join no two
//! releases that were not made to follow each other.

use super::{Moment, refuse, wait};
use crate::domain::automatic::{AutomaticReason, Declared, Evidence, Offer, Proof};
use crate::domain::{Fact, PayloadDigest, SignatureVerdict, Verdict};

pub(super) fn judge(offer: &Offer, at: &Moment<'_>) -> Verdict {
    match at.policy.proof {
        Proof::Nothing => Verdict::recommend(),
        Proof::Signed => match (
            PayloadDigest::of_pull_spec(&offer.image),
            at.evidence.get(&offer.image),
        ) {
            (None, _) => refuse(AutomaticReason::NoDigest),
            (Some(_), None) => wait(None, AutomaticReason::NotProved),
            (Some(_), Some(evidence)) => proved(offer, evidence, at),
        },
    }
}

fn proved(offer: &Offer, evidence: &Evidence, at: &Moment<'_>) -> Verdict {
    let found = |verdict: &SignatureVerdict| AutomaticReason::NotSigned {
        found: verdict.to_string().into(),
    };
    let declared = match (&evidence.target.signature, &evidence.target.declared) {
        (SignatureVerdict::Verified(_), Fact::Known(declared)) => declared,
        (SignatureVerdict::Verified(_), Fact::Unknown) => {
            return wait(None, AutomaticReason::MetadataUnknown);
        }
        (unknown @ SignatureVerdict::NotKnown(_), _) => return wait(None, found(unknown)),
        (other, _) => return refuse(found(other)),
    };
    match *declared.version == *offer.version.to_string() {
        true => named(offer, declared, evidence, at),
        false => refuse(AutomaticReason::OtherRelease {
            is: declared.version.clone(),
        }),
    }
}

fn named(offer: &Offer, target: &Declared, evidence: &Evidence, at: &Moment<'_>) -> Verdict {
    let Some(current) = at.standing.current() else {
        return refuse(AutomaticReason::CurrentUnknown);
    };
    let source = evidence
        .source
        .signed()
        .filter(|source| *source.version == *current.to_string());
    let by_source = source.is_some_and(|source| source.next.contains(&offer.version));
    if !target.previous.contains(current) && !by_source {
        return refuse(AutomaticReason::OnlyClaimed {
            current: current.clone(),
        });
    }
    // What the cluster runs may no longer be in the registry; what it is for is then not known, and is not guessed.
    match source {
        None => wait(
            None,
            AutomaticReason::ArchUnknown {
                current: current.clone(),
            },
        ),
        Some(source) if source.arch == target.arch => Verdict::recommend(),
        Some(source) => refuse(AutomaticReason::OtherArch {
            is: target.arch.as_str().into(),
            runs: source.arch.as_str().into(),
        }),
    }
}
