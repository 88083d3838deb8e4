//! A file whose name does not match its content: a copy that was renamed or only half edited.
//!
//! The service ignores file names. But people search by them, and find the wrong file.

use super::{Field, Subject};
use crate::finding::{Finding, Place};
use crate::graph::{Block, ChannelSpec};

const CODE: &str = "misleading-file-name";

pub(super) fn check(subject: &Subject<'_>) -> Vec<Finding> {
    let blocks = subject
        .data
        .blocks
        .iter()
        .filter(|block| !names_target(block))
        .map(|block| {
            let problem = format!(
                "the file's name does not have {}, the release that it blocks",
                block.to.version
            );
            let remedy = format!(
                "correct `to`, or rename the file to begin with {}",
                block.to.version
            );
            Finding::warning(CODE, subject.place(block, Field::To), problem, remedy)
        });
    // A file of schema 2.0.0 has several channels, and a name of its own.
    let is_single = |channel: &&ChannelSpec| {
        let without_start = channel.members.iter().all(|member| member.start.is_none());
        without_start && !channel.members.is_empty() && channel.rollouts.is_empty()
    };
    let single = subject.data.channels.iter().filter(is_single);
    let channels = single
        .filter(|channel| stem(&channel.origin) != channel.name.as_str())
        .map(misnamed);
    blocks.chain(channels).collect()
}

/// Whether the name of the file has the target's version, and not merely the beginning of a longer one.
fn names_target(block: &Block) -> bool {
    let (stem, version) = (stem(&block.origin), block.to.version.to_string());
    stem.match_indices(&version).any(|(at, _)| {
        let before = stem[..at].chars().next_back();
        let after = stem[at + version.len()..].chars().next();
        let ends = |c: Option<char>| c.is_none_or(|c| !c.is_ascii_digit());
        ends(before) && ends(after)
    })
}

fn misnamed(channel: &ChannelSpec) -> Finding {
    let problem = format!("the file declares channel {}", channel.name);
    let remedy = format!(
        "correct its `name`, or rename the file to {}.yaml",
        channel.name
    );
    Finding::warning(CODE, channel.origin.clone(), problem, remedy)
}

fn stem(place: &Place) -> &str {
    let name = place.file.rsplit('/').next().unwrap_or(&place.file);
    name.strip_suffix(".yaml")
        .or(name.strip_suffix(".yml"))
        .unwrap_or(name)
}
