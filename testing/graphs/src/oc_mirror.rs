//! What oc-mirror v2 brings for a file, by its rules of August 2026 (4.18 and later).
//!
//! An entry brings the releases of its channel between its two versions. With two or more entries,
//! oc-mirror also searches a way from the least version to the greatest: from the head of one
//! channel to the head of the next. If it finds none, the whole run ends with an error. It asks
//! without an id, and ignores conditional updates.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use jiff::Timestamp;
use towpath_core::cluster::Cluster;
use towpath_core::graph::{ChannelName, Graph, Situation, recommend};
use towpath_core::rules::Policy;
use towpath_core::version::{Arch, Version};

/// An entry of a file: a channel, and the one version of it that is wanted.
pub type Entry = (String, Version);

/// What the file brings, or why the run ends.
pub fn brought(
    graph: &Graph,
    arch: &Arch,
    entries: &[Entry],
    now: Timestamp,
) -> Result<BTreeSet<Version>, String> {
    let service = Service { graph, arch, now };
    let mut all = BTreeSet::new();
    for (channel, version) in entries {
        let answer = service.answer(channel);
        all.extend(answer.versions.contains(version).then(|| version.clone()));
    }
    if entries.len() > 1 {
        let least = entries.iter().min_by_key(|(_, version)| version).unwrap();
        let greatest = entries.iter().max_by_key(|(_, version)| version).unwrap();
        all.extend(service.across(least, greatest)?);
    }
    Ok(all)
}

/// The service that it asks.
struct Service<'a> {
    graph: &'a Graph,
    arch: &'a Arch,
    now: Timestamp,
}

/// A channel as the service answers.
#[derive(Default)]
struct Answer {
    versions: BTreeSet<Version>,
    edges: BTreeMap<Version, BTreeSet<Version>>,
}

impl Service<'_> {
    fn answer(&self, channel: &str) -> Answer {
        let Some(name) = ChannelName::new(channel) else {
            return Answer::default();
        };
        let cluster = Cluster::anonymous(name, self.arch.clone());
        let at = Situation {
            graph: self.graph,
            cluster: &cluster,
            now: self.now,
        };
        let view = recommend(Policy::graph(), &at);
        let version = |id| self.graph.release(id).version.clone();
        let mut answer = Answer {
            versions: view.releases.iter().map(|id| version(*id)).collect(),
            edges: BTreeMap::new(),
        };
        let plain = view
            .offered()
            .filter(|(_, verdict)| verdict.reasons.is_empty());
        for (edge, _) in plain {
            let targets = answer.edges.entry(version(edge.from)).or_default();
            targets.insert(version(edge.to));
        }
        answer
    }

    fn head(&self, channel: &str) -> Result<Version, String> {
        let last = self.answer(channel).versions.pop_last();
        last.ok_or_else(|| format!("no cluster versions found in the {channel:?} channel"))
    }

    /// The shortest way within one channel; nothing if there is none, an error if an end is not in the channel.
    fn within(&self, channel: &str, from: &Version, to: &Version) -> Result<Vec<Version>, String> {
        let answer = self.answer(channel);
        for end in [from, to] {
            if !answer.versions.contains(end) {
                return Err(format!("{end} not found in the {channel:?} channel"));
            }
        }
        let mut before: BTreeMap<&Version, &Version> = BTreeMap::new();
        let mut queue = VecDeque::from([from]);
        while let Some(here) = queue.pop_front().filter(|here| *here != to) {
            for next in answer.edges.get(here).into_iter().flatten().rev() {
                if next != from && !before.contains_key(next) {
                    before.insert(next, here);
                    queue.push_back(next);
                }
            }
        }
        // Both ends are listed without a word where there is no way.
        let mut way = vec![to.clone(), from.clone()];
        let mut at = to;
        while let Some(previous) = before.get(at) {
            way.push((*previous).clone());
            at = previous;
        }
        Ok(way)
    }

    /// From channel to channel, by the minor versions in their names.
    fn across(&self, least: &Entry, greatest: &Entry) -> Result<Vec<Version>, String> {
        let ((source, from), (target, to)) = (least, greatest);
        if source == target {
            return self.within(target, from, to);
        }
        let (prefix, mut minor) = parts(source)?;
        let (_, last) = parts(target)?;
        if minor == last {
            let start = match self.answer(target).versions.contains(from) {
                true => from,
                false => to,
            };
            return self.within(target, start, to);
        }
        let mut at = self.head(source)?;
        let mut way = self.within(source, from, &at)?;
        while minor != last {
            minor.1 += 1;
            if minor.1 > last.1 + 20 {
                return Err("the target's channel is never reached".into());
            }
            let (channel, goal) = match minor == last {
                true => (target.clone(), to.clone()),
                false => {
                    let channel = format!("{prefix}-{}.{}", minor.0, minor.1);
                    let head = self.head(&channel)?;
                    (channel, head)
                }
            };
            if !self.answer(&channel).versions.contains(&at) {
                way.extend(self.within(target, &goal, &goal)?);
                return Ok(way);
            }
            way.extend(self.within(&channel, &at, &goal)?);
            at = goal;
        }
        Ok(way)
    }
}

/// The stream and the minor version in a channel's name.
fn parts(channel: &str) -> Result<(&str, (u64, u64)), String> {
    let wrong = || format!("invalid channel name {channel}");
    let (stream, version) = channel.rsplit_once('-').ok_or_else(wrong)?;
    let (major, minor) = version.split_once('.').ok_or_else(wrong)?;
    let number = |text: &str| text.parse::<u64>().map_err(|_| wrong());
    Ok((stream, (number(major)?, number(minor)?)))
}
