//! Findings as GitHub's workflow commands: each becomes a comment at its line of a pull request.

use towpath_core::finding::{Finding, escaped};

use super::{level, path};

/// One command per finding. `root` is the folder of the data, from the root of the repository.
pub fn annotations(findings: &[Finding], root: &str) -> String {
    findings
        .iter()
        .map(|finding| annotation(finding, root))
        .collect()
}

fn annotation(finding: &Finding, root: &str) -> String {
    let place = &finding.place;
    let mut properties = vec![("file", path(root, &place.file))];
    // 0 is the whole file, or the whole line.
    let numbers = [("line", place.line), ("col", place.column)];
    properties.extend(
        numbers
            .into_iter()
            .filter(|(_, n)| *n > 0)
            .map(|(name, n)| (name, n.to_string())),
    );
    properties.push(("title", finding.code.to_owned()));
    let properties: Vec<String> = properties
        .iter()
        .map(|(name, value)| format!("{name}={}", in_property(value)))
        .collect();
    let message = in_message(&format!("{}; {}", finding.problem, finding.remedy));
    format!("::{} {}::{message}\n", level(finding), properties.join(","))
}

fn in_message(text: &str) -> String {
    // Line breaks have a form of their own here.
    let lines: Vec<String> = text
        .split('\n')
        .map(|line| escaped(line).replace('%', "%25"))
        .collect();
    lines.join("%0A")
}

fn in_property(text: &str) -> String {
    in_message(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use towpath_core::finding::Place;

    #[test]
    fn what_would_end_a_command_is_escaped() {
        let findings = [
            Finding::error(
                "bad-promql",
                Place::file("blocked-edges/a,b: 1%.yaml").at(3, 5),
                "100 %:\nfoo::bar",
                "a, b",
            ),
            Finding::warning(
                "no-channels",
                Place::file("channels"),
                "there are none",
                "add one",
            ),
            Finding::warning(
                "risk-ends",
                Place::file("x.yaml").at(1, 0),
                "it ends",
                "add it",
            ),
        ];
        expect![[r#"
            ::error file=data/blocked-edges/a%2Cb%3A 1%25.yaml,line=3,col=5,title=bad-promql::100 %25:%0Afoo::bar; a, b
            ::warning file=data/channels,title=no-channels::there are none; add one
            ::warning file=data/x.yaml,line=1,title=risk-ends::it ends; add it
        "#]]
        .assert_eq(&annotations(&findings, "./data/"));
    }
}
