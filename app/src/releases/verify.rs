//! `towpath releases verify`: who signed each release, or why its signature does not count.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{anyhow, bail};
use clap::Args;
use comfy_table::presets::NOTHING;
use comfy_table::{ContentArrangement, Table};
use jiff::Timestamp;
use serde_json::{Value, json};
use towpath_core::graph::{DeclaredRelease, Releases};
use towpath_core::signatures::{PayloadDigest, SignaturePolicy, SignatureVerdict};
use towpath_core::signatures::{Verdicts, wanted};
use towpath_core::version::Version;
use towpath_formats::graph_data::parse_time;
use towpath_sources::{StoreAccess, read_file};

use crate::cli::{print, warn};
use crate::graph::Output;
use crate::graph::inputs;
use crate::signatures::{Go, Verifier};
use crate::words::{count, minute, shown};

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
    let judged: Vec<Judged<'_>> = releases
        .releases
        .iter()
        .map(|release| Judged::new(release, &verdicts))
        .collect();
    match args.output {
        Output::Text => print(&text(&judged))?,
        Output::Json => print(&format!("{:#}\n", json(&judged)))?,
    }
    Ok(if judged.iter().all(Judged::is_verified) {
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

/// A release, and what is known of its signature; none if its payload has no digest.
struct Judged<'a> {
    release: &'a DeclaredRelease,
    verdict: Option<&'a SignatureVerdict>,
}

impl<'a> Judged<'a> {
    fn new(release: &'a DeclaredRelease, verdicts: &'a Verdicts) -> Self {
        let digest = PayloadDigest::of_pull_spec(&release.payload);
        Self {
            release,
            verdict: digest.and_then(|digest| verdicts.get(&digest)),
        }
    }

    fn is_verified(&self) -> bool {
        matches!(self.verdict, Some(SignatureVerdict::Verified(_)))
    }

    fn code(&self) -> &'static str {
        self.verdict.map_or("no-digest", SignatureVerdict::code)
    }

    fn sentence(&self) -> String {
        match self.verdict {
            Some(SignatureVerdict::Verified(signer)) => {
                let user = if signer.user_id.is_empty() {
                    &signer.fingerprint
                } else {
                    &signer.user_id
                };
                format!("signed {} by {user}", minute(signer.signed_at))
            }
            Some(verdict) => verdict.to_string(),
            None => "its payload has no digest that could be signed".to_owned(),
        }
    }
}

fn text(judged: &[Judged<'_>]) -> String {
    let mut table = Table::new();
    table
        .load_style(NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(["RELEASE", "VERDICT", "WHY"]);
    for one in judged {
        let release = format!("{}+{}", one.release.version, one.release.arch);
        table.add_row([release, one.code().to_owned(), one.sentence()]);
    }
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    judged
        .iter()
        .for_each(|one| *counts.entry(one.code()).or_default() += 1);
    let counts: Vec<String> = counts
        .iter()
        .map(|(code, number)| format!("{number} {code}"))
        .collect();
    format!(
        "{}\n{}: {}\n",
        shown(&table),
        count(judged.len(), "release"),
        counts.join(", ")
    )
}

fn json(judged: &[Judged<'_>]) -> Value {
    let one = |one: &Judged<'_>| {
        let mut value = json!({
            "version": one.release.version.to_string(),
            "arch": one.release.arch.as_str(),
            "payload": one.release.payload,
            "verdict": one.code(),
        });
        match one.verdict {
            Some(SignatureVerdict::Verified(signer)) => {
                value["signer"] = json!({
                    "fingerprint": signer.fingerprint,
                    "userId": signer.user_id,
                    "signedAt": signer.signed_at.to_string(),
                    "until": signer.until.map(|until| until.to_string()),
                });
            }
            _ => value["problem"] = one.sentence().into(),
        }
        value
    };
    json!({
        "releases": judged.iter().map(one).collect::<Vec<_>>(),
        "verified": judged.iter().filter(|one| one.is_verified()).count(),
        "unverified": judged.iter().filter(|one| !one.is_verified()).count(),
    })
}
