//! The health of the keyring and the signature stores, for `/readyz` and metrics.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::gauge::ConstGauge;
use serde_json::{Value, json};

use crate::sources::{SourceProblem, gauges};

/// What can be wrong with a store, as a label.
const STORE_KINDS: [&str; 3] = [
    "no-signature-store",
    "signature-store",
    "signature-store-slow",
];

/// The health of verification. Everybody sees it, so it must hold no secret.
#[derive(Debug, Clone)]
pub struct SignatureHealth {
    pub keyring: KeyringHealth,
    /// The signature stores.
    pub stores: Vec<StoreHealth>,
}

#[derive(Debug, Clone)]
pub struct KeyringHealth {
    /// How many keys are in use.
    pub keys: usize,
    /// The problem of a newer keyring that is not used; none while all is well.
    pub problem: Option<SourceProblem>,
}

#[derive(Debug, Clone)]
pub struct StoreHealth {
    /// Its name: `signatures`, `signatures-2`, … in the order of the configuration.
    pub name: Arc<str>,
    /// Where it is, without credentials.
    pub location: String,
    /// When it last answered, or was last not needed.
    pub last_success: Option<Timestamp>,
    /// What was wrong in the last round; none while all is well.
    pub problem: Option<SourceProblem>,
}

impl StoreHealth {
    fn age_seconds(&self, now: Timestamp) -> Option<i64> {
        self.last_success
            .map(|at| now.duration_since(at).as_secs().max(0))
    }

    fn kind(&self) -> Option<&'static str> {
        self.problem
            .as_ref()?
            .findings
            .first()
            .map(|finding| finding.code)
    }
}

/// For `/readyz`; null where nobody has to verify.
pub(crate) fn told(health: Option<&SignatureHealth>, now: Timestamp) -> Value {
    let Some(SignatureHealth { keyring, stores }) = health else {
        return Value::Null;
    };
    let store = |store: &StoreHealth| {
        json!({
            "name": *store.name,
            "location": store.location,
            "ageSeconds": store.age_seconds(now),
            "lastSuccess": store.last_success.map(|at| at.to_string()),
            "problem": store.problem.as_ref().map(SourceProblem::json),
        })
    };
    json!({
        "keyring": {"keys": keyring.keys, "problem": keyring.problem.as_ref().map(SourceProblem::json)},
        "stores": stores.iter().map(store).collect::<Vec<_>>(),
    })
}

/// Collects the metrics of signatures during a scrape.
#[derive(Debug)]
pub(crate) struct SignaturesCollector {
    pub(crate) health: Arc<SignatureHealth>,
    pub(crate) now: Timestamp,
}

impl Collector for SignaturesCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let SignatureHealth { keyring, stores } = &*self.health;
        let mut gauge = |name: &str, help: &str, value: i64| {
            let gauge = ConstGauge::new(value);
            gauge.encode(encoder.encode_descriptor(name, help, None, gauge.metric_type())?)
        };
        let keys = i64::try_from(keyring.keys).unwrap_or(i64::MAX);
        gauge("towpath_keyring_keys", "Keys whose signatures count", keys)?;
        let help =
            "1 if the keyring was read again and is broken, so that the old one stays in use";
        gauge(
            "towpath_keyring_broken",
            help,
            i64::from(keyring.problem.is_some()),
        )?;
        let ages = stores
            .iter()
            .filter_map(|store| Some(([("store", &*store.name)], store.age_seconds(self.now)?)));
        let help = "Time since a signature store last answered, or was not needed";
        gauges(
            &mut encoder,
            "towpath_signature_store_age_seconds",
            help,
            ages,
        )?;
        let failing = stores.iter().flat_map(|store| {
            STORE_KINDS.map(|kind| {
                (
                    [("store", &*store.name), ("kind", kind)],
                    i64::from(store.kind() == Some(kind)),
                )
            })
        });
        let help = "1 if a signature store failed in this way in the last round";
        gauges(
            &mut encoder,
            "towpath_signature_store_failing",
            help,
            failing,
        )
    }
}

#[cfg(test)]
mod tests {
    use towpath_core::finding::{Finding, Place};

    use super::*;

    fn health() -> SignatureHealth {
        let at = Timestamp::from_second(60).unwrap();
        let problem = |code| {
            let findings = vec![Finding::error(
                code,
                Place::file("there"),
                "it is wrong",
                "mend it",
            )];
            Some(SourceProblem {
                since: at,
                findings,
            })
        };
        let store = |name: &str, last_success, problem| StoreHealth {
            name: name.into(),
            location: "https://example.org/signatures".into(),
            last_success,
            problem,
        };
        SignatureHealth {
            keyring: KeyringHealth {
                keys: 2,
                problem: problem("bad-keyring"),
            },
            stores: vec![
                store("signatures", Some(at), None),
                store("signatures-2", None, problem("signature-store-slow")),
            ],
        }
    }

    #[test]
    fn stores_and_keyring_are_told_of() {
        let told = told(Some(&health()), Timestamp::from_second(90).unwrap());
        assert_eq!(told["keyring"]["keys"], 2);
        assert_eq!(told["keyring"]["problem"]["kind"], "bad-keyring");
        assert_eq!(told["stores"][0]["ageSeconds"], 30);
        assert_eq!(told["stores"][0]["problem"], Value::Null);
        assert_eq!(told["stores"][1]["ageSeconds"], Value::Null);
        assert_eq!(
            told["stores"][1]["problem"]["sentence"],
            "there: it is wrong; mend it"
        );
        assert_eq!(super::told(None, Timestamp::UNIX_EPOCH), Value::Null);
    }

    #[test]
    fn labels_come_from_a_closed_set() {
        let mut registry = prometheus_client::registry::Registry::default();
        let now = Timestamp::from_second(90).unwrap();
        registry.register_collector(Box::new(SignaturesCollector {
            health: Arc::new(health()),
            now,
        }));
        let mut text = String::new();
        prometheus_client::encoding::text::encode_registry(&mut text, &registry).unwrap();
        let samples: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(
            samples,
            [
                "towpath_keyring_keys 2",
                "towpath_keyring_broken 1",
                "towpath_signature_store_age_seconds{store=\"signatures\"} 30",
                "towpath_signature_store_failing{store=\"signatures\",kind=\"no-signature-store\"} 0",
                "towpath_signature_store_failing{store=\"signatures\",kind=\"signature-store\"} 0",
                "towpath_signature_store_failing{store=\"signatures\",kind=\"signature-store-slow\"} 0",
                "towpath_signature_store_failing{store=\"signatures-2\",kind=\"no-signature-store\"} 0",
                "towpath_signature_store_failing{store=\"signatures-2\",kind=\"signature-store\"} 0",
                "towpath_signature_store_failing{store=\"signatures-2\",kind=\"signature-store-slow\"} 1",
            ]
        );
    }
}
