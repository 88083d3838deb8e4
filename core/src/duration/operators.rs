//! When each operator comes to rest in an update, from ClusterOperators that were kept beside a ClusterVersion.
//!
//! A ClusterOperator says since when it has not been progressing. If that lies within the newest completed update, the operator came to
//! rest then for the last time. Reboots of nodes wake operators again, so this is no time that an operator takes by itself.

use std::collections::BTreeMap;

use super::ranks::sorted_quantile;
use super::{Seconds, Spread};

/// An operator of one cluster in one update.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct OperatorRest {
    pub cluster: String,
    pub operator: String,
    /// From the start of the update until it came to rest.
    pub after: Seconds,
    /// How long the update took.
    pub of: Seconds,
}

/// When an operator comes to rest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperatorPhase {
    pub operator: String,
    pub clusters: usize,
    /// P10, P50 and P90, in thousandths of the update's time.
    pub rests_after: Spread,
}

/// One for each operator, the first to rest first.
pub fn operator_phases(rests: &[OperatorRest]) -> Vec<OperatorPhase> {
    let mut shares: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for rest in rests {
        let share = rest.after as f64 * 1_000.0 / rest.of.max(1) as f64;
        shares.entry(&rest.operator).or_default().push(share);
    }
    let mut phases: Vec<OperatorPhase> = shares
        .into_iter()
        .map(|(operator, mut shares)| {
            shares.sort_by(f64::total_cmp);
            let at = |share: f64| sorted_quantile(&shares, share).round() as Seconds;
            OperatorPhase {
                operator: operator.to_owned(),
                clusters: shares.len(),
                rests_after: Spread::new(at(0.1), at(0.5), at(0.9)),
            }
        })
        .collect();
    phases.sort_by(|a, b| {
        let likely = a.rests_after.likely.cmp(&b.rests_after.likely);
        likely.then_with(|| a.operator.cmp(&b.operator))
    });
    phases
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_are_told_in_the_order_in_which_they_come_to_rest() {
        let rest = |cluster: &str, operator: &str, after: Seconds| OperatorRest {
            cluster: cluster.to_owned(),
            operator: operator.to_owned(),
            after,
            of: 4_000,
        };
        let phases = operator_phases(&[
            rest("a", "machine-config", 4_000),
            rest("a", "etcd", 400),
            rest("b", "etcd", 800),
        ]);
        let told: Vec<(&str, usize, Seconds)> = phases
            .iter()
            .map(|phase| (&*phase.operator, phase.clusters, phase.rests_after.likely))
            .collect();
        assert_eq!(told, [("etcd", 2, 150), ("machine-config", 1, 1_000)]);
        assert_eq!(operator_phases(&[]), []);
    }
}
