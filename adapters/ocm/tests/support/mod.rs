//! What the tests share: the double, a client of it that never sleeps, and a few words.

#![allow(dead_code, reason = "each test crate uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so")]

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use tempfile::NamedTempFile;
use towpath_core::fleet::Name;
use towpath_ocm::{ClusterRef, Limits, Ocm, OcmConfig, OcmError, OcmFleet, Sleep};

use towpath_testing_services::ocm::{OcmDouble, TOKEN};

/// A double, a client of it, and what they need.
pub(crate) struct World {
    pub(crate) double: OcmDouble,
    pub(crate) ocm: Ocm,
    pub(crate) token: NamedTempFile,
    waits: Arc<Mutex<Vec<Duration>>>,
}

/// Noon of a Monday, which is now.
pub(crate) fn now() -> Timestamp {
    "2026-01-05T12:00:00Z".parse().unwrap()
}

/// A time of that day.
pub(crate) fn at(clock: &str) -> Timestamp {
    format!("2026-01-05T{clock}Z").parse().unwrap()
}

pub(crate) fn world() -> World {
    world_with(|_| {})
}

/// A world whose client is set up a little differently. Waits between attempts are noted, not slept.
pub(crate) fn world_with(change: impl FnOnce(&mut OcmConfig)) -> World {
    let double = OcmDouble::start(now());
    let token = token_file(TOKEN);
    let waits = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&waits);
    let mut config = config(&double.url(), &token);
    config.sleep = Sleep::new(move |time| {
        noted.lock().unwrap().push(time);
        async {}
    });
    change(&mut config);
    World {
        double,
        ocm: Ocm::new(config).unwrap(),
        token,
        waits,
    }
}

pub(crate) fn config(url: &str, token: &NamedTempFile) -> OcmConfig {
    let limits = Limits {
        response_bytes: 1 << 20,
        ..Limits::default()
    };
    OcmConfig {
        allow_http: true,
        environment_proxy: false,
        limits,
        ..OcmConfig::new(url, token.path())
    }
}

pub(crate) fn token_file(token: &str) -> NamedTempFile {
    let mut file = NamedTempFile::new().unwrap();
    writeln!(file, "{token}").unwrap();
    file
}

/// A request that stalls is given up soon.
pub(crate) fn impatient(config: &mut OcmConfig) {
    config.limits.request_timeout = Duration::from_millis(300);
}

impl World {
    pub(crate) async fn fleet(&self) -> Result<OcmFleet, OcmError> {
        self.ocm.fleet(now(), &BTreeSet::new()).await
    }

    pub(crate) async fn fleet_with(&self, ours: &[&Name]) -> OcmFleet {
        self.ocm
            .fleet(now(), &ours.iter().map(|id| (*id).clone()).collect())
            .await
            .unwrap()
    }

    /// How long it would have waited between attempts.
    pub(crate) fn waits(&self) -> Vec<Duration> {
        self.waits.lock().unwrap().clone()
    }
}

pub(crate) fn classic(name: &str) -> ClusterRef {
    ClusterRef {
        id: format!("ocm-{name}").into(),
        hosted: false,
    }
}

pub(crate) fn hosted(name: &str) -> ClusterRef {
    ClusterRef {
        hosted: true,
        ..classic(name)
    }
}

/// The names of the clusters, in one line.
pub(crate) fn names(fleet: &OcmFleet) -> String {
    fleet
        .clusters
        .iter()
        .map(|cluster| &*cluster.name)
        .collect::<Vec<_>>()
        .join(" ")
}

/// The findings, one in a line.
pub(crate) fn findings(fleet: &OcmFleet) -> String {
    fleet
        .findings
        .iter()
        .map(|finding| format!("{}: {finding}\n", finding.code))
        .collect()
}
