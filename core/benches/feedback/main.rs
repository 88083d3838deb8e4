//! How often the watch halts good releases, and how many clusters have a bad one when it halts.
//!
//! `cargo bench -p towpath-core --bench feedback -- PART [RUNS] [CASE]` simulates and prints one line of JSON for each case.
//! `cargo xtask bench feedback` holds them to their bars. The same runs give the same lines on every machine.
#![allow(clippy::unwrap_used, reason = "the releases are made here")]
#![allow(clippy::print_stdout, reason = "a bench prints what it measured")]
#![allow(clippy::disallowed_methods, reason = "a bench has arguments")]

mod case;
mod exposure;
mod false_halts;
mod incidents;
mod ramps;
mod rules;

fn main() {
    // cargo adds `--bench`.
    let arguments = std::env::args().skip(1).filter(|word| word != "--bench");
    let arguments: Vec<String> = arguments.collect();
    let runs = |default: u64| {
        arguments
            .get(1)
            .map_or(default, |runs| runs.parse().unwrap())
    };
    let case = arguments.get(2).map(|case| case.parse().unwrap());
    match arguments.first().map(String::as_str) {
        Some("false-halts") => false_halts::measure(runs(10_000), case),
        Some("exposure") => exposure::measure(runs(2_000), case),
        Some("incidents") => incidents::measure(runs(1)),
        Some("ramps") => ramps::measure(runs(200)),
        Some("rules") => rules::measure(runs(100)),
        other => panic!("{other:?} is not a part of this bench"),
    }
}
