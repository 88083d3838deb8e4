//! What a change of graph data means for clients, as text and as JSON.

mod json;
pub mod steering;
mod text;

pub use json::json;
pub use text::{Details, text};
