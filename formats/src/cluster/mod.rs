//! One cluster: its objects as `oc` prints them, its shape, and what blocks its updates.

pub mod audit_log;
pub mod objects;
pub mod ready;
pub mod removals;
pub mod shape;
