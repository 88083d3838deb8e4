//! Servers that stall, lie and loop: each gives a clear finding, within a bounded time.
#![allow(clippy::unwrap_used)]

mod fetching;
mod signatures;
mod upstream;
