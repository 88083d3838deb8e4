//! Where people read about a risk: an https address that is a URI.

use super::{Field, Subject};
use crate::finding::Finding;
use crate::graph::servable::is_uri;

pub(super) fn check(subject: &Subject<'_>) -> Vec<Finding> {
    let risks = subject
        .data
        .blocks
        .iter()
        .filter_map(|block| Some((block, block.risk.as_ref()?)));
    let wrong = risks.filter(|(_, risk)| !is_https(&risk.url));
    let finding = |(block, risk): (_, &crate::graph::Risk)| {
        let shown: String = risk.url.chars().take(80).collect();
        let problem = format!("{shown:?} is not an https address");
        Finding::error(
            "bad-risk-url",
            subject.place(block, Field::Url),
            problem,
            "write `url: https://…`",
        )
    };
    wrong.map(finding).collect()
}

fn is_https(url: &str) -> bool {
    let host = url
        .strip_prefix("https://")
        .and_then(|rest| rest.split('/').next());
    let has_host = host.is_some_and(|host| !host.is_empty());
    has_host && is_uri(url) && !url.contains(char::is_whitespace)
}
