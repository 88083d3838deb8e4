//! Carries out `spec.desiredUpdate`.

use jiff::{Timestamp, Unit};
use semver::Version;
use serde_json::{Value, json};

use super::Behaviour;
use super::conditions::Conditions;
use super::preflight::{is_asked, not_accepted};

/// History is kept this long.
const MAX_HISTORY: usize = 100;

/// Advances a running update by one step, or starts the requested one.
pub(super) fn step(
    spec: &Value,
    status: &mut Value,
    conditions: &mut Conditions,
    behaviour: Behaviour,
    now: Timestamp,
) {
    let time = now.round(Unit::Second).unwrap().to_string();
    let wanted = wanted(spec, status);
    let is_new = wanted
        .as_ref()
        .is_some_and(|wanted| wanted["image"] != status["desired"]["image"]);
    let refusal = wanted
        .as_ref()
        .filter(|_| is_new)
        .and_then(|wanted| refusal(spec, status, conditions, wanted));
    match (wanted, is_new, refusal) {
        (Some(wanted), true, None) => begin(status, conditions, &wanted, &time),
        (Some(wanted), true, Some((reason, message))) => {
            let version = wanted["version"].as_str().unwrap_or_default();
            let message =
                format!("Preconditions failed for payload loaded version=\"{version}\": {message}");
            conditions.set("ReleaseAccepted", "False", reason, &message);
            go_on(status, conditions, behaviour, &time);
        }
        _ => go_on(status, conditions, behaviour, &time),
    }
}

/// The newest release that was reached.
pub(super) fn current(status: &Value) -> Option<String> {
    let history = status["history"].as_array()?;
    let reached = history
        .iter()
        .find(|entry| entry["state"] == "Completed")
        .or(history.first())?;
    reached["version"].as_str().map(str::to_owned)
}

/// The release that `desiredUpdate` names, with all that is known of it.
fn wanted(spec: &Value, status: &Value) -> Option<Value> {
    if is_asked(spec) {
        return None;
    }
    let desired = &spec["desiredUpdate"];
    let text = |name: &str| desired[name].as_str().filter(|text| !text.is_empty());
    let conditional = status["conditionalUpdates"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|update| &update["release"]);
    let mut offered = status["availableUpdates"]
        .as_array()
        .into_iter()
        .flatten()
        .chain(conditional);
    let known =
        offered.find(|release| text("version").is_none_or(|version| release["version"] == version));
    match (text("image"), text("version"), known) {
        (Some(image), _, Some(known)) if known["image"] == image => Some(known.clone()),
        (Some(image), Some(version), _) => Some(json!({"version": version, "image": image})),
        (None, Some(_), Some(known)) => Some(known.clone()),
        _ => None,
    }
}

/// Why a real cluster would refuse the update. A forced update is never refused.
fn refusal(
    spec: &Value,
    status: &Value,
    conditions: &Conditions,
    wanted: &Value,
) -> Option<(&'static str, String)> {
    if spec["desiredUpdate"]["force"] == true {
        return None;
    }
    let open = not_accepted(spec, status, &wanted["image"]);
    if !open.is_empty() {
        return Some((
            "UnacceptedRisks",
            format!("it is exposed to unaccepted risks {open:?}"),
        ));
    }
    let parse = |text: &str| Version::parse(text).ok();
    let from = current(status).as_deref().and_then(parse)?;
    let to = wanted["version"].as_str().and_then(parse)?;
    let minors = |version: &Version| (version.major, version.minor);
    let history = status["history"].as_array().map_or(&[][..], Vec::as_slice);
    let mut reached = history.iter().filter(|entry| entry["state"] == "Completed");
    let previous = reached
        .nth(1)
        .and_then(|entry| entry["version"].as_str())
        .and_then(parse);
    let is_back = to < from;
    match (is_back, minors(&to) == minors(&from)) {
        (true, true) if previous.as_ref() == Some(&to) => None,
        (true, _) => Some((
            "PreconditionChecks",
            format!(
                "{to} is less than the current {from}, and the only supported rollback is to the previous version within the minor"
            ),
        )),
        (false, true) => None,
        (false, false) if to.minor > from.minor + 1 => Some((
            "PreconditionChecks",
            format!("{from} to {to} skips a minor version"),
        )),
        (false, false) if conditions.status("Upgradeable") == "False" => Some((
            "PreconditionChecks",
            "Cluster should not be upgraded between minor versions".to_owned(),
        )),
        (false, false) => None,
    }
}

fn begin(status: &mut Value, conditions: &mut Conditions, wanted: &Value, time: &str) {
    let version = wanted["version"].as_str().unwrap_or_default().to_owned();
    let mut history = status["history"].as_array().cloned().unwrap_or_default();
    // What was under way stays Partial, and ends here.
    if let Some(last) = history
        .first_mut()
        .filter(|entry| entry["completionTime"].is_null())
    {
        last["completionTime"] = time.into();
    }
    history.insert(
        0,
        json!({
            "state": "Partial", "startedTime": time, "completionTime": null,
            "version": wanted["version"], "image": wanted["image"], "verified": true,
        }),
    );
    history.truncate(MAX_HISTORY);
    status["history"] = history.into();
    status["desired"] = wanted.clone();
    conditions.set(
        "ReleaseAccepted",
        "True",
        "PayloadLoaded",
        &format!("Payload loaded version=\"{version}\""),
    );
    conditions.set(
        "Progressing",
        "True",
        "",
        &format!("Working towards {version}: 1 of 800 done"),
    );
    conditions.set("Failing", "False", "", "");
}

fn go_on(status: &mut Value, conditions: &mut Conditions, behaviour: Behaviour, time: &str) {
    let version = status["desired"]["version"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let is_under_way = status["history"][0]["state"] == "Partial";
    match (is_under_way, behaviour) {
        (false, _) | (true, Behaviour::Hangs) => {}
        (true, Behaviour::Completes) => {
            status["history"][0]["state"] = "Completed".into();
            status["history"][0]["completionTime"] = time.into();
            conditions.set(
                "Progressing",
                "False",
                "",
                &format!("Cluster version is {version}"),
            );
            conditions.set("Failing", "False", "", "");
            conditions.set("Available", "True", "", &format!("Done applying {version}"));
        }
        (true, Behaviour::Fails) => {
            conditions.set(
                "Failing",
                "True",
                "ClusterOperatorDegraded",
                "Cluster operator etcd is degraded",
            );
            let message =
                format!("Unable to apply {version}: the cluster operator etcd is degraded");
            conditions.set("Progressing", "True", "ClusterOperatorDegraded", &message);
        }
    }
}
