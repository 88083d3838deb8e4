//! Interval: some time passes between two updates, no matter who started them. The installation
//! counts as one.

use super::{OfferQuestion, OfferRule};
use crate::verdict::{Code, Verdict};

static TOO_SOON: Code = Code::new(
    "TooSoon",
    "the last update was complete at {last}; the next may start at {until}",
    "wait",
)
.with(&[
    ("last", "2026-11-16 12:00Z"),
    ("until", "2026-11-17 12:00Z"),
]);

static LAST_UPDATE_UNKNOWN: Code = Code::new(
    "LastUpdateUnknown",
    "the cluster does not say when its last update was complete",
    "look at the history in its ClusterVersion",
);

pub(super) static RULE: OfferRule = OfferRule::new(&[&TOO_SOON, &LAST_UPDATE_UNKNOWN], judge);

fn judge(q: &OfferQuestion<'_>) -> Verdict {
    let Some(last) = q.at.standing.last_completed() else {
        return Verdict::wait(LAST_UPDATE_UNKNOWN.alone());
    };
    let until = last.checked_add(q.at.policy.at_least_between);
    let until = until.unwrap_or(jiff::Timestamp::MAX);
    match q.at.now < until {
        true => Verdict::wait(TOO_SOON.because([("last", last.into())]).until(until)),
        false => Verdict::recommend(),
    }
}
