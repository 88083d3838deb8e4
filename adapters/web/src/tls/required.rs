//! Clusters need a certificate, if the service asks for one: beside their token, and for the same cluster.
//!
//! It holds for what a cluster may do and others may not. Graphs stay open: the cluster-version operator has no certificate.

use http::{HeaderMap, StatusCode};

use super::PeerCertificate;
use crate::Service;
use crate::access::{self, ClaimedCluster};
use crate::fleet;
use crate::refusal::{OrRefusal, Refusal};
use crate::routes::{RouteMatch, Who};

const NONE: &str = "this takes the cluster's certificate, besides its token; start the agent with --client-cert and --client-key";
const OTHER: &str =
    "the client's certificate does not name this cluster, as its common name or a DNS name";

/// Why a certificate was refused, as labels of a metric, besides [`super::client::BadCertificate`].
pub(crate) const NO_CERTIFICATE: &str = "none";
pub(crate) const OTHER_CLUSTER: &str = "other_cluster";

/// Checks the certificate of a request that is, or claims to be, a cluster's.
pub(crate) fn check(
    service: &Service,
    found: RouteMatch<'_>,
    headers: &HeaderMap,
    certificate: Option<&PeerCertificate>,
) -> OrRefusal<()> {
    let tls = service.tls.load();
    let Some(tls) = tls.as_ref().filter(|tls| tls.asks_clients()) else {
        return Ok(());
    };
    let claimed = match found.route.who {
        Who::Cluster => {
            let named = fleet::query::named(found.named()).map_err(Refusal::invalid_params)?;
            ClaimedCluster::Id(named)
        }
        who if who.knows_clusters() => match access::claimed_cluster(headers) {
            Some(claimed) => claimed,
            None => return Ok(()),
        },
        _ => return Ok(()),
    };
    let refused = |reason: &'static str, kind: &'static str, sentence: &str| {
        service.metrics.certificate_refused(reason);
        Refusal::new(StatusCode::FORBIDDEN, kind, sentence)
    };
    let certificate =
        certificate.ok_or_else(|| refused(NO_CERTIFICATE, "no_client_certificate", NONE))?;
    certificate
        .check(tls)
        .map_err(|bad| refused(bad.name(), "bad_client_certificate", bad.sentence()))?;
    match &claimed {
        ClaimedCluster::Id(id) if !certificate.names(id) => Err(refused(
            OTHER_CLUSTER,
            "certificate_of_another_cluster",
            OTHER,
        )),
        _ => Ok(()),
    }
}
