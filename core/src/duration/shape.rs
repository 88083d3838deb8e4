//! The shape of a cluster: the nodes, pools and DaemonSets that make its updates take time.

use super::{NodeTimes, Parameters, Spread};

/// A cluster, as far as the duration of its updates goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    /// Its control plane, whose nodes are updated one at a time.
    pub control_plane: ControlPlane,
    /// Its pools of worker nodes, which are updated beside the control plane's nodes and beside each other.
    pub pools: Vec<PoolShape>,
    /// The DaemonSets that are rolled out with an update; none given: the usual one of the parameters.
    pub daemon_sets: Option<Vec<DaemonSet>>,
}

/// The nodes of a control plane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlPlane {
    pub nodes: u32,
    pub machines: Machines,
}

/// A pool of worker nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolShape {
    pub name: String,
    /// How many nodes it has.
    pub nodes: u32,
    /// How many of them may be away at once.
    pub max_unavailable: MaxUnavailable,
    pub machines: Machines,
    /// Whether it follows the update.
    pub rollout: Rollout,
}

/// Whether a pool follows an update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rollout {
    /// It does, as soon as it can.
    Runs,
    /// It is paused, and takes no time until somebody lets it go on.
    Paused,
}

/// A DaemonSet that is rolled out with an update.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DaemonSet {
    pub name: String,
    /// How many of its pods may be away at once.
    pub max_unavailable: MaxUnavailable,
    /// How many nodes it runs on; none given: all of the cluster's.
    pub nodes: Option<u32>,
    /// Whose it is: those of one operator go side by side. None given: nothing else goes beside it.
    pub operator: Option<String>,
}

/// How many of a number of nodes may be away at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MaxUnavailable {
    Count(u32),
    /// A percentage.
    Percent(u32),
}

/// What nodes are, and how long each takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machines {
    pub ground: Ground,
    /// How long draining one takes, if that is known of them.
    pub drain: Option<Spread>,
    /// How long rebooting one takes, if that is known of them.
    pub reboot: Option<Spread>,
    /// How long it then takes until one is ready, if that is known of them.
    pub ready: Option<Spread>,
}

/// What nodes run on: machines take much longer to reboot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ground {
    Cloud,
    Metal,
}

impl Ground {
    /// Reads `cloud` or `metal`.
    pub fn read(text: &str) -> Option<Self> {
        match text {
            "cloud" => Some(Self::Cloud),
            "metal" => Some(Self::Metal),
            _ => None,
        }
    }
}

impl Shape {
    /// Three nodes of a control plane, and a pool of workers on the same ground.
    pub fn plain(workers: u32, max_unavailable: MaxUnavailable, ground: Ground) -> Self {
        let machines = Machines::on(ground);
        let pool = PoolShape {
            name: "worker".to_owned(),
            nodes: workers,
            max_unavailable,
            machines: machines.clone(),
            rollout: Rollout::Runs,
        };
        Self {
            control_plane: ControlPlane { nodes: 3, machines },
            pools: vec![pool],
            daemon_sets: None,
        }
    }

    /// All nodes, of the control plane and of pools.
    pub fn nodes(&self) -> u32 {
        self.pools
            .iter()
            .fold(self.control_plane.nodes, |sum, pool| {
                sum.saturating_add(pool.nodes)
            })
    }
}

impl PoolShape {
    /// How many nodes are updated at once. A percentage rounds down, as the machine-config operator does.
    pub fn at_once(&self) -> u32 {
        self.max_unavailable.rounded_down(self.nodes)
    }

    /// How many times that many nodes are updated.
    pub fn iterations(&self) -> u32 {
        self.nodes.div_ceil(self.at_once())
    }
}

impl MaxUnavailable {
    /// Reads `3`, or `10%`: at least one, at most all.
    pub fn read(text: &str) -> Option<Self> {
        let number = |digits: &str| {
            let is_plain = digits.bytes().all(|b| b.is_ascii_digit());
            digits
                .parse::<u32>()
                .ok()
                .filter(|number| is_plain && *number > 0)
        };
        match text.strip_suffix('%') {
            Some(percent) => number(percent)
                .filter(|percent| *percent <= 100)
                .map(Self::Percent),
            None => number(text).map(Self::Count),
        }
    }

    /// The number out of some nodes. A percentage rounds down. At least one.
    pub fn rounded_down(self, nodes: u32) -> u32 {
        self.of(nodes, |part| part / 100)
    }

    /// The number out of some nodes. A percentage rounds up, as a DaemonSet's does. At least one.
    pub fn rounded_up(self, nodes: u32) -> u32 {
        self.of(nodes, |part| part.div_ceil(100))
    }

    fn of(self, nodes: u32, whole: impl Fn(u64) -> u64) -> u32 {
        let count = match self {
            Self::Count(count) => count,
            Self::Percent(percent) => {
                u32::try_from(whole(u64::from(nodes) * u64::from(percent))).unwrap_or(u32::MAX)
            }
        };
        count.clamp(1, nodes.max(1))
    }
}

impl std::fmt::Display for MaxUnavailable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Count(count) => count.fmt(f),
            Self::Percent(percent) => write!(f, "{percent}%"),
        }
    }
}

impl Machines {
    /// Machines of which only the kind is known: cloud or metal.
    pub const fn on(ground: Ground) -> Self {
        Self {
            ground,
            drain: None,
            reboot: None,
            ready: None,
        }
    }

    /// How long one node takes: drain, reboot, ready.
    pub fn node_time(&self, parameters: &Parameters) -> Spread {
        let NodeTimes {
            drain,
            reboot,
            ready,
        } = match self.ground {
            Ground::Cloud => &parameters.cloud,
            Ground::Metal => &parameters.metal,
        };
        let known = [
            (self.drain, drain),
            (self.reboot, reboot),
            (self.ready, ready),
        ];
        let times = known.map(|(own, usual)| own.unwrap_or(usual.spread));
        times.into_iter().fold(Spread::default(), Spread::then)
    }
}
