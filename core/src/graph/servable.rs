//! What a cluster can store of a risk.
//!
//! The cluster-version operator writes all its conditional updates in one status. The API server
//! refuses the whole status if one name cannot be the reason of a condition, if one url is not a
//! URI, or if one update has two risks of one name. Then the cluster hears of no update at all.

use crate::graph::{MatchingRule, Risk};

/// The longest reason of a condition.
const MAX_REASON_BYTES: usize = 1024;

/// Why no cluster could store or weigh the risk; none if all can.
pub(crate) fn objection(risk: &Risk) -> Option<String> {
    let shown = |text: &str| -> String { text.chars().take(80).collect() };
    if !is_reason(&risk.name) {
        return Some("its name cannot be the reason of a condition".to_owned());
    }
    if !is_uri(&risk.url) {
        return Some(format!("its url {:?} is not a URI", shown(&risk.url)));
    }
    if risk.message.is_empty() {
        return Some("it has no message".to_owned());
    }
    let unparsable = |rule: &MatchingRule| match rule {
        MatchingRule::Unparsable(query) => Some(format!("{:?} is not PromQL", shown(query))),
        MatchingRule::Always | MatchingRule::PromQl(_) | MatchingRule::Other(_) => None,
    };
    risk.matching_rules.iter().find_map(unparsable)
}

/// Whether a text can be the reason of a condition: `^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`.
pub(crate) fn is_reason(name: &str) -> bool {
    let letter_first = name.starts_with(|c: char| c.is_ascii_alphabetic());
    let inside = name
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "_,:".contains(c));
    letter_first && inside && !name.ends_with([',', ':']) && name.len() <= MAX_REASON_BYTES
}

/// Whether API servers take a text for a URI: it has a scheme, or it begins with `/`, and nothing in it is malformed.
pub(crate) fn is_uri(text: &str) -> bool {
    let is_clean = !text
        .chars()
        .any(|c| c.is_whitespace() || c.is_control() || "<>\"{}|\\^`".contains(c));
    let escapes = text.split('%').skip(1);
    let is_escaped =
        |rest: &str| rest.len() >= 2 && rest.bytes().take(2).all(|byte| byte.is_ascii_hexdigit());
    let begins_well = text.starts_with('/') || has_scheme(text);
    is_clean && begins_well && escapes.into_iter().all(is_escaped) && has_good_port(text)
}

fn has_scheme(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else {
        return false;
    };
    let inside = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(inside)
        && !rest.is_empty()
}

/// Whether what follows the host's colon, if anything, is a number.
fn has_good_port(text: &str) -> bool {
    let Some((_, rest)) = text.split_once("//") else {
        return true;
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let after_brackets = host.rsplit(']').next().unwrap_or_default();
    after_brackets
        .split_once(':')
        .is_none_or(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_api_servers_take_for_a_uri() {
        for good in [
            "https://example.com/a?b=c#d",
            "http://example.com:8080",
            "https://[::1]:443/",
            "/relative",
            "mailto:somebody@example.com",
            "https://example.com/a%20b",
        ] {
            assert!(is_uri(good), "{good}");
        }
        for bad in [
            "",
            "u",
            "example.com/x",
            " https://example.com",
            "https://example.com/a b",
            "https://example.com/%zz",
            "https://example.com/%2",
            "https://example.com:port/",
            "://example.com",
            "1http://example.com",
            "https:",
        ] {
            assert!(!is_uri(bad), "{bad}");
        }
    }

    #[test]
    fn what_can_be_a_reason() {
        for good in ["SlowStart", "slow_start", "Slow:Start", "S"] {
            assert!(is_reason(good), "{good}");
        }
        for bad in [
            "",
            "Slow:",
            "Slow Start",
            "Slow-Start",
            "4Slow",
            "Langsämer",
        ] {
            assert!(!is_reason(bad), "{bad}");
        }
        assert!(is_reason(&"A".repeat(MAX_REASON_BYTES)));
        assert!(!is_reason(&"A".repeat(MAX_REASON_BYTES + 1)));
    }
}
