//! Plans for nodes, as text, as JSON and as a drawing.

pub mod plan;
