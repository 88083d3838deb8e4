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

/// The scopes that clusters of a group are in, with their weights: 7/8 for all clusters, 1/24 for each of platform,
/// architecture and minor version.
pub(super) fn scopes(group: &UpdateGroup, release: &Version) -> Vec<(HaltScope, Bits)> {
    let mut scopes = vec![(HaltScope::default(), weight_of_all())];
    let of_platform = group.platform.clone().filter(is_known);
    if let Some(platform) = of_platform {
        let scope = HaltScope {
            platform: Some(platform),
            ..HaltScope::default()
        };
        scopes.push((scope, Bits::of_ratio(1, 24 * Platform::KNOWN.len() as u64)));
    }
    if ARCHITECTURES.contains(&group.arch.as_str()) {
        let scope = HaltScope {
            arch: Some(group.arch.clone()),
            ..HaltScope::default()
        };
        scopes.push((scope, Bits::of_ratio(1, 24 * ARCHITECTURES.len() as u64)));
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
    Bits::of_ratio(7, 8)
}

fn is_known(platform: &Platform) -> bool {
    Platform::KNOWN.iter().any(|name| platform.is_named(name))
}

/// A third of 1/24 each for the release's own minor version, for the one before it, and for all the others.
fn weight_of_minor(from: Minor, to: Minor) -> Option<Bits> {
    match (to.major == from.major, to.minor.checked_sub(from.minor)) {
        (true, Some(0 | 1)) => Some(Bits::of_ratio(1, 72)),
        (true, Some(2..MINORS)) => Some(Bits::of_ratio(1, 72 * 2 * MINORS)),
        (false, _) if from.major + 1 == to.major && from.minor < MINORS => {
            Some(Bits::of_ratio(1, 72 * 2 * MINORS))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::feedback::Signal;
    use crate::version::Arch;

    fn part(weight: Bits) -> f64 {
        (weight.units() as f64 / 4_294_967_296.0).exp2()
    }

    #[test]
    fn the_weights_of_all_scopes_that_there_can_be_add_up_to_at_most_one() {
        let release: Version = "5.3.1".parse().unwrap();
        let groups = |major: u64| {
            (0..3 * MINORS).flat_map(move |minor| {
                let platforms = Platform::KNOWN.iter().copied().chain(["OfSomebody"]);
                let named = platforms.zip(ARCHITECTURES.into_iter().cycle());
                named.map(move |(platform, arch)| UpdateGroup {
                    is_minor_update: true,
                    from: Minor { major, minor },
                    platform: Platform::new(platform),
                    arch: Arch::new(arch),
                })
            })
        };
        let all: BTreeMap<HaltScope, Bits> = (3..=5)
            .flat_map(groups)
            .flat_map(|group| scopes(&group, &release))
            .collect();
        // Each platform and architecture, four minor versions of 5 and 32 of 4, and all clusters.
        assert_eq!(
            all.len(),
            Platform::KNOWN.len() + ARCHITECTURES.len() + 4 + 32 + 1
        );
        let sum: f64 = all.values().copied().map(part).sum();
        assert!((0.95..=1.0).contains(&sum), "{sum}");
        let sum: f64 = Signal::ALL.map(|signal| part(signal.weight())).iter().sum();
        assert!((0.999..=1.0).contains(&sum), "{sum}");
    }
}
