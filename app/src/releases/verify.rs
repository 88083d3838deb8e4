//! `towpath releases verify`: who signed each release, or why its signature does not count.

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use jiff::Timestamp;
use towpath_core::graph::Releases;
use towpath_core::signatures::{SignaturePolicy, wanted};
use towpath_core::version::Version;
use towpath_formats::signatures::verdicts::{SignedRelease, json, text};
use towpath_sources::StoreAccess;

use crate::cli::{failure, warn};
use crate::clock::NowArgs;
use crate::config::SourceArgs;
use crate::example::Origin;
use crate::output::OutputArgs;
use crate::signatures::{Go, Verifier};
use crate::sources::{Needs, SourceSettings, Sources};
use crate::terminal::room;

#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// Only these versions. [default: all]
    #[arg(value_name = "VERSION")]
    versions: Vec<Version>,
    #[command(flatten)]
    sources: SourceArgs,
    /// Save valid signatures in this directory, and look there first. It has the layout of a signature store, so you can copy it elsewhere.
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
    #[command(flatten)]
    now: NowArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Looks for the signatures of all releases, and tells of each.
pub(crate) fn verify(args: &VerifyArgs) -> anyhow::Result<bool> {
    let now = args.now.at();
    let mut settings = args.sources.settings(Needs::Releases, None)?;
    if settings.is_example() {
        bail!("the built-in example's releases are not signed; use your own with --releases WHERE");
    }
    // All releases are looked at here, not only those that count.
    let Some(trust) = settings.signatures.take() else {
        bail!("no keyring or no signature store; add --keyring FILE and --signatures STORE");
    };
    let access = StoreAccess {
        ca: settings.access.http.ca.clone(),
        ..StoreAccess::default()
    };
    let releases = args.releases(settings, now)?;
    let (mut verifier, mut warnings) = Verifier::new(
        &trust.keyring,
        &trust.stores,
        args.cache.as_deref(),
        &access,
    )
    .map_err(|found| failure(&found))?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let wanted = wanted(SignaturePolicy::Require, &releases);
    let (verdicts, more) = runtime.block_on(verifier.verdicts(&wanted, now, &mut |_| Go::On));
    warnings.extend(more);
    warn(&warnings);
    let judged: Vec<SignedRelease<'_>> = releases
        .releases
        .iter()
        .map(|release| SignedRelease::new(release, &verdicts))
        .collect();
    args.output
        .print(Origin::Named, || text(&judged, room()), || json(&judged))?;
    Ok(judged.iter().all(SignedRelease::is_verified))
}

impl VerifyArgs {
    /// The releases to look at, by architecture and version.
    fn releases(&self, settings: SourceSettings, now: Timestamp) -> anyhow::Result<Releases> {
        let mut releases = Sources::read(settings, now)?
            .releases()?
            .unwrap_or_default();
        for version in &self.versions {
            if !releases
                .releases
                .iter()
                .any(|release| release.version == *version)
            {
                bail!("there is no release {version} in these sources; correct the version");
            }
        }
        releases
            .retain(|release| self.versions.is_empty() || self.versions.contains(&release.version));
        releases.edges.clear();
        releases
            .releases
            .sort_by(|a, b| (&a.arch, &a.version).cmp(&(&b.arch, &b.version)));
        Ok(releases)
    }
}
