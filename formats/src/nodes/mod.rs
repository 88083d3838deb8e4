//! Nodes: plans for their reboots, and pools that have opted in to them, as text, as JSON and as a drawing.

pub mod plan;
pub mod run;
