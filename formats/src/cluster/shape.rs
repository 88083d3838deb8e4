//! The shape of a cluster, as a small YAML or JSON file: what `--shape` takes.
//!
//! ```yaml
//! on: metal                 # cloud or metal; how long a reboot takes
//! controlPlane: {nodes: 3}
//! pools:
//!   - name: worker
//!     nodes: 40
//!     maxUnavailable: 10%   # a number or a percentage; 1 unless given
//!     drain: 10m            # and reboot, ready, on: if these nodes are different
//!   - {name: infra, nodes: 3, paused: true}
//! daemonSets:               # one of 10% on all nodes, unless given
//!   - {name: ovnkube-node, maxUnavailable: 10%}
//! ```

use towpath_core::duration::{
    ControlPlane, DaemonSet, Ground, Machines, MaxUnavailable, PoolShape, Rollout, Shape, Spread,
};
use towpath_core::finding::{Finding, Place};

use crate::duration::{max_unavailable, spread};
use crate::read::{Node, Reader, Record};

pub const MAX_BYTES: usize = 1 << 20;
/// The most nodes of a pool.
pub const MAX_NODES: u32 = 20_000;
/// The most nodes of a control plane.
const MAX_CONTROL_PLANE_NODES: u32 = 100;
/// The most pools.
const MAX_POOLS: usize = 500;
/// The most DaemonSets.
const MAX_DAEMON_SETS: usize = 50;

/// Reads a shape. What it does not say is usual: three control-plane nodes in a cloud, and no pools.
pub fn read(place: &Place, bytes: &[u8]) -> Result<Shape, Vec<Finding>> {
    let limit = ("shape", MAX_BYTES, "describe pools, not nodes");
    Reader::whole(place, bytes, limit, shape)
}

/// None, or less than was written, only if there are findings.
fn shape(reader: &mut Reader, node: &Node) -> Option<Shape> {
    let record = reader.record(
        node,
        "a shape",
        &["on", "controlPlane", "pools", "daemonSets"],
    )?;
    let ground = ground(reader, record, Ground::Cloud);
    let control_plane = match record.get("controlPlane") {
        Some(node) => control_plane(reader, node, ground),
        None => Some(ControlPlane {
            nodes: 3,
            machines: Machines::on(ground),
        }),
    };
    let pools = record
        .get("pools")
        .map_or(&[][..], |node| reader.list(node, "pools", MAX_POOLS));
    let pools = pools_of(reader, pools, ground);
    let sets = record
        .get("daemonSets")
        .map(|node| reader.list(node, "daemonSets", MAX_DAEMON_SETS));
    let daemon_sets = sets.map(|sets| {
        sets.iter()
            .filter_map(|node| daemon_set(reader, node))
            .collect()
    });
    Some(Shape {
        control_plane: control_plane?,
        pools,
        daemon_sets,
    })
}

fn control_plane(reader: &mut Reader, node: &Node, ground: Ground) -> Option<ControlPlane> {
    let record = reader.record(
        node,
        "a control plane",
        &["nodes", "on", "drain", "reboot", "ready"],
    )?;
    let nodes = record
        .get("nodes")
        .map(|node| reader.count(node, "nodes", 1..=MAX_CONTROL_PLANE_NODES));
    Some(ControlPlane {
        nodes: nodes.unwrap_or(Some(3))?,
        machines: machines(reader, record, ground),
    })
}

/// Pools, none of whose names is there twice.
fn pools_of(reader: &mut Reader, nodes: &[Node], ground: Ground) -> Vec<PoolShape> {
    let mut pools: Vec<PoolShape> = Vec::new();
    for node in nodes {
        let Some(pool) = pool(reader, node, ground) else {
            continue;
        };
        if pools.iter().any(|earlier| earlier.name == pool.name) {
            let problem = format!("there are two pools {:?}", pool.name);
            reader.error(
                "duplicate-pool",
                node,
                problem,
                "give each a name of its own",
            );
        }
        pools.push(pool);
    }
    pools
}

fn pool(reader: &mut Reader, node: &Node, ground: Ground) -> Option<PoolShape> {
    let known = [
        "name",
        "nodes",
        "maxUnavailable",
        "paused",
        "on",
        "drain",
        "reboot",
        "ready",
    ];
    let record = reader.record(node, "a pool", &known)?;
    let name = reader.required(record, "name", "give it one: `name: worker`");
    let name = name.and_then(|node| reader.name(node, "a pool's name"));
    let nodes = reader.required(record, "nodes", "say how many it has: `nodes: 40`");
    let nodes = nodes.and_then(|node| reader.count(node, "nodes", 0..=MAX_NODES));
    let rollout = match record
        .get("paused")
        .and_then(|node| reader.flag(node, "paused"))
    {
        Some(true) => Rollout::Paused,
        Some(false) | None => Rollout::Runs,
    };
    let max_unavailable = setting(reader, record);
    let machines = machines(reader, record, ground);
    Some(PoolShape {
        name: name?.to_owned(),
        nodes: nodes?,
        max_unavailable,
        machines,
        rollout,
    })
}

fn daemon_set(reader: &mut Reader, node: &Node) -> Option<DaemonSet> {
    let record = reader.record(
        node,
        "a DaemonSet",
        &["name", "maxUnavailable", "nodes", "operator"],
    )?;
    let name = reader.required(record, "name", "give it one: `name: ovnkube-node`");
    let name = name.and_then(|node| reader.name(node, "a DaemonSet's name"));
    let nodes = record
        .get("nodes")
        .and_then(|node| reader.count(node, "nodes", 0..=MAX_NODES));
    let operator = record
        .get("operator")
        .and_then(|node| reader.name(node, "an operator's name"));
    let max_unavailable = setting(reader, record);
    Some(DaemonSet {
        name: name?.to_owned(),
        max_unavailable,
        nodes,
        operator: operator.map(str::to_owned),
    })
}

/// One node at a time, unless given: the default of pools and of DaemonSets.
fn setting(reader: &mut Reader, record: Record<'_>) -> MaxUnavailable {
    let given = record
        .get("maxUnavailable")
        .and_then(|node| max_unavailable(reader, node));
    given.unwrap_or(MaxUnavailable::Count(1))
}

fn machines(reader: &mut Reader, record: Record<'_>, usual: Ground) -> Machines {
    let ground = ground(reader, record, usual);
    let mut time = |name: &'static str| -> Option<Spread> {
        let node = record.get(name)?;
        spread(reader, node, name)
    };
    Machines {
        ground,
        drain: time("drain"),
        reboot: time("reboot"),
        ready: time("ready"),
    }
}

fn ground(reader: &mut Reader, record: Record<'_>, usual: Ground) -> Ground {
    let Some(node) = record.get("on") else {
        return usual;
    };
    let Some(text) = reader.text(node, "on") else {
        return usual;
    };
    Ground::read(text).unwrap_or_else(|| {
        let problem = format!(
            "nodes are on \"cloud\" or on \"metal\", and not on {:?}",
            crate::read::shown(text)
        );
        reader.error("bad-ground", node, problem, "write one of them");
        usual
    })
}
