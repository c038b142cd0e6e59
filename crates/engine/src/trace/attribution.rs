//! Attributions: listings and labels of an address, as far as a trace needs them.

use std::sync::Arc;

use jiff::civil::Date;

use crate::{evidence::Tier, score::Confidence, taxonomy::Category};

/// The attribution of an address by listings and labels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attribution {
    /// The party at which a trace ends, if it does.
    pub end: Option<AttributedEnd>,
    /// Risk labels that are too weak to end a trace.
    pub carried: Vec<CarriedLabel>,
}

/// A party that is attributed reliably enough to end a trace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AttributedEnd {
    /// Category.
    pub category: Category,
    /// Name, if known.
    pub entity: Option<Arc<str>>,
    /// Strength of the attribution.
    pub tier: Tier,
    /// Confidence of the attribution.
    pub confidence: Confidence,
    /// True if a list in force names it or its key.
    pub listed: bool,
    /// The list and its programs in words, such as `OFAC SDN List, CYBER2`.
    pub listed_by: Option<Arc<str>>,
    /// Since when, where known.
    pub listed_on: Option<Date>,
}

/// A label that a flow carries because it passed through the label's address.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CarriedLabel {
    /// Strength of the label.
    pub tier: Tier,
    /// Category.
    pub category: Category,
    /// Confidence.
    pub confidence: Confidence,
    /// Severity of the category under the policy, 0 to 100.
    pub severity: u8,
    /// Name, if known.
    pub entity: Option<Arc<str>>,
    /// Number of hops between the subject and the address, set by the trace.
    pub hops: u8,
}

/// Maximum number of labels that a flow carries; the strongest ones stay.
const MOST_CARRIED: usize = 12;

/// Adds labels at `hops` to those carried already. Of the labels of one tier and category, one is dropped if
/// another has at least its confidence and at most its hops: a label's weight falls with its distance, so
/// that a farther label counts only with more confidence. Of equal ones the first stays, in the order of
/// their entities.
pub(super) fn carry(before: &[CarriedLabel], met: &[CarriedLabel], hops: u8) -> Vec<CarriedLabel> {
    let met = met.iter().map(|label| CarriedLabel { hops, ..label.clone() });
    let mut labels: Vec<CarriedLabel> = before.iter().cloned().chain(met).collect();
    // By hops, then by confidence: a label stays if it has more confidence than those before it.
    labels.sort_by(|a, b| {
        (a.tier, a.category, a.hops, b.confidence, a).cmp(&(
            b.tier,
            b.category,
            b.hops,
            a.confidence,
            b,
        ))
    });
    let mut carried: Vec<CarriedLabel> = Vec::new();
    for label in labels {
        let nearer = carried
            .last()
            .filter(|known| (known.tier, known.category) == (label.tier, label.category));
        if nearer.is_none_or(|known| known.confidence < label.confidence) {
            carried.push(label);
        }
    }
    if carried.len() > MOST_CARRIED {
        carried.sort_by(|a, b| {
            let standalone_risk = |label: &CarriedLabel| {
                u32::from(label.severity) * u32::from(label.confidence.percent())
            };
            (a.tier, standalone_risk(b), a).cmp(&(b.tier, standalone_risk(a), b))
        });
        carried.truncate(MOST_CARRIED);
    }
    carried.sort();
    carried
}
