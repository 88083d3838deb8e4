//! The query: `channel=…&from=…`, and `to`, `id`, `platform`, `arch`, `now`, `format`.
//!
//! It is read strictly, because a misspelt parameter would explain something else.

use jiff::Timestamp;
use towpath_core::cluster::{Cluster, ClusterId, Fact, Platform};
use towpath_core::graph::ChannelName;
use towpath_core::version::{Arch, Version};

use crate::graph::data::parse_time;
use crate::graph::request::BadRequest;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExplainRequest {
    /// Who asks, as far as it was said.
    pub cluster: Cluster,
    /// The release that the cluster runs.
    pub from: Version,
    pub to: Option<Version>,
    /// As of then; none: now.
    pub at: Option<Timestamp>,
    /// In which form, if it was said; else the `Accept` header says it.
    pub form: Option<Form>,
}

/// The client that the answer is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Json,
    Text,
}

/// Reads a query, or says what is wrong with it.
pub fn read(query: &str) -> Result<ExplainRequest, BadRequest> {
    let [channel, from, to, id, platform, arch, at, form] = given(query, NAMES)?;
    let channel = parsed("channel", channel, ChannelName::new)?
        .ok_or_else(|| BadRequest::missing(&["channel"]))?;
    let version = |text: &str| text.parse::<Version>().ok();
    Ok(ExplainRequest {
        cluster: Cluster {
            id: Fact::from(parsed("id", id, ClusterId::new)?),
            platform: Fact::from(parsed("platform", platform, Platform::new)?),
            groups: Fact::Unknown,
            arch: parsed("arch", arch, self::arch)?.unwrap_or_default(),
            channel,
        },
        from: parsed("from", from, version)?.ok_or_else(|| BadRequest::missing(&["from"]))?,
        to: parsed("to", to, version)?,
        at: parsed("now", at, |text| parse_time(text).ok())?,
        form: parsed("format", form, Form::named)?,
    })
}

/// No architecture has a longer name.
const MAX_ARCH: usize = 63;

const NAMES: [&str; 8] = [
    "channel", "from", "to", "id", "platform", "arch", "now", "format",
];

/// The value of each of these parameters, if it has one. Others are errors.
pub(crate) fn given<const N: usize>(
    query: &str,
    names: [&str; N],
) -> Result<[Option<String>; N], BadRequest> {
    let mut given = [const { None }; N];
    for (key, value) in form_urlencoded::parse(query.as_bytes()) {
        let Some(at) = names.iter().position(|name| *name == key) else {
            let key: String = key.chars().take(64).collect();
            let known = names.join(", ");
            return Err(BadRequest::InvalidParams(format!(
                "there is no parameter {key:?}; there are {known}"
            )));
        };
        if given[at].replace(value.into_owned()).is_some() {
            return Err(BadRequest::InvalidParams(format!(
                "{key} stands twice; give it once"
            )));
        }
    }
    Ok(given.map(|value| value.filter(|value| !value.is_empty())))
}

/// An architecture, as graph requests name it.
pub(crate) fn arch(text: &str) -> Option<Arch> {
    let inside = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_name = (1..=MAX_ARCH).contains(&text.len()) && text.bytes().all(inside);
    is_name.then(|| Arch::new(text))
}

/// An empty value is none at all; one that cannot be read is an error, never a guess.
pub(crate) fn parsed<T>(
    name: &str,
    value: Option<String>,
    read: impl Fn(&str) -> Option<T>,
) -> Result<Option<T>, BadRequest> {
    parsed_as(name, form_of(name), value, read)
}

/// The same, where something else is to be written than under that name elsewhere.
pub(crate) fn parsed_as<T>(
    name: &str,
    form: &str,
    value: Option<String>,
    read: impl Fn(&str) -> Option<T>,
) -> Result<Option<T>, BadRequest> {
    let read = |text: &str| {
        if text.chars().any(char::is_control) {
            None
        } else {
            read(text)
        }
    };
    let wrong = |value: &str| {
        let shown: String = value.chars().take(64).collect();
        BadRequest::InvalidParams(format!("{name} {shown:?} cannot be read; write {form}"))
    };
    value
        .map(|value| read(&value).ok_or_else(|| wrong(&value)))
        .transpose()
}

/// What to write, by parameter: those of this path, and of the one that finds ways.
fn form_of(name: &str) -> &'static str {
    match name {
        "channel" => "a channel's name, as in stable-4.20",
        "from" => "a release, as in 4.20.3",
        "to" => "a release, as in 4.20.3; for a path also a minor version (4.20) or newest",
        "via" => "streams or channels with commas between, as in eus or stable-4.19,stable-4.20",
        "now" => "a time, as in 2026-11-18T12:00Z",
        "format" => "json or text",
        "prefer" => "fewest, safest or soonest",
        "risks" => "never, unknown or accepted:NAME,…",
        "alternatives" => "a number from 1 to 20",
        "fleet-size" => "a number from 1 to 100000000",
        "nodes" => "a number up to 20000",
        "max-unavailable" => "a number from 1, or a share from 1% to 100%",
        "on" => "cloud or metal",
        "arch" => "an architecture in lower-case letters and digits, as in amd64",
        "width" => "a number from 20 to 1000",
        _ => "a shorter name without blanks",
    }
}

impl Form {
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "json" => Some(Self::Json),
            "text" => Some(Self::Text),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_read_whole() {
        let asked = read(
            "channel=stable-4.20&from=4.20.1&to=4.20.5&id=x&platform=aws&arch=arm64&now=2026-11-16T12:00Z&format=text",
        );
        let asked = asked.unwrap();
        assert_eq!(
            (asked.from.to_string(), asked.to.unwrap().to_string()),
            ("4.20.1".into(), "4.20.5".into())
        );
        assert_eq!(
            (asked.cluster.arch.as_str(), asked.form),
            ("arm64", Some(Form::Text))
        );
        assert_eq!(
            asked.cluster.platform,
            Fact::Known(Platform::new("AWS").unwrap())
        );
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (query, expected) in [
            (
                "from=4.20.1",
                "mandatory client parameters missing: channel",
            ),
            ("channel=a", "mandatory client parameters missing: from"),
            ("channel=a&from=x", "from \"x\" cannot be read"),
            ("channel=A&from=4.20.1", "channel \"A\" cannot be read"),
            (
                "channel=a&from=4.20.1&format=xml",
                "format \"xml\" cannot be read",
            ),
            (
                "channel=a&channel=b&from=4.20.1",
                "channel stands twice; give it once",
            ),
            (
                "channel=a&from=4.20.1&plattform=AWS",
                "there is no parameter \"plattform\"; there are channel, from, to, id, platform, arch, now, format",
            ),
        ] {
            let told = read(query).unwrap_err();
            // What to write instead follows.
            let problem = told.value().split("; write ").next();
            assert_eq!(problem, Some(expected), "{query}");
        }
    }
}
