//! Speed: requests per second and the 99th percentile, compared with nginx.
//!
//! Both servers are measured in turns, so that other load on the machine affects both alike.

use super::bars::Bars;
use super::clients::{self, PLATFORMS};
use super::http::Encoding;
use super::nginx::{Nginx, StaticFile};
use super::real_data::RealData;
use super::scratch::Scratch;
use super::table::{Table, shown_micros};
use super::towpath::{Towpath, graph_target};
use super::wrk::{self, Report};
use super::{Options, median};
use crate::say::say;

/// Of nginx's requests per second.
const SPEED: f64 = 0.9;
/// Of nginx's 99th percentile.
const P99: f64 = 2.0;
/// How many clients' bodies are looked at to find one of middling length.
const SAMPLES: usize = 61;

/// Measures the smallest and the biggest channel, in both encodings.
pub(super) fn measure(
    options: &Options,
    data: &RealData,
    towpath: &Towpath,
    scratch: &Scratch,
    bars: &mut Bars,
) -> anyhow::Result<()> {
    let nginx = Nginx::start(scratch)?;
    let mut table = Table::new([
        "channel",
        "encoding",
        "body bytes",
        "nginx req/s",
        "towpath req/s",
        "ratio",
        "bar",
        "nginx p99",
        "towpath p99",
        "p99 ratio",
        "bar",
    ]);
    let mut failed = Vec::new();
    for channel in [&data.smallest, &data.biggest] {
        for encoding in [Encoding::Gzip, Encoding::Identity] {
            let case = Case::prepare(channel, encoding, towpath, scratch)?;
            nginx.ensure_serves(&case.file)?;
            let measured = case.measure(options, &nginx, towpath)?;
            failed.extend(
                measured
                    .towpath
                    .iter()
                    .flat_map(|report| report.failures.clone()),
            );
            table.row(measured.row(channel, encoding, case.file.length(), bars));
        }
    }
    say(format!(
        "\nspeed against nginx: 64 connections, a new id and one of six platforms per request\n{table}"
    ))?;
    say(format!(
        "requests that failed: {}; bar: {}",
        failed.len(),
        bars.no_failures("requests", &failed)
    ))
}

/// One channel in one encoding.
struct Case {
    file: StaticFile,
    to_nginx: std::path::PathBuf,
    to_towpath: std::path::PathBuf,
}

/// What was measured in each round.
struct Measurement {
    nginx: Vec<Report>,
    towpath: Vec<Report>,
}

impl Case {
    fn prepare(
        channel: &str,
        encoding: Encoding,
        towpath: &Towpath,
        scratch: &Scratch,
    ) -> anyhow::Result<Self> {
        let body = middling_body(channel, encoding, towpath)?;
        let file = StaticFile::write(scratch, channel, encoding, body)?;
        let to_towpath = graph_target(&format!("channel={channel}"));
        let script = |server: &str, target: &str| {
            let name = format!("{server}-{channel}-{}.lua", encoding.name());
            scratch.write(&name, clients::random_clients(target, encoding))
        };
        Ok(Self {
            to_nginx: script("nginx", &file.target)?,
            to_towpath: script("towpath", &to_towpath)?,
            file,
        })
    }

    fn measure(
        &self,
        options: &Options,
        nginx: &Nginx,
        towpath: &Towpath,
    ) -> anyhow::Result<Measurement> {
        // Once to warm up.
        wrk::run(nginx.port, &self.to_nginx, 1)?;
        wrk::run(towpath.port, &self.to_towpath, 1)?;
        let mut measured = Measurement {
            nginx: Vec::new(),
            towpath: Vec::new(),
        };
        for _ in 0..options.rounds {
            let report = wrk::run(nginx.port, &self.to_nginx, options.seconds)?;
            anyhow::ensure!(
                report.failures.is_empty(),
                "nginx fails: {}",
                report.failures.join(", ")
            );
            measured.nginx.push(report);
            measured
                .towpath
                .push(wrk::run(towpath.port, &self.to_towpath, options.seconds)?);
        }
        Ok(measured)
    }
}

impl Measurement {
    fn row(
        &self,
        channel: &str,
        encoding: Encoding,
        length: usize,
        bars: &mut Bars,
    ) -> [String; 11] {
        let [nginx, towpath] = [&self.nginx, &self.towpath].map(|reports| {
            let speed = median(reports.iter().map(|report| report.requests_per_second));
            (
                speed,
                median(reports.iter().map(|report| report.p99_micros)),
            )
        });
        let (speed, p99) = (towpath.0 / nginx.0, towpath.1 / nginx.1);
        let what = |figure: &str| format!("{channel}, {}, {figure}", encoding.name());
        [
            channel.to_owned(),
            encoding.name().to_owned(),
            length.to_string(),
            format!("{:.0}", nginx.0),
            format!("{:.0}", towpath.0),
            format!("{speed:.2}"),
            bars.at_least(&what("requests per second against nginx"), speed, SPEED),
            shown_micros(nginx.1),
            shown_micros(towpath.1),
            format!("{p99:.2}"),
            bars.at_most(&what("p99 against nginx"), p99, P99),
        ]
    }
}

/// A body as some client gets it: of all that were looked at, one of middling length, so that nginx sends as much.
fn middling_body(channel: &str, encoding: Encoding, towpath: &Towpath) -> anyhow::Result<Vec<u8>> {
    let body = |number: usize| {
        let platform = PLATFORMS[number % PLATFORMS.len()];
        let query = format!(
            "channel={channel}&id={}&platform={platform}",
            clients::known_id(number)
        );
        towpath.graph(&query, encoding)
    };
    let mut bodies: Vec<Vec<u8>> = (0..SAMPLES).map(body).collect::<anyhow::Result<_>>()?;
    bodies.sort_by_key(Vec::len);
    Ok(bodies.swap_remove(SAMPLES / 2))
}
