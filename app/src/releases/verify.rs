//! `towpath releases verify`: who signed each release, or why its signature does not count.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;
use clap::Args;
use comfy_table::presets::NOTHING;
use comfy_table::{ContentArrangement, Table};
use jiff::Timestamp;
use serde_json::{Value, json};
use towpath_core::graph::{DeclaredRelease, Releases};
use towpath_core::signatures::{PayloadDigest, SignaturePolicy, SignatureVerdict};
use towpath_core::signatures::{Verdicts, wanted};
use towpath_core::version::Version;
use towpath_sources::StoreAccess;

use crate::cli::{failure, print, warn};
use crate::clock::NowArgs;
use crate::config::SourceArgs;
use crate::output::{Output, OutputArgs};
use crate::signatures::{Go, Verifier};
use crate::sources::{Needs, SourceSettings, Sources};
use crate::words::{count, minute, shown};

#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// Only these versions. [default: all]
    #[arg(value_name = "VERSION")]
    versions: Vec<Version>,
    #[command(flatten)]
    sources: SourceArgs,
    /// Keep the signatures that count here, and look here first. It is a store itself, and can be carried elsewhere.
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
    #[command(flatten)]
    now: NowArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Looks for the signatures of all releases, and tells of each.
pub(crate) fn verify(args: &VerifyArgs) -> anyhow::Result<ExitCode> {
    let now = args.now.at();
    let mut settings = args.sources.settings(Needs::Releases, None)?;
    if settings.is_example() {
        bail!("the example's releases are signed by nobody; name yours with --releases WHERE");
    }
    // All releases are looked at here, not only those that count.
    let Some(trust) = settings.signatures.take() else {
        bail!(
            "whose signatures count, and where are they? Add --keyring FILE and --signatures STORE"
        );
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
    let judged: Vec<Judged<'_>> = releases
        .releases
        .iter()
        .map(|release| Judged::new(release, &verdicts))
        .collect();
    match args.output.form {
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
