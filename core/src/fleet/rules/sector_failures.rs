//! Failures in a sector: after a number of failed upgrades to a version, no other cluster there
//! starts it.

use super::{StartRule, sector_of};
use crate::fleet::roster::StartQuestion;
use crate::verdict::{Code, Verdict};

static SECTOR_FAILURES: Code = Code::new(
    "SectorFailures",
    "{failures|upgrade|upgrades} to it failed in sector {sector}, where {limit} are too many",
    "look at what failed; it ends when those clusters get there, or the limit is raised",
)
.with(&[("sector", "stage"), ("failures", "3"), ("limit", "2")]);

pub(super) static RULE: StartRule =
    StartRule::new(&[&SECTOR_FAILURES], judge).holding(|q| too_many(q).is_some());

fn judge(q: &StartQuestion<'_>) -> Verdict {
    let wait = |(failures, limit): (u32, u32)| {
        Verdict::wait(SECTOR_FAILURES.because([
            ("sector", sector_of(q).into()),
            ("failures", failures.into()),
            ("limit", limit.into()),
        ]))
    };
    too_many(q).map(wait).into_iter().collect()
}

/// How many failed, and how many are too many.
fn too_many(q: &StartQuestion<'_>) -> Option<(u32, u32)> {
    let (sector, candidate) = (q.class.sector?, q.candidate?);
    let limit = q.roster.sectors[sector].max_failures?.max(1);
    let failures = q.roster.failures.get(&(sector, candidate.version));
    let failures = failures.copied().unwrap_or(0);
    (failures >= limit).then_some((failures, limit))
}
