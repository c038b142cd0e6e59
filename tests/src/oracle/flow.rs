//! Flows of money, and the labels that they carry (`docs/model/trace.md` T5, T12).

use std::{cmp::Reverse, collections::BTreeMap};

use assay_engine::{
    evidence::{CarriedLabel, LabelDistance, Solicitation},
    utxo::ScriptOwner,
};

use super::{amounts::Mass, paths::Path};

/// Largest number of labels that a flow carries.
const MOST_LABELS: usize = 12;

/// Distance of money from a label, and the money's decayed mass at that distance.
#[derive(Clone, Debug)]
pub(super) struct LabelContact {
    pub(super) hops: u16,
    pub(super) decayed: Mass,
}

impl LabelContact {
    /// Adds other money with the same label.
    pub(super) fn add(&mut self, other: &Self) {
        self.hops = self.hops.min(other.hops);
        self.decayed.add(&other.decayed);
    }

    /// Converts to the engine's type.
    pub(super) fn to_engine(&self) -> LabelDistance {
        LabelDistance { hops: self.hops, decayed: self.decayed.to_engine() }
    }
}

/// The labels that a flow carries.
pub(super) type Labels = BTreeMap<CarriedLabel, LabelContact>;

/// Key of a flow: flows at one transaction with equal keys are merged.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FlowKey {
    /// The cluster that last held the money; `None` if it is no longer distinguished.
    pub(super) cluster: Option<ScriptOwner>,
    /// True if the money has left the subject's cluster.
    pub(super) left: bool,
    pub(super) solicitation: Solicitation,
    pub(super) labels: Vec<CarriedLabel>,
}

/// Traced money at a transaction or output.
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

    /// Splits mass and decayed mass separately in proportion to `weights`. No decayed mass exceeds the mass.
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

    /// Takes out of `part`, the part of several flows for an entry of this flow's cluster, what this flow gave of it: this
    /// money stays in its cluster.
    pub(super) fn stays(&self, part: &mut Self, weight: u128, sum: u128) -> Self {
        let mass = self.mass.share_up(weight, sum).at_most(&part.mass);
        let share = |of: &Mass, most: &Mass| of.share_up(weight, sum).at_most(&mass).at_most(most);
        let decayed = share(&self.decayed, &part.decayed);
        let rest = part.mass.less(&mass);
        let mut labels = Labels::new();
        for (label, met) in &self.labels {
            let of_part = part.labels.get_mut(label).expect("the same labels");
            let decayed = share(&met.decayed, &of_part.decayed);
            of_part.decayed = of_part.decayed.less(&decayed).at_most(&rest);
            labels.insert(label.clone(), LabelContact { hops: met.hops, decayed });
        }
        part.decayed = part.decayed.less(&decayed).at_most(&rest);
        part.mass = rest;
        Self { mass, decayed, labels, path: self.path.share(weight, sum), ..self.clone() }
    }

    /// The place at which the flow meets a label now.
    pub(super) fn contact(&self) -> LabelContact {
        LabelContact { hops: self.hops.max(1), decayed: self.decayed.clone() }
    }

    /// Adds labels to the flow.
    pub(super) fn add_labels(&mut self, met: Vec<CarriedLabel>) {
        self.add_labels_at(&self.contact(), met);
    }

    /// Adds labels that the flow meets at a distance.
    pub(super) fn add_labels_at(&mut self, here: &LabelContact, mut met: Vec<CarriedLabel>) {
        met.sort();
        // Sorting keeps the order of equals.
        met.sort_by_key(|label| Reverse(label.confidence));
        for label in met {
            let left_out = self.labels.keys().any(|carried| {
                (carried.tier, carried.category) == (label.tier, label.category)
                    && carried.confidence >= label.confidence
            });
            if !left_out {
                self.labels.insert(label, here.clone());
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

/// Flows at one transaction or output.
#[derive(Clone, Debug, Default)]
pub(super) struct Flows(BTreeMap<FlowKey, Flow>);

impl Flows {
    /// Adds a flow. Flows with equal keys are merged.
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

    /// The sum of the masses of all flows.
    pub(super) fn mass(&self) -> num_bigint::BigUint {
        self.0.values().map(|flow| flow.mass.total()).sum()
    }

    /// Number of flows that differ in more than their cluster.
    pub(super) fn kinds(&self) -> usize {
        let kinds = self.0.keys().map(|key| FlowKey { cluster: None, ..key.clone() });
        kinds.collect::<std::collections::BTreeSet<_>>().len()
    }

    /// The flows, without the labels that no rule hears if there are more than 64 kinds.
    pub(super) fn with_few_labels(self) -> Self {
        if self.kinds() <= 64 {
            return self;
        }
        let mut few = Self::default();
        for mut flow in self.all() {
            flow.labels.retain(|label, _| {
                let risk = u32::from(label.severity) * u32::from(label.confidence.percent());
                label.coinjoin.is_some() || risk >= 5_000
            });
            few.add(flow);
        }
        few
    }

    /// The flow that agrees with another in all but the cluster, which is this.
    pub(super) fn of_cluster(&self, other: &Flow, cluster: &ScriptOwner) -> Option<&Flow> {
        self.0.get(&FlowKey { cluster: Some(cluster.clone()), ..other.identity() })
    }

    /// The flows, in order.
    pub(super) fn all(self) -> Vec<Flow> {
        self.0.into_values().collect()
    }
}
