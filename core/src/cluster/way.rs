//! A sequence of updates: the cluster's release and its stops on the way to the target.
//!
//! The rules look at minor versions only. So a stop is a release, or any release of a minor
//! version.

use std::fmt;

use crate::version::{Minor, Version};

/// The most stops of a way.
pub const MAX_STOPS: usize = 64;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    Release(Version),
    /// At some release of that minor version.
    Minor(Minor),
}

/// From where a cluster is, stop by stop to where it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Way {
    from: Version,
    stops: Vec<Stop>,
    /// What worker pools do on the way to each stop; none where nobody has planned that.
    workers: Vec<Workers>,
}

/// What the pools of worker nodes do during an update.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Workers {
    /// What they do today: those that are paused stay paused, the others follow.
    #[default]
    AsTheyAre,
    /// They are paused before it, if they are not yet, and stay so.
    HeldBack,
    /// They are held back, and catch up when it is done.
    CatchUpAfter,
}

/// One update of a way, and where in it that stands.
#[derive(Debug, Clone, Copy)]
pub struct Step<'w> {
    way: &'w Way,
    index: usize,
}

/// Why stops are not a way.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotAWay {
    #[error("there is no stop; name at least one release")]
    Empty,
    /// There are too many stops.
    #[error("there are {0} stops, and at most {MAX_STOPS} are allowed; leave out patches")]
    TooLong(usize),
    /// A stop comes before the one that leads to it.
    #[error("from {0} to {1} it goes backwards; put the stops in ascending order")]
    Backwards(String, Stop),
    /// A minor version is left out.
    #[error(
        "from {0} to {1} it skips a minor version, which no cluster accepts; put a release of {2} between them: `towpath path` finds one"
    )]
    Skips(String, Stop, Minor),
}

impl Stop {
    /// Reads `4.9.7`, or `4.9` for any of them.
    pub fn parse(text: &str) -> Option<Self> {
        Minor::parse(text)
            .map(Self::Minor)
            .or_else(|| text.parse().ok().map(Self::Release))
    }

    /// The minor version it belongs to.
    pub fn minor(&self) -> Minor {
        match self {
            Self::Release(version) => Minor::of(version),
            Self::Minor(minor) => *minor,
        }
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Release(version) => version.fmt(f),
            Self::Minor(minor) => minor.fmt(f),
        }
    }
}

impl Way {
    /// A way that goes forwards, one minor version at a time.
    pub fn new(from: Version, stops: Vec<Stop>) -> Result<Self, NotAWay> {
        match stops.len() {
            0 => return Err(NotAWay::Empty),
            1..=MAX_STOPS => {}
            more => return Err(NotAWay::TooLong(more)),
        }
        let way = Self {
            from,
            stops,
            workers: Vec::new(),
        };
        way.steps().try_for_each(checked)?;
        Ok(way)
    }

    /// To the next minor version.
    pub fn to_next_minor(from: Version) -> Self {
        let next = Stop::Minor(Minor::of(&from).next());
        Self {
            from,
            stops: vec![next],
            workers: Vec::new(),
        }
    }

    /// The same, with what worker pools do on the way to each stop.
    pub fn with_workers(self, workers: Vec<Workers>) -> Self {
        Self { workers, ..self }
    }

    /// To that stop, through any release of each minor version between.
    pub fn through_every_minor(from: Version, to: Stop) -> Result<Self, NotAWay> {
        let (first, last) = (Minor::of(&from), to.minor());
        let same_major = first.major == last.major;
        let between = if same_major {
            last.minor.saturating_sub(first.minor).saturating_sub(1)
        } else {
            0
        };
        let between = (0..between.min(MAX_STOPS as u64))
            .map(|n| Minor::new(first.major, first.minor.saturating_add(1 + n)));
        Self::new(from, between.map(Stop::Minor).chain([to]).collect())
    }

    pub fn from(&self) -> &Version {
        &self.from
    }

    /// Its updates, in order.
    pub fn steps(&self) -> impl Iterator<Item = Step<'_>> {
        (0..self.stops.len()).map(|index| Step { way: self, index })
    }

    /// The minor version it leads to.
    pub fn goal(&self) -> Minor {
        self.stops
            .last()
            .map_or_else(|| Minor::of(&self.from), Stop::minor)
    }
}

/// The first minor version that an update leaves out; none if no cluster minds.
pub fn skipped_minor(from: &Version, to: &Version) -> Option<Minor> {
    match Way::new(from.clone(), vec![Stop::Release(to.clone())]) {
        Err(NotAWay::Skips(_, _, between)) => Some(between),
        _ => None,
    }
}

fn checked(step: Step<'_>) -> Result<(), NotAWay> {
    let (from, to) = (step.begins_in(), step.to_minor());
    let is_older = match (step.begins_with(), step.to()) {
        (Some(from), Stop::Release(to)) => to < from,
        _ => to < from,
    };
    match is_older {
        true => Err(NotAWay::Backwards(step.begins_at(), step.to().clone())),
        false if from.major == to.major && to.minor > from.minor.saturating_add(1) => Err(
            NotAWay::Skips(step.begins_at(), step.to().clone(), from.next()),
        ),
        false => Ok(()),
    }
}

impl<'w> Step<'w> {
    /// Which update of the way it is, from 0.
    pub fn index(self) -> usize {
        self.index
    }

    /// The way it is part of.
    pub fn way(self) -> &'w Way {
        self.way
    }

    pub fn to(self) -> &'w Stop {
        // A step is only ever made for a stop that there is.
        &self.way.stops[self.index]
    }

    /// Where it begins, as people name it.
    pub fn begins_at(self) -> String {
        self.stop_before()
            .map_or_else(|| self.way.from.to_string(), ToString::to_string)
    }

    /// The minor version it begins in.
    pub fn begins_in(self) -> Minor {
        self.stop_before()
            .map_or_else(|| Minor::of(&self.way.from), Stop::minor)
    }

    /// The minor version it leads to.
    pub fn to_minor(self) -> Minor {
        self.to().minor()
    }

    /// Whether it changes the minor version. Nothing that stands in the way of a cluster stops a patch.
    pub fn is_minor(self) -> bool {
        self.begins_in() != self.to_minor()
    }

    /// Whether it is the first of its way to change the minor version: what the cluster says today is about that one.
    pub fn is_first_minor(self) -> bool {
        self.is_minor() && !self.earlier().any(Step::is_minor)
    }

    /// The updates before it, in order.
    pub fn earlier(self) -> impl Iterator<Item = Step<'w>> {
        (0..self.index).map(move |index| Step {
            way: self.way,
            index,
        })
    }

    /// What the pools of worker nodes do during it.
    pub fn workers(self) -> Workers {
        let planned = self.way.workers.get(self.index);
        planned.copied().unwrap_or_default()
    }

    fn begins_with(self) -> Option<&'w Version> {
        match self.stop_before() {
            None => Some(&self.way.from),
            Some(Stop::Release(version)) => Some(version),
            Some(Stop::Minor(_)) => None,
        }
    }

    fn stop_before(self) -> Option<&'w Stop> {
        self.index
            .checked_sub(1)
            .and_then(|before| self.way.stops.get(before))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way(from: &str, stops: &str) -> Result<Way, NotAWay> {
        let stops = stops
            .split_whitespace()
            .map(|stop| Stop::parse(stop).unwrap())
            .collect();
        Way::new(from.parse().unwrap(), stops)
    }

    #[test]
    fn a_way_goes_forwards_one_minor_version_at_a_time() {
        for (from, stops, problem) in [
            ("4.6.8", "", "there is no stop; name at least one release"),
            (
                "4.6.8",
                "4.6.7",
                "from 4.6.8 to 4.6.7 it goes backwards; put the stops in ascending order",
            ),
            (
                "4.6.8",
                "4.7 4.6.9",
                "from 4.7 to 4.6.9 it goes backwards; put the stops in ascending order",
            ),
            (
                "4.6.8",
                "4.8.1",
                "from 4.6.8 to 4.8.1 it skips a minor version, which no cluster accepts; put a release of 4.7 between them: `towpath path` finds one",
            ),
        ] {
            assert_eq!(way(from, stops).unwrap_err().to_string(), problem);
        }
        for stops in ["4.6.8", "4.6.9 4.7.0 4.7.3 4.8", "4.6 4.7"] {
            assert!(way("4.6.8", stops).is_ok(), "{stops}");
        }
        assert_eq!(
            way("4.6.8", &"4.6.9 ".repeat(65)),
            Err(NotAWay::TooLong(65))
        );
    }

    #[test]
    fn every_minor_version_between_is_a_stop() {
        let stops = |to: &str| {
            let way = Way::through_every_minor("4.6.8".parse().unwrap(), Stop::parse(to).unwrap())
                .unwrap();
            way.steps()
                .map(|step| step.to().to_string())
                .collect::<Vec<_>>()
        };
        assert_eq!(stops("4.10.3"), ["4.7", "4.8", "4.9", "4.10.3"]);
        assert_eq!(stops("4.7"), ["4.7"]);
        assert_eq!(stops("4.6.9"), ["4.6.9"]);
    }

    #[test]
    fn the_first_minor_update_may_come_after_patches() {
        let way = way("4.6.8", "4.6.9 4.7.0 4.7.3 4.8.0").unwrap();
        let firsts: Vec<bool> = way.steps().map(Step::is_first_minor).collect();
        assert_eq!(firsts, [false, true, false, false]);
        let minors: Vec<bool> = way.steps().map(Step::is_minor).collect();
        assert_eq!(minors, [false, true, false, true]);
    }
}
