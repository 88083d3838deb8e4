//! What the default scheduler of Kubernetes 1.20 thinks of a node for a pod, in integers.
//!
//! It adds up four plugins of its default configuration, each from 0 to 100: NodeResourcesLeastAllocated,
//! NodeResourcesBalancedAllocation, TaintToleration, and PodTopologySpread twice, with its built-in constraints. The other plugins
//! of that configuration say the same of every node here: they are about images, affinities that are only preferred, and a
//! deprecated annotation.

use crate::cluster::health::Room;

/// The best that a plugin says.
pub(super) const BEST: u64 = 100;
/// How much PodTopologySpread counts.
pub(super) const SPREAD_WEIGHT: u64 = 2;
/// What a pod is taken to ask for that asks for nothing.
const USUAL_CPU_MILLI: u64 = 100;
const USUAL_MEMORY_BYTES: u64 = 200 << 20;
/// Bits of a fraction.
const FRACTION: u32 = 20;
/// The built-in constraints allow so much skew between hosts, and between zones.
const HOST_SKEW: u64 = 3;
const ZONE_SKEW: u64 = 5;

/// CPU and memory as the scheduler weighs them: what asks for nothing counts all the same.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Weight {
    pub(super) cpu_milli: u64,
    pub(super) memory_bytes: u64,
}

impl Weight {
    pub(super) fn of(requests: Room) -> Self {
        let or = |asked: u64, usual: u64| if asked == 0 { usual } else { asked };
        Self {
            cpu_milli: or(requests.cpu_milli, USUAL_CPU_MILLI),
            memory_bytes: or(requests.memory_bytes, USUAL_MEMORY_BYTES),
        }
    }

    pub(super) fn and(self, other: Self) -> Self {
        Self {
            cpu_milli: self.cpu_milli.saturating_add(other.cpu_milli),
            memory_bytes: self.memory_bytes.saturating_add(other.memory_bytes),
        }
    }

    pub(super) fn without(self, other: Self) -> Self {
        Self {
            cpu_milli: self.cpu_milli.saturating_sub(other.cpu_milli),
            memory_bytes: self.memory_bytes.saturating_sub(other.memory_bytes),
        }
    }
}

/// How empty, and how evenly filled, a node of that room would be.
pub(super) fn of_room(with_pod: Weight, room: Room) -> u64 {
    least_allocated(with_pod, room) + balanced(with_pod, room)
}

fn least_allocated(with_pod: Weight, room: Room) -> u64 {
    let free = |asked: u64, all: u64| match all.checked_sub(asked) {
        Some(free) if all > 0 => free.saturating_mul(BEST) / all,
        _ => 0,
    };
    let cpu = free(with_pod.cpu_milli, room.cpu_milli);
    let memory = free(with_pod.memory_bytes, room.memory_bytes);
    u64::midpoint(cpu, memory)
}

fn balanced(with_pod: Weight, room: Room) -> u64 {
    const ONE: u64 = 1 << FRACTION;
    // In KiB, so that the product has room in 64 bits.
    let cpu = part(with_pod.cpu_milli, room.cpu_milli);
    let memory = part(with_pod.memory_bytes >> 10, room.memory_bytes >> 10);
    match cpu >= ONE || memory >= ONE {
        true => 0,
        false => ((ONE - cpu.abs_diff(memory)) * BEST) >> FRACTION,
    }
}

/// A part of the whole, in fractions; all of it, if there is none.
fn part(of: u64, all: u64) -> u64 {
    match of < all {
        true if of >> (64 - FRACTION) == 0 => (of << FRACTION) / all,
        true => of / (all >> FRACTION).max(1),
        false => 1 << FRACTION,
    }
}

/// Counts how many taints a pod would rather avoid, among nodes where most have `most`.
pub(super) fn of_taints(avoided: u64, most: u64) -> u64 {
    match most {
        0 => BEST,
        most => BEST - BEST * avoided / most,
    }
}

/// What PodTopologySpread makes of pods like this one on the host and in its zone, before it is put to scale.
pub(super) fn of_neighbours(on_host: u64, in_zone: u64, logarithms: (u64, u64)) -> u64 {
    let weighed = on_host * logarithms.0 + in_zone * logarithms.1;
    (weighed >> FRACTION) + (HOST_SKEW - 1) + (ZONE_SKEW - 1)
}

/// The same from 0 to 100; fewer neighbours are better.
pub(super) fn to_scale(neighbours: u64, least: u64, most: u64) -> u64 {
    BEST * (most + least - neighbours) / most.max(1)
}

/// The natural logarithms of 0 + 2, 1 + 2, … up to `most` + 2, in fractions.
pub(super) fn logarithms(most: usize) -> Vec<u64> {
    (0..=most).map(|size| ln(size as u64 + 2)).collect()
}

/// The natural logarithm of a number from 2 on, bit by bit: squaring doubles the logarithm.
fn ln(number: u64) -> u64 {
    const BITS: u32 = 30;
    /// ln 2, in 32 bits of fraction.
    const LN_2: u128 = 0xB172_17F8;
    let whole = number.ilog2();
    let mut rest = u128::from(number) << 32 >> whole;
    let mut binary = u128::from(whole);
    for _ in 0..BITS {
        rest = (rest * rest) >> 32;
        let is_over = rest >> 33 > 0;
        binary = binary << 1 | u128::from(is_over);
        rest >>= u32::from(is_over);
    }
    ((binary * LN_2) >> (BITS + 32 - FRACTION)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_are_right_to_five_digits() {
        for (size, log) in logarithms(5_000).into_iter().enumerate() {
            let exact = ((size + 2) as f64).ln() * f64::from(1 << FRACTION);
            assert!((log as f64 - exact).abs() < 8.0, "{size}: {log} {exact}");
        }
    }

    #[test]
    fn an_empty_and_even_node_is_the_best() {
        let room = Room {
            cpu_milli: 4_000,
            memory_bytes: 16 << 30,
            pods: 110,
        };
        let weight = |cpu_milli: u64, gib: u64| Weight {
            cpu_milli,
            memory_bytes: gib << 30,
        };
        for (used, expected) in [
            (weight(0, 0), 100 + 100),
            (weight(1_000, 4), 75 + 100),
            // A quarter of the memory and nothing of the CPU.
            (weight(0, 4), 87 + 75),
            (weight(4_000, 16), 0),
            (weight(5_000, 0), 50),
        ] {
            assert_eq!(of_room(used, room), expected, "{used:?}");
        }
        assert_eq!(of_room(weight(1, 1), Room::default()), 0);
    }

    #[test]
    fn fewer_neighbours_are_better() {
        let logs = logarithms(6);
        let raw = |host: u64, zone: u64| of_neighbours(host, zone, (logs[6], logs[3]));
        // ln 8 is 2.08, and ln 5 is 1.61: 2 + 4 are what the two constraints add.
        assert_eq!([raw(0, 0), raw(1, 0), raw(0, 1), raw(2, 3)], [6, 8, 7, 14]);
        assert_eq!([to_scale(6, 6, 8), to_scale(8, 6, 8)], [100, 75]);
    }
}
