//! The passage of funds through a transaction to the owners on its other side: a hop, unless the funds stay with their
//! owner (`docs/model/trace.md` T6).

use std::sync::Arc;

use super::{
    attribution::carry,
    direction::DirectionalTrace,
    flow::{Flow, FlowKey, Flows},
    passage::{Passage, Scratch},
    path::{Paths, Route},
    side::Side,
};
use crate::{
    evidence::{CarriedLabel, Direction, FlowEnd, LabelDistance, Tier, UnresolvedReason},
    ledger::{Mass, OwnerNumber},
    reading::{ChainView, FeePayer, TransactionEntry, ViewError, Waypoint},
    taxonomy::Category,
};

impl DirectionalTrace<'_> {
    /// Passes funds through a transaction.
    pub(super) fn pass(
        &mut self,
        view: &dyn ChainView,
        passage: Passage,
        side: &Side,
        flows: Flows,
    ) -> Result<(), ViewError> {
        let mut scratch = std::mem::take(&mut self.scratch);
        let passed = self.pass_with(&mut scratch, view, passage, side, flows);
        self.scratch = scratch;
        passed
    }

    fn pass_with(
        &mut self,
        scratch: &mut Scratch,
        view: &dyn ChainView,
        passage: Passage,
        side: &Side,
        flows: Flows,
    ) -> Result<(), ViewError> {
        scratch.clusters.clear();
        for entry in &side.entries {
            scratch.clusters.push(view.cluster_of(entry.owner)?);
        }
        let FlowsHere { staying, all } = FlowsHere::of(flows, scratch, &self.paths);
        for (key, flow) in all {
            scratch.split(&flow, &side.weights);
            let mut weights = side.weights.iter().enumerate();
            let entries = side.entries.iter().zip(&scratch.clusters).zip(&mut weights);
            for ((entry, cluster), (index, weight)) in entries {
                let amount = side.share(flow.route.amount, *weight);
                let Some(mut part) = scratch.part(&flow, index, amount) else { continue };
                let own = FlowKey { owner: Some(*cluster), ..key };
                if let Some(of_owner) = staying.get(&own) {
                    let stays = of_owner.stays(&mut part, *weight, side);
                    self.pass_to(view, &passage, (entry, *cluster), (&own, stays))?;
                    if part.mass.is_zero() {
                        continue;
                    }
                }
                self.pass_to(view, &passage, (entry, *cluster), (&key, part))?;
            }
            for (payer, (index, weight)) in side.fee_payers.iter().zip(&mut weights) {
                let amount = side.share(flow.route.amount, *weight);
                if let Some(part) = scratch.part(&flow, index, amount) {
                    self.pass_to_payer(view, &passage, payer, (&key, part))?;
                }
            }
            for (end, (index, weight)) in side.rest.iter().flatten().zip(weights) {
                let amount = side.share(flow.route.amount, *weight);
                if let Some(part) = scratch.part(&flow, index, amount) {
                    self.pass_to_end(&passage, (*end, side), (&key, part));
                }
            }
        }
        Ok(())
    }

    /// Passes funds of a coinbase on to the transaction that paid them as a fee. Such a step counts as two hops, to the
    /// block and to the payer of the fee, because miner and payer did not choose each other.
    fn pass_to_payer(
        &mut self,
        view: &dyn ChainView,
        passage: &Passage,
        payer: &FeePayer,
        (from, part): (&FlowKey, Flow),
    ) -> Result<(), ViewError> {
        let flow = part.hop(from.has_left, self.rules.decay);
        let flow = self.step(passage, None, flow);
        let key = FlowKey { owner: None, has_left: true, ..*from };
        let waypoint = Some(Waypoint::Transaction(payer.transaction));
        self.wait_at(view, waypoint, key, flow, !from.has_left)
    }

    /// Ends funds that do not lead to a known entry: new coins, unknown or unread entries, or the fee of the
    /// transaction. If the composition of these funds is known, the composition divides the funds.
    fn pass_to_end(
        &mut self,
        passage: &Passage,
        (end, side): (FlowEnd, &Side),
        (key, part): (&FlowKey, Flow),
    ) {
        if part.mass.is_zero() {
            return;
        }
        let flow = part.hop(key.has_left, self.rules.decay);
        let mut flow = self.step(passage, None, flow);
        let mut key = *key;
        let is_direct = !key.has_left;
        self.carry_joint(passage, &mut key, &mut flow);
        match &side.made_of {
            Some(composition) if Side::is_not_followed(end) => {
                self.divide(None, composition, &Flows::one(key, flow));
            }
            _ => self.ends.add_unattributed(end, (&key, &flow), is_direct),
        }
    }

    /// Passes funds on to an input or output, where the funds end or wait to be followed.
    fn pass_to(
        &mut self,
        view: &dyn ChainView,
        passage: &Passage,
        (entry, cluster): (&TransactionEntry, OwnerNumber),
        (from, part): (&FlowKey, Flow),
    ) -> Result<(), ViewError> {
        let is_hop = from.owner != Some(cluster);
        let flow = if is_hop { part.hop(from.has_left, self.rules.decay) } else { part };
        // The step is made of nothing too: it notes the first index of the owner.
        let mut flow = self.step(passage, Some((entry.owner, entry.index)), flow);
        if flow.mass.is_zero() {
            return Ok(());
        }
        let mut key = FlowKey { owner: Some(cluster), has_left: from.has_left || is_hop, ..*from };
        self.carry_joint(passage, &mut key, &mut flow);
        let is_direct = !from.has_left;
        if entry.owner == self.subject {
            self.ends.add_unattributed(FlowEnd::Returned, (&key, &flow), is_direct);
            return Ok(());
        }
        if let Some(attribution) = self.attributions.of_owner(entry.owner, view)? {
            if attribution.is_unowned && self.direction == Direction::Destination {
                self.ends.add_unattributed(FlowEnd::Destroyed, (&key, &flow), is_direct);
                return Ok(());
            }
            if !attribution.carried.is_empty() {
                let distance = distance_of(&flow);
                self.carry_on(&attribution.carried, distance, &mut key, &mut flow);
            }
            if let Some(end) = &attribution.end {
                self.ends.attributed(end, (&key, &flow), is_direct, passage.time);
                return Ok(());
            }
        }
        self.wait_at(view, entry.leads_to, key, flow, is_direct)
    }

    /// Queues funds to be followed, or ends the funds at the largest number of hops or where the next transaction is
    /// not known.
    fn wait_at(
        &mut self,
        view: &dyn ChainView,
        waypoint: Option<Waypoint>,
        key: FlowKey,
        flow: Flow,
        is_direct: bool,
    ) -> Result<(), ViewError> {
        if self.rules.hops.is_some_and(|most| flow.hops >= most) {
            if let Some(composition) = self.composition_at(view, waypoint)?
                && let Some(Waypoint::Transaction(transaction)) = waypoint
            {
                self.divide(Some(transaction), &composition, &Flows::one(key, flow));
            } else {
                let end = FlowEnd::Unresolved(UnresolvedReason::DepthLimit);
                self.ends.add_unattributed(end, (&key, &flow), is_direct);
            }
        } else if let Some(waypoint) = waypoint {
            if !flow.mass.is_zero() {
                let rank = self.rank_of(waypoint, view)?;
                self.frontier.add(waypoint, rank, (key, flow), &self.paths);
            }
        } else {
            let end = FlowEnd::Unresolved(UnresolvedReason::UnknownOrigin);
            self.end_waited(end, &key, &flow);
        }
        Ok(())
    }

    /// Adds a step to the path of a flow.
    fn step(&mut self, passage: &Passage, to: Option<(OwnerNumber, u32)>, flow: Flow) -> Flow {
        let path = self.paths.step(flow.route.path, Self::passed(passage), to);
        Flow { route: Route { path: Some(path), ..flow.route }, ..flow }
    }

    fn carry_joint(&mut self, passage: &Passage, key: &mut FlowKey, flow: &mut Flow) {
        if let Some(kind) = passage.joint {
            let joint = CarriedLabel {
                tier: Tier::Heuristic,
                category: Category::Coinjoin,
                confidence: kind.confidence(),
                severity: self.rules.coinjoin_severity,
                entity: None,
                coinjoin: Some(kind),
            };
            let mut distance = distance_of(flow);
            if passage.is_of_others {
                distance.hops = distance.hops.saturating_add(1);
                distance.decayed = distance.decayed.times(self.rules.decay);
            }
            self.carry_on(&[joint], distance, key, flow);
        }
    }

    pub(super) fn carry_on(
        &mut self,
        met: &[CarriedLabel],
        distance: LabelDistance,
        key: &mut FlowKey,
        flow: &mut Flow,
    ) {
        let carried = self.ends.labels.labels(key.carried);
        let (labels, distances) = carry((carried, &flow.carried), met, distance);
        key.carried = self.ends.labels.of(Arc::from(labels));
        flow.carried = distances;
    }
}

/// The distance at which money meets a label now.
fn distance_of(flow: &Flow) -> LabelDistance {
    LabelDistance { hops: flow.hops.max(1), decayed: flow.decayed }
}

/// The flows at one transaction, merged so that they are split together.
struct FlowsHere {
    /// All flows that agree in everything but their owner, as one flow.
    all: Flows,
    /// The flows whose owner has an entry on the transaction's side: their part of such an entry stays with the owner.
    staying: Flows,
}

impl FlowsHere {
    fn of(flows: Flows, scratch: &mut Scratch, paths: &Paths) -> Self {
        let Scratch { clusters, here, .. } = scratch;
        here.clone_from(clusters);
        here.sort_unstable();
        let is_here = |owner: OwnerNumber| here.binary_search(&owner).is_ok();
        let (mut all, mut staying) = (Flows::default(), Flows::default());
        for (key, flow) in flows {
            if key.owner.is_some_and(is_here) {
                staying.add(key, flow.clone(), paths);
            }
            all.add(FlowKey { owner: None, ..key }, flow, paths);
        }
        Self { all, staying }
    }
}

impl Flow {
    /// Takes the part of this flow out of `part`, which is the part of all flows at the transaction for an entry of this
    /// flow's owner with a weight: this part makes no hop. Amounts are rounded up.
    fn stays(&self, part: &mut Self, weight: u128, side: &Side) -> Self {
        let share = |of: Mass| of.share_up(weight, side.sum());
        let mass = share(self.mass).at_most(part.mass);
        let decayed = share(self.decayed).at_most(mass).at_most(part.decayed);
        let carried = self.carried.iter().zip(&mut part.carried).map(|(of_flow, of_part)| {
            let decayed = share(of_flow.decayed).at_most(mass).at_most(of_part.decayed);
            of_part.decayed = of_part.decayed.less(decayed);
            LabelDistance { decayed, ..*of_flow }
        });
        let carried = carried.collect();
        part.mass = part.mass.less(mass);
        part.decayed = part.decayed.less(decayed).at_most(part.mass);
        for distance in &mut part.carried {
            distance.decayed = distance.decayed.at_most(part.mass);
        }
        let amount = side.share(self.route.amount, weight);
        Self { mass, decayed, hops: self.hops, carried, route: Route { amount, ..self.route } }
    }
}
