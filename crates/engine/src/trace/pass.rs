//! The passage of money through a transaction: to the owners on its other side, one hop further unless it
//! stays with its owner.

use std::{collections::BTreeSet, sync::Arc};

use jiff::Timestamp;

use super::{
    Attribution, Clusters,
    attribution::{AttributedEnd, CarriedLabel, carry},
    direction::DirectionalTrace,
    ends::EndedFlow,
    flow::{Distance, Flow, FlowKey, Flows},
    frontier::Place,
    path::{Paths, Route},
    side::Side,
};
use crate::{
    evidence::{Direction, FlowEnd, Tier, UnresolvedReason},
    score::Confidence,
    taxonomy::Category,
    utxo::{FeePayer, ScriptOwner, SideEntry, TransactionKind, TransactionView, Txid},
};

/// Number of owners by which the money at one transaction is kept apart, at most. With more, each step is a
/// hop.
const MOST_OWNERS: usize = 256;

/// A transaction that money passes.
struct Passage {
    txid: Txid,
    time: Timestamp,
    /// The label of a joint transaction.
    joint: Option<CarriedLabel>,
}

impl DirectionalTrace<'_> {
    /// Passes money through a transaction.
    pub(super) fn pass(
        &mut self,
        transaction: &TransactionView,
        side: &Side<'_>,
        flows: Flows,
        clusters: &Clusters,
    ) {
        let flows = merged(flows, side, clusters, &self.paths);
        let joint = match transaction.kind {
            TransactionKind::Coinjoin(kind) => Some(CarriedLabel {
                tier: Tier::Heuristic,
                category: Category::Coinjoin,
                confidence: kind.confidence(),
                severity: self.rules.coinjoin_severity,
                entity: None,
                coinjoin: Some(kind),
            }),
            TransactionKind::Coinbase | TransactionKind::Payment => None,
        };
        let passage = Passage { txid: transaction.txid, time: transaction.time, joint };
        for (key, flow) in flows.0 {
            let mut parts = flow.split(&side.weights).into_iter().zip(&side.weights);
            for (entry, (part, weight)) in side.entries.iter().zip(&mut parts) {
                let amount = side.share(flow.route.amount, *weight);
                if !part.mass.is_zero() {
                    self.pass_to(&passage, entry, (&key, part, amount), clusters);
                }
            }
            for (payer, (part, weight)) in side.fee_payers.iter().zip(&mut parts) {
                let amount = side.share(flow.route.amount, *weight);
                self.pass_to_payer(&passage, payer, (&key, part, amount));
            }
            for (end, (part, weight)) in side.rest.iter().zip(parts) {
                let amount = side.share(flow.route.amount, *weight);
                if !part.mass.is_zero() {
                    self.pass_to_end(&passage, *end, (&key, part, amount));
                }
            }
        }
    }

    /// Passes money on to the transaction that paid it as a fee. Nobody chose to deal with whom: the step into the
    /// block is a hop, and the one to the payer is another.
    fn pass_to_payer(
        &mut self,
        passage: &Passage,
        payer: &FeePayer,
        (from, part, amount): (&FlowKey, Flow, u128),
    ) {
        let flow = part.hop(from.has_left, self.rules.decay);
        let flow = self.step(passage.txid, None, amount, flow);
        let key = FlowKey { owner: None, has_left: true, ..from.clone() };
        self.wait_at(Place::Transaction(payer.txid), key, flow, !from.has_left);
    }

    /// Passes money on to what is no output: new coins, unknown or unread outputs, or the fee.
    fn pass_to_end(
        &mut self,
        passage: &Passage,
        end: FlowEnd,
        (key, part, amount): (&FlowKey, Flow, u128),
    ) {
        let flow = part.hop(key.has_left, self.rules.decay);
        let mut flow = self.step(passage.txid, None, amount, flow);
        let mut key = key.clone();
        carry_joint(passage, &mut key, &mut flow);
        let is_direct = !key.has_left;
        self.ends.plain(end, &EndedFlow { key: &key, flow: &flow, is_direct });
    }

    /// Passes money on to an output: there it ends, or waits to be followed.
    fn pass_to(
        &mut self,
        passage: &Passage,
        entry: &SideEntry,
        (from, part, amount): (&FlowKey, Flow, u128),
        clusters: &Clusters,
    ) {
        let owner = &entry.output.owner;
        let cluster = clusters.of(owner);
        let is_hop = from.owner.as_ref() != Some(cluster);
        let flow = if is_hop { part.hop(from.has_left, self.rules.decay) } else { part };
        let mut flow = self.step(passage.txid, Some(owner), amount, flow);
        let mut key = FlowKey {
            owner: Some(cluster.clone()),
            has_left: from.has_left || is_hop,
            ..from.clone()
        };
        carry_joint(passage, &mut key, &mut flow);
        let is_direct = !from.has_left;
        if *owner != self.subject {
            let attribution = self.attribution_of(owner);
            if !attribution.carried.is_empty() {
                carry_on(&attribution.carried, &mut key, &mut flow);
            }
            if let Some(end) = &attribution.end {
                let ended = EndedFlow { key: &key, flow: &flow, is_direct };
                self.ends.attributed(end, &ended, passage.time);
                return;
            }
        }
        let place = match self.direction {
            Direction::Source => Place::Transaction(entry.outpoint.txid),
            Direction::Destination => Place::Output(entry.outpoint),
        };
        self.wait_at(place, key, flow, is_direct);
    }

    /// Money waits at a place to be followed, unless it has gone far enough.
    fn wait_at(&mut self, place: Place, key: FlowKey, flow: Flow, is_direct: bool) {
        if self.rules.hops.is_some_and(|most| flow.hops >= most) {
            let end = FlowEnd::Unresolved(UnresolvedReason::DepthLimit);
            self.ends.plain(end, &EndedFlow { key: &key, flow: &flow, is_direct });
        } else if !flow.mass.is_zero() {
            self.frontier.add(place, key, flow, &self.paths);
        }
    }

    /// The flow with its path one step longer.
    fn step(&mut self, txid: Txid, owner: Option<&ScriptOwner>, amount: u128, flow: Flow) -> Flow {
        let path = self.paths.step(flow.route.path, txid, owner);
        Flow { route: Route { path: Some(path), amount }, ..flow }
    }

    fn attribution_of(&mut self, owner: &ScriptOwner) -> Arc<Attribution> {
        if let Some(known) = self.attributions.get(owner) {
            return Arc::clone(known);
        }
        let attribution = match owner {
            ScriptOwner::Pool(pool) => attribution_of_pool(pool.as_str()),
            _ => (self.attribute)(owner),
        };
        let attribution = Arc::new(attribution);
        self.attributions.insert(owner.clone(), Arc::clone(&attribution));
        attribution
    }
}

fn attribution_of_pool(name: &str) -> Attribution {
    Attribution {
        end: Some(AttributedEnd {
            category: Category::PrivacyProtocol,
            entity: Some(name.into()),
            tier: Tier::OnChainProof,
            confidence: Confidence::CERTAIN,
            listed: false,
            listed_by: None,
            listed_on: None,
        }),
        carried: vec![],
    }
}

fn carry_joint(passage: &Passage, key: &mut FlowKey, flow: &mut Flow) {
    if let Some(joint) = &passage.joint {
        carry_on(std::slice::from_ref(joint), key, flow);
    }
}

fn carry_on(met: &[CarriedLabel], key: &mut FlowKey, flow: &mut Flow) {
    let distance = Distance { hops: flow.hops.max(1), decayed: flow.decayed };
    let (labels, distances) = carry((&key.carried, &flow.carried), met, distance);
    key.carried = labels.into();
    flow.carried = distances;
}

/// Flows without the owners that have nothing on `side`: every step from these is a hop.
fn merged(flows: Flows, side: &Side<'_>, clusters: &Clusters, paths: &Paths) -> Flows {
    let here: BTreeSet<&ScriptOwner> =
        side.entries.iter().map(|entry| clusters.of(&entry.output.owner)).collect();
    let stay: BTreeSet<ScriptOwner> = flows
        .0
        .keys()
        .filter_map(|key| key.owner.as_ref().filter(|owner| here.contains(owner)))
        .cloned()
        .collect();
    let mut merged = Flows::default();
    for (key, flow) in flows.0 {
        let owner = key.owner.filter(|owner| stay.len() <= MOST_OWNERS && stay.contains(owner));
        merged.add(FlowKey { owner, ..key }, flow, paths);
    }
    merged
}
