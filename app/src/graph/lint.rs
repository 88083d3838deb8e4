//! `towpath graph lint`: what is wrong with graph data, before it is merged.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::anyhow;
use clap::Args;
use jiff::Timestamp;
use towpath_core::finding::Finding;
use towpath_formats::{fleet_json, graph_data};

use super::Output;
use super::inputs::Source;
use crate::cli::print;

#[derive(Debug, Args)]
pub(crate) struct LintArgs {
    /// The graph data. [default: the built-in example]
    directory: Option<PathBuf>,
    /// How to answer.
    #[arg(long, value_enum, default_value_t = Output::Text)]
    output: Output,
}

pub(super) fn lint(args: LintArgs) -> anyhow::Result<ExitCode> {
    let source = args.directory.map_or(Source::Example, Source::Directory);
    let files = source.files(Timestamp::now()).map_err(|finding| anyhow!("{finding}"))?;
    let findings = match graph_data::read(&files) {
        Ok((_, warnings)) => warnings,
        Err(findings) => findings,
    };
    match args.output {
        Output::Json => print(&format!("{:#}\n", fleet_json::findings(&findings)))?,
        Output::Text => print(&findings.iter().map(|finding| format!("{finding}\n")).collect::<String>())?,
    }
    Ok(if findings.iter().any(Finding::is_error) { ExitCode::from(1) } else { ExitCode::SUCCESS })
}
