//! `towpath graph extend`: copies the blocks of a risk that is not fixed yet to newer releases.
//!
//! It writes new files only, and only if nothing else changes for clients.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use towpath_core::change::{Only, diff};
use towpath_formats::SourceFile;
use towpath_formats::graph::data;
use towpath_formats::graph::extend::{self, ExtensionProof, RiskExtension, Written};

use crate::cli::failure;
use crate::clock::NowArgs;
use crate::config::SourceArgs;
use crate::output::OutputArgs;
use crate::sources::{Needs, Sources};

#[derive(Debug, Args)]
pub(crate) struct ExtendArgs {
    /// The names of the risks to extend. Without any, list those that newer releases lack.
    #[arg(value_name = "RISK")]
    risks: Vec<String>,
    /// Write the files to the directory of --graph-data. Existing files are never changed.
    #[arg(long, requires = "risks")]
    write: bool,
    #[command(flatten)]
    sources: SourceArgs,
    #[command(flatten)]
    now: NowArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) fn extend(args: &ExtendArgs) -> anyhow::Result<bool> {
    let now = args.now.at();
    let settings = args.sources.settings(Needs::GraphData, None)?;
    let sources = Sources::read(settings, now)?;
    let contents = sources.contents()?;
    if !contents.unread.is_empty() {
        return Err(failure(&contents.unread));
    }
    let files = contents.files;
    let mut extension =
        extend::extend(&files, &args.risks).map_err(|findings| failure(&findings))?;
    if args.risks.is_empty() {
        args.output.print(
            sources.origin(),
            || extend::list_text(&extension),
            || extend::json(&extension, &[], None, Written::No),
        )?;
        return Ok(true);
    }
    if sources.releases()?.is_none() {
        bail!(
            "the proof needs the edges between releases, and graph data has none; add --releases WHERE"
        );
    }
    let graph = |files: &[SourceFile]| {
        let (data, _) = data::read(files).map_err(|findings| failure(&findings))?;
        sources.graph_of(&data)
    };
    let copies = extension.copies.iter().map(|copy| copy.file.clone());
    let after: Vec<SourceFile> = files.iter().cloned().chain(copies).collect();
    let (before, after) = (graph(&files)?, graph(&after)?);
    let idle = extension.without_idle(&after);
    let changes = diff(&before, &after, now, &Only::default());
    let (meant, other) = extension.given.split(changes);
    let proof = ExtensionProof { meant, other };
    let written = match args.write && proof.holds() {
        true => write(&extension, sources.directory())?,
        false => Written::No,
    };
    args.output.print(
        sources.origin(),
        || extend::text(&extension, &idle, &proof, written),
        || extend::json(&extension, &idle, Some(&proof), written),
    )?;
    Ok(proof.holds())
}

/// Writes all files, or none.
fn write(extension: &RiskExtension, directory: Option<&Path>) -> anyhow::Result<Written> {
    let Some(directory) = directory else {
        bail!("--write needs graph data in a directory; clone it, and name it with --graph-data");
    };
    let mut done: Vec<PathBuf> = Vec::new();
    for copy in &extension.copies {
        let path = directory.join(&copy.file.path);
        let made = fs::File::create_new(&path)
            .inspect(|_| done.push(path.clone()))
            .and_then(|mut open| open.write_all(&copy.file.bytes));
        if let Err(error) = made {
            for path in &done {
                // The first error is the one to tell.
                let _ = fs::remove_file(path);
            }
            return Err(error).with_context(|| format!("{} cannot be written", path.display()));
        }
    }
    Ok(match done.is_empty() {
        true => Written::No,
        false => Written::Yes,
    })
}
