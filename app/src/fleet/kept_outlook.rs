//! The forecast that was made last. It is kept for a minute, so that its pages are of one forecast, and nobody makes it again for each.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use towpath_core::simulate::Outlook;

const KEPT_FOR: Duration = Duration::from_secs(60);

#[derive(Default)]
pub(super) struct KeptOutlook(Mutex<Option<MadeOutlook>>);

struct MadeOutlook {
    days: u32,
    /// The name of the graph that it was made with.
    graph: String,
    made: Instant,
    outlook: Arc<Outlook>,
}

impl KeptOutlook {
    /// The last one, if it is of so many days and this graph, and not old.
    pub(super) fn fresh(&self, days: u32, graph: &str) -> Option<Arc<Outlook>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |kept: &&MadeOutlook| {
            kept.days == days && kept.graph == graph && kept.made.elapsed() < KEPT_FOR
        };
        kept.as_ref().filter(fits).map(|kept| kept.outlook.clone())
    }

    pub(super) fn keep(&self, days: u32, graph: &str, outlook: Arc<Outlook>) {
        let kept = MadeOutlook {
            days,
            graph: graph.to_owned(),
            made: Instant::now(),
            outlook,
        };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(kept);
    }
}
