//! How far a run is, as a condition of its pool: for `oc wait`, `oc describe`, and whoever reads conditions.
//!
//! The machine-config operator keeps conditions that it does not know. It writes the others, so only ours is changed, over what was read.

use jiff::{Timestamp, Unit};
use serde_json::{Value, json};

use super::told::PoolStatus;
use crate::fields::text;

/// Ours. It is True while a run goes on, and its reason is the code of what is told.
pub const CONDITION: &str = "TowpathReboots";
/// The codes of a run that goes on.
const GOES_ON: [&str; 3] = ["RebootsUnderWay", "RebootsFinishing", "RebootsUndoing"];
/// The longest message, in bytes.
const MAX_MESSAGE: usize = 2_048;

/// The conditions as they are to be, with what is told of the run; none if they are so already. Without anything to tell, ours goes.
pub fn changed_conditions(
    conditions: &[Value],
    told: Option<&PoolStatus>,
    now: Timestamp,
) -> Option<Vec<Value>> {
    let is_ours = |one: &&Value| text(one, "/type") == CONDITION;
    let before = conditions.iter().find(is_ours);
    let now = told.map(|told| condition(told, before, now));
    let says =
        |one: &Value| ["/status", "/reason", "/message"].map(|field| text(one, field).to_owned());
    if before.map(says) == now.as_ref().map(says) {
        return None;
    }
    let others = conditions.iter().filter(|one| !is_ours(one)).cloned();
    Some(others.chain(now).collect())
}

fn condition(told: &PoolStatus, before: Option<&Value>, now: Timestamp) -> Value {
    let status = match GOES_ON.contains(&told.code.as_str()) {
        true => "True",
        false => "False",
    };
    let since = before.filter(|before| text(before, "/status") == status);
    let since = since.map(|before| text(before, "/lastTransitionTime").to_owned());
    let seconds = || now.round(Unit::Second).unwrap_or(now).to_string();
    json!({
        "type": CONDITION,
        "status": status,
        "reason": told.code,
        "message": message(told),
        "lastTransitionTime": since.unwrap_or_else(seconds),
    })
}

/// What is told, then each reason with its code, in one line.
fn message(told: &PoolStatus) -> String {
    let mut message = told.text.clone();
    for reason in &told.reasons {
        let one = format!("; {}: {}", reason.code, reason.text);
        if message.len() + one.len() > MAX_MESSAGE {
            message.push_str("; and more");
            break;
        }
        message.push_str(&one);
    }
    message
}
