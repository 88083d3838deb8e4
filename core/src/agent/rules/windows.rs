//! Windows: an update starts only while a maintenance window is open. It may run past the window's
//! end.

use super::{OfferQuestion, OfferRule};
use crate::verdict::{Code, Verdict};

static OUTSIDE_WINDOWS: Code = Code::new(
    "OutsideWindows",
    "no maintenance window is open[; the next opens at {until}]",
    "wait for the window, or change the policy if none ever opens",
)
.with(&[("until", "2026-11-17 12:00Z")]);

pub(super) static RULE: OfferRule = OfferRule::new(&[&OUTSIDE_WINDOWS], judge);

fn judge(q: &OfferQuestion<'_>) -> Verdict {
    let (windows, now) = (&q.at.policy.windows, q.at.now);
    if windows.is_empty() || windows.iter().any(|window| window.covers(now)) {
        return Verdict::recommend();
    }
    let opens = windows.iter().filter_map(|window| window.opens_after(now));
    Verdict::wait(OUTSIDE_WINDOWS.alone().until(opens.min()))
}
