//! What the tests of registries share: images, a real registry, and a server that does as it is told.

#![allow(
    dead_code,
    unreachable_pub,
    reason = "it is included in several tests, and not each uses all of it"
)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "in tests, what fails must be seen"
)]

pub mod docker_registry;
pub mod double;
pub mod images;
