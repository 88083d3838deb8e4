//! The halts that stand in a graph, whether a window of theirs is open or not.

use serde_json::{Value, json};
use towpath_core::graph::{DeclaredHalt, Graph, KeptBlock};

use super::json::halt;
use crate::words::second;

/// More halts than this nobody reads. The rest is counted.
const MAX_TOLD: usize = 100;

fn standing(graph: &Graph) -> impl Iterator<Item = (&KeptBlock, &DeclaredHalt)> {
    let blocks = graph.blocks().iter();
    blocks.filter_map(|block| Some((block, block.halt.as_deref()?)))
}

/// An answer about rollouts, with the halts that stand.
pub fn with_halts(mut told: Value, graph: &Graph) -> Value {
    let one = |(block, declared): (&KeptBlock, &DeclaredHalt)| {
        json!({
            "release": block.to.to_string(),
            "origin": block.origin.to_string(),
            "halt": halt(declared),
        })
    };
    told["halts"] = standing(graph).map(one).collect();
    told
}

/// The same as lines of text; nothing if nothing is halted.
pub fn halts_text(graph: &Graph) -> String {
    let line = |(block, halt): (&KeptBlock, &DeclaredHalt)| {
        let (release, by, at) = (&block.to, &halt.by, second(halt.at));
        let (scope, why) = (&halt.scope, halt.sentence());
        format!(
            "  {release} for {scope}, by {by} at {at}: {why} ({})\n",
            block.origin
        )
    };
    let lines: Vec<String> = standing(graph).map(line).collect();
    if lines.is_empty() {
        return String::new();
    }
    let more = match lines.len().saturating_sub(MAX_TOLD) {
        0 => String::new(),
        more => format!("  … and {more} more; --output json has them all\n"),
    };
    let lines: String = lines.into_iter().take(MAX_TOLD).collect();
    format!("\nHalted:\n{lines}{more}")
}
