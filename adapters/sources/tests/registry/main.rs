//! Registries, from outside: a real one with images of every kind, and one that misbehaves in every way.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "in tests, what fails must be seen"
)]

mod access;
mod broken;
mod cache;
mod graph_data;
mod network;
mod one_release;
mod real;
mod recheck;

use std::time::Duration;

use towpath_core::finding::{Finding, Place};
use towpath_core::graph::Releases;
use towpath_core::retry::{Backoff, Retry};
use towpath_formats::SourceFile;
use towpath_sources::{Registry, RegistryLimits, RegistryOptions};

/// Limits with which tests do not wait long.
fn quick() -> RegistryLimits {
    RegistryLimits {
        connect_timeout: Duration::from_secs(5),
        idle_timeout: Duration::from_millis(300),
        retry: Retry {
            attempts: 3,
            backoff: Backoff {
                first: Duration::from_millis(1),
                longest: Duration::from_secs(2),
            },
        },
        ..RegistryLimits::default()
    }
}

/// Limits for a real registry, which does not fail, and may be slow where much else runs.
fn patient() -> RegistryLimits {
    RegistryLimits {
        idle_timeout: Duration::from_secs(30),
        ..quick()
    }
}

fn plain(limits: RegistryLimits) -> Registry {
    Registry::new(RegistryOptions {
        plain_http: true,
        limits,
        ..RegistryOptions::default()
    })
    .unwrap()
}

fn read(file: &SourceFile) -> Releases {
    let (releases, findings) =
        towpath_formats::graph::releases::read(&Place::file("scraped"), &file.bytes).unwrap();
    assert_eq!(findings, [], "what we write has nothing to be found");
    releases
}

/// `4.1.0+amd64 4.1.1+amd64`, in the file's order.
fn names(file: &SourceFile) -> String {
    let names: Vec<String> = read(file)
        .releases
        .iter()
        .map(|release| format!("{}+{}", release.version, release.arch))
        .collect();
    names.join(" ")
}

/// A line a finding: its code, the tag, the problem.
fn said(findings: &[Finding]) -> Vec<String> {
    let tag = |finding: &Finding| {
        finding
            .place
            .file
            .rsplit(['/', ':'])
            .next()
            .unwrap_or_default()
            .to_owned()
    };
    findings
        .iter()
        .map(|finding| format!("{} {}: {}", finding.code, tag(finding), finding.problem))
        .collect()
}
