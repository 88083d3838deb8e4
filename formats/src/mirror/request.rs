//! The query: `from=…&to=…`, and `via`, `arch`, `platform`, `risks`, `with-branches`, `with-start`, `partial`, `graph-data-image`, `now`, `format`.
//!
//! It is read strictly, because a misspelt parameter would list something else.

use jiff::Timestamp;
use towpath_core::cluster::{Fact, Platform};
use towpath_core::graph::{ChannelName, Graph};
use towpath_core::mirror::{Branching, Have, MirrorChoice, MirrorStart, Wish};
use towpath_core::path::{Goal, RiskPolicy};
use towpath_core::version::{Arch, Minors, Version};

use super::Completeness;
use super::aims::{MirrorAims, MirrorClients, arch};
use super::image_set::ImageSetVersion;
use crate::graph::data::parse_time;
use crate::graph::explain::request::{arch as read_arch, given, parsed};
use crate::graph::request::BadRequest;
use crate::path::via;

/// What is asked for one cluster, and how it is to be answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MirrorRequest {
    pub from: Version,
    pub goal: Goal,
    pub via: Vec<ChannelName>,
    pub arch: Option<String>,
    pub platform: Fact<Platform>,
    pub risks: Option<RiskPolicy>,
    pub branching: Branching,
    pub start: MirrorStart,
    pub completeness: Completeness,
    /// Where the graph data is, for the list.
    pub graph_data: Option<String>,
    /// As of then; none: now.
    pub now: Option<Timestamp>,
    /// In which form, if it was said; else the `Accept` header says it.
    pub form: Option<MirrorForm>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MirrorForm {
    Text,
    Json,
    /// The files for oc-mirror, as JSON.
    ImageSet(ImageSetVersion),
}

const NAMES: [&str; 12] = [
    "from",
    "to",
    "via",
    "arch",
    "platform",
    "risks",
    "with-branches",
    "with-start",
    "partial",
    "graph-data-image",
    "now",
    "format",
];

/// The longest reference to graph data, in characters.
const MAX_REFERENCE: usize = 512;

/// Reads a query, or says what is wrong with it.
pub fn read(query: &str) -> Result<MirrorRequest, BadRequest> {
    let [
        from,
        to,
        channels,
        arch,
        platform,
        risks,
        branches,
        start,
        partial,
        image,
        now,
        output,
    ] = given(query, NAMES)?;
    let flag = |name: &str, value: Option<String>| {
        let read = |text: &str| text.parse::<bool>().ok();
        Ok::<bool, BadRequest>(parsed(name, value, read)?.unwrap_or_default())
    };
    let reference = |text: &str| (text.chars().count() <= MAX_REFERENCE).then(|| text.to_owned());
    let arch_name = |text: &str| read_arch(text).map(|arch| arch.as_str().to_owned());
    Ok(MirrorRequest {
        from: parsed("from", from, |text| text.parse().ok())?
            .ok_or_else(|| BadRequest::missing(&["from"]))?,
        goal: parsed("to", to, Goal::read)?.ok_or_else(|| BadRequest::missing(&["to"]))?,
        via: parsed("via", channels, via)?.unwrap_or_default(),
        arch: parsed("arch", arch, arch_name)?,
        platform: Fact::from(parsed("platform", platform, Platform::new)?),
        risks: parsed("risks", risks, RiskPolicy::read)?,
        branching: match flag("with-branches", branches)? {
            true => Branching::WaysAround,
            false => Branching::Ways,
        },
        start: match flag("with-start", start)? {
            true => MirrorStart::Included,
            false => MirrorStart::LeftOut,
        },
        completeness: match flag("partial", partial)? {
            true => Completeness::Partial,
            false => Completeness::Whole,
        },
        graph_data: parsed("graph-data-image", image, reference)?,
        now: parsed("now", now, |text| parse_time(text).ok())?,
        form: parsed("format", output, MirrorForm::named)?,
    })
}

impl MirrorRequest {
    /// The wish, or why nobody can have it.
    pub fn wish(&self, graph: &Graph, minors: Minors, now: Timestamp) -> Result<Wish, String> {
        let arch = self.arch.as_deref().map(|name| arch(graph, name));
        let arch = arch.transpose()?.unwrap_or_else(Arch::default);
        let aims = MirrorAims {
            goal: self.goal.clone(),
            via: self.via.clone(),
            platform: self.platform.clone(),
            risks: self.risks.clone(),
            minors,
            choice: MirrorChoice::Best,
            branching: self.branching,
            start: self.start,
            have: Have::default(),
        };
        aims.wish(graph, MirrorClients::one(self.from.clone(), arch), now)
    }
}

impl MirrorForm {
    fn named(name: &str) -> Option<Self> {
        match name {
            "text" => Some(Self::Text),
            "json" => Some(Self::Json),
            "oc-mirror-v1" => Some(Self::ImageSet(ImageSetVersion::V1Alpha2)),
            "oc-mirror-v2" => Some(Self::ImageSet(ImageSetVersion::V2Alpha1)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_with_everything() {
        let read = read(
            "from=4.19.16&to=4.20.3&via=stable&arch=arm64&platform=GCP&risks=never&with-branches=true&with-start=true\
             &partial=true&graph-data-image=x&now=2026-11-16T12:00Z&format=oc-mirror-v2",
        )
        .expect("it can be read");
        assert_eq!(read.branching, Branching::WaysAround);
        assert_eq!(read.start, MirrorStart::Included);
        assert_eq!(read.completeness, Completeness::Partial);
        let v2 = MirrorForm::ImageSet(ImageSetVersion::V2Alpha1);
        assert_eq!((read.form, read.graph_data), (Some(v2), Some("x".into())));
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        for query in [
            "from=4.19.16",
            "to=4.20.3",
            "from=4.19.16&to=latest",
            "from=4.19.16&to=4.20.3&with-branches=yes",
            "from=4.19.16&to=4.20.3&format=yaml",
            "from=4.19.16&to=4.20.3&channels=stable",
        ] {
            assert!(read(query).is_err(), "{query}");
        }
    }
}
