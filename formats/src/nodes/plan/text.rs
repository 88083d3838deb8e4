//! The plan as text: the answer, then each pool with its waves, what it means for pods, and what stands in the way.

use towpath_core::cluster::Fact;
use towpath_core::duration::Spread;
use towpath_core::nodes::{
    EVEN_PERCENT, Model, Move, PlannedWave, PoolOutlook, PoolPlan, RebootOutcome,
};
use towpath_core::verdict::Reason;

use super::{PlanReport, node_name, nodes_that_go, pod_name, zone_name};
use crate::cluster::ready::text::looked_at;
use crate::duration::{short, spread_text};
use crate::room::{Room, Tone, toned};
use crate::verdict::line;
use crate::words::{counted, first_names, minute, plain, wrapped};

/// How many waves are written out. The others are in the JSON.
const SHOWN_WAVES: usize = 40;
/// How many names stand in a line.
const SHOWN_NAMES: usize = 4;

/// Everything there is to say.
pub fn text(told: &PlanReport<'_>, room: Room) -> String {
    let model = &told.plan.model;
    let mut text = head(told) + &answer(told);
    for pool in &told.plan.pools {
        text.push_str(&of_pool(model, pool));
    }
    text.push_str(&pods(told));
    text.push_str(&times(told));
    text.push_str(&in_the_way(told));
    text.push_str(&unread(told));
    room.fit(&text)
}

fn head(told: &PlanReport<'_>) -> String {
    let id = match &told.cluster.id {
        Fact::Known(id) => format!("cluster {}", plain(id.as_str())),
        Fact::Unknown => "a cluster without an id".to_owned(),
    };
    let nodes: usize = told.plan.pools.iter().map(nodes_that_go).sum();
    let waves: usize = told.plan.pools.iter().map(|pool| pool.waves.len()).sum();
    let (nodes, waves) = (counted(nodes, "node"), counted(waves, "wave"));
    let now = minute(told.now);
    format!("{id}: {nodes} in {waves}, at {now}\n") + &looked_at(told.cluster)
}

fn answer(told: &PlanReport<'_>) -> String {
    let held: usize = told.plan.pools.iter().map(|pool| pool.held.len()).sum();
    let objections = told.verdict.objections().count();
    match (held, objections) {
        (_, 0) => format!(
            "{}: nothing stands in the way.\n",
            toned(Tone::Good, "Can go")
        ),
        (0, _) => format!(
            "{}: every drain ends, but read what stands in the way.\n",
            toned(Tone::Careful, "With care")
        ),
        (held, _) => format!(
            "{}: {} cannot be drained.\n",
            toned(Tone::Bad, "Blocked"),
            counted(held, "node")
        ),
    }
}

fn of_pool(model: &Model, pool: &PoolPlan) -> String {
    let name = plain(&pool.name).into_owned();
    match pool.state {
        PoolOutlook::Paused => return format!("\nPool {name} is paused and stays as it is.\n"),
        PoolOutlook::NoSlot => return format!("\nPool {name}: no node can go.\n"),
        PoolOutlook::Goes if pool.waves.is_empty() && pool.held.is_empty() => {
            return format!("\nPool {name} has no node that goes.\n");
        }
        PoolOutlook::Goes => {}
    }
    let mut text = format!(
        "\nPool {name}: {}, {}, at most {} away at once\n",
        counted(nodes_that_go(pool), "node"),
        spread_text(pool.takes),
        pool.most_away
    );
    if !pool.added.is_empty() {
        let added = counted(pool.added.len(), "node");
        let line = format!("first add {added}, which run the new release from the start");
        text.push_str(&wrapped("       ", &line));
    }
    for (number, wave) in (1..).zip(pool.waves.iter().take(SHOWN_WAVES)) {
        text.push_str(&of_wave(model, number, wave));
    }
    if pool.waves.len() > SHOWN_WAVES {
        let more = pool.waves.len() - SHOWN_WAVES;
        text.push_str(&format!(
            "       and {more} more waves: --output json has all\n"
        ));
    }
    for held in &pool.held {
        let pods = first_names(
            held.pods.iter().map(|pod| pod_name(model, *pod)),
            SHOWN_NAMES,
        );
        let node = node_name(model, held.node);
        let line = format!("{node} is held: these pods may not be evicted: {pods}");
        text.push_str(&wrapped("    -  ", &plain(&line)));
    }
    text + &at_the_end(model, pool)
}

fn of_wave(model: &Model, number: usize, wave: &PlannedWave) -> String {
    let nodes = wave.nodes.iter().map(|node| node_name(model, *node));
    let nodes = first_names(nodes, SHOWN_NAMES);
    let zone = zone_name(model, wave).map_or(String::new(), |zone| format!(" in {zone}"));
    let mut line = format!("{nodes}{zone}: {}", moved(model, &wave.drain.moves));
    if wave.drain.softened > 0 {
        let softened = wave.drain.softened;
        line.push_str(&format!("; {softened} to nodes that are not updated yet"));
    }
    if !wave.drain.waiting.is_empty() {
        let waiting = wave.drain.waiting.iter();
        let names = first_names(waiting.map(|pod| pod_name(model, *pod)), SHOWN_NAMES);
        line.push_str(&format!("; waiting for the node: {names}"));
    }
    wrapped(&format!("  {number:>3}. "), &plain(&line))
}

fn moved(model: &Model, moves: &[Move]) -> String {
    let one = |one: &Move| {
        let to = one.to.map_or("nowhere", |to| node_name(model, to));
        format!("{} to {to}", pod_name(model, one.pod))
    };
    match moves {
        [] => "no pod moves".to_owned(),
        few if few.len() <= SHOWN_NAMES => first_names(few.iter().map(one), SHOWN_NAMES),
        many => {
            let mut to: Vec<&str> = many
                .iter()
                .filter_map(|one| one.to.map(|to| node_name(model, to)))
                .collect();
            to.sort_unstable();
            to.dedup();
            format!(
                "{} pods move, to {}",
                many.len(),
                first_names(to, SHOWN_NAMES)
            )
        }
    }
}

/// What is left to do when all nodes are updated.
fn at_the_end(model: &Model, pool: &PoolPlan) -> String {
    let mut text = String::new();
    if !pool.removed.is_empty() {
        let removed = pool.removed.iter().map(|node| node_name(model, *node));
        let line = format!("at the end remove {}", first_names(removed, SHOWN_NAMES));
        text.push_str(&wrapped("       ", &plain(&line)));
    }
    let [_, after] = pool.loads;
    let even = match after.are_even() {
        true => "every node is then within",
        false => "not every node is then within",
    };
    let (least, most) = EVEN_PERCENT;
    let even = format!("{even} {least} to {most} % of the mean load");
    let line = match pool.rebalanced.len() {
        0 => even,
        1 => format!("at the end 1 pod moves again, so that nodes are even: {even}"),
        many => format!("at the end {many} pods move again, so that nodes are even: {even}"),
    };
    text.push_str(&wrapped("       ", &line));
    if !pool.steered.is_empty() {
        let steered = pool.steered.iter().map(|pod| pod_name(model, *pod));
        let steered = first_names(steered, SHOWN_NAMES);
        let line =
            format!("close the other nodes of the pool to new pods while these move: {steered}");
        text.push_str(&wrapped("       ", &plain(&line)));
    }
    text
}

/// What the plan means for pods, beside the least that can be, and what would happen without it.
fn pods(told: &PlanReport<'_>) -> String {
    let plan = told.plan;
    let RebootOutcome {
        moved, moved_again, ..
    } = plan.outcome;
    if moved == 0 {
        return String::new();
    }
    let bound: usize = plan.pools.iter().map(|pool| pool.bound).sum();
    let percent = moved_again * 100 / moved;
    let line = format!(
        "{moved} move, {moved_again} of them more than once ({percent} %). The bound is {bound}: what leaves the first nodes has to move again. Without a plan it is {}.",
        plan.unplanned.moved_again
    );
    let seed = format!(
        "Simulated with the default scheduler of Kubernetes 1.20 and seed {}; where pods really land differs a little.",
        told.seed
    );
    format!("\n{}{}", wrapped("Pods: ", &line), wrapped("      ", &seed))
}

/// How long it takes, and how sure that is.
fn times(told: &PlanReport<'_>) -> String {
    let Spread { low, likely, high } = told.plan.takes;
    if likely == 0 {
        return String::new();
    }
    let line = format!(
        "P50 {}, P10 {}, P90 {}. A wave lasts until its slowest node is back; a node takes {}.",
        short(likely),
        short(low),
        short(high),
        spread_text(told.node_takes),
    );
    format!("\n{}", wrapped("Time: ", &line))
}

fn in_the_way(told: &PlanReport<'_>) -> String {
    if told.verdict.reasons.is_empty() {
        return String::new();
    }
    let (notes, objections): (Vec<&Reason>, Vec<&Reason>) = told
        .verdict
        .reasons
        .iter()
        .partition(|reason| reason.code().is_note);
    let mut text = String::new();
    if !objections.is_empty() {
        text.push_str("\nWhat stands in the way:\n");
    }
    for reason in objections {
        text.push_str(&wrapped("  - ", &line(reason)));
        text.push_str(&wrapped("    ", &plain(&reason.help())));
        if let Some(command) = reason.command() {
            text.push_str(&format!("    $ {}\n", plain(&command)));
        }
    }
    if !notes.is_empty() {
        text.push_str("\nNotes:\n");
    }
    for reason in notes {
        text.push_str(&wrapped("  - ", &line(reason)));
    }
    text
}

/// What a cluster did not let us read.
fn unread(told: &PlanReport<'_>) -> String {
    let lines = told.unread.iter().map(|(kind, why)| {
        let line = format!("{kind} cannot be read: {}", plain(why));
        wrapped("  - ", &line)
    });
    let lines: String = lines.collect();
    match lines.is_empty() {
        true => lines,
        false => format!("\nNot read:\n{lines}"),
    }
}
