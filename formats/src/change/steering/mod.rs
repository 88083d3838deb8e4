//! Steering a rollout by hand: the change of graph data that halts or resumes it, or makes it slower or faster.
//!
//! A halt is one new file, and resuming removes exactly that file. For the rest, files are edited in place, so comments and
//! order stay. What was edited is read back: it must mean what was meant and nothing else, or there is no change.

mod edit;
mod request;
mod told;

use jiff::{SignedDuration, Timestamp};
use towpath_core::change::{
    NotSteerable, PresubmitOptions, Stretch, StretchedFile, presubmit, stretch_file,
};
use towpath_core::feedback::HaltScope;
use towpath_core::finding::Finding;
use towpath_core::graph::DeclaredHalt;
use towpath_core::graph::{
    Block, ChannelName, ChannelSpec, Graph, GraphData, RingId, RolloutWindow, rollouts,
};
use towpath_core::version::Version;

use crate::SourceFile;
use crate::graph::data;
use crate::words::{first_names, joined, second};

pub use request::{factor, read};
pub use told::{json, text};

/// The most names in a row.
const MAX_NAMED: usize = 8;
/// Who halts by a change of graph data. The commit says who that is.
const BY: &str = "an administrator";
/// How the file of a halt began before it had a section of its own.
const MARK: &str = "# Halted by `towpath rollouts halt`";

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Steer {
    /// Stop offering the release to everybody.
    Halt(HaltNote),
    /// Remove the file of a halt.
    Resume,
    /// By this factor, in thousandths; served within this time.
    Slow(u32, SignedDuration),
    SpeedUp(u32, SignedDuration),
}

/// What is written into the file of a halt.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HaltNote {
    pub name: Option<String>,
    pub message: Option<String>,
    pub url: Option<String>,
}

/// A rollout, and what is to be done about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SteerRequest {
    pub channel: Option<ChannelName>,
    pub to: Version,
    pub steer: Steer,
}

/// A file that changes. Without an old text it is new, without a new one it goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    pub path: String,
    pub old: Option<String>,
    pub new: Option<String>,
}

/// The change of graph data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SteerPlan {
    pub action: &'static str,
    pub summary: String,
    pub change: FileChange,
    pub notes: Vec<String>,
    to: Version,
    now: Timestamp,
    served_by: Timestamp,
}

/// What clusters see before and after the change.
pub struct SteerEffect {
    pub before: Vec<RolloutWindow>,
    pub after: Vec<RolloutWindow>,
    /// What presubmit says of the change, whenever it is served.
    pub findings: Vec<Finding>,
}

/// The change of these files, or why there is none.
pub fn plan(
    files: &[SourceFile],
    request: &SteerRequest,
    now: Timestamp,
) -> Result<SteerPlan, String> {
    let (data, _) = data::read(files).map_err(|findings| {
        let first = findings.first().map(ToString::to_string);
        format!(
            "the graph data has mistakes; correct them first: {}",
            first.unwrap_or_default()
        )
    })?;
    let channel = listing(&data, request)?;
    let to = &request.to;
    let of = |action, summary, change, notes, served_by| SteerPlan {
        action,
        summary,
        change,
        notes,
        to: to.clone(),
        now,
        served_by,
    };
    match &request.steer {
        Steer::Halt(note) => {
            let change = halt(files, to, note, now)?;
            let summary = format!("Halt {to}: nobody is offered it any more, in any channel.");
            let notes = vec![format!(
                "Clusters that have begun the update go on with it. Deleting {} resumes the rollout.",
                change.path
            )];
            Ok(of("halt", summary, change, notes, now))
        }
        Steer::Resume => {
            let change = resume(files, &data, to)?;
            let summary = format!("Resume {to}: {} goes, and nothing else.", change.path);
            let note = "Windows went on meanwhile: everybody whom they have reached by now is offered the release at once.";
            Ok(of("resume", summary, change, vec![note.to_owned()], now))
        }
        Steer::Slow(thousandths, within) => {
            let served_by = now.saturating_add(*within).unwrap_or(Timestamp::MAX);
            let by = Stretch::slower(*thousandths, now, served_by);
            let (change, mut notes) = stretched(files, &data, channel, to, by, now)?;
            notes.insert(0, format!(
                "Nobody loses an edge if this is served by {}. Later, clusters that the old windows reach after that would lose theirs: make the change again, with a longer --within.",
                second(by.pivot())
            ));
            let times = times(*thousandths);
            let summary = format!(
                "Slow {to} down in {}: its windows take {times} as long.",
                channel.name
            );
            Ok(of("slow", summary, change, notes, by.pivot()))
        }
        Steer::SpeedUp(thousandths, within) => {
            let by = Stretch::faster(*thousandths, now);
            let (change, mut notes) = stretched(files, &data, channel, to, by, now)?;
            notes.insert(0, format!(
                "Everybody keeps their share as of {}. The later this is served, the more clusters gain edges at once. If presubmit refuses that, serve it sooner and say so with --within, or take a smaller --factor.",
                second(by.pivot())
            ));
            let times = times(*thousandths);
            let summary = format!(
                "Speed {to} up in {}: its windows are {times} as fast.",
                channel.name
            );
            let served_by = now.saturating_add(*within).unwrap_or(Timestamp::MAX);
            Ok(of("speed-up", summary, change, notes, served_by))
        }
    }
}

impl SteerPlan {
    /// The files with the change.
    pub fn applied(&self, files: &[SourceFile]) -> Vec<SourceFile> {
        let others = files.iter().filter(|file| file.path != self.change.path);
        let new = self.change.new.as_ref();
        let new = new.map(|text| SourceFile::new(self.change.path.clone(), text.as_bytes()));
        others.cloned().chain(new).collect()
    }

    /// What the change does, from one graph to the other.
    pub fn effect(&self, before: &Graph, after: &Graph) -> SteerEffect {
        let rows = |graph| {
            let mut rows = rollouts(graph, self.now);
            rows.retain(|row| row.to == self.to);
            rows
        };
        let options = PresubmitOptions::default();
        let mut findings = presubmit(before, after, self.now, &options);
        findings.extend(presubmit(before, after, self.served_by, &options));
        findings.sort();
        findings.dedup_by(|a, b| (a.code, &a.place) == (b.code, &b.place));
        // Of rules that are too short, lint tells; this change is not about them.
        findings.retain(|finding| finding.code != "rollout-too-short");
        SteerEffect {
            before: rows(before),
            after: rows(after),
            findings,
        }
    }
}

impl SteerEffect {
    /// Whether presubmit lets the change through.
    pub fn is_let_through(&self) -> bool {
        !self.findings.iter().any(Finding::is_error)
    }
}

/// The channel that lists the release: the one that was named, else one that phases its edges in.
fn listing<'a>(data: &'a GraphData, request: &SteerRequest) -> Result<&'a ChannelSpec, String> {
    let (to, wanted) = (&request.to, &request.channel);
    if let Some(name) = wanted
        && !data.channels.iter().any(|channel| channel.name == *name)
    {
        return Err(format!("there is no channel {name} in this graph data"));
    }
    let lists = |channel: &&ChannelSpec| {
        let mut members = channel.members.iter();
        members.any(|member| member.name.version == *to)
            && wanted.as_ref().is_none_or(|name| channel.name == *name)
    };
    let listing: Vec<&ChannelSpec> = data.channels.iter().filter(lists).collect();
    let phased = |channel: &&&ChannelSpec| !channel.rollouts.is_empty();
    let chosen: Vec<&ChannelSpec> = match listing.iter().any(|one| phased(&one)) {
        true => listing.iter().filter(phased).copied().collect(),
        false => listing,
    };
    let is_about_windows = matches!(request.steer, Steer::Slow(..) | Steer::SpeedUp(..));
    let in_one_file = chosen
        .iter()
        .all(|channel| channel.origin.file == chosen[0].origin.file);
    match chosen.first() {
        None => Err(match wanted {
            Some(name) => format!("{name} does not list {to}"),
            None => format!("no channel lists {to}"),
        }),
        Some(_) if is_about_windows && !in_one_file => Err(format!(
            "{to} is in channels of several files ({}); name one of them",
            first_names(chosen.iter().map(|channel| &channel.name), MAX_NAMED)
        )),
        Some(channel) => Ok(channel),
    }
}

fn halt(
    files: &[SourceFile],
    to: &Version,
    note: &HaltNote,
    now: Timestamp,
) -> Result<FileChange, String> {
    let path = data::halt_path(to, &HaltScope::default());
    if files.iter().any(|file| file.path == path) {
        return Err(format!("{to} is halted already, by {path}"));
    }
    let halt = DeclaredHalt {
        by: BY.to_owned(),
        at: Timestamp::from_second(now.as_second()).unwrap_or(now),
        scope: HaltScope::default(),
        why: note.message.clone(),
        evidence: None,
    };
    let text = data::write_halt(to, &halt, note.name.as_deref(), note.url.as_deref());
    let change = FileChange {
        path,
        old: None,
        new: Some(text),
    };
    Ok(change)
}

fn resume(files: &[SourceFile], data: &GraphData, to: &Version) -> Result<FileChange, String> {
    let path = data::halt_path(to, &HaltScope::default());
    let Some(file) = files.iter().find(|file| file.path == path) else {
        let others = data.blocks.iter().filter(|block| block.to.version == *to);
        let others = joined(others.map(|block| &block.origin.file), "none");
        return Err(format!(
            "{to} was not halted by this command: there is no {path}. Other blocks of it: {others}"
        ));
    };
    let text = utf8(file)?;
    let is_halt = |block: &Block| *block.origin.file == *path && block.halt.is_some();
    if !text.starts_with(MARK) && !data.blocks.iter().any(is_halt) {
        return Err(format!(
            "{path} was not written by `towpath rollouts halt`; look at it, and remove it by hand"
        ));
    }
    Ok(FileChange {
        path,
        old: Some(text),
        new: None,
    })
}

fn stretched(
    files: &[SourceFile],
    data: &GraphData,
    channel: &ChannelSpec,
    to: &Version,
    by: Stretch,
    now: Timestamp,
) -> Result<(FileChange, Vec<String>), String> {
    check_is_running(channel, to, now)?;
    let changes = stretch_file(data, channel, by)
        .map_err(|problem: NotSteerable| format!("{}: {problem}", channel.name))?;
    let path = channel.origin.file.to_string();
    let file = files.iter().find(|file| *file.path == *path);
    let file = file.ok_or_else(|| format!("{path} is not among the files of this graph data"))?;
    let old = utf8(file)?;
    let new = edit::edited(&old, &changes)?;
    let change = FileChange {
        path,
        old: Some(old),
        new: Some(new),
    };
    edit::check(files, &change, data, &changes)?;
    Ok((change, notes(&changes, to, channel)))
}

/// Whether a window of the release is open in the channel.
fn check_is_running(channel: &ChannelSpec, to: &Version, now: Timestamp) -> Result<(), String> {
    let starts = channel
        .members
        .iter()
        .filter(|member| member.name.version == *to && !member.locked)
        .filter_map(|member| member.start);
    let is_running = |start: Timestamp| {
        let mut rules = channel.rollouts.iter();
        rules.any(|rule| {
            let turns = rule.rings.turns.iter().map(|turn| turn.ring);
            let rings: Vec<RingId> = turns.chain([RingId::REST]).collect();
            let mut windows = rings.iter().map(|ring| rule.window_of(*ring, start));
            // Between two rings no window is open, and the rollout is running all the same.
            windows.clone().any(|window| window.has_begun(now))
                && windows.any(|window| !window.is_held() && !window.is_over(now))
        })
    };
    match starts.into_iter().any(is_running) {
        true => Ok(()),
        false => Err(format!(
            "no window of {to} is open in {}; before one begins, change its `start` or `duration` by hand",
            channel.name
        )),
    }
}

/// What else moves.
fn notes(changes: &StretchedFile, to: &Version, channel: &ChannelSpec) -> Vec<String> {
    let mut notes = Vec::new();
    let others = changes.starts.iter().map(|moved| &moved.release);
    let others: Vec<_> = others.filter(|name| name.version != *to).collect();
    if !others.is_empty() {
        let names = first_names(others, MAX_NAMED);
        notes.push(format!("A duration holds for all releases of a channel, so these move too, and keep their shares: {names}."));
    }
    let channels = changes.durations.iter().map(|changed| &changed.channel);
    let mut channels: Vec<_> = channels.filter(|name| **name != channel.name).collect();
    channels.dedup();
    if !channels.is_empty() {
        let names = first_names(channels, MAX_NAMED);
        notes.push(format!("Starts are shared by the channels of the file, so the durations of these change too: {names}."));
    }
    if !changes.later.is_empty() {
        let names = first_names(&changes.later, MAX_NAMED);
        notes.push(format!(
            "Releases that enter later keep their starts, and take the new durations: {names}."
        ));
    }
    notes
}

fn utf8(file: &SourceFile) -> Result<String, String> {
    String::from_utf8(file.bytes.to_vec()).map_err(|_| format!("{} is not UTF-8", file.path))
}

/// `2 times`, `1.5 times`.
fn times(thousandths: u32) -> String {
    let (whole, rest) = (thousandths / 1_000, thousandths % 1_000);
    let rest = format!(".{rest:03}");
    let rest = rest.trim_end_matches('0').trim_end_matches('.');
    format!("{whole}{rest} times")
}

#[cfg(test)]
mod tests;
