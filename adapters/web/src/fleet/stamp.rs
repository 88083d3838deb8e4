//! Stamps: a signed age of the graph, for one cluster that asks now. They need token keys, but no fleet.

use http::request::Parts;
use http::{Response, StatusCode};
use jiff::Timestamp;
use towpath_core::agent;
use towpath_core::intake::Freshness;
use towpath_formats::agent::stamp;

use super::query;
use crate::access::speaking;
use crate::body::{self, AnswerBody};
use crate::refusal::{OrRefusal, Refusal};
use crate::{Service, SourceHealth};

pub(crate) fn answer(
    service: &Service,
    head: &Parts,
    cluster: &str,
) -> OrRefusal<Response<AnswerBody>> {
    let stamped_at = service.now();
    let (cluster, speaker) = speaking(service, cluster, &head.headers)?;
    let nonce = query::nonce(head.uri.query().unwrap_or_default());
    let nonce = nonce.map_err(Refusal::invalid_params)?;
    let no_stamp =
        |sentence: String| Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", sentence);
    let has_graph = service.snapshot().is_some();
    let sources = service.sources.load_full().filter(|_| has_graph);
    let sources = sources.as_deref().map(Vec::as_slice).unwrap_or_default();
    let good_at = oldest(sources, stamped_at).map_err(no_stamp)?;
    let stamp = agent::Stamp {
        good_at,
        stamped_at,
    };
    let text = stamp::write(&speaker.token, &cluster, &nonce, &stamp);
    Ok(body::json(StatusCode::OK, text))
}

/// When the oldest source was last good. A graph without recommendations gets no stamp.
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
