//! PromQL queries, checked by a real parser.
//!
//! No cluster can evaluate a query that is not PromQL. The service blocks the edges of such a risk,
//! and lint calls it an error.

use std::collections::BTreeMap;

use promql_parser::parser;
use promql_parser::parser::value::ValueType;
use towpath_core::finding::{Finding, Place};
use towpath_core::graph::MatchingRule;

/// The longest query that is parsed; real ones have up to a thousand bytes.
const MAX_BYTES: usize = 8 << 10;
/// The most queries that are remembered.
const MAX_QUERIES: usize = 10_000;
/// The most brackets within brackets, and operators in a row: the parser's trees are taken apart recursively.
const MAX_DEPTH: usize = 64;

/// Queries that were parsed already: a few stand in thousands of files.
#[derive(Debug, Default)]
pub(crate) struct CheckedQueries(BTreeMap<String, Option<QueryProblem>>);

/// What is wrong with a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum QueryProblem {
    /// It cannot be parsed; why, in the parser's words.
    Unparsable(String),
    /// It is too large to be looked at.
    Unchecked(String),
}

impl CheckedQueries {
    /// What is wrong with the query, if anything.
    pub(crate) fn check(&mut self, query: &str) -> Option<QueryProblem> {
        match self.0.get(query) {
            Some(known) => known.clone(),
            // What is too long to be looked at is not worth keeping either.
            None if query.len() > MAX_BYTES => check(query),
            None => {
                let found = check(query);
                if self.0.len() >= MAX_QUERIES {
                    self.0.clear();
                }
                self.0.insert(query.to_owned(), found.clone());
                found
            }
        }
    }
}

impl CheckedQueries {
    /// The rule that the query makes. One that is too large to be looked at is left to clusters.
    pub(crate) fn rule(&mut self, query: &str) -> MatchingRule {
        match self.check(query) {
            Some(QueryProblem::Unparsable(_)) => MatchingRule::Unparsable(query.to_owned()),
            Some(QueryProblem::Unchecked(_)) | None => MatchingRule::PromQl(query.to_owned()),
        }
    }
}

impl QueryProblem {
    pub(crate) fn finding(self, place: Place) -> Finding {
        match self {
            Self::Unparsable(problem) => {
                let problem = format!("the query is not PromQL: {problem}");
                let remedy = "correct it; until then the edge is blocked for every cluster";
                Finding::error("bad-promql", place, problem, remedy)
            }
            Self::Unchecked(problem) => {
                Finding::warning("unchecked-promql", place, problem, "write a simpler query")
            }
        }
    }
}

/// What is wrong with a query that has to have an instant vector as its answer.
pub(crate) fn problem_of_vector(query: &str) -> Option<String> {
    match check(query) {
        Some(QueryProblem::Unparsable(problem)) => Some(format!("it is not PromQL: {problem}")),
        Some(QueryProblem::Unchecked(problem)) => Some(problem),
        None => match parser::parse(query).ok()?.value_type() {
            ValueType::Vector => None,
            other => Some(format!(
                "it has a {other} as its answer, and an instant vector is needed"
            )),
        },
    }
}

fn check(query: &str) -> Option<QueryProblem> {
    if query.len() > MAX_BYTES {
        return Some(QueryProblem::Unchecked(format!(
            "the query is longer than {MAX_BYTES} bytes, and was not checked"
        )));
    }
    if depth(query) > MAX_DEPTH {
        return Some(QueryProblem::Unchecked(format!(
            "the query is nested deeper than {MAX_DEPTH}, and was not checked"
        )));
    }
    let problem = parser::parse(query).err()?;
    let sentence = problem.lines().next().unwrap_or_default();
    let sentence = match sentence {
        // All that the parser knows to say of most mistakes.
        "invalid promql query" => "look for a bracket, a comma or an operator too many or too few",
        other => other,
    };
    Some(QueryProblem::Unparsable(sentence.to_owned()))
}

/// How deep the query may be nested, at most: brackets within brackets, or signs in a row.
fn depth(query: &str) -> usize {
    let (mut open, mut signs, mut deepest) = (0usize, 0usize, 0usize);
    for c in query.chars() {
        match c {
            '(' | '[' | '{' => open += 1,
            ')' | ']' | '}' => open = open.saturating_sub(1),
            '+' | '-' => signs += 1,
            _ if c.is_whitespace() => {}
            _ => signs = 0,
        }
        deepest = deepest.max(open + signs);
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(query: &str) -> String {
        match check(query) {
            None => "fine".to_owned(),
            Some(QueryProblem::Unparsable(problem)) => problem,
            Some(QueryProblem::Unchecked(problem)) => format!("unchecked: {problem}"),
        }
    }

    #[test]
    fn queries_as_they_are_written() {
        for query in [
            "up == 0",
            "group(cluster_version{_id=\"\"})",
            "(\n  group by (a) (label_replace(max_over_time(x{_id=\"\"}[1h]), \"a\", \"b\", \"\", \"\") == 1)\n  or on (_id)\n  0 * group(y)\n)\n",
            "topk by (_id) (1, x) # the newest",
        ] {
            assert_eq!(shown(query), "fine", "{query}");
        }
    }

    #[test]
    fn mistakes_are_found() {
        for query in [
            "",
            "up ==",
            "group(up",
            "group(up))",
            "nosuchfunction(up)",
            "up{a=b}",
            "up[1x]",
            "0 * * up",
        ] {
            assert!(
                matches!(check(query), Some(QueryProblem::Unparsable(_))),
                "{query}"
            );
        }
    }

    #[test]
    fn what_is_too_large_is_not_parsed() {
        let nested = |depth: usize| format!("{}up{}", "(".repeat(depth), ")".repeat(depth));
        assert_eq!(shown(&nested(MAX_DEPTH)), "fine");
        assert!(shown(&nested(MAX_DEPTH + 1)).starts_with("unchecked: the query is nested"));
        assert!(shown(&"- ".repeat(MAX_DEPTH + 1)).starts_with("unchecked: the query is nested"));
        assert!(shown(&"a".repeat(MAX_BYTES + 1)).starts_with("unchecked: the query is longer"));
        // The longest chain that is parsed: it must not exhaust a small stack when it is taken apart.
        assert_eq!(
            shown(&format!("a{}", "+a".repeat(MAX_BYTES / 2 - 1))),
            "fine"
        );
        assert_eq!(
            shown(&format!("a{}", "^a".repeat(MAX_BYTES / 2 - 1))),
            "fine"
        );
    }
}
