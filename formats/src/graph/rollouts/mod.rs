//! Windows that are running or to come, as text and as JSON.

mod json;
mod text;

pub use json::json;
pub use text::{Bars, text};
