//! Under way: one upgrade of a cluster at a time, no matter who started it.

use super::StartRule;
use crate::fleet::roster::StartQuestion;
use crate::fleet::{Upgrade, UpgradeState};
use crate::verdict::{Code, Verdict};

static UPGRADE_PLANNED: Code = Code::new(
    "UpgradePlanned",
    "its upgrade[ of node pool {pool}] to {to} is planned for {at}",
    "wait for it to end",
)
.with(&[
    ("to", "4.20.5"),
    ("pool", "workers"),
    ("at", "2026-11-16 12:00Z"),
]);

static UPGRADE_UNDER_WAY: Code = Code::new(
    "UpgradeUnderWay",
    "its upgrade[ of node pool {pool}] to {to} has been under way since {at}",
    "wait for it to end",
)
.with(&[
    ("to", "4.20.5"),
    ("pool", "workers"),
    ("at", "2026-11-16 12:00Z"),
]);

pub(super) static RULE: StartRule = StartRule::new(&[&UPGRADE_PLANNED, &UPGRADE_UNDER_WAY], judge)
    .holding(|q| q.member.upgrade.is_some());

fn judge(q: &StartQuestion<'_>) -> Verdict {
    let wait = |upgrade: &Upgrade| {
        let (code, at) = match upgrade.state {
            UpgradeState::Planned => (&UPGRADE_PLANNED, upgrade.start_at),
            _ => (&UPGRADE_UNDER_WAY, upgrade.began_at()),
        };
        Verdict::wait(code.because([
            ("to", (&upgrade.to).into()),
            ("pool", upgrade.pool.as_ref().into()),
            ("at", at.into()),
        ]))
    };
    let upgrade = q.member.upgrade.map(|at| &q.roster.upgrades[at]);
    upgrade.map(wait).into_iter().collect()
}
