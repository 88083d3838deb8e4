//! Makes docs/reasons.md from the rules' own files. `UPDATE_EXPECT=1` writes it.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the finding")]

use std::collections::BTreeSet;
use std::fmt::Write;

use expect_test::expect_file;
use towpath_core::fleet::RuleId;
use towpath_core::verdict::{Code, catalogue};

const HEAD: &str = "# Reasons

Why an update is not simply offered, or does not start. Each reason has a stable code for JSON, metrics and conditions, a sentence for people, and what helps.
`towpath explain`, `towpath fleet why`, `towpath ready` and `towpath agent` give every reason that applies. `towpath reason CODE` explains one.

This page is generated from the rules' own files by `core/tests/reasons.rs`.

";

#[test]
fn the_page_of_reasons_is_what_the_rules_say() {
    let mut page = HEAD.to_owned();
    for chapter in catalogue() {
        let (title, asked) = (chapter.title, chapter.asked);
        writeln!(page, "## {title}\n\n{asked}\n").unwrap();
        page.push_str("| code | for example | what helps |\n|---|---|---|\n");
        for code in chapter.codes {
            let [example, help] =
                [code.example(), code.example_help()].map(|text| text.replace('|', "\\|"));
            let note = if code.is_note { " (a note)" } else { "" };
            writeln!(page, "| `{}`{note} | {example} | {help} |", code.name).unwrap();
        }
        page.push('\n');
    }
    expect_file!["../../docs/reasons.md"].assert_eq(&page);
}

/// The manual's table of the fleet's rules has a row for each rule, and for nothing else.
#[test]
fn every_rule_of_the_fleet_is_in_the_manual() {
    let page = include_str!("../../docs/fleet.md");
    let table = page.split_once("| `--held-by` | holds").unwrap().1;
    let rows = table.lines().skip(2).take_while(|row| row.starts_with('|'));
    let mut written: Vec<&str> = rows.map(|row| row.split('`').nth(1).unwrap()).collect();
    let mut rules: Vec<&str> = RuleId::all().map(RuleId::name).collect();
    written.sort_unstable();
    rules.sort_unstable();
    assert_eq!(written, rules);
}

fn codes() -> Vec<&'static Code> {
    let chapters = catalogue().into_iter();
    chapters.flat_map(|chapter| chapter.codes).collect()
}

#[test]
fn every_code_is_there_once() {
    let names: Vec<&str> = codes().iter().map(|code| code.name).collect();
    let different: BTreeSet<&str> = names.iter().copied().collect();
    assert_eq!(different.len(), names.len());
}

/// What rules give is held to this list whenever a reason is made (`Reason::new`).
#[test]
fn sentences_name_facts_that_there_are() {
    for code in codes() {
        let known: BTreeSet<&str> = code.facts.iter().map(|(name, _)| *name).collect();
        let templates = [
            Some(code.text),
            Some(code.help),
            code.command,
            code.check,
            code.object,
            code.steady,
        ];
        for template in templates.into_iter().flatten() {
            for name in names_in(template) {
                assert!(
                    known.contains(name),
                    "{}: {name} in {template:?}",
                    code.name
                );
            }
        }
    }
}

fn names_in(template: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let without = template.split("{{").flat_map(|part| part.split("}}"));
    for part in without {
        for piece in part.split('{').skip(1) {
            let name = piece.split('}').next().unwrap();
            names.push(name.split(['|', '.']).next().unwrap());
        }
    }
    names
}
