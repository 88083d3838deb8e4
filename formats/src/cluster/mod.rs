//! One cluster: its objects as `oc` prints them, its shape, and what blocks its updates.

pub mod objects;
pub mod ready;
pub mod shape;
