//! The channels there are: the HTTP query, and the answer as text and as JSON.

use jiff::Timestamp;
use serde_json::{Value, json};
use towpath_core::graph::{Graph, ListedChannel, channel_list};
use towpath_core::version::{Arch, Minor};

use crate::graph::data::parse_time;
use crate::graph::explain::Form;
use crate::graph::explain::request::{arch, given, parsed};
use crate::graph::request::BadRequest;
use crate::room::Room;
use crate::tables::{align_right, fitted, shown};
use crate::words::{joined, second};

/// How it is to be answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelsRequest {
    /// Only the releases of this architecture count.
    pub arch: Option<Arch>,
    /// As of then; none: now.
    pub at: Option<Timestamp>,
    /// In which form, if it was said; else the `Accept` header says it.
    pub form: Option<Form>,
}

impl ChannelsRequest {
    /// Reads a query, or says what is wrong with it.
    pub fn read(query: &str) -> Result<Self, BadRequest> {
        let [arch_text, at, form] = given(query, ["arch", "now", "format"])?;
        Ok(Self {
            arch: parsed("arch", arch_text, arch)?,
            at: parsed("now", at, |text| parse_time(text).ok())?,
            form: parsed("format", form, Form::named)?,
        })
    }
}

/// The channels at an instant.
pub struct ChannelsReport<'a> {
    arch: Option<&'a Arch>,
    arches: Vec<&'a Arch>,
    channels: Vec<ListedChannel<'a>>,
    now: Timestamp,
}

impl<'a> ChannelsReport<'a> {
    /// None if there is no release for the architecture.
    pub fn of(graph: &'a Graph, arch: Option<&'a Arch>, now: Timestamp) -> Option<Self> {
        let arches: Vec<&Arch> = graph.arches().collect();
        let is_known = arch.is_none_or(|arch| arches.contains(&arch));
        is_known.then(|| Self {
            arch,
            arches,
            channels: channel_list(graph, arch, now),
            now,
        })
    }

    pub fn json(&self) -> Value {
        json!({
            "at": self.now.to_string(),
            "arch": self.arch.map(Arch::as_str),
            "architectures": self.arches.iter().map(|arch| arch.as_str()).collect::<Vec<_>>(),
            "channels": self.channels.iter().map(channel).collect::<Vec<_>>(),
        })
    }

    pub fn text(&self, room: Room) -> String {
        let mut table = fitted(
            ["CHANNEL", "RELEASES", "NEWEST", "MINOR VERSIONS"],
            room.width,
        );
        align_right(&mut table, [1]);
        for listed in &self.channels {
            table.add_row([
                listed.channel.name.to_string(),
                listed.releases.len().to_string(),
                joined(listed.newest(), "-"),
                joined(listed.minors(), "-"),
            ]);
        }
        let of = self.arch.map_or_else(
            || joined(&self.arches, "no architecture"),
            ToString::to_string,
        );
        let head = format!(
            "{} channels ({of}), at {}\n\n",
            self.channels.len(),
            second(self.now)
        );
        format!("{head}{}", shown(&table))
    }
}

fn channel(listed: &ListedChannel<'_>) -> Value {
    json!({
        "name": listed.channel.name.as_str(),
        "architectures": listed.arches.iter().map(|arch| arch.as_str()).collect::<Vec<_>>(),
        "releases": listed.releases.len(),
        "minors": listed.minors().iter().map(Minor::to_string).collect::<Vec<_>>(),
        "newest": listed.newest().map(ToString::to_string),
    })
}
