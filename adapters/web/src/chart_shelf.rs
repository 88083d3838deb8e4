//! The charts that paths are searched on, drawn once for each kind of question.
//!
//! What people ask for differs in few ways: channels, platform, architecture, and what is done about risks. What was not asked for longest goes first.

use std::sync::{Arc, Mutex, PoisonError};

use towpath_core::domain::{Arch, ChannelName, Fact, Platform};
use towpath_core::plan::{Chart, ChartOf, Charts, RiskPolicy, Tolls};

/// For so many platforms the tolls are kept.
const MAX_TOLLS: usize = 16;
/// So many charts are kept: a stranger can ask in any number of ways.
const MAX_CHARTS: usize = 32;
/// What all charts of a graph may take together.
const MAX_CHART_BYTES: usize = 32 << 20;

/// Charts of one graph, and the tolls that they are drawn with. What was asked for last comes first.
#[derive(Debug, Default)]
pub(crate) struct ChartShelf {
    tolls: Mutex<Vec<(Fact<Platform>, Arc<Tolls>)>>,
    charts: Mutex<Vec<(Kind, Arc<Chart>)>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Kind {
    arch: Arch,
    channels: Vec<ChannelName>,
    platform: Fact<Platform>,
    risks: RiskPolicy,
}

impl Charts for ChartShelf {
    fn chart(&self, of: &ChartOf<'_>) -> Arc<Chart> {
        let kind = Kind {
            arch: of.arch.clone(),
            channels: of
                .channels
                .iter()
                .map(|channel| channel.name.clone())
                .collect(),
            platform: of.platform.clone(),
            risks: of.risks.clone(),
        };
        if let Some(known) = to_the_front(&self.charts, &kind) {
            return known;
        }
        // Two who ask at once may both draw it: better than one waiting for the other.
        let chart = Arc::new(Chart::draw(of, self.tolls(of)));
        if chart.size() > MAX_CHART_BYTES {
            return chart;
        }
        let mut kept = self.charts.lock().unwrap_or_else(PoisonError::into_inner);
        kept.insert(0, (kind, chart.clone()));
        kept.truncate(MAX_CHARTS);
        let mut bytes = 0;
        kept.retain(|(_, chart)| {
            bytes += chart.size();
            bytes <= MAX_CHART_BYTES
        });
        chart
    }
}

impl ChartShelf {
    fn tolls(&self, of: &ChartOf<'_>) -> Arc<Tolls> {
        to_the_front(&self.tolls, of.platform).unwrap_or_else(|| {
            let tolls = Arc::new(Tolls::of(of.graph, of.platform));
            let mut kept = self.tolls.lock().unwrap_or_else(PoisonError::into_inner);
            kept.insert(0, (of.platform.clone(), tolls.clone()));
            kept.truncate(MAX_TOLLS);
            tolls
        })
    }
}

/// Finds something, which then comes first.
fn to_the_front<K: PartialEq, V: Clone>(shelf: &Mutex<Vec<(K, V)>>, wanted: &K) -> Option<V> {
    let mut kept = shelf.lock().unwrap_or_else(PoisonError::into_inner);
    let place = kept.iter().position(|(key, _)| key == wanted)?;
    kept[..=place].rotate_right(1);
    kept.first().map(|(_, value)| value.clone())
}

#[cfg(test)]
mod tests {
    use towpath_core::domain::Graph;

    use super::*;

    #[test]
    fn however_many_ways_to_ask_there_are_few_charts_are_kept() {
        let (shelf, graph, arch) = (ChartShelf::default(), Graph::default(), Arch::default());
        for number in 0..1_000 {
            let (name, platform) = (
                format!("Risk{number}"),
                Platform::new(&format!("platform-{number}")),
            );
            let (risks, platform) = (RiskPolicy::Accepted([name].into()), Fact::from(platform));
            let of = ChartOf {
                graph: &graph,
                arch: &arch,
                channels: &[],
                platform: &platform,
                risks: &risks,
            };
            let drawn = shelf.chart(&of);
            assert!(
                Arc::ptr_eq(&drawn, &shelf.chart(&of)),
                "what was just asked for is not drawn again"
            );
        }
        assert_eq!(
            (
                shelf.charts.lock().unwrap().len(),
                shelf.tolls.lock().unwrap().len()
            ),
            (MAX_CHARTS, MAX_TOLLS)
        );
    }

    #[test]
    fn what_was_asked_for_last_comes_first() {
        let shelf = Mutex::new(vec![(1, 'a'), (2, 'b'), (3, 'c')]);
        assert_eq!(to_the_front(&shelf, &3), Some('c'));
        assert_eq!(to_the_front(&shelf, &4), None);
        assert_eq!(*shelf.lock().unwrap(), [(3, 'c'), (1, 'a'), (2, 'b')]);
    }
}
