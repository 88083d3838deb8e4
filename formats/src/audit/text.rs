//! An audit as text: a sentence for what is well, a table for what is not, and then each block.

use std::collections::BTreeSet;
use std::fmt::Write;

use towpath_core::audit::{
    Audit, Barrier, GoalOutcome, Reachability, ReleaseReport, Section, StrandedReleases, Stranding,
    StrandingCause,
};
use towpath_core::graph::{BlockId, ChannelName, ClientClass, Graph, ReleaseId};
use towpath_core::version::{Arch, Version};

use super::AuditReport;
use crate::room::Room;
use crate::tables::{align_right, fitted, shown};
use crate::words::{beyond, counted, joined, minute};

/// More than this nobody reads. The rest is counted.
const MAX_ROWS: usize = 100;
const MAX_STRANDINGS: usize = 50;
/// The most releases that are named before the last one.
const NAMED_RELEASES: usize = 3;
const EVERYBODY: &str = "everybody";

/// Everything: a summary, and who is stranded by what. Channels that were asked for are shown even if all is well. The table is broken to
/// fit the width.
pub fn whole(report: &AuditReport<'_>, asked: &[String], room: Room) -> String {
    let shown = |part: &&Section| !asked.is_empty() || !part.is_plain();
    let sections: Vec<&Section> = report.audit.sections.iter().filter(shown).collect();
    report.summary()
        + &report.table(&sections, room)
        + &report.stranded("Stranded by blocks; without these files there is a way:\n")
}

/// Only what is worse than in the base.
pub fn change(report: &AuditReport<'_>, base: &str) -> String {
    match report.strandings.is_empty() {
        true => format!("Nothing is newly stranded since {base}.\n"),
        false => {
            format!("Newly stranded since {base}:\n")
                + &report.stranded("By blocks; without these files there is a way:\n")
        }
    }
}

impl AuditReport<'_> {
    fn summary(&self) -> String {
        let sections = &self.audit.sections;
        if sections.is_empty() {
            return format!(
                "No release has entered any of these channels by {}.\n",
                minute(self.audit.at)
            );
        }
        let channels: BTreeSet<&ChannelName> = sections.iter().map(|part| &part.channel).collect();
        let arches: BTreeSet<&str> = sections.iter().map(|part| part.arch.as_str()).collect();
        let not_plain: BTreeSet<&ChannelName> = sections
            .iter()
            .filter(|part| !part.is_plain())
            .map(|part| &part.channel)
            .collect();
        let listed: BTreeSet<ReleaseId> = sections
            .iter()
            .flat_map(|part| part.releases.iter().map(|of| of.release))
            .collect();
        let mut text = format!(
            "{} in {}, on {}, at {}.\n",
            counted(listed.len(), "release"),
            counted(channels.len(), "channel"),
            joined(arches, ""),
            minute(self.audit.at)
        );
        let ways = "a plain way to the newest of its minor version and to the channel's head";
        match (channels.len() - not_plain.len(), not_plain.len()) {
            (_, 0) => {
                writeln!(text, "Every release has {ways}, for every kind of client.").expect("fits")
            }
            (0, _) => writeln!(text, "Not every release has {ways}.").expect("fits"),
            (well, others) => writeln!(
                text,
                "In {}, every release has {ways}. In {others} some have none:",
                counted(well, "channel")
            )
            .expect("fits"),
        }
        text
    }

    fn table(&self, sections: &[&Section], room: Room) -> String {
        if sections.is_empty() {
            return String::new();
        }
        let head = [
            "CHANNEL",
            "ARCH",
            "CLIENTS",
            "RELEASES",
            "PLAIN",
            "CONDITIONAL",
            "STRANDED",
        ];
        let mut table = fitted(head, room.width);
        // Architectures are mostly alike; those of the same numbers share a row.
        let mut rows: Vec<(Row<'_>, Vec<&str>)> = Vec::new();
        for part in sections {
            let tally = part.tally();
            let numbers = [
                part.releases.len(),
                tally.plain,
                tally.conditional,
                tally.stranded,
            ];
            entry(&mut rows, (&part.channel, &part.clients, numbers)).push(part.arch.as_str());
        }
        for ((channel, clients, numbers), arches) in rows.iter().take(MAX_ROWS) {
            let names = [
                channel.to_string(),
                arches.join(", "),
                self.clients(clients),
            ];
            table.add_row(
                names
                    .into_iter()
                    .chain(numbers.map(|number| number.to_string())),
            );
        }
        align_right(&mut table, 3..7);
        let more = beyond(rows.len(), MAX_ROWS, |more| {
            format!("and {more} more; --channel and --arch look closer\n")
        });
        format!("\n{}{more}", shown(&table))
    }

    fn stranded(&self, by_blocks: &str) -> String {
        let mut text = String::new();
        let mut last = "";
        for stranding in self.strandings.iter().take(MAX_STRANDINGS) {
            let head = match &stranding.barrier {
                Barrier::Blocks(_) => by_blocks,
                Barrier::NoEdgeReaches => "No edge leads there, blocked or not:\n",
                Barrier::NoEdgeLeaves => "No edge leaves, blocked or not:\n",
            };
            if head != last {
                write!(text, "\n{head}").expect("fits");
                last = head;
            }
            text.push_str(&self.stranding(stranding));
        }
        text + &beyond(self.strandings.len(), MAX_STRANDINGS, |more| {
            format!("\nand {more} more; --channel looks closer, --output json has all\n")
        })
    }

    fn stranding(&self, stranding: &Stranding) -> String {
        let mut text = String::new();
        if let Some(blocks) = stranding.barrier.blocks() {
            let files = files(self.graph, blocks);
            let since = match (
                self.arrivals,
                self.arrivals
                    .and_then(|them| stranding.barrier.since(self.graph, them)),
            ) {
                (None, _) => String::new(),
                (Some(_), Some(since)) => format!(", since {}", minute(since)),
                (Some(_), None) => ", not committed yet".to_owned(),
            };
            writeln!(text, "\n  {}{since}", files.join("\n  + ")).expect("fits");
        }
        for (Who { releases, clients }, goals) in self.together(&stranding.spots) {
            let clients = match self.clients(clients).as_str() {
                EVERYBODY => String::new(),
                some => format!(" (for {some})"),
            };
            writeln!(text, "    {}{clients} cannot get", named(&releases)).expect("fits");
            for (goal, channels) in goals {
                let places = self.places(&channels).join("; ");
                writeln!(text, "      to {goal} in {places}").expect("fits");
            }
        }
        text
    }

    /// The same releases of the same clients, in however many channels and on however many architectures they may be.
    fn together<'a>(&self, spots: &'a [StrandedReleases]) -> Vec<(Who<'a>, Goals<'a>)> {
        let version = |id: &ReleaseId| self.graph.release(*id).version.clone();
        let mut together: Vec<(Who<'a>, Goals<'a>)> = Vec::new();
        for spot in spots {
            let who = Who {
                releases: spot.releases.iter().map(version).collect(),
                clients: &spot.clients,
            };
            let channels = entry(entry(&mut together, who), version(&spot.goal));
            entry(channels, &spot.channel).insert(&spot.arch);
        }
        together
    }

    /// Channels, put together by their architectures, which are named where there are several.
    fn places(&self, channels: &[Place<'_>]) -> Vec<String> {
        let mut by_arches: Vec<(&BTreeSet<&Arch>, Vec<&str>)> = Vec::new();
        channels
            .iter()
            .for_each(|(channel, arches)| entry(&mut by_arches, arches).push(channel.as_str()));
        let one_arch = self
            .audit
            .sections
            .iter()
            .all(|part| part.arch == self.audit.sections[0].arch);
        let place = |(arches, channels): &(&BTreeSet<&Arch>, Vec<&str>)| match one_arch {
            true => channels.join(", "),
            false => format!("{} on {}", channels.join(", "), joined(*arches, "")),
        };
        by_arches.iter().map(place).collect()
    }

    fn clients(&self, clients: &BTreeSet<ClientClass>) -> String {
        clients_text(self.audit, clients)
    }
}

/// A channel, whose it is, and its numbers.
type Row<'a> = (&'a ChannelName, &'a BTreeSet<ClientClass>, [usize; 4]);

/// Which releases, and whose.
#[derive(PartialEq, Eq)]
struct Who<'a> {
    releases: Vec<Version>,
    clients: &'a BTreeSet<ClientClass>,
}

/// A channel, and architectures in it.
type Place<'a> = (&'a ChannelName, BTreeSet<&'a Arch>);

/// Where they cannot get to, and in which channels.
type Goals<'a> = Vec<(Version, Vec<Place<'a>>)>;

/// What a short list has under that key, in the order in which keys came.
fn entry<K: PartialEq, V: Default>(list: &mut Vec<(K, V)>, key: K) -> &mut V {
    let at = list
        .iter()
        .position(|(known, _)| *known == key)
        .unwrap_or_else(|| {
            list.push((key, V::default()));
            list.len() - 1
        });
    &mut list[at].1
}

/// The ways of one release, wherever it is.
pub fn ways(report: &AuditReport<'_>, version: &Version) -> String {
    let AuditReport { graph, audit, .. } = report;
    let mut text = String::new();
    for part in &audit.sections {
        let of_version =
            |standing: &&ReleaseReport| graph.release(standing.release).version == *version;
        let Some(standing) = part.releases.iter().find(of_version) else {
            continue;
        };
        let between = if text.is_empty() { "" } else { "\n" };
        let clients = clients_text(audit, &part.clients);
        writeln!(
            text,
            "{between}{version} in {} on {}, for {clients}",
            part.channel, part.arch
        )
        .expect("fits");
        let minor = format!("newest {}.{}", version.major(), version.minor());
        for (what, outlook) in [(minor.as_str(), &standing.minor), ("head", &standing.head)] {
            let goal = graph.release(outlook.goal).version.to_string();
            let said = outlook_text(graph, outlook);
            writeln!(
                text,
                "  {what:<12} {goal:<12} {:<12} {said}",
                outlook.outcome.grade().code()
            )
            .expect("fits");
        }
    }
    text
}

fn outlook_text(graph: &Graph, outlook: &Reachability) -> String {
    match &outlook.outcome {
        GoalOutcome::Way(way) if way.releases.len() == 1 => "it is there".to_owned(),
        GoalOutcome::Way(way) if way.risks.is_empty() => arrows(graph, &way.releases),
        GoalOutcome::Way(way) => {
            let risks: Vec<&str> = way
                .risks
                .iter()
                .map(|risk| graph.risk(*risk).name.as_str())
                .collect();
            format!(
                "{}, unless {} applies",
                arrows(graph, &way.releases),
                risks.join(" or ")
            )
        }
        GoalOutcome::Stranded(StrandingCause::Blocks { blocks, way }) => {
            format!(
                "{}; without: {}",
                files(graph, blocks).join(" + "),
                arrows(graph, way)
            )
        }
        GoalOutcome::Stranded(StrandingCause::NoEdgeReaches) => "no edge leads there".to_owned(),
        GoalOutcome::Stranded(StrandingCause::NoEdgeLeaves) => "no edge leaves it".to_owned(),
    }
}

fn arrows(graph: &Graph, way: &[ReleaseId]) -> String {
    let versions: Vec<String> = way
        .iter()
        .map(|id| graph.release(*id).version.to_string())
        .collect();
    versions.join(" -> ")
}

/// Clients, as people speak of them.
fn clients_text(audit: &Audit, clients: &BTreeSet<ClientClass>) -> String {
    let all: BTreeSet<&ClientClass> = audit
        .sections
        .iter()
        .flat_map(|part| &part.clients)
        .collect();
    let others: Vec<String> = all
        .iter()
        .filter(|class| !clients.contains(class))
        .map(ToString::to_string)
        .collect();
    match others.len() {
        0 => EVERYBODY.to_owned(),
        few if few < clients.len() && clients.len() > 4 => {
            format!("{EVERYBODY} but {}", others.join(", "))
        }
        _ => joined(clients, ""),
    }
}

/// Releases, the first few by name.
fn named(releases: &[Version]) -> String {
    let names: Vec<String> = releases.iter().map(ToString::to_string).collect();
    match names.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        [but_last @ .., last] if but_last.len() <= NAMED_RELEASES => {
            format!("{} and {last}", but_last.join(", "))
        }
        [but_last @ .., last] => {
            let more = but_last.len() - NAMED_RELEASES;
            format!(
                "{}, {more} more and {last}",
                but_last[..NAMED_RELEASES].join(", ")
            )
        }
    }
}

/// The files of blocks; where a source of releases declares a risk itself, also which.
fn files(graph: &Graph, blocks: &BTreeSet<BlockId>) -> Vec<String> {
    let file = |block: &BlockId| {
        let block = graph.block(*block);
        match (block.origin.file.starts_with("blocked-edges/"), block.risk) {
            (false, Some(risk)) => {
                format!("{} (risk {})", block.origin.file, graph.risk(risk).name)
            }
            _ => block.origin.file.to_string(),
        }
    };
    blocks.iter().map(file).collect()
}
