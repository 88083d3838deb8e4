//! Health: nothing starts on a cluster that is unhealthy or that has not reported.

use jiff::SignedDuration;

use super::StartRule;
use crate::fleet::Health;
use crate::fleet::roster::StartQuestion;
use crate::verdict::{Code, Verdict};

/// A cluster that has been silent for longer may be in any state.
const SILENCE: SignedDuration = SignedDuration::from_hours(24);

static UNHEALTHY: Code = Code::new(
    "Unhealthy",
    "the cluster is not well: {why}",
    "heal the cluster",
)
.with(&[("why", "etcd is degraded")]);

static NOT_REPORTING: Code = Code::new(
    "NotReporting",
    "the cluster has not reported since {since}",
    "look at the cluster; if it is gone, `towpath fleet forget` it",
)
.with(&[("since", "2026-11-16 12:00Z")]);

pub(super) static RULE: StartRule = StartRule::new(&[&UNHEALTHY, &NOT_REPORTING], judge)
    .holding(|q| !q.member.state.health.is_healthy() || is_silent(q));

fn judge(q: &StartQuestion<'_>) -> Verdict {
    match &q.member.state.health {
        Health::Unhealthy { why } => Verdict::wait(UNHEALTHY.because([("why", why.into())])),
        Health::Healthy if is_silent(q) => {
            let since = q.member.state.last_seen;
            Verdict::wait(NOT_REPORTING.because([("since", since.into())]))
        }
        Health::Healthy => Verdict::recommend(),
    }
}

fn is_silent(q: &StartQuestion<'_>) -> bool {
    q.member.state.last_seen.duration_until(q.now) > SILENCE
}
