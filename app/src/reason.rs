//! `towpath reason`: what a code means, and what helps.

use std::fmt::Write;
use std::process::ExitCode;

use anyhow::bail;
use clap::Args;
use serde_json::{Value, json};
use towpath_core::verdict::{Chapter, Code, catalogue};

use crate::cli::print;
use crate::output::{Output, OutputArgs};

#[derive(Debug, Args)]
pub(crate) struct ReasonArgs {
    /// The code, as in JSON, metrics and texts. Without one, all are listed.
    #[arg(value_name = "CODE")]
    code: Option<String>,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn reason(args: &ReasonArgs) -> anyhow::Result<ExitCode> {
    let chapters = catalogue();
    let Some(wanted) = &args.code else {
        return listed(&chapters, args.output.form);
    };
    let all = chapters
        .iter()
        .flat_map(|chapter| chapter.codes.iter().map(move |code| (chapter, *code)));
    let found: Vec<(&Chapter, &Code)> = all
        .filter(|(_, code)| code.name.eq_ignore_ascii_case(wanted))
        .collect();
    match found.as_slice() {
        [(chapter, code), ..] => print(&match args.output.form {
            Output::Text => text(chapter, code),
            Output::Json => format!("{:#}\n", value(chapter, code)),
        })?,
        [] => bail!("there is no reason {wanted:?}; `towpath reason` lists all of them"),
    }
    Ok(ExitCode::SUCCESS)
}

fn listed(chapters: &[Chapter], output: Output) -> anyhow::Result<ExitCode> {
    let codes = || {
        chapters
            .iter()
            .flat_map(|chapter| chapter.codes.iter().map(move |code| (chapter, *code)))
    };
    print(&match output {
        Output::Json => {
            let all: Vec<Value> = codes()
                .map(|(chapter, code)| value(chapter, code))
                .collect();
            format!("{:#}\n", json!(all))
        }
        Output::Text => {
            let width = codes().map(|(_, code)| code.name.len()).max().unwrap_or(0);
            let mut text = String::new();
            for chapter in chapters {
                let _ = writeln!(text, "{}: {}\n", chapter.title, chapter.asked);
                for code in &chapter.codes {
                    let _ = writeln!(text, "  {:width$}  {}", code.name, code.example());
                }
                text.push('\n');
            }
            text + "`towpath reason CODE` says what helps.\n"
        }
    })?;
    Ok(ExitCode::SUCCESS)
}

fn text(chapter: &Chapter, code: &Code) -> String {
    let mut text = format!("{}: {}\n", code.name, chapter.asked);
    let _ = writeln!(text, "\nFor example:\n  {}", code.example());
    let _ = writeln!(text, "\nWhat helps:\n  {}", code.example_help());
    if code.is_note {
        text.push_str("\nIt is a note: it stands in the way of nothing.\n");
    }
    text
}

fn value(chapter: &Chapter, code: &Code) -> Value {
    let names = code.facts.iter().map(|(name, _)| *name);
    let facts: Vec<&str> = names.filter(|name| !name.contains('.')).collect();
    json!({
        "code": code.name,
        "about": chapter.title,
        "question": chapter.asked,
        "example": code.example(),
        "help": code.example_help(),
        "note": code.is_note,
        "facts": facts,
    })
}
