//! Intake: what we accept from sources that fail, lie or grow old.
//!
//! - `accept` decides whether a new copy of a source may replace the last good one. It looks at
//!   what the copy changes (`change`), at the source's recent maxima (`recent_maxima`) and at the
//!   effect of its blocks (`coverage`). It also checks that versions keep their images
//!   (`payloads`, `withdrawn`).
//! - `stricter` finds the blocks of a refused copy, which hold all the same.
//! - `freshness` says how old a copy may get.
//! - `unite` joins what several sources say.
//! - `recheck` picks the tags of a registry to ask for again.
//!
//! Adapters read the sources and keep the last good copies.

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
