//! Reports: clusters that tell what they run, into a real PostgreSQL, while graphs are served.
//!
//! First all clusters report for the first time, as fast as they are answered. Then each reports once more, at a steady rate, with a
//! number of its own; in the end the database must hold that very number for each cluster whose report was acknowledged.

use std::time::Duration;

use super::bars::Bars;
use super::clients::{self, PLATFORMS};
use super::fleet_files::{ORGANISATION, POLICIES};
use super::fleet_load::{Load, Measurement};
use super::fleet_service::{self, Service};
use super::table::{Table, shown_micros};
use super::{Options, synthetic};
use crate::say::say;

/// Reports a second that must be reached, …
const REPORTS: f64 = 5_000.0;
/// … and those that are sent: a little more, since the last answer comes after the last is due.
const SENT: f64 = 5_500.0;
/// At least as many clusters.
const CLUSTERS: usize = 50_000;
const CONNECTIONS: usize = 256;
/// Graphs a second beside them, and their connections.
const GRAPHS: f64 = 1_000.0;
const GRAPH_CONNECTIONS: usize = 64;
/// No load reaches this: as fast as it is answered.
const AT_ONCE: f64 = 1e9;

/// Measures both, and looks into the database.
pub(super) fn measure(options: &Options, service: &Service, bars: &mut Bars) -> anyhow::Result<()> {
    let clusters = CLUSTERS.max((SENT * options.seconds as f64) as usize);
    let token = |number: usize| {
        fleet_service::token(&clients::known_id(number), &format!("cluster-{number}"))
    };
    let tokens: Vec<String> = (0..clusters).map(token).collect();
    let first = reports(service, &tokens, 0, AT_ONCE)?;
    let kept = kept(service, 0)?;
    let pass_seconds = service.await_clusters(clusters)?;
    let what = format!(
        "{clusters} clusters report for the first time: {:.0}/s, as fast as answered",
        first.per_second()
    );
    let failed = bars.no_failures("first reports", &first.failures());
    say(format!(
        "\n{what}; {failed}; {kept} kept; the pass that saw them all took {pass_seconds:.2} s"
    ))?;
    // A pass may be under way; the next must fall into what is measured.
    std::thread::sleep(Duration::from_secs(1));

    let (port, before) = (service.towpath.port, service.towpath.processor_seconds()?);
    let (reported, graphs) = std::thread::scope(|scope| {
        let count = (GRAPHS * clusters as f64 / SENT) as usize;
        let graphs = scope.spawn(move || graph_load(port, count));
        let reported = reports(service, &tokens, clusters, SENT);
        (reported, graphs.join().expect("a load does not panic"))
    });
    let (reported, graphs) = (reported?, graphs?);
    let processor = service.towpath.processor_seconds()? - before;
    show(&reported, &graphs, bars)?;
    let lost = reported
        .answered
        .saturating_sub(self::kept(service, clusters)?);
    let verdict = bars.at_most(
        "reports that were acknowledged and are not in the database",
        lost as f64,
        0.0,
    );
    say(format!(
        "acknowledged and not in the database: {lost} of {}; bar: {verdict}",
        reported.answered
    ))?;
    say(format!(
        "towpath's processor time: {:.2} cores",
        processor / reported.seconds
    ))
}

/// Each cluster reports once; the reports are numbered from `base` on.
fn reports(
    service: &Service,
    tokens: &[String],
    base: usize,
    per_second: f64,
) -> anyhow::Result<Measurement> {
    let request = |number: usize| report(number, base + number, &tokens[number]);
    let (port, requests) = (service.towpath.port, tokens.len());
    Load {
        port,
        connections: CONNECTIONS,
        per_second,
        requests,
        status: 202,
        request: &request,
    }
    .run()
}

/// Half of the graphs are asked for by clusters that report, half by others.
fn graph_load(port: u16, requests: usize) -> anyhow::Result<Measurement> {
    let target = fleet_service::target();
    let request = |number: usize| {
        let id = clients::known_id(if number.is_multiple_of(2) {
            number
        } else {
            number + 1_000_000
        });
        let platform = PLATFORMS[number % PLATFORMS.len()];
        let head =
            format!("GET {target}&id={id}&platform={platform} HTTP/1.1\r\nHost: 127.0.0.1\r\n");
        format!("{head}Accept-Encoding: gzip\r\n\r\n").into_bytes()
    };
    Load {
        port,
        connections: GRAPH_CONNECTIONS,
        per_second: GRAPHS,
        requests,
        status: 200,
        request: &request,
    }
    .run()
}

/// A cluster's report. The number of nodes identifies the report.
fn report(cluster: usize, nodes: usize, token: &str) -> Vec<u8> {
    let (id, channel) = (clients::known_id(cluster), fleet_service::channel());
    let version = channel.replace("stable-", "")
        + &format!(".{}", cluster % (synthetic::CHANNEL_RELEASES / 2));
    let (platform, policy) = (PLATFORMS[cluster % PLATFORMS.len()], cluster % POLICIES);
    let body = format!(
        r#"{{"name":"cluster-{cluster}","organisation":"{ORGANISATION}","version":"{version}","channel":"{channel}","platform":"{platform}","nodes":{nodes},"labels":{{"policy":"{policy}"}},"history":[{{"version":"{version}","state":"Completed","started":"2026-01-05T12:00:00Z","completed":"2026-01-05T13:00:00Z"}}],"conditions":[{{"type":"Available","status":"True","reason":"AsExpected","message":"Done applying {version}"}},{{"type":"Failing","status":"False"}},{{"type":"Progressing","status":"False","message":"Cluster version is {version}"}}]}}"#
    );
    let head = format!(
        "POST /api/v1/clusters/{id}/report HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}"
    );
    let length = body.len();
    format!("{head}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}")
        .into_bytes()
}

/// How many clusters the database has with the very report that was numbered from `base` on.
fn kept(service: &Service, base: usize) -> anyhow::Result<usize> {
    let number = "CAST(CAST(body AS json)->>'nodes' AS BIGINT)";
    service.sql(&format!(
        "SELECT count(*) FROM clusters WHERE {number} = {base} + CAST(substr(name, 9) AS BIGINT)"
    ))
}

fn show(reported: &Measurement, graphs: &Measurement, bars: &mut Bars) -> anyhow::Result<()> {
    let mut table = Table::new([
        "load",
        "due/s",
        "answered/s",
        "for",
        "p50",
        "p99",
        "failed",
        "bar",
    ]);
    let rate = bars.at_least("reports per second", reported.per_second(), REPORTS);
    for (name, due, measured, bar) in [
        ("reports", SENT, reported, rate),
        ("graphs beside them", GRAPHS, graphs, String::new()),
    ] {
        table.row([
            name.to_owned(),
            format!("{due:.0}"),
            format!("{:.0}", measured.per_second()),
            format!("{:.1} s", measured.seconds),
            shown_micros(measured.percentile(50)),
            shown_micros(measured.percentile(99)),
            bars.no_failures(name, &measured.failures()),
            bar,
        ]);
    }
    say(format!(
        "\nreports into PostgreSQL (synchronous commits) while graphs are served; times from when each was due\n{table}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_says_who_and_announces_its_length() {
        let text = String::from_utf8(report(7, 50_007, "tp2_x")).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with(&format!(
            "POST /api/v1/clusters/{}/report HTTP/1.1\r\n",
            clients::known_id(7)
        )));
        assert!(head.contains("\r\nAuthorization: Bearer tp2_x\r\n"));
        assert!(head.ends_with(&format!("Content-Length: {}", body.len())));
        let body: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!(
            (&body["version"], &body["nodes"]),
            (&"4.5.7".into(), &50_007.into())
        );
    }
}
