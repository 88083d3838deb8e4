//! The adapter against a real API server: reading, writing, leading, outages, roles. One server for all, one test at a time.

#![allow(clippy::unwrap_used)]

mod admission;
mod gated;
mod hub;
mod leading;
mod looking;
mod manifests;
mod outages;
mod pod_security;
mod reading;
mod reviewing;
mod roles;
mod service_manifests;
mod strange;
mod support;
mod updating;
mod writing;
