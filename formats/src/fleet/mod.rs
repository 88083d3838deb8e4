//! Answers about the fleet, for people and for machines: the same from the command line and over HTTP.

pub mod cluster_list;
pub mod cursor;
pub mod input;
pub mod json;
pub mod log;
pub(crate) mod maintenance;
pub mod pages;
pub mod policy;
pub mod report;
pub mod text;
pub mod token;

pub use crate::tables::Room;
