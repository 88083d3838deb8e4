//! `towpath releases scrape`: a registry's releases, as a file for use offline.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write, stderr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, anyhow};
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use towpath_core::finding::{Finding, Place};
use towpath_core::graph::Releases;
use towpath_core::intake::Recheck;
use towpath_core::version::Arch;
use towpath_formats::findings::{self, Shown};
use towpath_formats::oci::Repository;
use towpath_formats::{SourceFile, releases};
use towpath_sources::{
    Cache, Progress, Registry, RegistryOptions, Requests, Scrape, Step, scrape as scraped,
};

use crate::cli::{failure, print};
use crate::output::{Output, OutputArgs};
use crate::words::count;

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
    /// What we are known by: a file as `podman login --authfile` writes it, or a pull secret.
    #[arg(long, env = "TOWPATH_REGISTRY_AUTH_FILE", value_name = "FILE")]
    auth_file: Option<PathBuf>,
    /// Trust these certificates too, in PEM form.
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Talk to the registry without TLS.
    #[arg(long)]
    plain_http: bool,
    /// Keep what is known by digest in this directory, so that it is never read again.
    #[arg(long, env = "TOWPATH_REGISTRY_CACHE", value_name = "DIR")]
    cache: Option<PathBuf>,
    /// Ask every tag where it points, also those that name a version and were asked lately.
    #[arg(long)]
    recheck: bool,
    /// How many images are asked for at once.
    #[arg(long, default_value_t = Scrape::CONCURRENCY as u16, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    concurrency: u16,
    /// Only releases of these architectures. [default: all]
    #[arg(long, value_name = "ARCH,…", value_delimiter = ',')]
    arch: Vec<String>,
    /// Write the file although some images could not be read.
    #[arg(long)]
    partial: bool,
    /// Show every finding, and not only the first few of each code. (Only text leaves any out.)
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    output: OutputArgs,
}

/// What came of it.
struct Told<'a> {
    args: &'a ScrapeArgs,
    releases: &'a Releases,
    findings: &'a [Finding],
    requests: Requests,
    is_written: bool,
}

pub(super) fn scrape(args: &ScrapeArgs) -> anyhow::Result<ExitCode> {
    let options = RegistryOptions {
        auth_file: args.auth_file.clone(),
        ca_file: args.ca.clone(),
        plain_http: args.plain_http,
        ..RegistryOptions::default()
    };
    let registry = Registry::new(options).map_err(|finding| anyhow!("{finding}"))?;
    let bar = progress_bar();
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
        progress: bar.as_ref().map(told_to).unwrap_or_default(),
        ..Scrape::of(args.repository.clone())
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let end = runtime.block_on(scraped(&registry, &wish));
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    let (file, findings) = end.map_err(|finding| anyhow!("{finding}"))?;
    let (releases, _) = releases::read(&Place::file(file.path.as_str()), &file.bytes)
        .map_err(|found| failure(&found))?;

    let stops = |finding: &&Finding| {
        finding.is_error() && !(args.partial && finding.code == "unreadable-image")
    };
    let is_written = !findings.iter().any(|finding| stops(&finding));
    if is_written {
        write(&args.out, &file)?;
    }
    let told = Told {
        args,
        releases: &releases,
        findings: &findings,
        requests: registry.requests(),
        is_written,
    };
    match args.output.form {
        Output::Text => print(&told.text())?,
        Output::Json => print(&format!("{:#}\n", told.json()))?,
    }
    Ok(if findings.iter().any(Finding::is_error) {
        ExitCode::from(1)
    } else {
        ExitCode::SUCCESS
    })
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

fn progress_bar() -> Option<ProgressBar> {
    let style = ProgressStyle::with_template("{msg:<6} {bar:40} {pos}/{len} {elapsed}").ok()?;
    stderr()
        .is_terminal()
        .then(|| ProgressBar::new(0).with_style(style))
}

fn told_to(bar: &ProgressBar) -> Progress {
    let bar = bar.clone();
    Progress::new(move |step| {
        let (what, done, total) = match step {
            Step::Tags(done, total) => ("tags", done, total),
            Step::Images(done, total) => ("images", done, total),
        };
        bar.set_message(what);
        bar.set_length(total as u64);
        bar.set_position(done as u64);
    })
}

impl Told<'_> {
    fn text(&self) -> String {
        let shown = if self.args.all {
            Shown::All
        } else {
            Shown::FirstOfEachCode(SHOWN_OF_EACH_CODE)
        };
        let mut text = findings::text(self.findings, shown);
        if !text.is_empty() {
            text.push('\n');
        }
        let (releases, edges) = (self.releases.releases.len(), self.releases.edges.len());
        text += &format!(
            "{}: {}, {}\n",
            self.args.repository,
            count(releases, "release"),
            count(edges, "edge")
        );
        for (arch, (releases, edges)) in self.arches() {
            text += &format!(
                "  {arch:<8} {}, {}\n",
                count(releases, "release"),
                count(edges, "edge")
            );
        }
        for (code, number) in self.codes() {
            text += &format!("  {code}: {number}\n");
        }
        let Requests {
            tags,
            manifests,
            blobs,
            blob_bytes,
        } = self.requests;
        let [tags, manifests, blobs] = [
            (tags, "page of tags"),
            (manifests, "manifest"),
            (blobs, "blob"),
        ]
        .map(|(number, noun)| {
            if noun == "page of tags" && number != 1 {
                format!("{number} pages of tags")
            } else {
                count(number as usize, noun)
            }
        });
        text += &format!(
            "asked for {tags}, {manifests}, {blobs} ({} KiB)\n",
            blob_bytes.div_ceil(1024)
        );
        let out = self.args.out.display();
        text + &match self.is_written {
            true => format!("written to {out}\n"),
            false => format!(
                "{out} is not written: see the errors above; --partial writes without the images that cannot be read\n"
            ),
        }
    }

    fn json(&self) -> Value {
        let arches: BTreeMap<String, Value> = self
            .arches()
            .into_iter()
            .map(|(arch, (releases, edges))| (arch, json!({"releases": releases, "edges": edges})))
            .collect();
        let Requests {
            tags,
            manifests,
            blobs,
            blob_bytes,
        } = self.requests;
        json!({
            "repository": self.args.repository.to_string(),
            "out": self.args.out.display().to_string(),
            "written": self.is_written,
            "releases": self.releases.releases.len(),
            "edges": self.releases.edges.len(),
            "architectures": arches,
            "requests": {"tags": tags, "manifests": manifests, "blobs": blobs, "blobBytes": blob_bytes},
            "findings": findings::json(self.findings),
        })
    }

    /// Releases and edges of each architecture.
    fn arches(&self) -> BTreeMap<String, (usize, usize)> {
        let mut arches: BTreeMap<String, (usize, usize)> = BTreeMap::new();
        for release in &self.releases.releases {
            arches.entry(release.arch.to_string()).or_default().0 += 1;
        }
        for edge in &self.releases.edges {
            let arch = &self.releases.releases[edge.to as usize].arch;
            arches.entry(arch.to_string()).or_default().1 += 1;
        }
        arches
    }

    fn codes(&self) -> BTreeMap<&'static str, usize> {
        let mut codes = BTreeMap::new();
        self.findings
            .iter()
            .for_each(|finding| *codes.entry(finding.code).or_default() += 1);
        codes
    }
}
