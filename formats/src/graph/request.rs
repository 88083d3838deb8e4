//! A request for a graph: its query, and the content types that its client accepts.

use std::borrow::Cow;
use std::collections::BTreeSet;

use towpath_core::cluster::{ClusterId, Platform};
use towpath_core::graph::ChannelName;
use towpath_core::version::Arch;

/// What a client asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphRequest<'a> {
    /// The channel; well formed, not necessarily one that exists.
    pub channel: Cow<'a, str>,
    /// The architecture; well formed, not necessarily one that has releases.
    pub arch: Cow<'a, str>,
    /// The cluster's id, if it sent one.
    pub id: Option<ClusterId>,
    /// The cluster's platform, if it sent one.
    pub platform: Option<Platform>,
}

/// Why a request cannot be answered; the client's fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BadRequest {
    /// Mandatory parameters are missing; the sentence names them.
    MissingParams(String),
    /// A parameter cannot be what it should be.
    InvalidParams(String),
    /// Each parameter can be read, but not together with the others.
    Contradiction(String),
    /// What a parameter names does not exist.
    NotThere(String),
}

impl BadRequest {
    /// What the reference service says of missing parameters; its clients look for it.
    pub fn missing(names: &[&str]) -> Self {
        Self::MissingParams(format!(
            "mandatory client parameters missing: {}",
            names.join(", ")
        ))
    }

    /// The stable name that clients and dashboards know.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::MissingParams(_) => "missing_params",
            Self::InvalidParams(_) | Self::Contradiction(_) => "invalid_params",
            Self::NotThere(_) => "does_not_exist",
        }
    }

    /// The sentence.
    pub fn value(&self) -> &str {
        match self {
            Self::MissingParams(sentence)
            | Self::InvalidParams(sentence)
            | Self::Contradiction(sentence)
            | Self::NotThere(sentence) => sentence,
        }
    }
}

/// Reads a query. Of duplicate keys the last wins; unknown keys are ignored.
pub fn read(query: &str) -> Result<GraphRequest<'_>, BadRequest> {
    read_with(query, &[])
}

/// The same where a request must also have these parameters.
pub fn read_with<'a>(query: &'a str, mandatory: &[String]) -> Result<GraphRequest<'a>, BadRequest> {
    let (mut channel, mut arch, mut id, mut platform) = (None, None, None, None);
    for (key, value) in query.split('&').map(pair) {
        match key.as_ref() {
            "channel" => channel = Some(value),
            "arch" => arch = Some(value),
            "id" => id = Some(value),
            "platform" => platform = Some(value),
            _ => {}
        }
    }
    let is_given = |name: &str| query.split('&').any(|part| pair(part).0 == name);
    let lacking = mandatory.iter().map(String::as_str);
    let lacking: BTreeSet<&str> = lacking
        .filter(|name| !is_given(name))
        .chain(channel.is_none().then_some("channel"))
        .collect();
    let Some(channel) = channel.filter(|_| lacking.is_empty()) else {
        let names: Vec<&str> = lacking.into_iter().collect();
        return Err(BadRequest::missing(&names));
    };
    if ChannelName::new(&channel).is_none() {
        let rule = "lower-case letters, digits, '-' and '.'";
        return Err(not_of("channel", &channel, rule));
    }
    let arch = arch.unwrap_or(Cow::Borrowed(Arch::DEFAULT));
    let inside = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    if arch.is_empty() || !arch.bytes().all(inside) {
        return Err(not_of("arch", &arch, "lower-case letters and digits"));
    }
    Ok(GraphRequest {
        channel,
        arch,
        id: optional("id", id, ClusterId::new)?,
        platform: optional("platform", platform, Platform::new)?,
    })
}

fn not_of(name: &str, value: &str, rule: &str) -> BadRequest {
    let shown = shortened(value);
    BadRequest::InvalidParams(format!(
        "{name} '{}' does not consist of {rule}",
        shown.escape_debug()
    ))
}

/// A key and its value, decoded where they need it, which they hardly ever do.
fn pair(pair: &str) -> (Cow<'_, str>, Cow<'_, str>) {
    match pair.bytes().any(|b| b == b'%' || b == b'+') {
        true => form_urlencoded::parse(pair.as_bytes())
            .next()
            .unwrap_or_default(),
        false => pair
            .split_once('=')
            .map_or((pair.into(), "".into()), |(key, value)| {
                (key.into(), value.into())
            }),
    }
}

/// An empty value is none at all; one that cannot be read is an error, never a guess.
fn optional<T>(
    name: &str,
    value: Option<Cow<'_, str>>,
    read: impl Fn(&str) -> Option<T>,
) -> Result<Option<T>, BadRequest> {
    let wrong = |value: &str| {
        BadRequest::InvalidParams(format!("{name} {:?} cannot be read", shortened(value)))
    };
    let value = value.filter(|value| !value.is_empty());
    value
        .map(|value| read(&value).ok_or_else(|| wrong(&value)))
        .transpose()
}

fn shortened(text: &str) -> String {
    text.chars().take(64).collect()
}

/// The two names of the one form that we have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentType {
    /// `application/json`
    Json,
    /// `application/vnd.redhat.cincinnati.v1+json`
    Cincinnati,
}

impl ContentType {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Cincinnati => "application/vnd.redhat.cincinnati.v1+json",
        }
    }

    /// The form that an `Accept` header prefers; none if it takes neither. Without the header it is the reference service's.
    pub fn accepted(accept: Option<&str>) -> Option<Self> {
        let Some(accept) = accept else {
            return Some(Self::Cincinnati);
        };
        let [json, cincinnati] =
            [Self::Json, Self::Cincinnati].map(|form| quality(accept, form.as_str()));
        match (json, cincinnati) {
            (0, 0) => None,
            (json, cincinnati) if json >= cincinnati => Some(Self::Json),
            _ => Some(Self::Cincinnati),
        }
    }
}

/// Whether an `Accept-Encoding` header takes gzip.
pub fn accepts_gzip(accept_encoding: Option<&str>) -> bool {
    accept_encoding.is_some_and(|header| {
        let mut wildcard = 0;
        for (name, quality) in weighted(header) {
            match name {
                name if name.eq_ignore_ascii_case("gzip")
                    || name.eq_ignore_ascii_case("x-gzip") =>
                {
                    return quality > 0;
                }
                "*" => wildcard = quality,
                _ => {}
            }
        }
        wildcard > 0
    })
}

/// How much a header wants a media type, in thousandths; the most specific range decides.
fn quality(accept: &str, wanted: &str) -> u32 {
    let matching = weighted(accept).filter_map(|(range, quality)| {
        let specificity = match range {
            range if range.eq_ignore_ascii_case(wanted) => 3,
            range if range.eq_ignore_ascii_case("application/*") => 2,
            "*" | "*/*" => 1,
            _ => return None,
        };
        Some((specificity, quality))
    });
    matching.max().map_or(0, |(_, quality)| quality)
}

/// The members of a list header with their weights in thousandths. Other parameters are ignored.
fn weighted(header: &str) -> impl Iterator<Item = (&str, u32)> {
    header.split(',').map(|member| {
        let mut parts = member.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let weight =
            parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
        let thousandths = weight.map_or(1000.0, |q| {
            q.parse::<f32>().unwrap_or(0.0).clamp(0.0, 1.0) * 1000.0
        });
        (name, thousandths.round() as u32)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_duplicate_keys_wins_and_unknown_keys_are_ignored() {
        let request =
            read("channel=a&x=1&channel=stable-4.9&arch=A&arch=arm64&id=&version=nonsense")
                .unwrap();
        assert_eq!(
            (&*request.channel, &*request.arch, request.id),
            ("stable-4.9", "arm64", None)
        );
    }

    #[test]
    fn what_cannot_be_read_is_an_error() {
        assert_eq!(
            read("").unwrap_err().value(),
            "mandatory client parameters missing: channel"
        );
        let mandatory = ["id".to_owned(), "arch".to_owned()];
        assert_eq!(
            read_with("arch=amd64", &mandatory).unwrap_err().value(),
            "mandatory client parameters missing: channel, id"
        );
        assert!(read_with("arch=amd64&id=x&channel=a", &mandatory).is_ok());
        let value = |query: &str| read(query).unwrap_err().value().to_owned();
        assert!(value("channel=A").starts_with("channel 'A' "));
        assert!(value("channel=a&arch=x86_64").starts_with("arch 'x86_64' "));
        for bad in [
            "channel=",
            "channel=A",
            "channel=a%20b",
            "channel=a%ff",
            "channel=a&arch=",
            "channel=a&arch=AMD64",
            "channel=a&arch=amd64,arm64",
            "channel=a&arch=%FF",
            "channel=a&platform=a%20b",
        ] {
            assert_eq!(read(bad).unwrap_err().kind(), "invalid_params", "{bad}");
        }
        let long = format!("channel=a&id={}", "x".repeat(ClusterId::MAX_CHARACTERS + 1));
        assert_eq!(read(&long).unwrap_err().kind(), "invalid_params");
    }

    #[test]
    fn accept_is_read_as_a_list_with_weights() {
        use ContentType::{Cincinnati, Json};
        for (accept, expected) in [
            (None, Some(Cincinnati)),
            (Some("*"), Some(Json)),
            (Some("*/*"), Some(Json)),
            (Some("application/*"), Some(Json)),
            (Some("application/json"), Some(Json)),
            (
                Some("application/vnd.redhat.cincinnati.v1+json"),
                Some(Cincinnati),
            ),
            (Some("text/html, application/json;q=0.5"), Some(Json)),
            (
                Some("application/vnd.redhat.cincinnati.v1+json, */*;q=0.1"),
                Some(Cincinnati),
            ),
            (Some("application/json;q=0, */*"), Some(Cincinnati)),
            (Some("text/html"), None),
            (Some("application/json;q=0"), None),
            (Some(""), None),
        ] {
            assert_eq!(ContentType::accepted(accept), expected, "{accept:?}");
        }
    }

    #[test]
    fn gzip_is_sent_only_where_it_is_taken() {
        for (header, expected) in [
            (None, false),
            (Some("gzip"), true),
            (Some("deflate, gzip;q=0.5"), true),
            (Some("gzip;q=0"), false),
            (Some("*"), true),
            (Some("gzip;q=0, *"), false),
            (Some("br"), false),
            (Some("gzip;q=abc"), false),
        ] {
            assert_eq!(accepts_gzip(header), expected, "{header:?}");
        }
    }
}
