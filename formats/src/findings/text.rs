//! Findings as text: a paragraph per file, files with errors first, and a few of each code.

use std::collections::BTreeMap;
use std::fmt::Write;

use towpath_core::finding::{Finding, escaped};

use super::level;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    All,
    /// At most this many findings of each code, and how many more there are.
    FirstOfEachCode(usize),
}

/// A paragraph per file; what was left out is counted at the end.
pub fn text(findings: &[Finding], shown: Shown) -> String {
    let mut files: BTreeMap<&str, Vec<&Finding>> = BTreeMap::new();
    findings
        .iter()
        .for_each(|finding| files.entry(&finding.place.file).or_default().push(finding));
    let mut files: Vec<(&str, Vec<&Finding>)> = files.into_iter().collect();
    files
        .iter_mut()
        .for_each(|(_, of_file)| of_file.sort_by_key(|finding| &finding.place));
    files.sort_by_key(|(name, of_file)| (!of_file.iter().any(|finding| finding.is_error()), *name));

    let mut paragraphs: Vec<String> = Vec::new();
    let mut left: BTreeMap<&str, Left> = BTreeMap::new();
    for (_, of_file) in files {
        let lines: String = of_file
            .into_iter()
            .filter(|finding| has_room(finding, shown, &mut left))
            .map(lines)
            .collect();
        paragraphs.push(lines);
    }
    let rest: String = left
        .iter()
        .filter(|(_, left)| left.out > 0)
        .map(|(code, left)| left.line(code))
        .collect();
    paragraphs.push(rest);
    paragraphs.retain(|paragraph| !paragraph.is_empty());
    paragraphs.join("\n")
}

/// Findings, one a line.
pub fn one_a_line(findings: &[Finding]) -> String {
    let line = |finding: &Finding| {
        let (problem, remedy) = (escaped(&finding.problem), escaped(&finding.remedy));
        let (place, level, code) = (&finding.place, level(finding), finding.code);
        format!("{place}: {level}: {problem}; {remedy} [{code}]\n")
    };
    findings.iter().map(line).collect()
}

/// What was shown of a code, and what was not.
#[derive(Default)]
struct Left {
    shown: usize,
    out: usize,
}

impl Left {
    fn line(&self, code: &str) -> String {
        format!("… {} more of {code}\n", self.out)
    }
}

fn has_room<'f>(finding: &'f Finding, shown: Shown, left: &mut BTreeMap<&'f str, Left>) -> bool {
    let left = left.entry(finding.code).or_default();
    let has_room = match shown {
        Shown::All => true,
        Shown::FirstOfEachCode(most) => left.shown < most,
    };
    match has_room {
        true => left.shown += 1,
        false => left.out += 1,
    }
    has_room
}

/// The place and the problem as compilers write them, the remedy below.
fn lines(finding: &Finding) -> String {
    let mut lines = String::new();
    let Finding {
        place,
        code,
        problem,
        remedy,
        ..
    } = finding;
    let (problem, remedy) = (escaped(problem), escaped(remedy));
    write!(
        lines,
        "{place}: {}: {problem} [{code}]\n    {remedy}\n",
        level(finding)
    )
    .expect("writing to a string does not fail");
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use towpath_core::finding::Place;

    #[test]
    fn nothing_that_others_wrote_commands_a_terminal() {
        let finding = Finding::error(
            "x",
            Place::file("a\u{1b}]0;b.yaml").at(1, 0),
            "\u{1b}[2Jgone",
            "look\r",
        );
        let shown = text(&[finding], Shown::All);
        assert!(
            shown.contains("a\\u{1b}]0;b.yaml:1: error: \\u{1b}[2Jgone"),
            "{shown}"
        );
        assert!(
            shown.chars().all(|c| c == '\n' || !c.is_control()),
            "{shown:?}"
        );
    }

    fn findings() -> Vec<Finding> {
        let at = |file: &str, line| Place::file(file).at(line, 3);
        vec![
            Finding::error(
                "bad-risk-url",
                at("blocked-edges/b.yaml", 3),
                "\"ftp\" is not an https address",
                "write one",
            ),
            Finding::warning(
                "risk-ends",
                at("blocked-edges/a.yaml", 1),
                "it ends",
                "add `fixedIn`",
            ),
            Finding::warning(
                "unknown-release",
                at("blocked-edges/b.yaml", 1),
                "there is no 4.9.1",
                "correct it",
            ),
            Finding::warning(
                "unknown-release",
                at("channels/c.yaml", 7),
                "there is no 4.9.1",
                "correct it",
            ),
            Finding::warning(
                "unknown-release",
                at("channels/c.yaml", 9),
                "there is no 4.9.3",
                "correct it",
            ),
        ]
    }

    #[test]
    fn files_with_errors_come_first_and_each_code_has_room() {
        expect![[r#"
            blocked-edges/b.yaml:1:3: warning: there is no 4.9.1 [unknown-release]
                correct it
            blocked-edges/b.yaml:3:3: error: "ftp" is not an https address [bad-risk-url]
                write one

            blocked-edges/a.yaml:1:3: warning: it ends [risk-ends]
                add `fixedIn`

            … 2 more of unknown-release
        "#]]
        .assert_eq(&text(&findings(), Shown::FirstOfEachCode(1)));
    }

    #[test]
    fn everything_is_shown_on_request() {
        let all = text(&findings(), Shown::All);
        assert_eq!(all.matches("unknown-release").count(), 3);
        assert!(!all.contains('…'));
        assert_eq!(text(&[], Shown::All), "");
    }
}
