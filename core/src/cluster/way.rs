//! A sequence of updates: the cluster's release and its stops on the way to the target.
//!
//! The rules look at minor versions only. So a stop is a release, or any release of a minor
//! version.

use std::fmt;

use crate::version::{Minor, Minors, ShippedKubernetes, Succession, Version};

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
    /// Which minor version follows which.
    minors: Minors,
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
    #[error("no update leads from {0} to {1}, nor several; choose another goal")]
    NoWay(String, Stop),
    #[error(
        "nobody has told towpath which minor version follows {0}; name the goal with --to, or add {0} to a file for --minors"
    )]
    NextUnknown(Minor),
    #[error("{0} is followed by {1}; name one of them with --to")]
    SeveralNext(Minor, String),
    #[error(
        "several sequences of updates lead from {0} to {1}: {2}; name the stops of one with --path"
    )]
    SeveralWays(String, Stop, String),
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
    /// A way that goes forwards and leaves out no minor version, unless clusters may. A minor version that is not known is no
    /// mistake here: a rule holds there.
    pub fn new(from: Version, stops: Vec<Stop>, minors: &Minors) -> Result<Self, NotAWay> {
        match stops.len() {
            0 => return Err(NotAWay::Empty),
            1..=MAX_STOPS => {}
            more => return Err(NotAWay::TooLong(more)),
        }
        let way = Self {
            from,
            stops,
            workers: Vec::new(),
            minors: minors.clone(),
        };
        way.steps().try_for_each(checked)?;
        Ok(way)
    }

    /// To the next minor version, if there is one.
    pub fn to_next_minor(from: Version, minors: &Minors) -> Result<Self, NotAWay> {
        let minor = Minor::of(&from);
        let next: Vec<Minor> = minors.next(minor).collect();
        match next.as_slice() {
            [] => Err(NotAWay::NextUnknown(minor)),
            [next] => Self::new(from, vec![Stop::Minor(*next)], minors),
            _ => Err(NotAWay::SeveralNext(minor, listed(&next, " or "))),
        }
    }

    /// The same, with what worker pools do on the way to each stop.
    pub fn with_workers(self, workers: Vec<Workers>) -> Self {
        Self { workers, ..self }
    }

    /// To that stop, through any release of each minor version between.
    pub fn through_every_minor(from: Version, to: Stop, minors: &Minors) -> Result<Self, NotAWay> {
        let ways = Self::ways_through_every_minor(from.clone(), &to, minors)?;
        match ways.as_slice() {
            [way] => Ok(way.clone()),
            _ => {
                let ways: Vec<String> = ways.iter().map(|way| listed(&way.stops, ",")).collect();
                let from = from.to_string();
                Err(NotAWay::SeveralWays(from, to, listed(&ways, " or ")))
            }
        }
    }

    /// All such ways. At least one.
    pub fn ways_through_every_minor(
        from: Version,
        to: &Stop,
        minors: &Minors,
    ) -> Result<Vec<Self>, NotAWay> {
        let way = |between: &[Minor]| {
            let between = between.iter().map(|minor| Stop::Minor(*minor));
            let stops = between.chain([to.clone()]).collect();
            Self::new(from.clone(), stops, minors)
        };
        let routes = minors.routes(Minor::of(&from), to.minor());
        match routes.is_empty() {
            // What is wrong with it, or which minor version is not known.
            true => way(&[]).map(|way| vec![way]),
            false => {
                let between =
                    |route: &Vec<Minor>| route.split_last().map_or(way(&[]), |it| way(it.1));
                routes.iter().map(between).collect()
            }
        }
    }

    pub fn from(&self) -> &Version {
        &self.from
    }

    /// Which minor version follows which.
    pub fn minors(&self) -> &Minors {
        &self.minors
    }

    fn kubernetes(&self, stop: &Stop) -> Option<ShippedKubernetes> {
        match stop {
            Stop::Release(version) => self.minors.kubernetes_of(version),
            Stop::Minor(minor) => self.minors.kubernetes(*minor),
        }
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

fn listed<T: fmt::Display>(all: &[T], between: &str) -> String {
    let names: Vec<String> = all.iter().map(ToString::to_string).collect();
    names.join(between)
}

fn checked(step: Step<'_>) -> Result<(), NotAWay> {
    let (from, to) = (step.begins_in(), step.to_minor());
    let is_older = match (step.begins_with(), step.to()) {
        (Some(from), Stop::Release(to)) => to < from,
        _ => to < from,
    };
    let (begin, stop) = (step.begins_at(), step.to().clone());
    match step.succession() {
        _ if is_older => Err(NotAWay::Backwards(begin, stop)),
        Succession::LeavesOut(between) => {
            let first = between.first().copied().unwrap_or(from);
            Err(NotAWay::Skips(begin, stop, first))
        }
        Succession::NoWay => Err(NotAWay::NoWay(begin, stop)),
        Succession::Patch
        | Succession::Next
        | Succession::NextUnverified
        | Succession::Skip(_)
        | Succession::Unknown(_) => Ok(()),
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

    /// How the minor version it leads to comes after the one it begins in.
    pub fn succession(self) -> Succession {
        let minors = &self.way.minors;
        minors.succession(self.begins_in(), self.to_minor())
    }

    /// The Kubernetes that it begins with.
    pub fn kubernetes_before(self) -> Option<ShippedKubernetes> {
        match self.stop_before() {
            None => self.way.minors.kubernetes_of(&self.way.from),
            Some(stop) => self.way.kubernetes(stop),
        }
    }

    /// The Kubernetes that it leads to.
    pub fn kubernetes_after(self) -> Option<ShippedKubernetes> {
        self.way.kubernetes(self.to())
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
