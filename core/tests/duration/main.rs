//! How long updates take: the arithmetic, what must hold for every shape, and what is learnt from histories.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the finding")]

mod checks;
mod estimates;
mod fits;
mod growth;
mod properties;
mod slowest;
mod worlds;

use towpath_core::duration::{
    DaemonSet, Ground, Machines, MaxUnavailable, Parameters, Rollout, Shape, Spread,
};

/// `10` or `10%`.
fn at_once(text: &str) -> MaxUnavailable {
    match text.strip_suffix('%') {
        Some(percent) => MaxUnavailable::Percent(percent.parse().unwrap()),
        None => MaxUnavailable::Count(text.parse().unwrap()),
    }
}

/// A shape, line by line: `masters 3 metal`, `pool worker 250 10% cloud`, `paused infra 3 1 cloud`, `daemons 10%`.
fn shape(text: &str) -> Shape {
    let mut shape = Shape::plain(0, MaxUnavailable::Count(1), Ground::Cloud);
    let plain = shape.pools.remove(0);
    let ground = |word: &str| {
        Machines::on(if word == "metal" {
            Ground::Metal
        } else {
            Ground::Cloud
        })
    };
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        match line.split_whitespace().collect::<Vec<_>>()[..] {
            ["masters", nodes, on] => {
                shape.control_plane.nodes = nodes.parse().unwrap();
                shape.control_plane.machines = ground(on);
            }
            [rollout, name, nodes, max_unavailable, on] => {
                let mut pool = plain.clone();
                pool.name = name.to_owned();
                pool.nodes = nodes.parse().unwrap();
                pool.max_unavailable = at_once(max_unavailable);
                pool.machines = ground(on);
                pool.rollout = if rollout == "paused" {
                    Rollout::Paused
                } else {
                    Rollout::Runs
                };
                shape.pools.push(pool);
            }
            ["daemons", max_unavailable] => {
                let (name, max_unavailable) =
                    (format!("set-{max_unavailable}"), at_once(max_unavailable));
                shape.daemon_sets.get_or_insert_default().push(DaemonSet {
                    name,
                    max_unavailable,
                    nodes: None,
                    operator: None,
                });
            }
            _ => panic!("{line:?} is no part of a shape"),
        }
    }
    shape
}

fn usual() -> Parameters {
    Parameters::usual()
}

/// In minutes, to a tenth.
fn minutes(spread: Spread) -> String {
    let [low, likely, high] =
        [spread.low, spread.likely, spread.high].map(|seconds| seconds as f64 / 60.0);
    format!("{low:>6.1} {likely:>6.1} {high:>6.1}")
}
