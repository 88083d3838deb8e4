//! What `/readyz` and `/metrics` tell of TLS.

use std::fmt;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use serde_json::{Value, json};

use super::{Tls, TlsPart};
use crate::locked;

/// A certificate is warned of in the last quarter of its time, at most for two weeks.
const SOON: SignedDuration = SignedDuration::from_hours(14 * 24);

/// The metrics of TLS.
#[derive(Debug)]
pub(crate) struct TlsCollector(pub(crate) Arc<Tls>);

impl Tls {
    /// What is wrong now: parts that could not be replaced, what has ended or soon will.
    pub fn problems(&self) -> Vec<(TlsPart, String)> {
        let now = (self.clock)();
        let (facts, revoked) = (self.certificate(), self.revocation_ends());
        let unused = locked(&self.problems).clone();
        let unused = unused
            .into_iter()
            .map(|(part, problem)| (part, format!("the new files are not used: {problem}")));
        let lifetime = facts.ends.duration_since(facts.begins);
        let certificate = (
            TlsPart::Certificate,
            "the certificate",
            facts.ends,
            lifetime,
        );
        let revoked = revoked.map(|ends| {
            let list = "a revocation list";
            (TlsPart::ClientCrl, list, ends, SignedDuration::ZERO)
        });
        let ending = [Some(certificate), revoked].into_iter().flatten();
        let ending = ending.filter_map(|(part, what, ends, lifetime)| {
            let soon = SOON.min(lifetime / 4);
            Some((part, told_of_end(what, ends, soon, now)?))
        });
        let early = (facts.begins > now).then(|| {
            let problem = format!("the certificate begins only at {}", facts.begins);
            (TlsPart::Certificate, problem)
        });
        unused.chain(ending).chain(early).collect()
    }

    /// For `/readyz`.
    pub(crate) fn told(&self) -> Value {
        let facts = self.certificate();
        let problem =
            |(part, problem): (TlsPart, String)| json!({"part": part.name(), "problem": problem});
        json!({
            "certificateEnds": facts.ends.to_string(),
            "clientCertificates": self.asks_clients(),
            "revocationListEnds": self.revocation_ends().map(|ends| ends.to_string()),
            "problems": self.problems().into_iter().map(problem).collect::<Vec<_>>(),
        })
    }
}

fn told_of_end(
    what: &str,
    ends: Timestamp,
    soon: SignedDuration,
    now: Timestamp,
) -> Option<String> {
    match ends.duration_since(now) {
        left if left.is_negative() => Some(format!("{what} ended at {ends}")),
        left if left < soon => Some(format!("{what} ends at {ends}")),
        _ => None,
    }
}

impl Collector for TlsCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let tls = &self.0;
        let mut gauge = |name: &str, help: &str, value: i64| {
            let gauge = ConstGauge::new(value);
            gauge.encode(encoder.encode_descriptor(name, help, None, gauge.metric_type())?)
        };
        gauge(
            "towpath_tls_certificate_end_timestamp_seconds",
            "When the certificate of this service ends",
            tls.certificate().ends.as_second(),
        )?;
        if let Some(ends) = tls.revocation_ends() {
            gauge(
                "towpath_tls_revocation_list_end_timestamp_seconds",
                "When the first list of revoked clients' certificates needs a successor",
                ends.as_second(),
            )?;
        }
        let parts = TlsPart::ALL
            .into_iter()
            .filter(|part| *part == TlsPart::Certificate || tls.asks_clients());
        let problems = locked(&tls.problems).clone();
        let help = "1 if the newest files of a part of TLS are in use";
        let name = "towpath_tls_files_in_use";
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for part in parts {
            let in_use = ConstGauge::new(i64::from(!problems.contains_key(&part)));
            in_use.encode(family.encode_family(&[("part", part.name())])?)?;
        }
        let changes = locked(&tls.changes).clone();
        let help = "New files of a part of TLS, by what became of them";
        let name = "towpath_tls_reloads";
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
        for ((part, is_good), count) in changes {
            let result = if is_good { "changed" } else { "failed" };
            let labels = [("part", part.name()), ("result", result)];
            ConstCounter::new(count).encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }
}
