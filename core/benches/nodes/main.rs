//! How calm planned reboots are on random clusters, and how long a large plan takes.
//!
//! `cargo bench -p towpath-core --bench nodes -- PART [CLUSTERS]` simulates and prints one line of JSON for each case.
//! `cargo xtask bench nodes` holds them to their bars. All but the time is the same on every machine.
#![allow(clippy::unwrap_used, reason = "the clusters are made here")]
#![allow(clippy::print_stdout, reason = "a bench prints what it measured")]
#![allow(
    clippy::disallowed_methods,
    reason = "a bench has arguments, and measures time"
)]

mod clusters;
mod large;

fn main() {
    // cargo adds `--bench`.
    let arguments = std::env::args().skip(1).filter(|word| word != "--bench");
    let arguments: Vec<String> = arguments.collect();
    let count = |usual: u64| {
        arguments
            .get(1)
            .map_or(usual, |count| count.parse().unwrap())
    };
    match arguments.first().map(String::as_str) {
        Some("clusters") => clusters::measure(count(1_000)),
        Some("large") => large::measure(count(3)),
        other => panic!("{other:?} is not a part of this bench"),
    }
}
