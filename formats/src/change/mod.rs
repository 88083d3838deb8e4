//! What a change of graph data means for clients, for people and for machines.

mod json;
mod text;

pub use json::json;
pub use text::{Details, text};
