//! What a watch remembers of its last answer about a release: what it said, and which halts it made or proposed.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use towpath_core::feedback::{Assessment, HaltScope, HaltsSoFar};

use super::record::{AsText, ScopePart, scope_part, scopes};

/// The last answer, as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptJudgement {
    /// The answer and its halts, as one text: two answers that say the same have the same.
    pub said: String,
    pub so_far: HaltsSoFar,
    /// The number of the decision in the log that said it first.
    pub decision: i64,
    /// When it was first said.
    pub since: Timestamp,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Kept {
    said: String,
    made: Vec<ScopePart>,
    proposed: Vec<ScopePart>,
    decision: i64,
    since: AsText<Timestamp>,
}

/// What an assessment says, without what may change with each report, as the time of a halt may: its answer, and each halt.
pub fn said(told: &Assessment) -> String {
    let halts = told.halts.iter().map(|halt| {
        let scope = crate::graph::data::scope_json(&halt.scope);
        format!(" {} {scope}", halt.way.code())
    });
    let held_back = told.held_back.as_ref().map(super::text::held_back_words);
    let halts: String = halts.collect();
    format!(
        "{}{halts}{}",
        told.answer.code(),
        held_back.map_or_else(String::new, |why| format!(" {why}"))
    )
}

pub fn write(kept: &KeptJudgement) -> String {
    let parts = |all: &BTreeSet<HaltScope>| all.iter().map(scope_part).collect();
    let kept = Kept {
        said: kept.said.clone(),
        made: parts(&kept.so_far.made),
        proposed: parts(&kept.so_far.proposed),
        decision: kept.decision,
        since: AsText(kept.since),
    };
    // Texts, numbers and lists: there is nothing in them that JSON cannot say.
    serde_json::to_string(&kept).unwrap_or_default()
}

pub fn read(text: &str) -> Result<KeptJudgement, String> {
    let kept: Kept = serde_json::from_str(text)
        .map_err(|error| format!("a kept answer of the watch cannot be read: {error}"))?;
    Ok(KeptJudgement {
        said: kept.said,
        so_far: HaltsSoFar {
            made: scopes(kept.made)?,
            proposed: scopes(kept.proposed)?,
        },
        decision: kept.decision,
        since: kept.since.0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use towpath_core::feedback::{Bits, FailureRate, Halt, HaltWay, WatchAnswer};
    use towpath_core::version::Minor;

    fn halted(since: &str, way: HaltWay) -> Assessment {
        Assessment {
            release: "4.20.4".parse().unwrap(),
            at: "2026-11-18T18:00:00Z".parse().unwrap(),
            answer: WatchAnswer::Halt,
            halts: vec![Halt {
                scope: HaltScope::default(),
                way,
                since: since.parse().unwrap(),
                evidence: Bits::ONE,
                needed: Bits::ONE,
            }],
            held_back: None,
            tolerated_rate: FailureRate::per_million(50_000),
            scopes: Vec::new(),
        }
    }

    #[test]
    fn a_halt_whose_time_moves_says_nothing_new() {
        let first = halted("2026-11-18T12:00:00Z", HaltWay::AgainstHistory);
        let later = halted("2026-11-18T13:00:00Z", HaltWay::AgainstHistory);
        assert_eq!(said(&first), said(&later));
        let other_way = halted("2026-11-18T12:00:00Z", HaltWay::AgainstOthers);
        assert_ne!(said(&first), said(&other_way));
    }

    #[test]
    fn what_is_kept_is_read_back() {
        let scope = HaltScope {
            from: Minor::parse("4.19"),
            ..HaltScope::default()
        };
        let kept = KeptJudgement {
            said: "halt against-history".to_owned(),
            so_far: HaltsSoFar {
                made: [scope.clone(), HaltScope::default()].into(),
                proposed: [scope].into(),
            },
            decision: 7,
            since: "2026-11-18T12:00:00Z".parse().unwrap(),
        };
        assert_eq!(read(&write(&kept)), Ok(kept));
        assert!(read("{}").unwrap_err().contains("cannot be read"));
    }
}
