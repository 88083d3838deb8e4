//! What holds for every shape.

use proptest::prelude::*;
use towpath_core::duration::{
    DaemonSet, Estimate, Ground, Machines, MaxUnavailable, NodeGrowth, Parameters, Shape, Spread,
    WaveCost, hop_duration, rollout_seconds,
};

use super::usual;

fn any_parameters() -> impl Strategy<Value = Parameters> {
    let times = (0..9_000_u64, 0..9_000_u64, 0..9_000_u64)
        .prop_map(|(a, b, c)| Spread::new(a, a + b, a + b + c));
    let growth = proptest::option::of((0..5_000_u32, 0..600_u32));
    (times, wave_cost(), growth).prop_map(|(known, wave, growth)| {
        let mut parameters = usual();
        let origin = parameters.wave.origin.clone();
        parameters.growth = growth.map(|(permille, up_to)| NodeGrowth {
            permille,
            up_to,
            origin,
        });
        parameters.patch.spread = known;
        parameters.wave = wave;
        parameters
    })
}

fn wave_cost() -> impl Strategy<Value = WaveCost> {
    let origin = usual().wave.origin;
    (0..60_000_u32, 0..60_000_u32, 0..=20_u32).prop_map(move |(r0, r1, beta)| WaveCost {
        r0: f64::from(r0) / 1_000.0,
        r1: f64::from(r1) / 1_000.0,
        beta: f64::from(beta) / 20.0,
        origin: origin.clone(),
    })
}

fn any_setting() -> impl Strategy<Value = MaxUnavailable> {
    prop_oneof![
        (1..40_u32).prop_map(MaxUnavailable::Count),
        (1..=100_u32).prop_map(MaxUnavailable::Percent)
    ]
}

prop_compose! {
    fn any_shape()(
        masters in 1..6_u32,
        pools in proptest::collection::vec((0..300_u32, 1..40_u32, any::<bool>()), 0..4),
        sets in proptest::option::of(proptest::collection::vec((any_setting(), proptest::option::of(0..2_u8)), 0..4)),
    ) -> Shape {
        let mut shape = Shape::plain(0, MaxUnavailable::Count(1), Ground::Cloud);
        let plain = shape.pools.remove(0);
        shape.control_plane.nodes = masters;
        for (nodes, count, metal) in pools {
            let mut pool = plain.clone();
            pool.nodes = nodes;
            pool.max_unavailable = MaxUnavailable::Count(count);
            pool.machines = Machines::on(if metal { Ground::Metal } else { Ground::Cloud });
            shape.pools.push(pool);
        }
        let set = |(max_unavailable, operator): (_, Option<u8>)| DaemonSet {
            name: "set".to_owned(),
            max_unavailable,
            nodes: None,
            operator: operator.map(|number| number.to_string()),
        };
        shape.daemon_sets = sets.map(|sets| sets.into_iter().map(set).collect());
        shape
    }
}

fn estimate(shape: &Shape, parameters: &Parameters) -> Estimate {
    hop_duration(
        &"4.14.1".parse().unwrap(),
        &"4.14.2".parse().unwrap(),
        shape,
        parameters,
    )
}

fn is_within(a: Spread, b: Spread) -> bool {
    a.low <= b.low && a.likely <= b.likely && a.high <= b.high
}

/// Whether nothing of one estimate is shorter than of another.
fn nothing_is_shorter(before: &Estimate, after: &Estimate) -> bool {
    let pairs = [
        (before.control_plane, after.control_plane),
        (before.masters, after.masters),
        (before.workers, after.workers),
        (before.total, after.total),
    ];
    pairs
        .into_iter()
        .all(|(before, after)| is_within(before, after))
        && before.waves <= after.waves
}

proptest! {
    #[test]
    fn estimates_never_decrease_as_nodes_are_added(
        shape in any_shape(), parameters in any_parameters(), more in 1..50_u32, which in 0..5_usize,
    ) {
        let before = estimate(&shape, &parameters);
        let mut larger = shape;
        match larger.pools.get_mut(which) {
            Some(pool) => pool.nodes += more,
            None => larger.control_plane.nodes += more,
        }
        prop_assert!(nothing_is_shorter(&before, &estimate(&larger, &parameters)));
    }

    #[test]
    fn the_control_plane_never_gets_faster_as_nodes_are_added_whatever_pools_and_daemonsets_allow(
        shape in any_shape(), parameters in any_parameters(), setting in any_setting(), more in 1..50_u32,
    ) {
        let mut shape = shape;
        shape.pools.iter_mut().for_each(|pool| pool.max_unavailable = setting);
        let mut larger = shape.clone();
        larger.pools.iter_mut().for_each(|pool| pool.nodes += more);
        let (before, after) = (estimate(&shape, &parameters), estimate(&larger, &parameters));
        prop_assert!(is_within(before.control_plane, after.control_plane));
    }

    #[test]
    fn a_percentage_never_gets_faster_while_it_lets_as_many_go(
        step in 1..100_u32, nodes in 0..9_u32, percent in 1..=10_u32, parameters in any_parameters(),
    ) {
        let of = |nodes| Shape::plain(nodes, MaxUnavailable::Percent(percent), Ground::Cloud);
        // From one node that brings another to go at once up to before the next.
        let first = (step * 100).div_ceil(percent);
        let (shape, larger) = (of(first + nodes), of(first + nodes + 1));
        prop_assume!(shape.pools[0].at_once() == larger.pools[0].at_once());
        prop_assert!(nothing_is_shorter(&estimate(&shape, &parameters), &estimate(&larger, &parameters)));
    }

    #[test]
    fn estimates_never_decrease_as_max_unavailable_shrinks(
        shape in any_shape(), parameters in any_parameters(), from in any_setting(), less in 1..40_u32,
    ) {
        let smaller = match from {
            MaxUnavailable::Count(count) => MaxUnavailable::Count(count.saturating_sub(less).max(1)),
            MaxUnavailable::Percent(percent) => MaxUnavailable::Percent(percent.saturating_sub(less).max(1)),
        };
        let with = |setting: MaxUnavailable| {
            let mut shape = shape.clone();
            shape.pools.iter_mut().for_each(|pool| pool.max_unavailable = setting);
            shape.daemon_sets.iter_mut().flatten().for_each(|set| set.max_unavailable = setting);
            estimate(&shape, &parameters)
        };
        prop_assert!(nothing_is_shorter(&with(from), &with(smaller)));
    }

    #[test]
    fn daemonsets_never_get_faster_as_nodes_are_added(
        nodes in 0..2_000_u32, setting in any_setting(), cost in wave_cost(),
    ) {
        prop_assert!(rollout_seconds(nodes, setting, &cost) <= rollout_seconds(nodes + 1, setting, &cost));
    }

    #[test]
    fn low_is_not_above_likely_nor_likely_above_high(shape in any_shape(), parameters in any_parameters()) {
        let estimate = estimate(&shape, &parameters);
        for spread in [estimate.control_plane, estimate.masters, estimate.workers, estimate.total] {
            prop_assert!(spread.low <= spread.likely && spread.likely <= spread.high, "{spread:?}");
        }
        prop_assert!(is_within(estimate.control_plane, estimate.total));
        prop_assert!(is_within(estimate.masters, estimate.control_plane));
        prop_assert!(is_within(estimate.total, estimate.control_plane.then(estimate.workers)));
    }
}

/// The one thing that gets shorter, because it does: with a twentieth node, 10 % are two.
#[test]
fn a_pool_that_may_lose_more_at_once_is_faster() {
    let of = |nodes| {
        estimate(
            &Shape::plain(nodes, MaxUnavailable::Percent(10), Ground::Cloud),
            &usual(),
        )
    };
    assert_eq!(
        (of(19).pools[0].iterations, of(20).pools[0].iterations),
        (19, 10)
    );
    assert!(of(20).workers < of(19).workers);
    assert!(of(20).control_plane >= of(19).control_plane);
}
