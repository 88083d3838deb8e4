//! What the fit learns of nodes and of minor versions, and how its bounds hold on clusters that it has not seen.

use towpath_core::duration::{Basis, MinorStep, Update, fit, hop_duration};

use super::worlds::{MEDIANS, World};
use super::{shape, usual};

#[test]
fn the_growth_with_nodes_is_learnt_and_so_is_each_minor() {
    for (seed, growth) in [(1, 0.0), (2, 0.4), (3, 1.5)] {
        let world = World {
            clusters: 600,
            earlier: 4,
            to_it: 0,
            growth,
            ..World::default()
        };
        let fit = fit(&world.updates(seed), &usual());
        let learnt = fit.parameters.growth.as_ref().unwrap();
        let off = f64::from(learnt.permille) / 1_000.0 - growth;
        assert!(off.abs() <= 0.15 * growth.max(0.4), "{growth}: {learnt:?}");
        for (minor, patch, step) in MEDIANS {
            let steps = [((4, minor), patch), ((4, minor - 1), step)];
            for (from, median) in steps {
                let basis = Basis::Step(MinorStep {
                    from,
                    to: (4, minor),
                });
                let group = fit
                    .groups
                    .iter()
                    .find(|group| group.basis == basis)
                    .unwrap();
                let ratio = group.fitted.likely as f64 / (median * 60.0);
                assert!((0.88..1.12).contains(&ratio), "{basis}: {ratio}");
            }
        }
    }
}

/// Below low lie 8 to 12 of a hundred, and below the P90 88 to 92: in calm worlds, in rough ones, and of all sizes.
#[test]
fn of_updates_that_were_held_out_a_tenth_lies_beyond_each_bound() {
    let worlds = [
        World::default(),
        World {
            within: 0.1,
            between: 0.1,
            hangs: 0,
            ..World::default()
        },
        World {
            within: 0.6,
            hangs: 10,
            ..World::default()
        },
        World {
            growth: 2.0,
            between: 0.5,
            ..World::default()
        },
    ];
    for (seed, world) in worlds.into_iter().enumerate() {
        let world = World {
            clusters: 700,
            to_it: 0,
            ..world
        };
        let calibration = fit(&world.updates(seed as u64), &usual()).calibration;
        let (low, high) = (calibration.p10.fraction(), calibration.p90.fraction());
        assert!((0.08..=0.12).contains(&low), "{seed}: {calibration:?}");
        assert!((0.88..=0.92).contains(&high), "{seed}: {calibration:?}");
    }
    // A fleet has a few hundred updates. One may be off by chance; many of them together are not.
    let (mut low, mut high, mut all) = (0, 0, 0);
    for seed in 100..120 {
        let world = World {
            clusters: 60,
            to_it: 0,
            ..World::default()
        };
        let calibration = fit(&world.updates(seed), &usual()).calibration;
        low += calibration.p10.within;
        high += calibration.p90.within;
        all += calibration.p90.of;
    }
    let share = |within: usize| within as f64 / all as f64;
    assert!((0.08..=0.12).contains(&share(low)), "{}", share(low));
    assert!((0.88..=0.92).contains(&share(high)), "{}", share(high));
}

#[test]
fn clusters_of_one_size_teach_nothing_about_sizes() {
    let world = World {
        to_it: 0,
        ..World::default()
    };
    let alike = |nodes: Option<u32>| -> Vec<Update> {
        let updates = world.updates(5).into_iter();
        updates.map(|update| Update { nodes, ..update }).collect()
    };
    for nodes in [None, Some(40)] {
        assert_eq!(fit(&alike(nodes), &usual()).parameters.growth, None);
    }
}

#[test]
fn what_was_learnt_of_nodes_replaces_the_usual_daemonset_as_far_as_it_goes() {
    let world = World {
        clusters: 600,
        earlier: 4,
        to_it: 0,
        growth: 0.4,
        ..World::default()
    };
    let parameters = fit(&world.updates(2), &usual()).parameters;
    let control_plane = |nodes: u32, daemons: &str| {
        let shape = shape(&format!("pool worker {nodes} 10% cloud\n{daemons}"));
        let (from, to) = ("4.14.1".parse().unwrap(), "4.15.2".parse().unwrap());
        hop_duration(&from, &to, &shape, &parameters)
            .control_plane
            .likely
    };
    let ratio = control_plane(103, "") as f64 / control_plane(3, "") as f64;
    assert!((1.3..1.5).contains(&ratio), "{ratio}");
    // One at a time, the cluster's own DaemonSets take longer than others' histories say.
    assert!(control_plane(103, "daemons 1\ndaemons 1") > control_plane(103, "") + 300);
}
