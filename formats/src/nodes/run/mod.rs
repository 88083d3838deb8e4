//! Reboots of a pool: what people and we write on it, what is seen of it, what is written to nodes, and how far it is.
//!
//! `annotations` has what people set; `record` what we remember; `pool` reads a pool and its nodes as the API has them; `drain` reads the
//! pods of a node; `change` makes the writes; `told` says what came of a pass; `condition` has that as a condition of the pool.

mod annotations;
mod change;
mod condition;
mod drain;
mod pool;
mod record;
mod told;

pub use annotations::{
    AGAIN_AFTER, BACK_WITHIN, DRAIN_WITHIN, HARDEN_AFTER, LOST_AFTER, ORDER, PACE, PODS_WAIT,
    REBOOTS, RECORD, REFUSED_FOR, STATUS,
};
pub use change::{NodeChange, node_changes};
pub use condition::{CONDITION, changed_conditions};
pub use drain::{PodOnNode, pods_of, waiting_since};
pub use pool::{PoolNode, PoolObjects, PoolPlace, RebootPool, is_ours, read_pool};
pub use record::{read_record, written_record};
pub use told::{PoolStatus, RebootPass, Rebooted, act_text, pass_json, pass_text};

/// A node with this label is handed over: the pool beside selects it, and nothing else does.
pub const HANDED: &str = "towpath.dev/reboot";
/// The key of our taint.
pub const MARK: &str = "towpath.dev/reboot";
/// The annotation of a node that we have cordoned; its value is the pool.
pub const CORDONED: &str = "towpath.dev/cordoned-for";
