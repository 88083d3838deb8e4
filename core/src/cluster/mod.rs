//! One cluster: its facts, the sequence of updates it would take, and what its own objects have
//! against that.

mod accepted;
pub mod facts;
mod gate;
mod groups;
pub mod health;
pub mod objects;
pub mod placement;
mod ready;
pub mod rules;
pub mod way;

pub use accepted::{AcceptedReasons, NotAccepted};
pub use facts::{Cluster, ClusterId, Fact, Platform};
pub use gate::{UpgradeableGate, gate};
pub use groups::{Group, Groups};
pub use ready::{PoolTasks, Readiness, ReadyHop, Task, pool_tasks, ready, ready_but_for};
