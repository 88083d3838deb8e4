//! Goals: where each release should be able to go. The newest of its minor version, and the channel's head.
//!
//! The newest is the newest *final* release that is not older; a pre-release (rc, fc, ec) is a goal only where there is no such
//! release. So nobody on 4.20.5 is called stranded for want of a way to 4.21.0-ec.0, and who tries 4.21.0-ec.0 should get
//! to 4.21.0-ec.3 and, once there is one, to the newest 4.21.

use super::ground::Ground;

/// For each member: the newest of its minor version, and the channel's head.
pub(super) fn goals(ground: &Ground<'_>) -> Vec<[u32; 2]> {
    let end = ground.members.len() as u32;
    let head = Newest::among(ground, 0, end);
    let mut goals = Vec::with_capacity(end as usize);
    let mut begin = 0;
    while begin < end {
        let of_minor = |member: &u32| ground.version(*member).same_minor(ground.version(begin));
        let next = (begin..end).find(|member| !of_minor(member)).unwrap_or(end);
        let minor = Newest::among(ground, begin, next);
        goals.extend((begin..next).map(|member| [minor.seen_from(member), head.seen_from(member)]));
        begin = next;
    }
    goals
}

/// The newest of some members.
struct Newest {
    any: u32,
    last_final: Option<u32>,
}

impl Newest {
    /// Of the members from `begin` up to `end`, of which there is at least one where it is asked for.
    fn among(ground: &Ground<'_>, begin: u32, end: u32) -> Self {
        let is_final = |member: &u32| ground.version(*member).pre_release().is_empty();
        Self {
            any: end.saturating_sub(1),
            last_final: (begin..end).rev().find(is_final),
        }
    }

    fn seen_from(&self, member: u32) -> u32 {
        self.last_final
            .filter(|newest| *newest >= member)
            .unwrap_or(self.any)
    }
}
