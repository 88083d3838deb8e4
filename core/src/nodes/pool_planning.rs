//! The plan of one pool: wave by wave, each tried on a fork of the simulation and made smaller until it works.

use std::collections::VecDeque;

use super::model::{Model, ModelPool, NodeIdx};
use super::plan::{
    HeldNode, PlannedWave, PoolOutlook, PoolPlan, away, candidates, most_away, outlook, slots,
};
use super::simulation::{Drain, Simulation, UpdateMark};
use super::waves::{Ahead, usual_place, zones_in_order};

/// What is known while a pool is planned.
pub(super) struct PoolPlanning<'m> {
    model: &'m Model,
    pool: &'m ModelPool,
    plan: PoolPlan,
    /// Nodes that are updated, and can keep what lands on them.
    updated: Vec<NodeIdx>,
}

impl<'m> PoolPlanning<'m> {
    pub(super) fn of(model: &'m Model, pool: &'m ModelPool, added: &[NodeIdx]) -> Self {
        let own = |node: &&NodeIdx| pool.nodes.contains(node);
        let added: Vec<NodeIdx> = added.iter().filter(own).copied().collect();
        let plan = PoolPlan {
            name: pool.name.clone(),
            state: outlook(model, pool),
            away: away(model, pool).collect(),
            most_away: most_away(model, pool),
            added: added.clone(),
            ..PoolPlan::default()
        };
        Self {
            model,
            pool,
            plan,
            updated: added,
        }
    }

    pub(super) fn run(mut self, simulation: &mut Simulation<'m>) -> PoolPlan {
        let candidates = candidates(self.model, self.pool);
        self.plan.loads = [simulation.loads(&self.lasting(&[])); 2];
        let limit = slots(self.model, self.pool);
        if self.plan.state != PoolOutlook::Goes || candidates.is_empty() {
            // A surge that is not used is not there.
            return self.plan;
        }
        self.plan.pods = simulation.evictable(&candidates).len();
        let mut held = Vec::new();
        for zone in zones_in_order(self.model, &candidates) {
            let lightest = if self.updated.is_empty() { limit } else { 0 };
            let mut ahead = Ahead::new(zone, simulation, lightest);
            // As many nodes come back empty at the end as are removed then, if a short wave is the first and not the last.
            let short = match self.plan.added.is_empty() {
                true => 0,
                false => ahead.nodes.len() % limit,
            };
            if short > 0 {
                held.extend(self.next_wave(simulation, &mut ahead, short));
            }
            while !ahead.nodes.is_empty() {
                held.extend(self.next_wave(simulation, &mut ahead, limit));
            }
        }
        for HeldNode { node, .. } in held {
            let mut again = Ahead {
                nodes: VecDeque::from([node]),
            };
            let still = self.next_wave(simulation, &mut again, limit);
            self.plan.held.extend(still);
        }
        self.plan.bound = self.bound(candidates.len());
        self.end(simulation);
        let order = self.plan.waves.iter().flat_map(|wave| &wave.nodes);
        self.plan.is_usual_order = order.copied().eq(usual_order(self.model, &self.plan));
        self.plan
    }

    /// What leaves the first wave has nowhere to stay, unless nodes were added for it.
    fn bound(&self, nodes: usize) -> usize {
        let first = self.plan.waves.first().map_or(0, |wave| wave.nodes.len());
        match self.plan.added.is_empty() {
            true => (self.plan.pods * first).div_ceil(nodes),
            false => 0,
        }
    }

    /// The nodes that stay when the update is over.
    fn lasting(&self, removed: &[NodeIdx]) -> Vec<NodeIdx> {
        let own = self.pool.nodes.iter().copied();
        let surge_is_over = removed.is_empty();
        own.filter(|node| !removed.contains(node))
            .filter(|node| !surge_is_over || !self.plan.added.contains(node))
            .collect()
    }

    /// Plans the next wave, or finds that its first node cannot be drained.
    fn next_wave(
        &mut self,
        simulation: &mut Simulation<'m>,
        ahead: &mut Ahead,
        limit: usize,
    ) -> Option<HeldNode> {
        let is_first = self.updated.is_empty();
        let mut size = match is_first {
            true => limit,
            false => ahead.fitting(simulation, &self.updated).min(limit),
        };
        size = size.clamp(1, ahead.nodes.len());
        loop {
            let nodes: Vec<NodeIdx> = ahead.nodes.iter().take(size).copied().collect();
            let mut fork = simulation.clone();
            let drain = match self.model.nodes.len() {
                // Its pods have nowhere to go, so the operator does not drain it.
                1 => Drain::default(),
                _ => fork.drain(&nodes),
            };
            let is_too_large = !drain.stuck.is_empty()
                || !drain.waiting.is_empty()
                || (!is_first && drain.softened > 0);
            if is_too_large && size > 1 {
                size = (size * 3 / 4).min(size - 1);
                continue;
            }
            ahead.nodes.drain(..size);
            if !drain.stuck.is_empty() {
                // It keeps its mark: what lands there would move again.
                return Some(HeldNode {
                    node: nodes[0],
                    pods: drain.stuck,
                });
            }
            let returned = fork.bring_back(&nodes);
            self.updated.extend(&nodes);
            self.plan.waves.push(PlannedWave {
                zone: self.model.node(nodes[0]).zone,
                nodes,
                drain,
                returned,
            });
            *simulation = fork;
            return None;
        }
    }

    /// The added nodes are worth as many others, which go; then the rest is made even.
    fn end(&mut self, simulation: &mut Simulation<'m>) {
        for node in &self.pool.nodes {
            simulation.mark(*node, UpdateMark::None);
        }
        let zone = self
            .plan
            .added
            .first()
            .map(|node| self.model.node(*node).zone);
        let mut emptiest: Vec<NodeIdx> = self.updated.clone();
        emptiest.retain(|node| Some(self.model.node(*node).zone) == zone);
        emptiest.sort_by_key(|node| (simulation.evictable(&[*node]).len(), *node));
        emptiest.truncate(self.plan.added.len());
        if !emptiest.is_empty() {
            let drain = simulation.drain(&emptiest);
            self.plan.rebalanced.extend(drain.moves);
        }
        let lasting = self.lasting(&emptiest);
        let even = simulation.rebalance(&lasting);
        self.plan.rebalanced.extend(even.moves);
        self.plan.steered = even.steered;
        self.plan.loads[1] = simulation.loads(&lasting);
        self.plan.removed = emptiest;
    }
}

/// The order of the machine-config operator for the nodes that are planned: by zone, then the oldest first.
fn usual_order(model: &Model, plan: &PoolPlan) -> Vec<NodeIdx> {
    let waves = plan.waves.iter().flat_map(|wave| &wave.nodes);
    let mut nodes: Vec<NodeIdx> = waves.copied().collect();
    nodes.sort_by_key(|node| usual_place(model, *node));
    nodes
}
