//! One cluster: its objects as `oc` prints them, its shape, and what stands in the way of its updates.

pub mod objects;
pub mod ready;
pub mod shape;
