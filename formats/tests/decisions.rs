//! Decisions that an older Towpath stored still replay, and what we cannot read says so.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the finding")]

use jiff::Timestamp;
use serde_json::{Value, json};
use towpath_core::fleet::{Decision, FleetPlanner, dispatch};
use towpath_formats::fleet::input;
use towpath_formats::fleet::log::{self, Replay};

/// Stored by the Towpath before reasons had one type: a start, and a plan that a new block cancels.
const FIRST_FORMAT: [&str; 2] = [
    include_str!("decisions/format-1-1.json"),
    include_str!("decisions/format-1-2.json"),
];

fn again(stored: &Value) -> (FleetPlanner, Decision) {
    let parts = stored["parts"].as_object().unwrap();
    let parts = parts
        .iter()
        .map(|(name, body)| (name.as_str(), body.as_str().unwrap().as_bytes()));
    let at = Timestamp::from_nanosecond(stored["at"].as_i64().unwrap().into()).unwrap();
    dispatch(input::from_parts(parts).unwrap(), at)
}

#[test]
fn decisions_of_the_first_format_replay() {
    for text in FIRST_FORMAT {
        let stored: Value = serde_json::from_str(text).unwrap();
        let (desk, decision) = again(&stored);
        let made = log::logged(&decision, &desk);
        let body = stored["body"].as_str().unwrap().as_bytes();
        assert_eq!(
            log::replay(body, &made),
            Ok(Replay::SameButWords),
            "{made:#}"
        );
        let mut other = made.clone();
        other["verdicts"] = json!("0");
        assert_eq!(log::replay(body, &other), Ok(Replay::Different));
        other = made;
        other["cancels"] = json!([{"upgrade": 7, "verdict": null}]);
        assert_eq!(
            log::replay(body, &other),
            Ok(Replay::Different),
            "what is cancelled counts"
        );
    }
}

#[test]
fn a_decision_of_today_is_compared_to_the_bit_and_one_of_tomorrow_is_not_spoken() {
    let (desk, decision) = again(&serde_json::from_str(FIRST_FORMAT[1]).unwrap());
    let made = log::logged(&decision, &desk);
    assert_eq!(
        log::replay(made.to_string().as_bytes(), &made),
        Ok(Replay::Same)
    );
    let mut other = made.clone();
    other["cancels"][0]["verdict"]["reasons"][0]["text"] = json!("another word");
    assert_eq!(
        log::replay(other.to_string().as_bytes(), &made),
        Ok(Replay::SameButWords)
    );
    other["cancels"][0]["verdict"]["reasons"][0]["code"] = json!("AnotherCode");
    assert_eq!(
        log::replay(other.to_string().as_bytes(), &made),
        Ok(Replay::Different)
    );
    other["format"] = json!(3);
    let problem = log::replay(other.to_string().as_bytes(), &made).unwrap_err();
    assert_eq!(
        problem,
        "it has the format 3, and this towpath speaks 1 and 2"
    );
}
