//! The query: `from=…&to=…`, and `via` or `channel`, `prefer`, `risks`, `alternatives`, `id`,
//! `platform`, `arch`, `now`, `format`. For durations, `nodes`, `max-unavailable` and `on`.
//!
//! It is read strictly, because a misspelt parameter would plan something else.

use jiff::Timestamp;
use towpath_core::cluster::{ClusterId, Fact, Platform};
use towpath_core::duration::{Ground, MaxUnavailable, Shape};
use towpath_core::graph::ChannelName;
use towpath_core::path::{Asker, Goal, Preference, Request, RiskPolicy};
use towpath_core::version::{Minors, Version};

use crate::cluster::shape::MAX_NODES;
use crate::graph::data::parse_time;
use crate::graph::explain::request::{arch as read_arch, given, parsed, parsed_as};
use crate::graph::request::BadRequest;
use crate::picture::PictureForm;

/// What is asked, and how it is to be answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathRequest {
    /// The question. Its time is that of `now` where none was given.
    pub request: Request,
    /// What the cluster looks like, if something was said about it.
    pub shape: Option<Shape>,
    /// In which form, if it was said; else the `Accept` header says it.
    pub form: Option<PictureForm>,
}

/// Where nobody says which channels to go through.
const USUAL_VIA: &str = "stable";

/// Reads a query, or says what is wrong with it.
pub fn read(query: &str, minors: &Minors, now: Timestamp) -> Result<PathRequest, BadRequest> {
    let [
        from,
        to,
        channel,
        via_text,
        prefer,
        risks,
        alternatives,
        id,
        platform,
        arch,
        at,
        form,
        nodes,
        away,
        on,
    ] = given(query, NAMES)?;
    let channel = parsed("channel", channel, ChannelName::new)?;
    let listed = parsed("via", via_text, via)?;
    let via = match (channel, listed) {
        (Some(_), Some(_)) => {
            return Err(BadRequest::Contradiction(
                "channel and via are two ways to say it; give one of them".into(),
            ));
        }
        (Some(channel), None) => vec![channel],
        (None, Some(listed)) => listed,
        (None, None) => via(USUAL_VIA).unwrap_or_default(),
    };
    let prefer = parsed("prefer", prefer, Preference::read)?.unwrap_or_default();
    let ways = |text: &str| {
        text.parse()
            .ok()
            .filter(|ways| (1..=Request::MAX_WAYS).contains(ways))
    };
    let request = Request {
        from: parsed("from", from, |text| text.parse::<Version>().ok())?
            .ok_or_else(|| BadRequest::missing(&["from"]))?,
        goal: parsed("to", to, Goal::read)?.ok_or_else(|| BadRequest::missing(&["to"]))?,
        via,
        risks: parsed("risks", risks, RiskPolicy::read)?.unwrap_or_else(|| prefer.usual_risks()),
        prefer,
        ways: parsed("alternatives", alternatives, ways)?.unwrap_or(1),
        asker: Asker {
            id: Fact::from(parsed("id", id, ClusterId::new)?),
            platform: Fact::from(parsed("platform", platform, Platform::new)?),
            groups: Fact::Unknown,
            arch: parsed("arch", arch, read_arch)?.unwrap_or_default(),
        },
        minors: minors.clone(),
        now: parsed("now", at, |text| parse_time(text).ok())?.unwrap_or(now),
    };
    let shape = Plain {
        nodes: parsed("nodes", nodes, |text| {
            text.parse().ok().filter(|nodes| *nodes <= MAX_NODES)
        })?,
        max_unavailable: parsed("max-unavailable", away, MaxUnavailable::read)?,
        ground: parsed("on", on, Ground::read)?,
    };
    Ok(PathRequest {
        request,
        shape: shape.shape(),
        form: parsed_as("format", PictureForm::NAMES, form, PictureForm::named)?,
    })
}

/// The shape of a cluster in a few words.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Plain {
    /// The worker nodes in one pool; three by default.
    pub nodes: Option<u32>,
    /// How many of them may be away at once; one if nobody says it.
    pub max_unavailable: Option<MaxUnavailable>,
    /// What all nodes run on; a cloud if nobody says it.
    pub ground: Option<Ground>,
}

impl Plain {
    /// The shape, if anything was said.
    pub fn shape(self) -> Option<Shape> {
        let Self {
            nodes,
            max_unavailable,
            ground,
        } = self;
        let away = max_unavailable.unwrap_or(MaxUnavailable::Count(1));
        let shape = || Shape::plain(nodes.unwrap_or(3), away, ground.unwrap_or(Ground::Cloud));
        (self != Self::default()).then(shape)
    }
}

/// Reads a list of channels and streams: `eus`, or `stable-4.19,stable-4.20`.
pub fn via(text: &str) -> Option<Vec<ChannelName>> {
    let names: Option<Vec<ChannelName>> = text
        .split(',')
        .map(|name| ChannelName::new(name.trim()))
        .collect();
    names.filter(|names| names.len() <= Request::MAX_VIA)
}

const NAMES: [&str; 15] = [
    "from",
    "to",
    "channel",
    "via",
    "prefer",
    "risks",
    "alternatives",
    "id",
    "platform",
    "arch",
    "now",
    "format",
    "nodes",
    "max-unavailable",
    "on",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::explain::Form;

    fn read_at(query: &str) -> Result<PathRequest, BadRequest> {
        read(query, &Minors::default(), Timestamp::UNIX_EPOCH)
    }

    #[test]
    fn a_question_is_read_whole() {
        let asked = read_at(
            "from=4.14.0&to=4.16&via=eus,fast-4.16&prefer=soonest&risks=accepted:A,B&alternatives=3&id=x&platform=aws&\
             arch=arm64&now=2026-11-16T12:00Z&format=text",
        );
        let PathRequest {
            request,
            shape,
            form,
        } = asked.unwrap();
        assert_eq!(shape, None);
        assert_eq!(
            (request.goal, request.ways),
            (
                Goal::NewestOf {
                    major: 4,
                    minor: 16
                },
                3
            )
        );
        assert_eq!(
            request
                .via
                .iter()
                .map(ChannelName::as_str)
                .collect::<Vec<_>>(),
            ["eus", "fast-4.16"]
        );
        assert_eq!(
            (request.prefer, form),
            (Preference::Soonest, Some(PictureForm::Told(Form::Text)))
        );
        assert!(matches!(request.risks, RiskPolicy::Accepted(names) if names.len() == 2));
    }

    #[test]
    fn a_shape_is_read_where_something_is_said_of_it() {
        let shape = |query: &str| {
            read_at(&format!("from=4.14.0&to=newest&{query}"))
                .unwrap()
                .shape
        };
        let plain = |nodes, away| Some(Shape::plain(nodes, away, Ground::Cloud));
        assert_eq!(
            shape("nodes=250&max-unavailable=10%25"),
            plain(250, MaxUnavailable::Percent(10))
        );
        assert_eq!(shape("nodes=0"), plain(0, MaxUnavailable::Count(1)));
        assert_eq!(
            shape("on=metal"),
            Some(Shape::plain(3, MaxUnavailable::Count(1), Ground::Metal))
        );
    }

    #[test]
    fn what_is_not_said_is_the_usual() {
        let PathRequest { request, .. } = read_at("from=4.14.0&to=newest").unwrap();
        assert_eq!((request.via[0].as_str(), request.ways), ("stable", 1));
        assert_eq!(
            (request.risks, request.now),
            (RiskPolicy::Never, Timestamp::UNIX_EPOCH)
        );
        assert_eq!(
            read_at("from=4.14.0&to=newest&prefer=safest")
                .unwrap()
                .request
                .risks,
            RiskPolicy::Unknown
        );
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (query, expected) in [
            ("to=4.20", "mandatory client parameters missing: from"),
            ("from=4.20.1", "mandatory client parameters missing: to"),
            ("from=4.20&to=4.21", "from \"4.20\" cannot be read"),
            ("from=4.20.1&to=latest", "to \"latest\" cannot be read"),
            (
                "from=4.20.1&to=4.21&alternatives=0",
                "alternatives \"0\" cannot be read",
            ),
            (
                "from=4.20.1&to=4.21&alternatives=21",
                "alternatives \"21\" cannot be read",
            ),
            (
                "from=4.20.1&to=4.21&risks=some",
                "risks \"some\" cannot be read",
            ),
            (
                "from=4.20.1&to=4.21&nodes=20001",
                "nodes \"20001\" cannot be read",
            ),
            (
                "from=4.20.1&to=4.21&max-unavailable=0%25",
                "max-unavailable \"0%\" cannot be read",
            ),
            (
                "from=4.20.1&to=4.21&on=water",
                "on \"water\" cannot be read",
            ),
            ("from=4.20.1&to=4.21&via=a,B", "via \"a,B\" cannot be read"),
            (
                "from=4.20.1&to=4.21&via=eus&channel=eus-4.20",
                "channel and via are two ways to say it; give one of them",
            ),
        ] {
            let told = read_at(query).unwrap_err();
            // What to write instead follows.
            let problem = told.value().split("; write ").next();
            assert_eq!(problem, Some(expected), "{query}");
        }
        let told = read_at("from=4.20&to=4.21").unwrap_err();
        let expected = "from \"4.20\" cannot be read; write a release, as in 4.20.3";
        assert_eq!(told.value(), expected);
    }
}
