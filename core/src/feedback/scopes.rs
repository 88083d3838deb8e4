//! Scopes that a halt may have, and how much of the false-alarm promise each is given.
//!
//! The weights are fixed before anything is known and add up to at most one. So nobody changes them by inventing platforms.
//! Combinations of two parts would need a share of their own, and are left out.

use crate::cluster::Platform;
use crate::version::{Minor, Version};

use super::{Bits, HaltScope, UpdateGroup};

/// Architectures that OpenShift has.
const ARCHITECTURES: [&str; 5] = ["amd64", "arm64", "multi", "ppc64le", "s390x"];
/// Minor versions that an update may come from, counted from the release's own back, or of the major version before.
const MINORS: u64 = 32;

/// The scopes that clusters of a group are in, with their weights: 3/4 for all clusters, 1/12 for each of platform,
/// architecture and minor version.
pub(super) fn scopes(group: &UpdateGroup, release: &Version) -> Vec<(HaltScope, Bits)> {
    let mut scopes = vec![(HaltScope::default(), weight_of_all())];
    let of_platform = group.platform.clone().filter(is_known);
    if let Some(platform) = of_platform {
        let scope = HaltScope {
            platform: Some(platform),
            ..HaltScope::default()
        };
        scopes.push((scope, Bits::of_ratio(1, 12 * Platform::KNOWN.len() as u64)));
    }
    if ARCHITECTURES.contains(&group.arch.as_str()) {
        let scope = HaltScope {
            arch: Some(group.arch.clone()),
            ..HaltScope::default()
        };
        scopes.push((scope, Bits::of_ratio(1, 12 * ARCHITECTURES.len() as u64)));
    }
    if let Some(weight) = weight_of_minor(group.from, Minor::of(release)) {
        let scope = HaltScope {
            from: Some(group.from),
            ..HaltScope::default()
        };
        scopes.push((scope, weight));
    }
    scopes
}

pub(super) fn weight_of_all() -> Bits {
    Bits::of_ratio(3, 4)
}

fn is_known(platform: &Platform) -> bool {
    Platform::KNOWN.iter().any(|name| platform.is_named(name))
}

/// A third of 1/12 each for the release's own minor version, for the one before it, and for all the others.
fn weight_of_minor(from: Minor, to: Minor) -> Option<Bits> {
    match (to.major == from.major, to.minor.checked_sub(from.minor)) {
        (true, Some(0 | 1)) => Some(Bits::of_ratio(1, 36)),
        (true, Some(2..MINORS)) => Some(Bits::of_ratio(1, 36 * 2 * MINORS)),
        (false, _) if from.major + 1 == to.major && from.minor < MINORS => {
            Some(Bits::of_ratio(1, 36 * 2 * MINORS))
        }
        _ => None,
    }
}
