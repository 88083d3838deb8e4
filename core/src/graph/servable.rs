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

/// Whether API servers take a text for a URI: it has a scheme, or it begins with `/`, and clients can parse it.
pub(crate) fn is_uri(text: &str) -> bool {
    (text.starts_with('/') || scheme(text).is_some()) && is_parsable(text)
}

/// Whether clients can parse a text as a URL. The cluster-version operator refuses a whole answer for one that it cannot parse.
pub(crate) fn is_parsable(text: &str) -> bool {
    let first_part = text.split(['/', '?', '#']).next().unwrap_or_default();
    let has_good_beginning = scheme(text).is_some() || !first_part.contains(':');
    let is_escaped =
        |rest: &str| rest.len() >= 2 && rest.bytes().take(2).all(|byte| byte.is_ascii_hexdigit());
    // What follows a question mark is taken as it is, up to a fragment.
    let (before_query, fragment) = match text.split_once('?') {
        Some((before, query)) => (before, query.split_once('#').map_or("", |(_, after)| after)),
        None => (text, ""),
    };
    has_good_beginning
        && !text.chars().any(char::is_control)
        && [before_query, fragment]
            .iter()
            .all(|part| part.split('%').skip(1).all(is_escaped))
        && has_good_host(text)
}

/// What stands before the first colon, if it can be a scheme.
fn scheme(text: &str) -> Option<&str> {
    let (scheme, _) = text.split_once(':')?;
    let inside = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic());
    (is_scheme && scheme.chars().all(inside)).then_some(scheme)
}

/// Whether the host has no character that none has, and what follows its colon is a number.
fn has_good_host(text: &str) -> bool {
    let after_scheme = scheme(text).map_or(text, |scheme| &text[scheme.len() + 1..]);
    let Some(rest) = after_scheme.strip_prefix("//") else {
        return true;
    };
    // API servers know no fragment: a # before the path is part of the host.
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    let has_good_brackets = match host.strip_prefix('[') {
        Some(address) => address.contains(']'),
        None => !host.contains(['[', ']']),
    };
    let after_brackets = host.rsplit(']').next().unwrap_or_default();
    let has_good_port = after_brackets
        .split_once(':')
        .is_none_or(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
    has_good_port
        && has_good_brackets
        && !host.contains([' ', '#', '%', '{', '}', '|', '\\', '^', '`'])
        && !user.contains([
            ' ', '#', '"', '<', '>', '[', ']', '{', '}', '|', '\\', '^', '`',
        ])
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
            "https://example.com/a b",
            "https://example.com/?q=100%",
        ] {
            assert!(is_uri(good), "{good}");
        }
        for bad in [
            "",
            "u",
            "example.com/x",
            " https://example.com",
            "https://a b/",
            "https://example.com/%zz",
            "https://example.com/%2",
            "https://example.com:port/",
            "://example.com",
            "https://example.com#x",
            "https://[abc/",
            "https://ex%41mple.com/",
            "https://a b@host/",
            "1http://example.com",
        ] {
            assert!(!is_uri(bad), "{bad}");
        }
    }

    #[test]
    fn what_clients_parse_as_a_url() {
        for good in ["", "u", "a/b:c", "//host/x", "https://example.com"] {
            assert!(is_parsable(good), "{good}");
        }
        for bad in [" https://example.com", "a\nb", "1:2", "%", "//h:x/"] {
            assert!(!is_parsable(bad), "{bad}");
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
