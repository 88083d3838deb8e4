//! `towpath releases verify`: who signed each release, or why its signature does not count.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{anyhow, bail};
use clap::Args;
use jiff::Timestamp;
use towpath_core::graph::Releases;
use towpath_core::signatures::SignaturePolicy;
use towpath_core::signatures::wanted;
use towpath_core::version::Version;
use towpath_formats::graph_data::parse_time;
use towpath_formats::signatures::verdicts::{SignedRelease, json, text};
use towpath_sources::{StoreAccess, read_file};

use crate::cli::{print, warn};
use crate::graph::Output;
use crate::graph::inputs;
use crate::signatures::{Go, Verifier};

/// The largest file of certificates that we read.
const MAX_CA_BYTES: u64 = 4 << 20;

#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// Only these versions. [default: all]
    #[arg(value_name = "VERSION")]
    versions: Vec<Version>,
    /// The releases: a Cincinnati graph file.
    #[arg(long, env = "TOWPATH_RELEASES", value_name = "FILE")]
    releases: PathBuf,
    /// Where signatures are: a directory or an address with sha256=<digest>/signature-1, … May be given more than once.
    #[arg(long, value_name = "STORE", required = true)]
    signatures: Vec<String>,
    /// The OpenPGP public keys whose signatures count, armored or binary. May be given more than once.
    #[arg(long, value_name = "FILE", required = true)]
    keyring: Vec<PathBuf>,
    /// Keep the signatures that count here, and look here first. It is a store itself, and can be carried elsewhere.
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
    /// Trust these certificates too, in PEM form.
    #[arg(long, value_name = "FILE")]
    ca_file: Option<PathBuf>,
    /// As of this time.
    #[arg(long, env = "TOWPATH_NOW", value_name = "TIME")]
    now: Option<String>,
    /// How to answer.
    #[arg(long, value_enum, default_value_t = Output::Text)]
    output: Output,
}

/// Looks for the signatures of all releases, and tells of each.
pub(crate) fn verify(args: &VerifyArgs) -> anyhow::Result<ExitCode> {
    let now = args
        .now
        .as_deref()
        .map(|text| parse_time(text).map_err(|problem| anyhow!("--now: {problem}")));
    let now = now.transpose()?.unwrap_or_else(Timestamp::now);
    let releases = args.releases()?;
    let ca = args
        .ca_file
        .as_deref()
        .map(|path| read_file(path, MAX_CA_BYTES))
        .transpose();
    let access = StoreAccess {
        ca: ca.map_err(|finding| anyhow!("{finding}"))?,
        ..StoreAccess::default()
    };
    let (mut verifier, mut warnings) = Verifier::new(
        &args.keyring,
        &args.signatures,
        args.cache.as_deref(),
        &access,
    )
    .map_err(|f| inputs::all(&f))?;
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
    match args.output {
        Output::Text => print(&text(&judged))?,
        Output::Json => print(&format!("{:#}\n", json(&judged)))?,
    }
    Ok(if judged.iter().all(SignedRelease::is_verified) {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(1)
    })
}

impl VerifyArgs {
    /// The releases to look at, by architecture and version.
    fn releases(&self) -> anyhow::Result<Releases> {
        let mut releases = inputs::releases(Some(&self.releases))?;
        for version in &self.versions {
            if !releases
                .releases
                .iter()
                .any(|release| release.version == *version)
            {
                bail!(
                    "{}: there is no release {version}; look it up in the file",
                    self.releases.display()
                );
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
