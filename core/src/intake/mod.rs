//! Intake: what is taken from sources that fail, lie or grow old.
//!
//! `accept` says whether a new copy of a source may take the place of the last good one, `payloads` whether versions still stand for the same
//! images, `freshness` how old a copy may get, `unite` what several sources say together. Reading them, and keeping the last good copies, is others' business.

mod accept;
mod disputes;
mod freshness;
mod payloads;
mod summary;
mod unite;

pub use accept::{Allowances, Objection, objections};
pub use freshness::{Ages, Freshness, next_change};
pub use payloads::{Payloads, payload_changed};
pub use summary::{Measure, Summary};
pub use unite::{Supply, United, unite};
