//! May a new copy of a source replace the last good one?
//!
//! An emptied registry must not empty the graph. A branch that was pushed back must not bring back
//! what was blocked since. A refused copy can still be right: then a person allows it by name. A
//! copy that only makes things stricter is never refused for its age, nor for the edges that its
//! blocks take.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::summary::Loss;
use super::{CopyChange, Coverage, Measure, Return, Summary, payload_changed};
use crate::finding::{Finding, Place};
use crate::moment::ShownTime;

/// This many of something may go, whatever their share: small data changes by leaps. Of blocks,
/// only one may go.
const FEW: usize = 5;

/// What can be against a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CopyObjection {
    /// Nothing is left of what there was.
    Empty,
    Shrink,
    /// It is older than the copy before.
    Back,
    /// A release that both know has another payload.
    Payload,
    /// A window is another one, so clusters lose what they have been shown, or too many gain it at once.
    Window,
}

/// What a person has allowed for one source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allowances {
    /// The share that may go within some days, in percent.
    pub max_shrink_percent: u8,
    /// What is not objected to.
    pub allowed: BTreeSet<CopyObjection>,
}

impl CopyObjection {
    pub const ALL: [Self; 5] = [
        Self::Empty,
        Self::Shrink,
        Self::Back,
        Self::Payload,
        Self::Window,
    ];

    /// The word by which it is allowed.
    pub fn name(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Shrink => "shrink",
            Self::Back => "back",
            Self::Payload => "payload",
            Self::Window => "window",
        }
    }

    /// The objection of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|objection| objection.name() == name)
    }

    fn code(self) -> &'static str {
        match self {
            Self::Empty => "turned-empty",
            Self::Shrink => "shrinks",
            Self::Back => "back-in-time",
            Self::Payload => "payload-changed",
            Self::Window => "window-changed",
        }
    }
}

/// A new copy, beside what it would take the place of.
#[derive(Debug, Clone, Copy)]
pub struct Comparison<'a> {
    pub before: &'a Summary,
    /// The most that the source had lately.
    pub largest: &'a BTreeMap<Measure, usize>,
    pub after: &'a Summary,
    pub change: CopyChange,
    /// What its blocks do, beside those in force; none where it has no blocks.
    pub coverage: Option<Coverage>,
    /// What presubmit has against its windows, where that is held against it.
    pub windows: &'a [Finding],
}

/// What becomes of a copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judgement {
    /// It takes the place of the one before.
    Taken(Counting),
    /// It does not, for these reasons.
    Refused(Vec<Finding>),
}

/// What later copies are measured by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Counting {
    /// By the most that the source had lately.
    GoesOn,
    /// Of these, by this copy: that there is less was meant.
    StartsAnew(BTreeSet<Measure>),
}

/// Whether a copy may take the place of the one in use.
pub fn judge(source: &str, copies: &Comparison<'_>, allow: &Allowances) -> Judgement {
    let lost: Vec<(Measure, _)> = Measure::ALL
        .into_iter()
        .filter_map(|measure| Some((measure, lost(measure, copies, allow.max_shrink_percent)?)))
        .collect();
    let less: BTreeSet<Measure> = lost.iter().map(|(measure, _)| *measure).collect();
    let lost = lost.into_iter().map(|(_, objection)| objection);
    let changed = payload_changed(&copies.before.payloads, &copies.after.payloads);
    let changed = changed.map(|problem| (CopyObjection::Payload, Excuse::None, problem));
    // The most telling first.
    let all: Vec<(CopyObjection, Excuse, String)> = changed
        .into_iter()
        .chain(lost)
        .chain(older(copies))
        .collect();
    let stands = |(objection, excuse, _): &&(CopyObjection, Excuse, String)| {
        *excuse == Excuse::None && !allow.allowed.contains(objection)
    };
    let held = all
        .iter()
        .filter(stands)
        .map(|(objection, _, problem)| finding(source, *objection, problem));
    let windows = match allow.allowed.contains(&CopyObjection::Window) {
        true => &[],
        false => copies.windows,
    };
    let windows = windows.iter().map(|found| changed_window(source, found));
    let held: Vec<Finding> = held.chain(windows).collect();
    match (held.is_empty(), less.is_empty()) {
        (false, _) => Judgement::Refused(held),
        (true, false) => Judgement::Taken(Counting::StartsAnew(less)),
        (true, true) => Judgement::Taken(Counting::GoesOn),
    }
}

/// Why something is not held against a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Excuse {
    None,
    /// It comes of a block somewhere, and brings nothing back.
    Stricter,
}

fn lost(
    measure: Measure,
    copies: &Comparison<'_>,
    max_shrink_percent: u8,
) -> Option<(CopyObjection, Excuse, String)> {
    let count = |counts: &BTreeMap<Measure, usize>| counts.get(&measure).copied().unwrap_or(0);
    // What is not counted any more is not lost: somebody has turned signatures off.
    let after = *copies.after.counts.get(&measure)?;
    let before = count(&copies.before.counts).max(count(copies.largest));
    let (gone, noun, loss) = (before.saturating_sub(after), measure.noun(), measure.loss());
    // One block may go, however much it covers.
    let few = match (loss, measure) {
        (_, Measure::Covered) => copies
            .coverage
            .map_or(0, |coverage| coverage.edges_of_largest_block),
        (Loss::Loosens, _) => 1,
        (Loss::Empties, _) => FEW,
    };
    let too_many = gone > few && gone * 100 > before * usize::from(max_shrink_percent);
    match (gone > 0 && after == 0 && loss == Loss::Empties, too_many) {
        (true, _) => Some((
            CopyObjection::Empty,
            Excuse::None,
            format!("there are no {noun} any more; there were {before}"),
        )),
        (false, true) => {
            let problem = format!(
                "{gone} of {before} {noun} are gone; at most {few} or {max_shrink_percent} % may go within seven days"
            );
            Some((
                CopyObjection::Shrink,
                excuse(measure, copies, max_shrink_percent),
                problem,
            ))
        }
        (false, false) => None,
    }
}

/// A service that blocks an update answers without the edge, or with one edge with risks fewer. A block is about one release: an accident hits many.
fn excuse(measure: Measure, copies: &Comparison<'_>, max_shrink_percent: u8) -> Excuse {
    let releases = copies
        .before
        .counts
        .get(&Measure::Releases)
        .copied()
        .unwrap_or(0);
    let few = few_releases(releases, max_shrink_percent);
    let by_blocks = copies
        .change
        .narrowed
        .is_some_and(|narrowed| narrowed <= few);
    let by_coverage = copies
        .coverage
        .map_or(copies.change.returns, |coverage| coverage.returns);
    match (copies.change.returns, measure) {
        (Return::Nothing, Measure::Edges) if by_blocks => Excuse::Stricter,
        (Return::Nothing, Measure::RiskyEdges) => Excuse::Stricter,
        // Ten blocks that became one, or one that no edge was under.
        (_, Measure::Blocks | Measure::Covered) if by_coverage == Return::Nothing => {
            Excuse::Stricter
        }
        _ => Excuse::None,
    }
}

/// To how many releases a source of a given size may withdraw edges.
pub(super) fn few_releases(releases: usize, max_shrink_percent: u8) -> usize {
    FEW.max(releases * usize::from(max_shrink_percent) / 100)
}

/// Clocks of people who commit differ; a copy that seems to be older by less is not taken for a step back.
const CLOCK_SKEW: SignedDuration = SignedDuration::from_hours(6);

/// A lower newest release may be a mistake that was withdrawn, an earlier time a slow clock: where nothing comes back, neither is a step back.
fn older(copies: &Comparison<'_>) -> Option<(CopyObjection, Excuse, String)> {
    let (before, after) = (copies.before, copies.after);
    let is_older =
        |(before, after): &(Timestamp, Timestamp)| before.duration_since(*after) > CLOCK_SKEW;
    let made = before.made_at.zip(after.made_at).filter(is_older);
    let newest = before
        .newest
        .as_ref()
        .zip(after.newest.as_ref())
        .filter(|(before, after)| after < before);
    let problem = match (made, newest) {
        (Some((before, after)), _) => {
            format!(
                "it was made at {}, and the copy before at {}",
                ShownTime(after),
                ShownTime(before)
            )
        }
        (None, Some((before, after))) => format!("its newest release is {after}, and was {before}"),
        (None, None) => return None,
    };
    let excuse = match copies.change.returns.max(copies.change.places) {
        Return::Nothing => Excuse::Stricter,
        Return::Something => Excuse::None,
    };
    Some((CopyObjection::Back, excuse, problem))
}

fn finding(source: &str, objection: CopyObjection, problem: &str) -> Finding {
    let remedy = format!(
        "the copy before stays in use; if this is meant, {}",
        allowed_by(source, objection)
    );
    Finding::error(
        objection.code(),
        Place::file(source),
        problem.to_owned(),
        remedy,
    )
}

/// In the words of presubmit, which names the release and the way out.
fn changed_window(source: &str, found: &Finding) -> Finding {
    let objection = CopyObjection::Window;
    let remedy = format!(
        "the copy before stays in use, with the blocks of this one; {}, or {}",
        found.remedy,
        allowed_by(source, objection)
    );
    Finding::error(
        objection.code(),
        found.place.clone(),
        found.problem.clone(),
        remedy,
    )
}

fn allowed_by(source: &str, objection: CopyObjection) -> String {
    let name = objection.name();
    format!(
        "allow this copy with POST /api/v1/reload {{\"source\":\"{source}\",\"allow\":[\"{name}\"]}} \
         (Content-Type: application/json), or always with --allow {name}:{source}"
    )
}
