//! Stamps: how old the graph is, for one cluster that asked just now. They need keys for tokens, and no fleet.

use http::StatusCode;
use jiff::Timestamp;
use towpath_core::agent;
use towpath_core::cluster::ClusterId;
use towpath_core::intake::Freshness;
use towpath_formats::stamp::{self, Nonce};

use super::answer::{Refusal, Refused};
use super::tokens::Speaker;
use crate::{Service, SourceHealth};

/// The stamp for the cluster whose token was checked.
pub(super) fn answer(
    service: &Service,
    cluster: &ClusterId,
    speaker: &Speaker,
    nonce: &Nonce,
) -> Refused<String> {
    let stamped_at = service.now();
    let no_stamp =
        |sentence: String| Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", sentence);
    let has_graph = service.snapshot().is_some();
    let sources = service.sources.load_full().filter(|_| has_graph);
    let good_at = oldest(
        sources.as_deref().map(Vec::as_slice).unwrap_or_default(),
        stamped_at,
    )
    .map_err(no_stamp)?;
    Ok(stamp::write(
        &speaker.token,
        cluster,
        nonce,
        &agent::Stamp {
            good_at,
            stamped_at,
        },
    ))
}

/// When the oldest of the sources was last found to be good. A graph that nothing is recommended by has no age worth a stamp.
fn oldest(sources: &[SourceHealth], now: Timestamp) -> Result<Timestamp, String> {
    for source in sources {
        match source.freshness(now) {
            None => {
                return Err(format!(
                    "{} has never been read; /readyz says why",
                    source.name
                ));
            }
            Some(Freshness::Closed) => {
                return Err(format!(
                    "{} is too old: nothing is recommended; /readyz says why",
                    source.name
                ));
            }
            Some(Freshness::Fresh | Freshness::Degraded) => {}
        }
    }
    let oldest = sources
        .iter()
        .filter_map(|source| source.last_success)
        .min();
    oldest.ok_or_else(|| "there is no graph yet; /readyz says why".to_owned())
}
