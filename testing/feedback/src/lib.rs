//! For tests and benches only: releases that roll out over simulated fleets, and how soon a rule stops them.
//!
//! Everything follows from a seed. Clusters begin when a window of core's shows them the release, and what becomes of them is
//! known some time later. Nothing here decides: the watch of core does, and the rules of
//! others in [`rules`] beside it.

// Nothing of this ships: what goes wrong here is a test that fails, with the reason.
#![allow(clippy::unwrap_used, clippy::missing_panics_doc)]

mod binomial;
mod bound;
mod chance;
mod fleet;
mod incidents;
mod past;
mod ramp;
mod rollout;
pub mod rules;
mod watched;

pub use binomial::{at_least, fewest_contradicting};
pub use bound::{fewest_attempts, mean_attempts};
pub use chance::Chance;
pub use fleet::{FleetShape, Mix, SimulatedCluster, fleet, fleet_of};
pub use incidents::{Incident, NamedClass, incidents};
pub use past::past_attempts;
pub use ramp::SimulatedRamp;
pub use rollout::{Delays, Fates, Hit, SimulatedRollout, Trouble};
pub use watched::{Alarm, alarm, exposed, halted};
