//! Windows that are running or to come, for people and for machines.

mod json;
mod text;

pub use json::json;
pub use text::{Bars, text};
