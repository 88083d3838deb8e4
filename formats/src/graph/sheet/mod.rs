//! Sheets: what `recommend` says about one channel and architecture, compiled for speed.
//!
//! JSON that is the same for everybody is written, and compressed, once. A few open questions
//! depend on the cluster: which ring is it in, which rollout windows has it entered, and which
//! platform is it on? A request answers them (a hash, and a compare each), and the answers pick the pieces of the body.
//! A request copies only small pieces and compresses nothing.
//!
//! A sheet is good for an *epoch*: a span of time in which no release enters and no window ends.
//! Epochs follow from the data alone, so replicas that were started at different times give the
//! same bytes. Compiling is a pure function. `tests/sheet_equals_recommend.rs` holds it equal to
//! `recommend`.

mod answer;
mod compile;
mod piece;

use bytes::Bytes;
use jiff::Timestamp;
use towpath_core::cluster::{Group, Platform};
use towpath_core::graph::{EdgeWindows, Epoch};

pub use answer::{Answers, Body, Client};
pub use compile::compile;
pub use piece::Encoding;
use piece::Piece;

/// One channel and architecture, ready to be served, in one encoding, for one epoch.
#[derive(Debug)]
pub struct Sheet {
    pub epoch: Epoch,
    encoding: Encoding,
    /// Names the sheet's content in entity tags.
    digest: u64,
    questions: Vec<Question>,
    /// Who is in which ring, if a question depends on that; at most [`Ring::MAX`](towpath_core::graph::Ring::MAX).
    rings: Vec<Group>,
    /// The platforms that some edge depends on, sorted; all others are alike.
    platforms: Vec<Platform>,
    /// Each way in which an edge can depend on the cluster.
    gates: Vec<Gate>,
    /// The groups of conditional edges of which not everybody sees each come first, …
    groups: Groups,
    /// … then everything that everybody sees, in one piece, …
    everybody: Piece,
    /// … then the edges that not everybody sees.
    edges: List,
    front: Piece,
    tail: Piece,
}

/// Has this cluster entered that window, or the one of its ring?
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Question {
    windows: EdgeWindows,
    rotation: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Gate {
    /// The number of a question that must be answered with yes; none if there is no question.
    question: Option<u32>,
    /// A bit for each platform of the sheet, then one for all others, then one for unknown.
    platforms: u64,
}

/// A list that is continued: some items may follow those that everybody sees.
#[derive(Debug)]
struct List {
    /// Whether items that everybody sees precede.
    started: bool,
    items: Vec<GatedItem>,
}

#[derive(Debug)]
struct GatedItem {
    gate: usize,
    first: Piece,
    /// The same with a comma before it.
    further: Piece,
}

/// The first groups of a list, of which not everybody sees each.
#[derive(Debug)]
struct Groups {
    /// Whether groups that everybody sees follow; then each ends with a comma of its own.
    followed: bool,
    groups: Vec<EdgeGroup>,
}

/// A group of conditional edges, of which not everybody sees each.
#[derive(Debug)]
struct EdgeGroup {
    first: Piece,
    /// The same with a comma before it.
    further: Piece,
    edges: List,
    close: Piece,
}

impl Sheet {
    /// Whether the sheet is good at that time.
    pub fn covers(&self, now: Timestamp) -> bool {
        self.epoch.covers(now)
    }

    /// The encoding of its bodies.
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// The piece that everybody gets, for an adapter that can send it faster from elsewhere.
    pub fn common_piece(&mut self) -> &mut Bytes {
        &mut self.everybody.bytes
    }

    /// How much of each body all bodies share.
    pub fn common_bytes(&self) -> usize {
        self.everybody.bytes.len()
    }

    /// Roughly what it holds in memory.
    pub fn size(&self) -> usize {
        let lists = self
            .groups
            .groups
            .iter()
            .map(|group| &group.edges)
            .chain([&self.edges]);
        let items = lists
            .flat_map(|list| list.items.iter())
            .flat_map(|item| [&item.first, &item.further]);
        let groups = self
            .groups
            .groups
            .iter()
            .flat_map(|group| [&group.first, &group.further, &group.close]);
        let pieces = [&self.front, &self.everybody, &self.tail]
            .into_iter()
            .chain(items)
            .chain(groups);
        std::mem::size_of::<Self>() + pieces.map(Piece::size).sum::<usize>()
    }
}
