//! For tests only: a place for each kind of store, and short ways to write test data.
//!
//! This is a crate because the store's tests and the measurement of its throughput need it.

// Nothing of this ships: what goes wrong here is a test that fails, with the reason.
#![allow(clippy::unwrap_used, clippy::missing_panics_doc, clippy::print_stdout)]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use sqlx::AnyPool;
use towpath_core::cluster::{ClusterId, Fact, Platform};
use towpath_core::fleet::{Binding, ClusterState, Health, Name, NodePool, Pause, Product, Said};
use towpath_core::graph::ChannelName;
use towpath_core::version::{Arch, Version};
use towpath_store::{
    ActMark, Backend, ChangeMark, Claim, ClaimOutcome, ClusterReport, Lease, Lock, Need, Start,
    StartPlace, Store,
};

use towpath_testing_postgres::Postgres;

/// Where a test has its store.
pub struct Place {
    pub url: String,
    pub backend: Backend,
    /// A directory of its own, for files.
    pub directory: tempfile::TempDir,
}

/// Runs a test for each kind of store.
pub fn both(test: impl AsyncFn(&Place)) {
    for backend in [Backend::Sqlite, Backend::Postgres] {
        on(backend, &test);
    }
}

/// Runs a test for one kind of store.
pub fn on(backend: Backend, test: impl AsyncFn(&Place)) {
    // Shown only if the test fails.
    println!("on {}:", backend.code());
    let place = Place::new(backend);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(test(&place));
}

impl Place {
    pub fn new(backend: Backend) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let url = match backend {
            Backend::Sqlite => format!("sqlite:{}", directory.path().join("a store.db").display()),
            Backend::Postgres => Postgres::shared().database(),
        };
        Self {
            url,
            backend,
            directory,
        }
    }

    pub async fn open(&self) -> Store {
        Store::open(&self.url).await.unwrap()
    }

    /// Changes the database directly.
    pub async fn tamper(&self, text: &str) {
        sqlx::any::install_default_drivers();
        let pool = AnyPool::connect(&self.url.replace(' ', "%20"))
            .await
            .unwrap();
        sqlx::query(sqlx::AssertSqlSafe(text.to_owned()))
            .execute(&pool)
            .await
            .unwrap();
        pool.close().await;
    }
}

/// Makes a store what it was under schema 6.
pub const SCHEMA_SIX: &[&str] = &[
    "DELETE FROM decisions WHERE kind IS NOT NULL",
    "UPDATE counters SET value = (SELECT COALESCE(MAX(seq), 0) FROM decisions) WHERE name = 'decisions'",
    "DROP INDEX decisions_of_kind",
    "ALTER TABLE decisions DROP COLUMN kind",
    "DROP TABLE log_heads",
    "DROP TABLE acts",
    "DROP TABLE revocations",
    "DELETE FROM counters WHERE name = 'acts'",
    "DELETE FROM counters WHERE name = 'revocations'",
    "ALTER TABLE towpath_schema DROP COLUMN newest",
    "DROP TABLE watch_answers",
    "DROP TABLE halts",
    "DELETE FROM counters WHERE name = 'halts'",
    "DROP TABLE attempts",
    "UPDATE towpath_schema SET version = 6",
];

/// Makes a store what it was under schema 11, the last before the log had what people did. What they did goes.
pub const SCHEMA_ELEVEN: &[&str] = &[
    "DELETE FROM decisions WHERE kind IS NOT NULL",
    "UPDATE counters SET value = (SELECT COALESCE(MAX(seq), 0) FROM decisions) WHERE name = 'decisions'",
    "DROP INDEX decisions_of_kind",
    "ALTER TABLE decisions DROP COLUMN kind",
    "DROP TABLE log_heads",
    "UPDATE towpath_schema SET version = CASE WHEN version > 11 THEN 11 ELSE version END, newest = 11",
];

/// Makes a store what it was under schema 9, the last before people's acts were kept.
pub const SCHEMA_NINE: &[&str] = &[
    "DELETE FROM decisions WHERE kind IS NOT NULL",
    "UPDATE counters SET value = (SELECT COALESCE(MAX(seq), 0) FROM decisions) WHERE name = 'decisions'",
    "DROP INDEX decisions_of_kind",
    "ALTER TABLE decisions DROP COLUMN kind",
    "DROP TABLE log_heads",
    "DROP TABLE acts",
    "DROP TABLE revocations",
    "DELETE FROM counters WHERE name = 'acts'",
    "DELETE FROM counters WHERE name = 'revocations'",
    "ALTER TABLE towpath_schema DROP COLUMN newest",
    "UPDATE towpath_schema SET version = 9",
];

/// Makes a store what it was under schema 2.
pub const SCHEMA_TWO: &[&str] = &[
    "DELETE FROM decisions WHERE kind IS NOT NULL",
    "UPDATE counters SET value = (SELECT COALESCE(MAX(seq), 0) FROM decisions) WHERE name = 'decisions'",
    "DROP INDEX decisions_of_kind",
    "ALTER TABLE decisions DROP COLUMN kind",
    "DROP TABLE log_heads",
    "DROP TABLE acts",
    "DROP TABLE revocations",
    "DELETE FROM counters WHERE name = 'acts'",
    "DELETE FROM counters WHERE name = 'revocations'",
    "ALTER TABLE towpath_schema DROP COLUMN newest",
    "ALTER TABLE upgrades DROP COLUMN channel",
    "DROP TABLE preflights",
    "DROP TABLE watch_answers",
    "DROP TABLE attempts",
    "DROP TABLE halts",
    "DROP TABLE imported_soak",
    "DROP TABLE kept_lists",
    "ALTER TABLE agent_updates DROP COLUMN reported_at",
    "DROP VIEW soak_times",
    "DROP VIEW bound_spans",
    "DROP TABLE bindings",
    "DROP TABLE soak_sums",
    "DROP INDEX spans_until",
    "DROP INDEX upgrades_refused",
    "DROP TABLE checkpoints",
    "ALTER TABLE leases DROP COLUMN term_ms",
    "UPDATE towpath_schema SET version = 2",
];

/// The hour of an imagined time.
pub fn at(hour: i64) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + hour * 3600).unwrap()
}

pub const TWO_HOURS: SignedDuration = SignedDuration::from_hours(2);
pub const A_MINUTE: Duration = Duration::from_secs(60);

pub fn id(text: &str) -> ClusterId {
    ClusterId::new(text).unwrap()
}

pub fn version(text: &str) -> Version {
    text.parse().unwrap()
}

pub fn set(names: &[&str]) -> BTreeSet<Name> {
    names.iter().map(|&name| name.into()).collect()
}

/// A healthy cluster that was seen at an hour.
pub fn seen(cluster: &str, on: &str, hour: i64) -> ClusterReport {
    let state = ClusterState {
        id: id(cluster),
        name: format!("name of {cluster}").into(),
        organisation: "acme".into(),
        binding: Binding::Bound,
        version: version(on),
        going_to: None,
        version_since: at(hour),
        last_seen: at(hour),
        health: Health::Healthy,
        channel: None,
        arch: Arch::default(),
        platform: Fact::Unknown,
        labels: Default::default(),
        product: Product::Standalone,
        sts: Fact::Unknown,
        wif: Fact::Unknown,
        offers: [].into(),
        acknowledged_gates: Default::default(),
        available_channels: Fact::Unknown,
    };
    ClusterReport::listed(state)
}

pub fn unwell(mut report: ClusterReport) -> ClusterReport {
    report.state.health = Health::Unhealthy { why: "etcd".into() };
    report
}

/// A cluster with everything there is to know.
pub fn rich(cluster: &str, on: &str, hour: i64) -> ClusterReport {
    let mut report = unwell(seen(cluster, on, hour));
    let state = &mut report.state;
    state.name = "Zoë's \"cluster\" \\ \u{1F6A2}\n".into();
    state.going_to = Some(version("4.9.9-rc.1"));
    state.channel = ChannelName::new("stable-4.9");
    state.platform = Fact::Known(Platform::new("AWS").unwrap());
    state.labels = [("a".to_owned(), "b \u{0}".to_owned())].into();
    state.product = Product::HostedControlPlane {
        pools: vec![NodePool {
            id: "workers".into(),
            version: version("4.9.0"),
        }],
    };
    (state.sts, state.wif) = (Fact::Known(true), Fact::Known(false));
    state.acknowledged_gates = set(&["gate-1"]);
    report.body = Arc::from("{\"text\": \"\\u0000 and \\\\ and ü\"}");
    report
}

/// A claim of a cluster that needs a mutex for itself.
pub fn claim(cluster: &str, from: &str, to: &str, mutexes: &[&str]) -> Claim {
    let lock = |mutex: &&str| Lock {
        mutex: (*mutex).into(),
        sector: None,
    };
    let need = |mutex: &&str| Need {
        mutex: (*mutex).into(),
        within_sector: None,
        at_most: 0,
    };
    Claim {
        start: Start {
            cluster: id(cluster),
            pool: None,
            from: version(from),
            to: version(to),
            channel: None,
            start_at: at(1),
        },
        place: place("acme", None),
        takes: mutexes.iter().map(lock).collect(),
        needs: mutexes.iter().map(need).collect(),
    }
}

/// A start there, by who knows of nothing that people did.
pub fn place(organisation: &str, sector: Option<&str>) -> StartPlace {
    StartPlace {
        organisation: organisation.into(),
        sector: sector.map(Into::into),
        name: "shop".into(),
        known: ActMark::default(),
    }
}

/// What somebody says at an hour.
pub fn said(by: &str, why: &str, hour: i64) -> Said {
    Said {
        by: by.into(),
        known_by: "token".into(),
        at: at(hour),
        why: why.into(),
    }
}

/// The outcomes of claims, in one word each.
pub fn words(claimed: &[ClaimOutcome]) -> Vec<&'static str> {
    let word = |claimed: &ClaimOutcome| match claimed {
        ClaimOutcome::Started(_) => "started",
        ClaimOutcome::Refused(refusal) => refusal.code(),
    };
    claimed.iter().map(word).collect()
}

pub fn pause(organisation: Option<&str>, sector: Option<&str>) -> Pause {
    Pause {
        organisation: organisation.map(Name::from),
        sector: sector.map(Name::from),
        by: "ann".into(),
        at: at(0),
        why: "holidays".into(),
    }
}

pub async fn lease(store: &Store) -> Lease {
    store
        .acquire("scheduler", "me", A_MINUTE)
        .await
        .unwrap()
        .unwrap()
}

/// Waits for a mark without later changes. A change is repeated while an older transaction runs in any database of the
/// server, and other tests have such transactions.
pub async fn settle(store: &Store, mut mark: ChangeMark) -> ChangeMark {
    for _ in 0..100_000 {
        let changes = store.clusters_changed_since(mark).await.unwrap();
        mark = changes.mark;
        if changes.clusters.is_empty() && changes.forgotten.is_empty() {
            return mark;
        }
    }
    panic!("changes are told for ever");
}
