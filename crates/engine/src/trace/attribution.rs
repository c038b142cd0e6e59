//! What is known of an address on the way, as far as a trace needs it.

use std::sync::Arc;

use jiff::civil::Date;

use crate::{evidence::Tier, score::Confidence, taxonomy::Category};

/// What listings and labels say of an address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attribution {
    /// Where a trace ends here, if it does.
    pub end: Option<AttributedEnd>,
    /// Risky labels too weak to end a trace.
    pub carried: Vec<CarriedLabel>,
}

/// Who is there, surely enough that the trace ends.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AttributedEnd {
    /// What it is.
    pub category: Category,
    /// Who it is, where known.
    pub entity: Option<Arc<str>>,
    /// The strength of the attribution.
    pub tier: Tier,
    /// How sure it is.
    pub confidence: Confidence,
    /// Whether a list in force names it, or its key.
    pub listed: bool,
    /// The list and its programs in words, such as `OFAC SDN List, CYBER2`.
    pub listed_by: Option<Arc<str>>,
    /// Since when, where known.
    pub listed_on: Option<Date>,
}

/// A label that a flow carries with it: the flow went through its address.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CarriedLabel {
    /// The strength of the label.
    pub tier: Tier,
    /// What the address is said to be.
    pub category: Category,
    /// How sure that is.
    pub confidence: Confidence,
    /// The category's severity under the policy, 0 to 100.
    pub severity: u8,
    /// Who it is said to be.
    pub entity: Option<Arc<str>>,
    /// Hops between the subject and the address; a trace sets it.
    pub hops: u8,
}

/// The most labels that a flow carries; the strongest ones stay.
const MOST_CARRIED: usize = 12;

/// Adds labels met at `hops` to those met before. Of labels of one tier and category, none stays to
/// which another is at least as sure and at least as near: what a label is worth falls with its distance,
/// so that only a surer one that is farther away may be worth more. Of equals the first stays, in the
/// order of their entities.
pub(super) fn carry(before: &[CarriedLabel], met: &[CarriedLabel], hops: u8) -> Vec<CarriedLabel> {
    let met = met.iter().map(|label| CarriedLabel { hops, ..label.clone() });
    let mut labels: Vec<CarriedLabel> = before.iter().cloned().chain(met).collect();
    // The nearer first, then the surer: a label stays if it is surer than whatever stayed before it.
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
            let worth = |label: &CarriedLabel| {
                u32::from(label.severity) * u32::from(label.confidence.percent())
            };
            (a.tier, worth(b), a).cmp(&(b.tier, worth(a), b))
        });
        carried.truncate(MOST_CARRIED);
    }
    carried.sort();
    carried
}
