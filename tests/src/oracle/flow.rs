//! Money on its way, and the labels that it carries (`docs/model/trace.md` T5, T12).

use std::{cmp::Reverse, collections::BTreeMap};

use assay_engine::{
    evidence::{CarriedLabel, LabelDistance, Solicitation},
    utxo::ScriptOwner,
};

use super::{amounts::Mass, paths::Path};

/// Number of labels that a flow carries.
const MOST_LABELS: usize = 12;

/// Where money met a label.
#[derive(Clone, Debug)]
pub(super) struct LabelContact {
    pub(super) hops: u16,
    pub(super) decayed: Mass,
}

impl LabelContact {
    /// Other money with the same label.
    pub(super) fn add(&mut self, other: &Self) {
        self.hops = self.hops.min(other.hops);
        self.decayed.add(&other.decayed);
    }

    /// As it is shown.
    pub(super) fn to_engine(&self) -> LabelDistance {
        LabelDistance { hops: self.hops, decayed: self.decayed.to_engine() }
    }
}

/// The labels that a flow carries.
pub(super) type Labels = BTreeMap<CarriedLabel, LabelContact>;

/// Flows at one transaction that agree in these are one flow.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FlowKey {
    /// The cluster that held it last; `None` if that is forgotten.
    pub(super) cluster: Option<ScriptOwner>,
    /// True if it has left the subject's cluster.
    pub(super) left: bool,
    pub(super) solicitation: Solicitation,
    pub(super) labels: Vec<CarriedLabel>,
}

/// Money on its way.
#[derive(Clone, Debug)]
pub(super) struct Flow {
    pub(super) cluster: Option<ScriptOwner>,
    pub(super) left: bool,
    pub(super) solicitation: Solicitation,
    pub(super) labels: Labels,
    pub(super) mass: Mass,
    pub(super) decayed: Mass,
    pub(super) hops: u16,
    pub(super) path: Path,
}

impl Flow {
    fn identity(&self) -> FlowKey {
        let Self { cluster, left, solicitation, labels, .. } = self;
        let labels = labels.keys().cloned().collect();
        FlowKey { cluster: cluster.clone(), left: *left, solicitation: *solicitation, labels }
    }

    /// Its masses, each by itself, in proportion to `weights`. No decayed mass exceeds the mass.
    pub(super) fn split(&self, weights: &[u128]) -> Vec<Self> {
        let big = super::amounts::to_big(weights);
        let sum: u128 = weights.iter().sum();
        let mut shares: Vec<Self> = self
            .mass
            .split(&big)
            .into_iter()
            .zip(self.decayed.split(&big))
            .zip(weights)
            .map(|((mass, decayed), weight)| {
                let decayed = decayed.at_most(&mass);
                let path = self.path.share(*weight, sum);
                Self { mass, decayed, path, labels: Labels::new(), ..self.clone() }
            })
            .collect();
        for (label, met) in &self.labels {
            for (share, decayed) in shares.iter_mut().zip(met.decayed.split(&big)) {
                let decayed = decayed.at_most(&share.mass);
                share.labels.insert(label.clone(), LabelContact { decayed, ..*met });
            }
        }
        shares
    }

    /// The flow meets labels.
    pub(super) fn add_labels(&mut self, mut met: Vec<CarriedLabel>) {
        met.sort();
        // Sorting keeps the order of equals.
        met.sort_by_key(|label| Reverse(label.confidence));
        for label in met {
            let left_out = self.labels.keys().any(|carried| {
                (carried.tier, carried.category) == (label.tier, label.category)
                    && carried.confidence >= label.confidence
            });
            if !left_out {
                let here = LabelContact { hops: self.hops.max(1), decayed: self.decayed.clone() };
                self.labels.insert(label, here);
            }
        }
        let mut order: Vec<CarriedLabel> = self.labels.keys().cloned().collect();
        order.sort_by_key(|label| {
            let standalone = u32::from(label.severity) * u32::from(label.confidence.percent());
            (label.tier, Reverse(standalone))
        });
        for label in order.iter().skip(MOST_LABELS) {
            self.labels.remove(label);
        }
    }
}

/// Flows at one place.
#[derive(Clone, Debug, Default)]
pub(super) struct Flows(BTreeMap<FlowKey, Flow>);

impl Flows {
    /// Adds a flow; those that agree are one.
    pub(super) fn add(&mut self, flow: Flow) {
        let Some(known) = self.0.get_mut(&flow.identity()) else {
            self.0.insert(flow.identity(), flow);
            return;
        };
        known.mass.add(&flow.mass);
        known.decayed.add(&flow.decayed);
        for (label, met) in &flow.labels {
            known.labels.get_mut(label).expect("the same labels").add(met);
        }
        known.hops = known.hops.min(flow.hops);
        if !known.path.is_preferred_to(&flow.path) {
            known.path = flow.path;
        }
    }

    /// The mass of all flows together.
    pub(super) fn mass(&self) -> num_bigint::BigUint {
        self.0.values().map(|flow| flow.mass.total()).sum()
    }

    /// Number of flows.
    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    /// The flows, in order.
    pub(super) fn all(self) -> Vec<Flow> {
        self.0.into_values().collect()
    }
}
