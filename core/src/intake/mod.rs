//! Intake: what is taken from sources that fail, lie or grow old.
//!
//! `accept` says whether a new copy of a source may take the place of the last good one, by what it `change`s, by the most that the source had lately
//! (`highs`), by what its blocks do (`coverage`), and by whether versions still stand for the same images (`payloads`, `vanished`). What a copy that is not taken
//! blocks holds all the same (`stricter`). `freshness` says how old a copy may get, `unite` what several sources say together, `recheck` what of a registry is asked again. Reading them, and keeping the last good copies, is others' business.

mod accept;
mod allowed_once;
mod change;
mod coverage;
mod disputes;
mod freshness;
mod payloads;
mod recent_maxima;
mod recheck;
mod stricter;
mod summary;
mod unite;
mod withdrawn;

pub use accept::{Allowances, Comparison, CopyObjection, Counting, Judgement, judge};
pub use allowed_once::AllowedOnce;
pub use change::{CopyChange, Return};
pub use coverage::Coverage;
pub use freshness::{Ages, Freshness, next_change};
pub use payloads::{Payloads, payload_changed};
pub use recent_maxima::RecentMaxima;
pub use recheck::{RECHECK_ROUNDS, Recheck, due};
pub use stricter::{stricter_blocks, stricter_edges};
pub use summary::{Measure, Summary};
pub use unite::{Supply, UnitedReleases, unite};
pub use withdrawn::WithdrawnReleases;
