//! What the core's bench prints: a line of JSON for each case.

use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use serde_json::Value;

use crate::say::say;
use crate::workspace;

pub(super) struct Line(Value);

pub(super) fn build() -> anyhow::Result<()> {
    say("building the core's bench")?;
    let built = bench(&["--no-run"])
        .status()
        .context("cargo cannot be run")?;
    ensure!(
        built.success(),
        "the core's bench cannot be built; see above"
    );
    Ok(())
}

pub(super) fn of_part(part: &str) -> anyhow::Result<Vec<Line>> {
    say(format!("simulating: {part}"))?;
    let output = bench(&["--", part]).stderr(Stdio::inherit()).output()?;
    ensure!(output.status.success(), "the bench failed; see above");
    read(&String::from_utf8_lossy(&output.stdout))
}

fn bench(arguments: &[&str]) -> Command {
    let bench = [
        "bench",
        "--quiet",
        "--package",
        "towpath-core",
        "--bench",
        "feedback",
    ];
    workspace::cargo(&[&bench[..], arguments].concat())
}

fn read(text: &str) -> anyhow::Result<Vec<Line>> {
    let lines = text.lines().filter(|line| line.starts_with('{'));
    let parsed = lines.map(|line| {
        serde_json::from_str(line)
            .map(Line)
            .with_context(|| format!("the bench's line is not understood: {line}"))
    });
    parsed.collect()
}

impl Line {
    pub(super) fn text(&self, name: &str) -> anyhow::Result<&str> {
        self.0[name]
            .as_str()
            .with_context(|| format!("there is no {name}"))
    }

    pub(super) fn number(&self, name: &str) -> anyhow::Result<f64> {
        self.0[name]
            .as_f64()
            .with_context(|| format!("there is no {name}"))
    }

    pub(super) fn flag(&self, name: &str) -> anyhow::Result<bool> {
        self.0[name]
            .as_bool()
            .with_context(|| format!("there is no {name}"))
    }

    /// None where it is `null` or left out.
    pub(super) fn number_if_any(&self, name: &str) -> Option<f64> {
        self.0[name].as_f64()
    }

    pub(super) fn text_if_any(&self, name: &str) -> Option<&str> {
        self.0[name].as_str()
    }

    /// How many outcomes were known.
    pub(super) fn outcomes(&self, name: &str) -> anyhow::Result<f64> {
        self.0["outcomes"][name]
            .as_f64()
            .with_context(|| format!("there is no outcomes.{name}"))
    }

    /// A part of the fleet.
    pub(super) fn exposed(&self, name: &str) -> anyhow::Result<f64> {
        self.0["exposed"][name]
            .as_f64()
            .with_context(|| format!("there is no exposed.{name}"))
    }
}

/// The probability of so many or more in `runs`, where each happens with `rate`: the exact binomial test.
pub(super) fn at_least(count: f64, runs: f64, rate: f64) -> f64 {
    let mut term = (runs * (1.0 - rate).ln()).exp();
    let mut below = 0.0;
    let mut k = 0.0;
    while k < count {
        below += term;
        term *= (runs - k) / (k + 1.0) * rate / (1.0 - rate);
        k += 1.0;
    }
    (1.0 - below).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_contradicts_a_rate_if_it_is_too_improbable() {
        // P(X >= 1), P(X >= 2) of 10 at 0.1.
        assert!((at_least(1.0, 10.0, 0.1) - 0.651_321_56).abs() < 1e-6);
        assert!((at_least(2.0, 10.0, 0.1) - 0.263_901_07).abs() < 1e-6);
        // Of 10,000 at 0.001, nineteen are too many, and eighteen are not.
        assert!(at_least(18.0, 10_000.0, 0.001) > 0.01);
        assert!(at_least(19.0, 10_000.0, 0.001) < 0.01);
    }

    #[test]
    fn lines_are_read_and_missing_figures_are_named() {
        let lines = read("noise\n{\"kind\":\"a\",\"exposed\":{\"p95\":0.5}}\n").unwrap();
        assert_eq!(lines[0].text("kind").unwrap(), "a");
        assert_eq!(lines[0].exposed("p95").unwrap(), 0.5);
        let error = lines[0].number("alpha").unwrap_err();
        assert_eq!(error.to_string(), "there is no alpha");
    }
}
