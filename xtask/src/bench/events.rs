//! `cargo xtask bench events`: graph requests with ten clients of the event stream, in turns with none.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::thread::JoinHandle;

use anyhow::{Context, ensure};

use super::bars::Bars;
use super::http::Encoding;
use super::scratch::Scratch;
use super::synthetic::{self, Synthetic};
use super::table::Table;
use super::towpath::{Inputs, Towpath, graph_target};
use super::wrk;
use super::{Options, clients, median, tools};
use crate::Outcome;
use crate::say::say;

/// Of the requests per second without streams.
const SPEED: f64 = 0.97;
const STREAMS: usize = 10;
const RELEASES: usize = 1_000;

pub(super) fn run(options: &Options) -> anyhow::Result<Outcome> {
    tools::install_missing()?;
    let binary = tools::build_towpath(&options.profile)?;
    let scratch = Scratch::new("events")?;
    let graph = Synthetic::write(scratch.folder(), RELEASES)?;
    let inputs = Inputs::new(&graph.graph_data, &graph.releases).with_platforms(&graph.platforms);
    let towpath = Towpath::start(&binary, &inputs, &scratch)?;
    let channel = synthetic::channel_name(graph.channels / 2);
    let target = graph_target(&format!("channel={channel}"));
    let script = scratch.write(
        "clients.lua",
        clients::known_clients(&target, Encoding::Gzip, RELEASES),
    )?;
    wrk::run(towpath.port, &script, 1)?;
    let (mut without, mut with, mut failed) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..options.rounds {
        let alone = wrk::run(towpath.port, &script, options.seconds)?;
        let streams = Streams::open(towpath.port)?;
        let beside = wrk::run(towpath.port, &script, options.seconds)?;
        streams.close()?;
        failed.extend(alone.failures.iter().chain(&beside.failures).cloned());
        without.push(alone.requests_per_second);
        with.push(beside.requests_per_second);
    }
    let (without, with) = (median(without), median(with));
    let mut bars = Bars::default();
    let verdict = bars.at_least(
        "graphs per second with streams, against without",
        with / without,
        SPEED,
    );
    let mut table = Table::new(["graphs", "req/s", "ratio", "bar"]);
    for (name, speed, bar) in [
        ("no streams", without, String::new()),
        ("ten streams", with, verdict),
    ] {
        table.row([
            name.to_owned(),
            format!("{speed:.0}"),
            format!("{:.3}", speed / without),
            bar,
        ]);
    }
    say(format!(
        "\nevents: 64 connections for graphs, gzip\n{table}"
    ))?;
    say(format!(
        "requests that failed: {}; bar: {}",
        failed.len(),
        bars.no_failures("graphs", &failed)
    ))?;
    Ok(bars.outcome())
}

/// Open streams, each read by a thread.
struct Streams(Vec<(TcpStream, JoinHandle<()>)>);

impl Streams {
    fn open(port: u16) -> anyhow::Result<Self> {
        let open = |_| {
            let mut stream = TcpStream::connect(("127.0.0.1", port))?;
            stream.write_all(b"GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")?;
            let mut first = [0; 12];
            stream.read_exact(&mut first).context("no answer")?;
            ensure!(&first == b"HTTP/1.1 200", "a stream was refused");
            let mut read = stream.try_clone()?;
            let reader = std::thread::spawn(move || {
                let mut unread = [0; 4096];
                while read.read(&mut unread).is_ok_and(|count| count > 0) {}
            });
            Ok((stream, reader))
        };
        Ok(Self((0..STREAMS).map(open).collect::<anyhow::Result<_>>()?))
    }

    fn close(self) -> anyhow::Result<()> {
        for (stream, reader) in self.0 {
            stream.shutdown(Shutdown::Both)?;
            ensure!(reader.join().is_ok(), "a reader of a stream failed");
        }
        Ok(())
    }
}
