//! Findings for output: text, JSON, SARIF, and annotations of a CI run.
//!
//! Callers with several lists of findings join and sort them first, and show them once.

mod annotations;
mod sarif;
mod text;

pub use annotations::annotations;
pub use sarif::sarif;
pub use text::{Shown, one_a_line, text};

use serde_json::{Value, json};
use towpath_core::finding::{Finding, Severity};

/// Findings as JSON. Field names are stable; line and column are 0 where a finding is about a whole file or line.
pub fn json(findings: &[Finding]) -> Value {
    let one = |finding: &Finding| {
        json!({
            "severity": level(finding),
            "code": finding.code,
            "place": finding.place.to_string(),
            "file": &*finding.place.file,
            "line": finding.place.line,
            "column": finding.place.column,
            "problem": finding.problem,
            "remedy": finding.remedy,
        })
    };
    findings.iter().map(one).collect()
}

/// The severity in one word; SARIF, GitHub and we use the same ones.
fn level(finding: &Finding) -> &'static str {
    match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

/// A file's path from where the tool was run: places are relative to the data, which is in the folder `root`.
fn path(root: &str, file: &str) -> String {
    let root = root.trim_end_matches('/');
    let root = root.strip_prefix("./").unwrap_or(root);
    match root {
        "" | "." => file.to_owned(),
        root => format!("{root}/{file}"),
    }
}

#[cfg(test)]
mod tests {
    use super::path;

    #[test]
    fn paths_begin_where_the_tool_was_run() {
        for (root, expected) in [
            ("", "channels/c.yaml"),
            (".", "channels/c.yaml"),
            ("./", "channels/c.yaml"),
            ("graph-data", "graph-data/channels/c.yaml"),
            ("./graph-data/", "graph-data/channels/c.yaml"),
            ("../data", "../data/channels/c.yaml"),
        ] {
            assert_eq!(path(root, "channels/c.yaml"), expected, "{root}");
        }
    }
}
