//! Cancelled: a person called off the upgrade of a cluster or node pool to a version. It is not planned again until a person
//! lifts that.
//!
//! Other versions are free. A cluster whose node pool was cancelled waits with it, as it waits for any node pool.

use super::StartRule;
use super::pool_first::pool_behind;
use crate::fleet::CancelledUpgrade;
use crate::fleet::roster::StartQuestion;
use crate::verdict::{Code, Verdict};

static UPGRADE_CANCELLED: Code = Code::new(
    "UpgradeCancelled",
    "{by} cancelled this upgrade[ of node pool {pool}] at {at}: {why}",
    "`towpath fleet resume --cluster CLUSTER`, after asking who cancelled it; another version can start meanwhile",
)
.with(&[
    ("pool", "workers"),
    ("by", "ada"),
    ("at", "2026-11-16 12:00Z"),
    ("why", "INC-1"),
]);

pub(super) static VERSION: StartRule =
    StartRule::new(&[&UPGRADE_CANCELLED], |q| said(version(q))).holding(|q| version(q).is_some());

/// Node pools have no candidates: they follow their control plane.
pub(super) static NODE_POOL: StartRule =
    StartRule::new(&[], |q| said(pool(q))).holding(|q| pool(q).is_some());

fn said(cancelled: Option<&CancelledUpgrade>) -> Verdict {
    let wait = |cancelled: &CancelledUpgrade| {
        Verdict::wait(UPGRADE_CANCELLED.because([
            ("pool", cancelled.pool.as_ref().into()),
            ("by", (&cancelled.by).into()),
            ("at", cancelled.at.into()),
            ("why", (&cancelled.why).into()),
        ]))
    };
    cancelled.map(wait).into_iter().collect()
}

fn version<'a>(q: &StartQuestion<'a>) -> Option<&'a CancelledUpgrade> {
    let to = q.roster.version(q.candidate?.version);
    q.roster.taken_back.upgrade(&q.member.state.id, None, to)
}

fn pool<'a>(q: &StartQuestion<'a>) -> Option<&'a CancelledUpgrade> {
    let (state, pool) = (&q.member.state, pool_behind(q)?);
    let taken_back = &q.roster.taken_back;
    taken_back.upgrade(&state.id, Some(&pool.id), &state.version)
}
