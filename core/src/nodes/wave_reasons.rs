//! How far a DaemonSet in waves is, as reasons: what goes into its annotation, its Events and the answer of a pass.

use super::daemon_rollout::DaemonProgress;
use crate::verdict::{Code, Reason, Value};

static CANARIES: Code = Code::new(
    "WavesCanaries",
    "the canaries go first: {ready} of {of} have a ready pod of the new revision",
    "nothing to do",
)
.note()
.with(&FACTS);

static SOAKING: Code = Code::new(
    "WavesSoaking",
    "every canary has a ready pod of the new revision; others follow after the soak",
    "nothing to do",
)
.note()
.with(&FACTS);

static UNDER_WAY: Code = Code::new(
    "WavesUnderWay",
    "{updated} of {nodes|node|nodes} have a ready pod of the new revision",
    "nothing to do",
)
.note()
.with(&FACTS);

static HELD: Code = Code::new(
    "WavesHeld",
    "{away|node is|nodes are} without a ready pod for reasons of their own, and {limit} may be at once",
    "repair those nodes, or allow more in the annotation towpath.dev/waves-at-most-away",
)
.with(&FACTS);

static ROLLING_BACK: Code = Code::new(
    "WavesRollingBack",
    "the new revision failed ({why}); {left|node|nodes} still have to go back",
    "nothing to do; nobody tries this revision again",
)
.with(&FACTS);

static ROLLED_BACK: Code = Code::new(
    "WavesRolledBack",
    "the new revision failed ({why}), and every pod is as it was",
    "find out why it failed, and set another template",
)
.with(&FACTS);

static STUCK: Code = Code::new(
    "WavesStuck",
    "the revision failed ({why}), and there is none to go back to",
    "set a template that works",
)
.with(&FACTS);

static DONE: Code = Code::new(
    "WavesDone",
    "every node has a ready pod of the newest revision",
    "nothing to do",
)
.note()
.with(&FACTS);

static NOT_OBSERVED: Code = Code::new(
    "WavesNotObserved",
    "the DaemonSet controller has not seen the newest template yet",
    "wait; if it stays, see whether the kube-controller-manager runs",
)
.with(&FACTS);

static COUNTS_DIFFER: Code = Code::new(
    "WavesCountsDiffer",
    "the DaemonSet controller counts other nodes than we see: {counted} instead of {seen}",
    "wait; nodes come or go, or their taints have changed. Nothing is deleted until both agree",
)
.with(&FACTS);

const FACTS: [(&str, &str); 10] = [
    ("ready", "2"),
    ("of", "6"),
    ("nodes", "250"),
    ("updated", "40"),
    ("away", "3"),
    ("limit", "25"),
    ("left", "2"),
    ("why", "agent-x7k2p on worker-4: CrashLoopBackOff"),
    ("counted", "249"),
    ("seen", "250"),
];

/// Every code of this file, in the order of the manual.
pub(crate) fn wave_codes() -> Vec<&'static Code> {
    vec![
        &CANARIES,
        &SOAKING,
        &UNDER_WAY,
        &HELD,
        &ROLLING_BACK,
        &ROLLED_BACK,
        &STUCK,
        &DONE,
        &NOT_OBSERVED,
        &COUNTS_DIFFER,
    ]
}

impl DaemonProgress {
    pub fn reason(&self) -> Reason {
        let number = |number: usize| Value::Number(number as u64);
        match self {
            Self::Canaries { ready, of } => {
                CANARIES.because([("ready", number(*ready)), ("of", number(*of))])
            }
            Self::Soaking { until } => SOAKING.alone().until(*until),
            Self::Waves { updated, of } => {
                UNDER_WAY.because([("updated", number(*updated)), ("nodes", number(*of))])
            }
            Self::Held { away, limit } => {
                HELD.because([("away", number(*away)), ("limit", number(*limit))])
            }
            Self::RollingBack { why, left } => {
                ROLLING_BACK.because([("why", why.into()), ("left", number(*left))])
            }
            Self::RolledBack { why } => ROLLED_BACK.because([("why", why.into())]),
            Self::Stuck { why } => STUCK.because([("why", why.into())]),
            Self::Done => DONE.alone(),
        }
    }
}

/// The newest template has no revision yet, so nothing can be said about pods.
pub fn not_observed() -> Reason {
    NOT_OBSERVED.alone()
}

/// The controller counts other nodes than were seen.
pub fn counts_differ(counted: u32, seen: u32) -> Reason {
    let number = |number: u32| Value::Number(number.into());
    COUNTS_DIFFER.because([("counted", number(counted)), ("seen", number(seen))])
}
