//! `towpath graph migrate`: rewrites a repository of schema 1.x as 2.0.0 in a new directory.
//!
//! The old directory is only read. The new one appears complete or not at all.

mod target;

use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args;
use towpath_core::finding::Finding;
use towpath_core::version::ReleaseName;
use towpath_formats::SourceFile;
use towpath_formats::graph::data::migrate::{
    MigrationReport, Rollout, Stays, Wishes, migrate as rewrite, migration_json, migration_text,
    refused_json, refused_text,
};
use towpath_sources::{Git, read_directory};

use crate::clock::NowArgs;
use crate::example::Origin;
use crate::output::OutputArgs;

#[derive(Debug, Args)]
pub(crate) struct MigrateArgs {
    /// The directory with graph data of schema 1.x.
    directory: PathBuf,
    /// Write the new graph data to this directory. It must be empty or not exist yet.
    #[arg(long, value_name = "DIR", required_unless_present = "dry_run")]
    out: Option<PathBuf>,
    /// How long edges take to reach every cluster: patch=P2D, minor=P14D,exponential, or default=P1D. Repeatable. Without any,
    /// edges appear at once, as before.
    #[arg(long, value_name = "RULE")]
    rollout: Vec<Rollout>,
    /// Phase edges in these streams or channels.
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        default_value = "stable,eus"
    )]
    channels: Vec<String>,
    /// Add these releases to stable and eus where they are the only difference from fast.
    #[arg(long, value_name = "RELEASES", value_delimiter = ',', value_parser = ReleaseName::parse)]
    promote: Vec<ReleaseName>,
    /// Migrate this revision of the repository, instead of the files as they are.
    #[arg(long, value_name = "REV")]
    revision: Option<String>,
    /// Say what would be written, and write nothing.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    now: NowArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) fn migrate(args: MigrateArgs) -> anyhow::Result<bool> {
    let out = args.out.as_deref().filter(|_| !args.dry_run);
    if let Some(out) = out {
        target::check(out)?;
    }
    if args.directory.to_string_lossy().contains("://") {
        bail!(
            "a migration needs the repository with its history; clone it, and give the directory"
        );
    }
    let files = read(&args.directory, args.revision.as_deref())?;
    let (stays, no_history) = history(&args.directory, args.revision.as_deref())?;
    let wishes = Wishes {
        rollouts: args.rollout,
        phased: args.channels,
        promote: args.promote.into_iter().collect(),
        now: args.now.at(),
    };
    let mut migration = match rewrite(&files, &stays, &wishes) {
        Ok(migration) => migration,
        Err(findings) => {
            let text = || refused_text(&findings);
            args.output
                .print(Origin::Named, text, || refused_json(&findings))?;
            return Ok(false);
        }
    };
    if let Some(out) = out {
        // A revision has no permissions that could be looked at; the files of a directory keep theirs.
        let modes = args.revision.is_none().then_some(args.directory.as_path());
        target::write(out, &migration.files, modes)?;
    }
    migration.findings.extend(no_history);
    let report = MigrationReport {
        migration: &migration,
        stays: &stays,
        old: &files,
        out,
    };
    let text = || migration_text(&report);
    args.output
        .print(Origin::Named, text, || migration_json(&report))?;
    Ok(true)
}

/// Everything but git's own folder: what is not graph data is copied.
fn read(directory: &Path, revision: Option<&str>) -> Result<Vec<SourceFile>, Finding> {
    let wanted: fn(&str) -> bool = |path| path != ".git" && !path.starts_with(".git/");
    match revision {
        Some(revision) => Git::at(directory)?.read(revision, wanted),
        None => read_directory(directory, wanted),
    }
}

/// Since when releases have been in channels; and what is to be said where that cannot be known.
fn history(directory: &Path, revision: Option<&str>) -> anyhow::Result<(Stays, Option<Finding>)> {
    let read = || {
        let git = Git::at(directory)?;
        let commits = git.history(revision.unwrap_or("HEAD"), &["channels"])?;
        let changed = commits
            .iter()
            .flat_map(|commit| &commit.changes)
            .filter_map(|(_, blob)| blob.as_ref());
        let blobs = git.blobs(changed)?;
        let mut stays = Stays::default();
        for commit in &commits {
            let content = |blob| blobs.get(blob).map(|bytes| &**bytes);
            stays.commit(
                commit.at,
                commit
                    .changes
                    .iter()
                    .map(|(path, blob)| (path.as_str(), blob.as_ref().and_then(content))),
            );
        }
        Ok(stays)
    };
    match (read(), revision) {
        (Ok(stays), _) => Ok((stays, None)),
        (Err(finding), Some(_)) => Err(finding.into()),
        // A directory without a history can be migrated as well.
        (Err(Finding { place, problem, .. }), None) => {
            let problem = format!("no history to take the starts from: {problem}");
            let remedy = "migrate a clone of the repository; without history, each release counts as always present";
            Ok((
                Stays::default(),
                Some(Finding::warning("no-history", place, problem, remedy)),
            ))
        }
    }
}
