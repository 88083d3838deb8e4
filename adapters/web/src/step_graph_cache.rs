//! A cache of the step graphs that path searches use, one for each kind of question.
//!
//! Questions differ in channels, platform, architecture, and how they treat risks. When there are too many, the least
//! recently used are dropped.

use std::sync::{Arc, Mutex};

use towpath_core::graph::{BlockVerdicts, ChannelName, ClientClass};
use towpath_core::path::{RiskPolicy, StepGraph, StepGraphSpec, StepGraphs};
use towpath_core::version::{Arch, Minors};

use crate::locked;

/// The most kinds of clients whose verdicts are cached.
const MAX_VERDICTS: usize = 16;
/// The most step graphs, because clients can ask in many ways.
const MAX_STEP_GRAPHS: usize = 32;
/// The most memory of all step graphs.
const MAX_STEP_GRAPH_BYTES: usize = 32 << 20;

/// Step graphs of one graph and their verdicts, most recently used first.
#[derive(Debug, Default)]
pub(crate) struct StepGraphCache {
    verdicts: Mutex<Vec<(ClientClass, Arc<BlockVerdicts>)>>,
    step_graphs: Mutex<Vec<(StepGraphKey, Arc<StepGraph>)>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct StepGraphKey {
    arch: Arch,
    channels: Vec<ChannelName>,
    class: ClientClass,
    risks: RiskPolicy,
    minors: Minors,
}

impl StepGraphs for StepGraphCache {
    fn step_graph(&self, of: &StepGraphSpec<'_>) -> Arc<StepGraph> {
        let kind = StepGraphKey {
            arch: of.arch.clone(),
            channels: of
                .channels
                .iter()
                .map(|channel| channel.name.clone())
                .collect(),
            class: of.class.clone(),
            risks: of.risks.clone(),
            minors: of.minors.clone(),
        };
        if let Some(known) = to_the_front(&self.step_graphs, &kind) {
            return known;
        }
        // Two who ask at once may both draw it: better than one waiting for the other.
        let drawn = Arc::new(StepGraph::draw(of, self.verdicts(of)));
        if drawn.size() > MAX_STEP_GRAPH_BYTES {
            return drawn;
        }
        let mut kept = locked(&self.step_graphs);
        kept.insert(0, (kind, drawn.clone()));
        kept.truncate(MAX_STEP_GRAPHS);
        let mut bytes = 0;
        kept.retain(|(_, drawn)| {
            bytes += drawn.size();
            bytes <= MAX_STEP_GRAPH_BYTES
        });
        drawn
    }
}

impl StepGraphCache {
    fn verdicts(&self, of: &StepGraphSpec<'_>) -> Arc<BlockVerdicts> {
        to_the_front(&self.verdicts, of.class).unwrap_or_else(|| {
            let verdicts = Arc::new(BlockVerdicts::of(of.graph, of.class));
            let mut kept = locked(&self.verdicts);
            kept.insert(0, (of.class.clone(), verdicts.clone()));
            kept.truncate(MAX_VERDICTS);
            verdicts
        })
    }
}

/// Finds an entry and moves it to the front.
fn to_the_front<K: PartialEq, V: Clone>(cache: &Mutex<Vec<(K, V)>>, wanted: &K) -> Option<V> {
    let mut kept = locked(cache);
    let place = kept.iter().position(|(key, _)| key == wanted)?;
    kept[..=place].rotate_right(1);
    kept.first().map(|(_, value)| value.clone())
}

#[cfg(test)]
mod tests {
    use towpath_core::cluster::Platform;
    use towpath_core::graph::Graph;

    use super::*;

    #[test]
    fn however_many_ways_to_ask_there_are_few_step_graphs_are_kept() {
        let (cache, graph, arch) = (StepGraphCache::default(), Graph::default(), Arch::default());
        for number in 0..1_000 {
            let (name, platform) = (
                format!("Risk{number}"),
                Platform::new(&format!("platform-{number}")),
            );
            let risks = RiskPolicy::Accepted([name].into());
            let class = ClientClass::On(platform.unwrap());
            let of = StepGraphSpec {
                graph: &graph,
                arch: &arch,
                channels: &[],
                class: &class,
                risks: &risks,
                minors: &Minors::default(),
            };
            let drawn = cache.step_graph(&of);
            assert!(
                Arc::ptr_eq(&drawn, &cache.step_graph(&of)),
                "what was just asked for is not drawn again"
            );
        }
        assert_eq!(
            (
                cache.step_graphs.lock().unwrap().len(),
                cache.verdicts.lock().unwrap().len()
            ),
            (MAX_STEP_GRAPHS, MAX_VERDICTS)
        );
    }

    #[test]
    fn what_was_asked_for_last_comes_first() {
        let cache = Mutex::new(vec![(1, 'a'), (2, 'b'), (3, 'c')]);
        assert_eq!(to_the_front(&cache, &3), Some('c'));
        assert_eq!(to_the_front(&cache, &4), None);
        assert_eq!(*cache.lock().unwrap(), [(3, 'c'), (1, 'a'), (2, 'b')]);
    }
}
