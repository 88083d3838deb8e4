//! Who says that there is an edge: the graph alone, or a release's own image, and whether that
//! image is signed.
//!
//! A release image names the releases before and after it. Its digest covers that, and a signature
//! covers the digest. Edges that administrators add are claims of the graph. They may be offered,
//! but the agent does not take them by itself.

use super::{Declares, Edge, Graph, Trust};
use crate::version::Version;

/// Who says that there is an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Provenance {
    #[default]
    Claimed,
    /// The image of a release, and no verified signature covers it.
    Declared(End),
    /// The image of a release whose signature was verified.
    Signed(End),
}

/// Which end of an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// The release it leaves (which names it as next).
    Source,
    /// The release it reaches (which names the other as previous).
    Target,
    Both,
}

/// What one end of an edge has to say: what its image declares, and whether it is verified.
#[derive(Debug, Clone, Copy)]
pub(super) struct EdgeWitness<'a> {
    pub(super) version: &'a Version,
    pub(super) declares: Option<&'a Declares>,
    pub(super) trust: Trust,
}

impl Graph {
    /// Who says that there is this edge. An edge that is not in the graph is nobody's but the asker's.
    pub fn provenance(&self, edge: Edge) -> Provenance {
        let at = self
            .edges
            .binary_search_by(|known| (known.from, known.to).cmp(&(edge.from, edge.to)));
        // Where no image declares anything, nothing is kept.
        at.ok()
            .and_then(|at| self.provenance.get(at))
            .copied()
            .unwrap_or_default()
    }
}

impl Provenance {
    /// The provenance of an edge between these two.
    pub(super) fn of(from: EdgeWitness<'_>, to: EdgeWitness<'_>) -> Self {
        let source = from
            .declares
            .is_some_and(|declares| declares.next.contains(to.version));
        let target = to
            .declares
            .is_some_and(|declares| declares.previous.contains(from.version));
        let signed = (
            source && from.trust == Trust::Verified,
            target && to.trust == Trust::Verified,
        );
        match (End::of(signed), End::of((source, target))) {
            (Some(end), _) => Self::Signed(end),
            (None, Some(end)) => Self::Declared(end),
            (None, None) => Self::Claimed,
        }
    }

    /// A stable name for machines.
    pub fn code(self) -> &'static str {
        match self {
            Self::Claimed => "claimed",
            Self::Declared(_) => "declared",
            Self::Signed(_) => "signed",
        }
    }
}

impl End {
    fn of((source, target): (bool, bool)) -> Option<Self> {
        match (source, target) {
            (true, true) => Some(Self::Both),
            (true, false) => Some(Self::Source),
            (false, true) => Some(Self::Target),
            (false, false) => None,
        }
    }
}
