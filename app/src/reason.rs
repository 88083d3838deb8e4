//! `towpath reason`: what a reason code means, and what helps.

use anyhow::bail;
use clap::Args;
use towpath_core::verdict::catalogue;
use towpath_formats::reason::{catalogue_json, catalogue_text, code_json, code_text, find};

use crate::example::Origin;
use crate::output::OutputArgs;

#[derive(Debug, Args)]
pub(crate) struct ReasonArgs {
    /// The code, as printed in text, JSON and metrics. Without one, list all codes.
    #[arg(value_name = "CODE")]
    code: Option<String>,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn reason(args: &ReasonArgs) -> anyhow::Result<bool> {
    let chapters = catalogue();
    let Some(code) = &args.code else {
        let text = || catalogue_text(&chapters);
        args.output
            .print(Origin::Named, text, || catalogue_json(&chapters))?;
        return Ok(true);
    };
    let Some((chapter, code)) = find(&chapters, code) else {
        bail!("there is no reason code {code:?}; `towpath reason` lists all codes");
    };
    let text = || code_text(chapter, code);
    args.output
        .print(Origin::Named, text, || code_json(chapter, code))?;
    Ok(true)
}
