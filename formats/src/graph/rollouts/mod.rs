//! Windows that are running or to come, as text and as JSON.

mod halts;
mod json;
mod outcomes;
mod power;
mod request;
mod stages;
mod text;

pub use halts::{halts_text, with_halts};
pub use json::json;
pub(crate) use json::rollout;
pub use outcomes::{OutcomeDetail, outcomes_text};
pub use power::{power_json, power_text};
pub use request::{FLEET_SIZES, RolloutsRequest, read};
pub use text::{Bars, text};
