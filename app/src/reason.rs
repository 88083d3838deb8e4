//! `towpath reason`: what a reason code means, and what helps.

use std::process::ExitCode;

use anyhow::bail;
use clap::Args;
use towpath_core::verdict::catalogue;
use towpath_formats::reason::{catalogue_json, catalogue_text, code_json, code_text, find};

use crate::cli::print;
use crate::output::{Output, OutputArgs};

#[derive(Debug, Args)]
pub(crate) struct ReasonArgs {
    /// The code, as printed in text, JSON and metrics. Without one, list all codes.
    #[arg(value_name = "CODE")]
    code: Option<String>,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn reason(args: &ReasonArgs) -> anyhow::Result<ExitCode> {
    let chapters = catalogue();
    let answer = match (&args.code, args.output.form) {
        (None, Output::Text) => Some(catalogue_text(&chapters)),
        (None, Output::Json) => Some(format!("{:#}\n", catalogue_json(&chapters))),
        (Some(code), output) => find(&chapters, code).map(|(chapter, code)| match output {
            Output::Text => code_text(chapter, code),
            Output::Json => format!("{:#}\n", code_json(chapter, code)),
        }),
    };
    match answer {
        Some(answer) => print(&answer)?,
        None => bail!(
            "there is no reason code {:?}; `towpath reason` lists all codes",
            args.code.as_deref().unwrap_or_default()
        ),
    }
    Ok(ExitCode::SUCCESS)
}
