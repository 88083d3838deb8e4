//! Lint: mistakes in readable graph data, found before it is merged.
//!
//! The reader reports what it cannot understand. The checks here look at the rest, one small file
//! each, as pure functions from a [`Subject`] to findings. No check changes what the service does.
//! An error means that the change should not be merged, a warning that somebody should look.
//! [`catalogue`] has all codes, those of the reader too.

mod blind_window;
mod block_twice;
mod blocked_anyway;
pub mod catalogue;
pub(crate) mod declared_risks;
mod empty_ring;
mod file_name;
mod listed_twice;
mod matching_rules;
mod notes;
mod order;
mod pattern;
mod promotion;
mod risk_end;
mod risk_name;
mod risk_text;
mod risk_url;
mod tombstone;
mod unknown_release;

pub use blind_window::blind_windows;
pub use empty_ring::{empty_rings, groups_of_rings};
pub use notes::{BlockNotes, ChannelNotes, Field, NotedRelease, Notes};
pub use promotion::feeding;

use std::collections::BTreeSet;

use crate::finding::{Finding, Place};
use crate::graph::{Block, Graph, GraphData};
use crate::version::Version;

#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    pub data: &'a GraphData,
    /// What else stands in the files, and where.
    pub notes: &'a Notes,
    /// The graph that the data makes of known releases; none if releases are not known.
    pub graph: Option<&'a Graph>,
    pub extent: Extent,
}

/// How much of the data the reader understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    Whole,
    /// Some files, or parts of them, are missing. What compares files would find too much.
    Part,
}

/// A check, and what it needs to be right.
struct Check {
    needs: Needs,
    run: fn(&Subject<'_>) -> Vec<Finding>,
}

enum Needs {
    Files,
    AllFiles,
    /// All files, and the releases.
    Releases,
}

/// All checks. The order does not matter: findings are sorted.
const CHECKS: [Check; 14] = [
    Check {
        needs: Needs::AllFiles,
        run: block_twice::check,
    },
    Check {
        needs: Needs::Releases,
        run: blocked_anyway::check,
    },
    Check {
        needs: Needs::Files,
        run: file_name::check,
    },
    Check {
        needs: Needs::Files,
        run: listed_twice::check,
    },
    Check {
        needs: Needs::Files,
        run: matching_rules::check,
    },
    Check {
        needs: Needs::Files,
        run: order::check,
    },
    Check {
        needs: Needs::AllFiles,
        run: pattern::check,
    },
    Check {
        needs: Needs::AllFiles,
        run: promotion::check,
    },
    Check {
        needs: Needs::AllFiles,
        run: risk_end::check,
    },
    Check {
        needs: Needs::Files,
        run: risk_name::check,
    },
    Check {
        needs: Needs::AllFiles,
        run: risk_text::check,
    },
    Check {
        needs: Needs::Files,
        run: risk_url::check,
    },
    Check {
        needs: Needs::AllFiles,
        run: tombstone::check,
    },
    Check {
        needs: Needs::Releases,
        run: unknown_release::check,
    },
];

/// Everything that the checks find, sorted: errors first, then by place.
pub fn check(subject: &Subject<'_>) -> Vec<Finding> {
    let possible = |needs: &Needs| match needs {
        Needs::Files => true,
        Needs::AllFiles => subject.extent == Extent::Whole,
        Needs::Releases => subject.extent == Extent::Whole && subject.graph.is_some(),
    };
    let mut findings: Vec<Finding> = CHECKS
        .iter()
        .filter(|check| possible(&check.needs))
        .flat_map(|check| (check.run)(subject))
        .collect();
    findings.sort();
    findings.dedup();
    findings
}

impl<'a> Subject<'a> {
    /// Where a field of a block stands; the block itself if that is not known.
    fn place(&self, block: &Block, field: Field) -> Place {
        let notes = self.notes.blocks.get(&block.origin.file);
        notes
            .and_then(|notes| notes.places.get(&field))
            .unwrap_or(&block.origin)
            .clone()
    }

    /// The first release without the problem, and where that is said.
    fn fixed_in(&self, block: &Block) -> Option<&'a NotedRelease> {
        self.notes.blocks.get(&block.origin.file)?.fixed_in.as_ref()
    }

    /// The versions that channels hold.
    pub(crate) fn versions_in_channels(&self) -> BTreeSet<&'a Version> {
        self.data
            .channels
            .iter()
            .flat_map(|channel| &channel.members)
            .map(|member| &member.name.version)
            .collect()
    }
}
