//! The fleet: its policy files, lists and reports, and the answers about it as text and as JSON.

pub(crate) mod accepted_risks;
pub mod acts;
pub mod agenda;
pub mod attempts;
pub mod audit_log;
pub mod aus_state;
pub mod cluster;
pub mod cluster_list;
pub mod clusters;
pub mod cursor;
pub mod halts;
pub mod input;
pub mod json;
pub mod log;
pub(crate) mod maintenance;
pub mod matrix;
pub mod outcomes_query;
pub mod pages;
pub mod pipeline;
pub mod policy;
pub mod report;
pub mod standing;
pub mod text;
pub mod token;
mod wrong_entries;

pub use crate::room::Room;

#[cfg(test)]
mod views_tests;
