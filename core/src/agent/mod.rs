//! Automatic updates: what a cluster was offered, how it stands, what its administrators allow, and what is remembered of earlier updates.
//!
//! Nobody who can only write a graph decides here: an image is believed for what is signed, and a time for what is stamped.

mod choose;
mod evidence;
mod follow;
mod memory;
mod policy;
pub mod rules;
mod standing;

pub use choose::{Choice, choose};
pub use evidence::{Evidence, ImageDeclaration, Stamp, Witness};
pub use follow::{UpdateOutcome, follow};
pub use memory::{Course, Memory, StartedUpdate};
pub use policy::{AutomaticPolicy, Downgrades, Pin, RequiredProof};
pub use standing::{
    Advice, ClusterStanding, Condition, OptIn, Past, Status, UpdateOffer, UpdateTarget,
};
