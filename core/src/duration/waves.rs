//! DaemonSets roll out in waves: a number of pods at once, then the next.
//!
//! A wave of u pods takes r0 + r1·u^β seconds. It costs more as it grows, but less than several
//! small ones. With β from 0 to 1, a rollout never gets slower if more pods may be away, and never
//! faster if nodes are added.

use super::exact::power;
use super::{MaxUnavailable, Seconds, WaveCost};

/// How long a DaemonSet takes on a number of nodes.
///
/// Of a percentage, the longest of any smaller cluster counts too: it rounds up, so that the eleventh node at 10 % lets
/// two pods go at once. A larger cluster is never said to be faster for that.
pub fn rollout_seconds(nodes: u32, max_unavailable: MaxUnavailable, cost: &WaveCost) -> Seconds {
    let at_once = max_unavailable.rounded_up(nodes);
    let milliseconds = match max_unavailable {
        MaxUnavailable::Count(_) => in_waves(nodes, at_once, cost),
        MaxUnavailable::Percent(percent) => {
            let largest = |at_once: u32| {
                (u64::from(at_once) * 100 / u64::from(percent.max(1))).min(u64::from(nodes))
            };
            let up_to = |at_once: u32| {
                in_waves(
                    u32::try_from(largest(at_once)).unwrap_or(nodes),
                    at_once,
                    cost,
                )
            };
            (1..=at_once).map(up_to).max().unwrap_or(0)
        }
    };
    milliseconds.saturating_add(500) / 1_000
}

/// Waves of a number of pods, and one with the rest, in milliseconds.
fn in_waves(nodes: u32, at_once: u32, cost: &WaveCost) -> u64 {
    let (full, left) = (nodes / at_once, nodes % at_once);
    let last = if left == 0 { 0.0 } else { wave(left, cost) };
    ((f64::from(full) * wave(at_once, cost) + last) * 1_000.0).round() as u64
}

/// One wave, in seconds.
fn wave(pods: u32, cost: &WaveCost) -> f64 {
    cost.r0 + cost.r1 * power(f64::from(pods), cost.beta)
}
