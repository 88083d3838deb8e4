//! Answers about the fleet, for people and for machines: the same from the command line and over HTTP.

pub mod cursor;
pub mod json;
pub mod log;
pub mod pages;
pub mod text;

pub use crate::tables::Room;
