//! How many reports a second go into a store: `cargo run --release -p towpath-store --example record_throughput`.
//!
//! Batches of 500 into a PostgreSQL of its own, with fsync as in production, then into an SQLite file. Each cluster reports
//! again and again, with a body of one kilobyte; one report in fifty changes the cluster's version.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "it measures, and tells"
)]

use std::sync::Arc;
use std::time::Instant;

use towpath_store::{Backend, ClusterReport, Store};
use towpath_testing_postgres::{Postgres, Sync};
use towpath_testing_store::*;

const BATCH: usize = 500;
const CLUSTERS: usize = 50_000;
const ROUNDS: i64 = 4;

#[tokio::main]
async fn main() {
    let server = Postgres::boot(Sync::On);
    for writers in [1, 4] {
        measure("PostgreSQL", &server.database(), writers).await;
    }
    let place = Place::new(Backend::Sqlite);
    measure("SQLite", &place.url, 1).await;
}

async fn measure(what: &str, url: &str, writers: usize) {
    let store = Store::open(url).await.unwrap();
    let body: Arc<str> = format!("{{\"filler\": \"{}\"}}", "x".repeat(1000)).into();
    let (mut first, mut later) = (0.0, 0.0);
    for hour in 0..ROUNDS {
        let reports: Vec<ClusterReport> = (0..CLUSTERS).map(|n| report(n, hour, &body)).collect();
        let shares: Vec<Vec<ClusterReport>> = reports
            .chunks(CLUSTERS.div_ceil(writers))
            .map(<[_]>::to_vec)
            .collect();
        let began = Instant::now();
        let mut tasks = tokio::task::JoinSet::new();
        for share in shares {
            let store = store.clone();
            tasks.spawn(async move {
                for batch in share.chunks(BATCH) {
                    store.record(batch, TWO_HOURS).await.unwrap();
                }
            });
        }
        while let Some(done) = tasks.join_next().await {
            done.unwrap();
        }
        let seconds = began.elapsed().as_secs_f64();
        if hour == 0 {
            first = seconds
        } else {
            later += seconds
        }
    }
    let clusters = CLUSTERS as f64;
    let (new, known) = (clusters / first, clusters * (ROUNDS - 1) as f64 / later);
    println!(
        "{what}, {writers} writer(s): {new:.0} new clusters/s, {known:.0} reports/s of known ones"
    );
    for (name, seconds) in [
        ("clusters", timed(store.clusters()).await),
        ("soak_totals", timed(store.soak_totals()).await),
    ] {
        println!("    {name} of {CLUSTERS}: {:.0} ms", seconds * 1000.0);
    }
}

async fn timed<T>(call: impl Future<Output = towpath_store::Result<T>>) -> f64 {
    let began = Instant::now();
    call.await.unwrap();
    began.elapsed().as_secs_f64()
}

fn report(number: usize, hour: i64, body: &Arc<str>) -> ClusterReport {
    let minor = if number % 50 == hour as usize { 2 } else { 1 };
    let mut report = rich(&format!("{number:032x}"), &format!("4.9.{minor}"), hour);
    report.body = body.clone();
    report
}
