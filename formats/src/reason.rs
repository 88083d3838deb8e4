//! The catalogue of reasons: what each code means, and what helps.

use std::fmt::Write;

use serde_json::{Value, json};
use towpath_core::verdict::{Chapter, Code};

/// A code by its name, in any case.
pub fn find<'a>(chapters: &'a [Chapter], name: &str) -> Option<(&'a Chapter, &'a Code)> {
    codes(chapters).find(|(_, code)| code.name.eq_ignore_ascii_case(name))
}

fn codes(chapters: &[Chapter]) -> impl Iterator<Item = (&Chapter, &Code)> {
    chapters
        .iter()
        .flat_map(|chapter| chapter.codes.iter().map(move |code| (chapter, *code)))
}

/// All codes, each with an example.
pub fn catalogue_text(chapters: &[Chapter]) -> String {
    let lengths = codes(chapters).map(|(_, code)| code.name.len());
    let width = lengths.max().unwrap_or(0);
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

pub fn catalogue_json(chapters: &[Chapter]) -> Value {
    codes(chapters)
        .map(|(chapter, code)| code_json(chapter, code))
        .collect()
}

pub fn code_text(chapter: &Chapter, code: &Code) -> String {
    let mut text = format!("{}: {}\n", code.name, chapter.asked);
    let _ = writeln!(text, "\nFor example:\n  {}", code.example());
    let _ = writeln!(text, "\nWhat helps:\n  {}", code.example_help());
    if code.is_note {
        text.push_str("\nIt is a note: it stands in the way of nothing.\n");
    }
    text
}

pub fn code_json(chapter: &Chapter, code: &Code) -> Value {
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
