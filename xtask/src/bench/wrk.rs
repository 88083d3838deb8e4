//! wrk: 64 connections that ask as fast as they are answered.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};

use super::tools;

/// As the bar has it.
const CONNECTIONS: &str = "64";
const THREADS: &str = "2";

/// What wrk measured.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Report {
    pub(super) requests: f64,
    pub(super) requests_per_second: f64,
    pub(super) p50_micros: f64,
    pub(super) p99_micros: f64,
    /// What wrk says about requests that failed; nothing if none did.
    pub(super) failures: Vec<String>,
}

/// Asks the server on a port of this machine, as a script says, for so long.
pub(super) fn run(port: u16, script: &Path, seconds: u64) -> anyhow::Result<Report> {
    let duration = format!("{seconds}s");
    let url = format!("http://127.0.0.1:{port}");
    let output = Command::new(tools::program("wrk")?)
        .args([
            "--connections",
            CONNECTIONS,
            "--threads",
            THREADS,
            "--latency",
            "--duration",
            &duration,
            "--script",
        ])
        .arg(script)
        .arg(&url)
        .output()
        .context("wrk cannot be run")?;
    let text = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        bail!(
            "wrk failed: {text}{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    parse(&text).with_context(|| format!("wrk's output is not understood:\n{text}"))
}

/// Reads what `wrk --latency` prints.
fn parse(text: &str) -> anyhow::Result<Report> {
    let words = || {
        text.lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>())
    };
    let after = |label: &str| {
        let found = words().find_map(|line| match line.as_slice() {
            [first, value] if *first == label => Some((*value).to_owned()),
            _ => None,
        });
        found.with_context(|| format!("there is no line `{label}`"))
    };
    let requests = words().find_map(|line| match line.as_slice() {
        [count, "requests", "in", ..] => count.parse().ok(),
        _ => None,
    });
    let failures = text.lines().map(str::trim).filter(|line| {
        line.starts_with("Socket errors:") || line.starts_with("Non-2xx or 3xx responses:")
    });
    Ok(Report {
        requests: requests.context("there is no line `… requests in …`")?,
        requests_per_second: after("Requests/sec:")?.parse().context("Requests/sec")?,
        p50_micros: micros(&after("50%")?)?,
        p99_micros: micros(&after("99%")?)?,
        failures: failures.map(str::to_owned).collect(),
    })
}

fn micros(text: &str) -> anyhow::Result<f64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let scale = match &text[digits.len()..] {
        "us" => 1.0,
        "ms" => 1e3,
        "s" => 1e6,
        "m" => 60e6,
        other => bail!("{text}: {other:?} is no unit of time that wrk has"),
    };
    let figure: f64 = digits
        .parse()
        .with_context(|| format!("{text} is not a time"))?;
    Ok(figure * scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUIET: &str = "\
Running 2s test @ http://127.0.0.1:8080
  2 threads and 64 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     1.70ms    2.02ms  35.21ms   91.44%
    Req/Sec    25.32k     3.12k   31.09k    72.50%
  Latency Distribution
     50%  990.00us
     75%    1.91ms
     90%    3.66ms
     99%    1.02s
  100853 requests in 2.01s, 1.23GB read
Requests/sec:  50210.21
Transfer/sec:    627.43MB
";

    #[test]
    fn figures_are_read_with_their_units() {
        let expected = Report {
            requests: 100_853.0,
            requests_per_second: 50_210.21,
            p50_micros: 990.0,
            p99_micros: 1_020_000.0,
            failures: Vec::new(),
        };
        assert_eq!(parse(QUIET).unwrap(), expected);
    }

    #[test]
    fn failures_are_kept() {
        let errors = "  Socket errors: connect 0, read 3, write 0, timeout 1\n  Non-2xx or 3xx responses: 7\nRequests/sec:";
        let report = parse(&QUIET.replace("Requests/sec:", errors)).unwrap();
        let expected = [
            "Socket errors: connect 0, read 3, write 0, timeout 1",
            "Non-2xx or 3xx responses: 7",
        ]
        .map(str::to_owned);
        assert_eq!(report.failures, expected);
    }

    #[test]
    fn what_is_missing_is_named() {
        let error = parse(&QUIET.replace("     99%", "     98%")).unwrap_err();
        assert_eq!(error.to_string(), "there is no line `99%`");
        assert!(parse("unable to connect to 127.0.0.1:1 Connection refused").is_err());
    }

    #[test]
    fn units_of_time() {
        for (text, expected) in [
            ("0.00us", 0.0),
            ("12.50ms", 12_500.0),
            ("1.50s", 1.5e6),
            ("2.00m", 120e6),
        ] {
            assert_eq!(micros(text).unwrap(), expected, "{text}");
        }
        assert!(micros("12").is_err() && micros("ms").is_err() && micros("1.0h").is_err());
    }
}
