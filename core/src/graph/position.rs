//! Positions: where in a rollout's queue a cluster stands, for a given release.
//!
//! A cluster has one number, a hash of its id. Each release rotates all clusters by the same
//! amount, which shares out the risk of being early. Consecutive patch releases differ by the
//! golden ratio, so a cluster in the first tenth stays out of it for the next four releases.
//! Consecutive minors differ by another noble number with the same virtue. The rotation comes from
//! the version alone, never from its place in a list. So adding or removing another release moves
//! nobody who has been shown an edge.
//!
//! Integers only. The golden vectors in `docs/positions.md` are a promise to other
//! implementations.

use sha2::{Digest, Sha256};

use crate::cluster::ClusterId;
use crate::version::Version;

/// A place in the queue: a fraction of 2^64. Smaller is earlier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position(pub u64);

/// Tells these hashes from any others of the same id.
const TAG: &[u8] = b"towpath.position.1";
/// All releases share one queue, rotated. Another key would shuffle the fleet again.
const ROTATION_KEY: &[u8] = b"openshift";
/// (√5 − 1) / 2 of 2^64, for steps from patch to patch.
const PER_PATCH: u64 = 0x9E37_79B9_7F4A_7C15;
/// (5 + √5) / 10 of 2^64, for steps from minor to minor: the noble number [0; 1, 2, 1, 1, …].
const PER_MINOR: u64 = 0xB93E_4B8B_7FDB_B26B;
/// Minors of one major before another begins; only keeps 4.x and 5.x apart.
const MINORS_PER_MAJOR: u64 = 1 << 16;

impl Position {
    /// Where a cluster stands for a release of that rotation.
    pub fn of(cluster: &ClusterId, rotation: u64) -> Self {
        base(cluster).rotated(rotation)
    }

    /// This position, moved round the circle.
    pub fn rotated(self, rotation: u64) -> Self {
        Self(self.0.wrapping_add(rotation))
    }
}

/// The cluster's own number, before any release rotates it: the first eight bytes, big-endian, of
/// SHA-256(len(tag) tag len(id) id len(key) key), where a length is one byte.
pub fn base(cluster: &ClusterId) -> Position {
    let mut hash = Sha256::new();
    for field in [TAG, cluster.as_str().as_bytes(), ROTATION_KEY] {
        let length = u8::try_from(field.len()).expect("ids are at most ClusterId::MAX_BYTES long");
        hash.update([length]);
        hash.update(field);
    }
    let digest = hash.finalize();
    Position(u64::from_be_bytes(
        digest[..8].try_into().expect("SHA-256 has 32 bytes"),
    ))
}

/// How far a release rotates the fleet. Pre-releases step like patches, by their last number.
pub fn rotation(version: &Version) -> u64 {
    let minor = version
        .major()
        .wrapping_mul(MINORS_PER_MAJOR)
        .wrapping_add(version.minor());
    let pre = version
        .pre_release()
        .rsplit('.')
        .next()
        .and_then(|n| n.parse::<u64>().ok())
        .map_or(0, |n| n.wrapping_add(1));
    let patch = version.patch().wrapping_add(pre);
    patch
        .wrapping_mul(PER_PATCH)
        .wrapping_add(minor.wrapping_mul(PER_MINOR))
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDS: u64 = 1_000_000;
    const TENTH: u64 = u64::MAX / 10;

    fn id(n: u64) -> ClusterId {
        ClusterId::new(&format!(
            "{:08x}-0000-4000-8000-{n:012x}",
            n.wrapping_mul(2_654_435_761) as u32
        ))
        .unwrap()
    }

    #[test]
    fn golden_vectors() {
        // The same table as docs/positions.md; a change here breaks every rollout that is under way.
        let vectors = include_str!("../../../docs/positions.md");
        let rows = vectors.lines().filter_map(|line| line.strip_prefix("| `"));
        let mut checked = 0;
        for row in rows {
            let cells: Vec<&str> = row
                .split('|')
                .map(|cell| cell.trim().trim_matches('`'))
                .collect();
            let version: Version = cells[1].parse().unwrap();
            let position = Position::of(&ClusterId::new(cells[0]).unwrap(), rotation(&version));
            assert_eq!(format!("{:016x}", position.0), cells[2], "{row}");
            checked += 1;
        }
        assert_eq!(checked, 8);
    }

    #[test]
    fn a_million_ids_are_uniform() {
        let mut positions: Vec<u64> = (0..IDS).map(|n| base(&id(n)).0).collect();
        positions.sort_unstable();
        // Kolmogorov–Smirnov: the largest distance from the diagonal; 1.95/√n is exceeded once in a thousand.
        let distance = positions
            .iter()
            .enumerate()
            .map(|(rank, p)| (*p as f64 / u64::MAX as f64 - rank as f64 / IDS as f64).abs());
        let ks = distance.fold(0.0, f64::max) * (IDS as f64).sqrt();
        assert!(ks < 1.95, "KS statistic {ks}");
        // Chi-square over 1,000 bins; the 99.9 % quantile of 999 degrees of freedom is 1,142.8.
        let mut bins = vec![0u64; 1000];
        positions
            .iter()
            .for_each(|p| bins[((u128::from(*p) * 1000) >> 64) as usize] += 1);
        let expected = IDS as f64 / 1000.0;
        let chi2: f64 = bins
            .iter()
            .map(|n| (*n as f64 - expected).powi(2) / expected)
            .sum();
        assert!((800.0..1142.8).contains(&chi2), "chi-square {chi2}");
    }

    /// How often a cluster at each starting point is in the first tenth, over consecutive releases.
    fn check_fairness(releases: impl Fn(u64) -> String) {
        let rotations: Vec<u64> = (0..40)
            .map(|n| rotation(&releases(n).parse().unwrap()))
            .collect();
        for start in 0..10_000u64 {
            let base = Position(start.wrapping_mul(u64::MAX / 10_000));
            let early: Vec<bool> = rotations
                .iter()
                .map(|r| base.rotated(*r).0 < TENTH)
                .collect();
            assert!(
                early.windows(2).all(|pair| pair != [true, true]),
                "twice in a row from {start}"
            );
            assert!(
                early
                    .windows(10)
                    .all(|ten| ten.iter().filter(|e| **e).count() <= 2),
                "thrice in ten from {start}"
            );
        }
    }

    #[test]
    fn consecutive_patches_share_out_the_first_tenth() {
        check_fairness(|n| format!("4.9.{n}"));
    }

    #[test]
    fn consecutive_minors_share_out_the_first_tenth() {
        check_fairness(|n| format!("4.{n}.0"));
    }

    #[test]
    fn consecutive_candidates_share_out_the_first_tenth() {
        check_fairness(|n| format!("4.10.0-rc.{n}"));
    }

    #[test]
    fn the_numbers_are_the_nearest_odd_ones() {
        let golden = (5f64.sqrt() - 1.0) / 2.0;
        let noble = (5.0 + 5f64.sqrt()) / 10.0;
        assert!((PER_PATCH as f64 / 2f64.powi(64) - golden).abs() < 1e-15 && PER_PATCH % 2 == 1);
        assert!((PER_MINOR as f64 / 2f64.powi(64) - noble).abs() < 1e-15 && PER_MINOR % 2 == 1);
    }
}
