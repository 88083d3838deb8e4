//! Windows that are running or to come, as text and as JSON.

mod json;
mod power;
mod request;
mod text;

pub use json::json;
pub(crate) use json::rollout;
pub use power::{power_json, power_text};
pub use request::{RolloutsRequest, read};
pub use text::{Bars, text};
