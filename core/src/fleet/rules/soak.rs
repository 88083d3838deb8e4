//! Soak: a release must run elsewhere before it may run here.
//!
//! Days add up across clusters that share a workload: two clusters for three days count as six.
//! The ledger leaves out unhealthy and unobserved time. This rule does not look at it.

use jiff::{SignedDuration, Timestamp};

use super::StartRule;
use crate::fleet::roster::{CellIdx, StartQuestion};
use crate::verdict::{Code, Value, Verdict};

/// A workload has not run long enough on the version.
pub static NOT_SOAKED: Code = Code::new(
    "NotSoaked",
    "{workload} has soaked {have} of {need} days; {soaking|cluster is|clusters are} adding to it[, enough at {until}]",
    "wait, put the version on more clusters with that workload, or lower soakDays in the cluster's policy",
)
.with(&[
    ("workload", "web"),
    ("have", "1.04"),
    ("need", "2"),
    ("soaking", "2"),
    ("until", "2026-11-16 12:00Z"),
]);

pub(super) static RULE: StartRule =
    StartRule::new(&[&NOT_SOAKED], judge).holding(|q| lacking(q).is_some());

fn judge(q: &StartQuestion<'_>) -> Verdict {
    let wait = |lack: Lack| {
        let facts = [
            ("workload", (&q.roster.cells[lack.cell].workload).into()),
            ("have", Value::Seconds(lack.have_seconds)),
            ("need", Value::Seconds(lack.need_seconds)),
            ("soaking", lack.soaking(q).into()),
        ];
        Verdict::wait(NOT_SOAKED.because(facts).until(lack.enough_at(q)))
    };
    lacking(q).map(wait).into_iter().collect()
}

/// The workload that lacks most.
struct Lack {
    cell: CellIdx,
    have_seconds: i64,
    need_seconds: i64,
}

fn lacking(q: &StartQuestion<'_>) -> Option<Lack> {
    let (need_seconds, candidate) = (q.class.soak_seconds?, q.candidate?);
    let have = |cell: &CellIdx| {
        let seconds = &q.roster.cells[*cell].seconds;
        (seconds[candidate.version], *cell)
    };
    let (have_seconds, cell) = q.class.cells.iter().map(have).min()?;
    (have_seconds < need_seconds).then_some(Lack {
        cell,
        have_seconds,
        need_seconds,
    })
}

impl Lack {
    /// How many clusters are adding to it.
    fn soaking(&self, q: &StartQuestion<'_>) -> u32 {
        q.candidate.map_or(0, |candidate| {
            q.roster.soaking(self.cell, candidate.version)
        })
    }

    /// When it will be enough, if they go on.
    fn enough_at(&self, q: &StartQuestion<'_>) -> Option<Timestamp> {
        let soaking = i64::from(self.soaking(q));
        if soaking == 0 {
            return None;
        }
        let missing = self.need_seconds - self.have_seconds;
        // Rounded up: at that second there is enough.
        let seconds = (missing + soaking - 1) / soaking;
        q.now.checked_add(SignedDuration::from_secs(seconds)).ok()
    }
}
