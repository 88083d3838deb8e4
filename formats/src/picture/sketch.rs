//! What a drawing shows: lanes, releases in them, and the updates between releases. SVG, DOT and Mermaid are written from it.
//!
//! Every text in it may come from outside; whoever writes it down escapes it.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use towpath_core::graph::{EdgeStatus, Graph, ReleaseId, RiskId};
use towpath_core::path::Hop;
use towpath_core::picture::{EdgeAnswer, GridPlace, Layout, PictureRelease};

use super::PictureReport;
use crate::path::PathReport;
use crate::words::{counted, first_names, joined, second};

/// The most channels that a title names. The others are counted.
const MAX_NAMES: usize = 6;

pub(super) struct Sketch {
    pub(super) title: String,
    /// What somebody reads who does not see it.
    pub(super) description: String,
    pub(super) width: u32,
    pub(super) lanes: Vec<String>,
    pub(super) releases: Vec<SketchRelease>,
    /// By kind, and then in their own order.
    pub(super) links: Vec<SketchLink>,
}

pub(super) struct SketchRelease {
    pub(super) version: String,
    pub(super) place: GridPlace,
    /// What else there is to say.
    pub(super) note: Option<String>,
}

pub(super) struct SketchLink {
    /// Its ends, by index.
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) kind: EdgeStatus,
    /// What else there is to say.
    pub(super) note: Option<String>,
}

impl Sketch {
    /// All releases and updates of some channels.
    pub(super) fn of_picture(told: &PictureReport<'_>) -> Self {
        let picture = told.picture;
        let channels = picture.channels.iter().map(|channel| &channel.name);
        let title = format!(
            "{} ({}), at {}",
            first_names(channels, MAX_NAMES),
            told.asker.arch,
            second(told.now)
        );
        let link = |edge: &towpath_core::picture::PictureEdge| {
            let answer = &picture.answers[edge.answer as usize];
            SketchLink {
                from: edge.from as usize,
                to: edge.to as usize,
                kind: answer.kind,
                note: note(told, answer),
            }
        };
        let release = |one: &PictureRelease| SketchRelease {
            version: told.graph.release(one.id).version.to_string(),
            place: one.place,
            note: one
                .enters
                .map(|enters| format!("enters {}", second(enters))),
        };
        Self {
            title,
            description: String::new(),
            width: picture.layout.width,
            lanes: lanes(&picture.layout),
            releases: picture.releases.iter().map(release).collect(),
            links: picture.edges.iter().map(link).collect(),
        }
        .described()
    }

    /// The ways of a path; or the way as far as one gets.
    pub(super) fn of_path(told: &PathReport<'_>) -> Self {
        let (graph, request) = (told.graph, told.request);
        let (plans, title) = match told.answer {
            Ok(found) => (
                found.plans.iter().collect(),
                format!(
                    "from {} to {}",
                    request.from,
                    graph.release(found.goal).version
                ),
            ),
            Err(no_path) => (
                Vec::from_iter(no_path.nearest()),
                format!("no path from {} to {}", request.from, request.goal),
            ),
        };
        let hops: Vec<&Hop> = plans.iter().flat_map(|plan| &plan.hops).collect();
        let ends: BTreeSet<ReleaseId> = hops.iter().flat_map(|hop| [hop.from, hop.to]).collect();
        let layout = Layout::of(ends.iter().map(|id| &graph.release(*id).version));
        let numbers: BTreeMap<ReleaseId, usize> = ends.iter().copied().zip(0..).collect();
        let release = |id: &ReleaseId| {
            let version = &graph.release(*id).version;
            SketchRelease {
                version: version.to_string(),
                place: layout.place_of(version).expect("each has a place"),
                note: None,
            }
        };
        let mut links: BTreeMap<(usize, usize), SketchLink> = BTreeMap::new();
        for hop in hops {
            let (from, to) = (numbers[&hop.from], numbers[&hop.to]);
            links.entry((from, to)).or_insert_with(|| SketchLink {
                from,
                to,
                kind: told
                    .explained(hop)
                    .map_or(EdgeStatus::NoEdge, |one| one.kind()),
                note: Some(note_of_hop(graph, hop, request.now)),
            });
        }
        Self {
            title: format!(
                "{title} ({}), at {}",
                request.asker.arch,
                second(request.now)
            ),
            description: String::new(),
            width: layout.width,
            lanes: lanes(&layout),
            releases: ends.iter().map(release).collect(),
            links: links.into_values().collect(),
        }
        .described()
    }

    /// The kinds of updates that there are, in the order of the legend.
    pub(super) fn kinds(&self) -> BTreeMap<EdgeStatus, usize> {
        let mut kinds = BTreeMap::new();
        for link in &self.links {
            *kinds.entry(link.kind).or_default() += 1;
        }
        kinds
    }

    /// What is said of an update to somebody who points at it.
    pub(super) fn words(&self, link: &SketchLink) -> String {
        let [from, to] = [link.from, link.to].map(|end| &self.releases[end].version);
        let note = link.note.iter().map(|note| format!(" ({note})"));
        format!("{from} → {to}: {}{}", link.kind.text(), joined(note, ""))
    }

    fn described(mut self) -> Self {
        self.links.sort_by_key(|link| link.kind);
        let kinds = self.kinds().into_iter();
        let kinds = kinds.map(|(kind, count)| format!("{count} {}", kind.text()));
        self.description = format!(
            "{}, {}: {}",
            counted(self.releases.len(), "release"),
            counted(self.links.len(), "update"),
            joined(kinds, "none")
        );
        self
    }
}

fn lanes(layout: &Layout) -> Vec<String> {
    layout.lanes.iter().map(ToString::to_string).collect()
}

/// What else there is to say of an update: risks, the share that it has reached, when it opens.
fn note(told: &PictureReport<'_>, answer: &EdgeAnswer) -> Option<String> {
    let risks = names(told.graph, answer.risks());
    let share = answer
        .share
        .map(|share| format!("{share} of clusters have it"));
    let opens = answer.answer.until();
    let opens = opens.map(|until| format!("opens {}", second(until)));
    let all: Vec<String> = risks.into_iter().chain(share).chain(opens).collect();
    (!all.is_empty()).then(|| all.join(", "))
}

fn note_of_hop(graph: &Graph, hop: &Hop, now: Timestamp) -> String {
    let risks = names(graph, hop.risks.iter().copied());
    let opens = (hop.opens > now).then(|| format!("opens {}", second(hop.opens)));
    let all = [hop.channel.to_string()]
        .into_iter()
        .chain(risks)
        .chain(opens);
    all.collect::<Vec<_>>().join(", ")
}

fn names(graph: &Graph, risks: impl Iterator<Item = RiskId>) -> Vec<String> {
    risks.map(|id| graph.risk(id).name.clone()).collect()
}
