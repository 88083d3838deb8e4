//! Simulates the rolling reboots that `testing/kube/benches/reboots` measured: `cargo xtask prove nodes` runs both.
//!
//! Arguments: files with a cluster in our language, each named `NUMBER.TAINT`. For each it prints a line of JSON: how many moves there
//! were, on average over five seeds. Nodes go one by one in the order of their names, as on the real scheduler.

use std::io::Write;
use std::path::Path;

use towpath_core::nodes::{Model, NodeIdx, Steering, rolling_reboot};
use towpath_testing_nodes::cluster;

const SEEDS: u64 = 5;

fn main() {
    let arguments = std::env::args().skip(1);
    for argument in arguments.filter(|one| !one.starts_with('-')) {
        let moves = moves(Path::new(&argument));
        let mut out = std::io::stdout().lock();
        writeln!(out, "{{\"moves\": {moves}}}").expect("output can be written");
    }
}

fn moves(file: &Path) -> f64 {
    let story = std::fs::read_to_string(file).expect("a file that can be read");
    let model = Model::of(&cluster(&story)).expect("a cluster of nodes and pods");
    let waves: Vec<Vec<NodeIdx>> = model.nodes().map(|(node, _)| vec![node]).collect();
    let steering = match file.extension().and_then(|taint| taint.to_str()) {
        Some("none") => Steering::Unbiased,
        Some("soft") => Steering::Soft,
        Some("hard") => Steering::Hard,
        other => panic!("{}: what is the taint {other:?}?", file.display()),
    };
    let of_seed = |seed| rolling_reboot(&model, &waves, steering, seed).moves;
    let moves: usize = (1..=SEEDS).map(of_seed).sum();
    moves as f64 / SEEDS as f64
}
