//! `towpath releases scrape`: writes a registry's releases to a file for use offline.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use clap::Args;
use towpath_core::finding::{Finding, Place};
use towpath_core::intake::Recheck;
use towpath_core::version::Arch;
use towpath_formats::SourceFile;
use towpath_formats::findings::Shown;
use towpath_formats::graph::release_images::ScrapeReport;
use towpath_formats::graph::releases;
use towpath_formats::sources::oci::Repository;
use towpath_sources::{
    Cache, Progress, Registry, RegistryOptions, Scrape, Step, scrape as scraped,
};

use crate::cli::failure;
use crate::example::Origin;
use crate::output::OutputArgs;
use crate::progress::WorkBar;

/// How many findings of one code are shown before the others are counted.
const SHOWN_OF_EACH_CODE: usize = 5;

#[derive(Debug, Args)]
pub(crate) struct ScrapeArgs {
    /// The repository with the release images: quay.io/openshift-release-dev/ocp-release.
    #[arg(value_name = "REGISTRY/REPOSITORY", value_parser = Repository::parse)]
    repository: Repository,
    /// Write the release file here.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Registry credentials, in Docker's config.json format; a pull secret is one.
    #[arg(long, env = "TOWPATH_REGISTRY_AUTH_FILE", value_name = "FILE")]
    registry_auth_file: Option<PathBuf>,
    /// Also trust the certificate authorities in this PEM file.
    #[arg(long, env = "TOWPATH_CA_FILE", value_name = "FILE")]
    ca_file: Option<PathBuf>,
    /// Use plain HTTP, without TLS.
    #[arg(long)]
    plain_http: bool,
    /// Cache images by digest in this directory, so that each is read once.
    #[arg(long, env = "TOWPATH_REGISTRY_CACHE", value_name = "DIR")]
    cache: Option<PathBuf>,
    /// Check every tag again, even tags that name a version and were checked recently.
    #[arg(long)]
    recheck: bool,
    /// Number of images to read at once.
    #[arg(long, default_value_t = Scrape::CONCURRENCY as u16, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    concurrency: u16,
    /// Only releases of these architectures. [default: all]
    #[arg(long, value_name = "ARCH,…", value_delimiter = ',')]
    arch: Vec<String>,
    /// Write the file even if some images could not be read.
    #[arg(long)]
    partial: bool,
    /// Show every finding, not only the first few of each code. JSON always has all.
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) fn scrape(args: &ScrapeArgs) -> anyhow::Result<bool> {
    let options = RegistryOptions {
        auth_file: args.registry_auth_file.clone(),
        ca_file: args.ca_file.clone(),
        plain_http: args.plain_http,
        ..RegistryOptions::default()
    };
    let registry = Registry::new(options)?;
    let bar = WorkBar::new();
    let wish = Scrape {
        arches: args
            .arch
            .iter()
            .map(|name| Arch::new(name.as_str()))
            .collect(),
        concurrency: usize::from(args.concurrency),
        cache: args
            .cache
            .as_deref()
            .map(|directory| Arc::new(Cache::at(directory))),
        recheck: if args.recheck {
            Recheck::All
        } else {
            Recheck::InTurn
        },
        progress: told_to(&bar),
        ..Scrape::of(args.repository.clone())
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let end = runtime.block_on(scraped(&registry, &wish));
    drop((wish, bar));
    let (file, findings) = end?;
    let (releases, _) = releases::read(&Place::file(file.path.as_str()), &file.bytes)
        .map_err(|found| failure(&found))?;

    let stops = |finding: &&Finding| {
        finding.is_error() && !(args.partial && finding.code == "unreadable-image")
    };
    let is_written = !findings.iter().any(|finding| stops(&finding));
    if is_written {
        write(&args.out, &file)?;
    }
    let report = ScrapeReport {
        repository: &args.repository,
        out: &args.out,
        releases: &releases,
        findings: &findings,
        requests: registry.requests(),
        is_written,
    };
    let shown = match args.all {
        true => Shown::All,
        false => Shown::FirstOfEachCode(SHOWN_OF_EACH_CODE),
    };
    args.output
        .print(Origin::Named, || report.text(shown), || report.json())?;
    Ok(!findings.iter().any(Finding::is_error))
}

/// Whole or not at all: another name first, so that nobody reads half of it.
fn write(path: &Path, file: &SourceFile) -> anyhow::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}", std::process::id()));
    let temporary = PathBuf::from(name);
    let written = std::fs::File::create(&temporary).and_then(|mut out| {
        out.write_all(&file.bytes)?;
        out.sync_all()
    });
    let written = written.and_then(|()| std::fs::rename(&temporary, path));
    // Nothing more can be done about what is left of it.
    let written = written.inspect_err(|_| _ = std::fs::remove_file(&temporary));
    written.with_context(|| format!("{} cannot be written", path.display()))
}

fn told_to(bar: &WorkBar) -> Progress {
    let bar = bar.clone();
    Progress::new(move |step| {
        let (what, done, total) = match step {
            Step::Tags(done, total) => ("tags", done, total),
            Step::Images(done, total) => ("images", done, total),
        };
        bar.tell(what, done as u64, total as u64);
    })
}
