//! Goals: where each release should be able to go. The newest release of its minor version, and
//! the channel's head.
//!
//! The newest is the newest *final* release that is not older. A pre-release (rc, fc, ec) is a
//! goal only if there is no such release. So 4.20.5 is not stranded because no path leads to
//! 4.21.0-ec.0. And 4.21.0-ec.0 should reach 4.21.0-ec.3 and, once there is one, the newest 4.21.

use super::search_space::ChannelSteps;

/// For each member: the newest of its minor version, and the channel's head.
pub(super) fn goals(space: &ChannelSteps<'_>) -> Vec<[u32; 2]> {
    let head = Newest::among(space, &space.members);
    let of_one_minor = |a: &u32, b: &u32| space.version(*a).same_minor(space.version(*b));
    let minors = space.members.chunk_by(of_one_minor);
    let of_minor = |members: &[u32]| -> Vec<[u32; 2]> {
        let minor = Newest::among(space, members);
        let goals = |member: &u32| [minor.seen_from(*member), head.seen_from(*member)];
        members.iter().map(goals).collect()
    };
    minors.flat_map(of_minor).collect()
}

/// The newest of some members.
struct Newest {
    any: Option<u32>,
    last_final: Option<u32>,
}

impl Newest {
    fn among(space: &ChannelSteps<'_>, members: &[u32]) -> Self {
        let is_final = |member: &&u32| space.version(**member).pre_release().is_empty();
        Self {
            any: members.last().copied(),
            last_final: members.iter().rev().find(is_final).copied(),
        }
    }

    fn seen_from(&self, member: u32) -> u32 {
        let is_newer = |newest: &u32| *newest >= member;
        let newest = self.last_final.filter(is_newer).or(self.any);
        newest.unwrap_or(member)
    }
}
