//! Simulated worlds: fleets whose updates take what is known here, drawn from a seed.

use towpath_core::duration::Update;

/// Numbers as if by chance, the same each time (SplitMix64).
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// From 0 to 1, both excluded.
    pub(crate) fn share(&mut self) -> f64 {
        ((self.next() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    pub(crate) fn normal(&mut self) -> f64 {
        (-2.0 * self.share().ln()).sqrt() * (std::f64::consts::TAU * self.share()).cos()
    }

    /// Seconds around a median, in minutes, with a spread on the logarithmic scale.
    pub(crate) fn seconds(&mut self, median_minutes: f64, sigma: f64) -> u64 {
        (median_minutes * 60.0 * (sigma * self.normal()).exp()).round() as u64
    }
}

/// A fleet and the truth about its updates.
#[derive(Clone, Copy)]
pub(crate) struct World {
    pub(crate) clusters: usize,
    /// How many updates each cluster has had before the one to the release in question.
    pub(crate) earlier: usize,
    /// How many clusters have taken that one.
    pub(crate) to_it: usize,
    /// How many times as long it takes.
    pub(crate) slow_down: f64,
    /// How many times as long it takes for each hundred nodes more: 0.4 is 40 % longer.
    pub(crate) growth: f64,
    /// On the logarithmic scale: from cluster to cluster, and from update to update.
    pub(crate) between: f64,
    pub(crate) within: f64,
    /// One update in so many hangs, and takes several times as long. 0: none.
    pub(crate) hangs: u64,
}

/// The release in question.
pub(crate) const RELEASE: &str = "4.15.90";

impl Default for World {
    fn default() -> Self {
        Self {
            clusters: 400,
            earlier: 3,
            to_it: 200,
            slow_down: 1.0,
            growth: 0.4,
            between: 0.25,
            within: 0.3,
            hangs: 40,
        }
    }
}

/// What patches of each minor version take, and the step to it, in minutes on a cluster of six nodes.
pub(crate) const MEDIANS: [(u64, f64, f64); 4] = [
    (12, 55.0, 80.0),
    (13, 70.0, 95.0),
    (14, 60.0, 130.0),
    (15, 85.0, 100.0),
];

impl World {
    pub(crate) fn updates(&self, seed: u64) -> Vec<Update> {
        let mut chance = Chance(seed.wrapping_mul(0x2545_F491_4F6C_DD1D).wrapping_add(1));
        let mut updates = Vec::new();
        for cluster in 0..self.clusters {
            // From three nodes to about five hundred, most of them small.
            let nodes = (3.0 * (5.1 * chance.share() * chance.share().sqrt()).exp()).round();
            let habit = self.between * chance.normal();
            let mut take = |from: String, to: String, median: f64, chance: &mut Chance| {
                let grown = 1.0 + self.growth * (nodes - 6.0).max(0.0) / 100.0;
                let hangs = self.hangs > 0 && chance.next().is_multiple_of(self.hangs);
                let hung = if hangs {
                    2.0 + 6.0 * chance.share()
                } else {
                    1.0
                };
                let noise = (habit + self.within * chance.normal()).exp();
                updates.push(Update {
                    cluster: format!("cluster-{cluster}"),
                    started: "2026-01-01T00:00:00Z".parse().unwrap(),
                    from: from.parse().unwrap(),
                    to: to.parse().unwrap(),
                    seconds: (median * 60.0 * grown * hung * noise).round() as u64,
                    nodes: Some(nodes as u32),
                });
            };
            for n in 0..self.earlier {
                let (minor, patch, step) = MEDIANS[(chance.next() % 4) as usize];
                let target = 20 + 10 * n as u64 + chance.next() % 4;
                match chance.next() % 3 {
                    0 => take(
                        format!("4.{}.{n}", minor - 1),
                        format!("4.{minor}.{target}"),
                        step,
                        &mut chance,
                    ),
                    _ => take(
                        format!("4.{minor}.{n}"),
                        format!("4.{minor}.{target}"),
                        patch,
                        &mut chance,
                    ),
                }
            }
            if cluster < self.to_it {
                let (_, patch, step) = MEDIANS[3];
                match chance.next() % 2 {
                    0 => take(
                        "4.14.70".into(),
                        RELEASE.into(),
                        step * self.slow_down,
                        &mut chance,
                    ),
                    _ => take(
                        "4.15.70".into(),
                        RELEASE.into(),
                        patch * self.slow_down,
                        &mut chance,
                    ),
                }
            }
        }
        updates
    }
}
