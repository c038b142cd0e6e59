//! Attributions: listings and labels of an address, as far as a trace needs them.

use std::sync::Arc;

use jiff::civil::Date;

use super::flow::Distance;
use crate::{coinjoin::CoinjoinKind, evidence::Tier, score::Confidence, taxonomy::Category};

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

/// A label that a flow carries because it passed through the label's address, or through a joint transaction.
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
    /// The kind of joint transaction that the money passed through, if it is no label of an address.
    pub coinjoin: Option<CoinjoinKind>,
}

/// Maximum number of labels that a flow carries; the strongest ones stay.
const MOST_CARRIED: usize = 12;

/// Labels with the distances at which they were met, in the order of the labels.
pub(super) type Carried = (Vec<CarriedLabel>, Vec<Distance>);

/// Adds labels that are met at `distance` to those carried already. Of the labels of one tier and category, a
/// farther one is dropped unless it has more confidence than the nearer ones: a label's weight falls with its
/// distance. Of labels at one distance the one with the most confidence stays, of equal ones the first in the
/// order of their entities.
pub(super) fn carry(
    (labels, distances): (&[CarriedLabel], &[Distance]),
    met: &[CarriedLabel],
    distance: Distance,
) -> Carried {
    let mut carried: Vec<(CarriedLabel, Distance)> =
        labels.iter().cloned().zip(distances.iter().copied()).collect();
    let mut met: Vec<&CarriedLabel> = met.iter().collect();
    met.sort_by(|a, b| b.confidence.cmp(&a.confidence).then_with(|| a.cmp(b)));
    for label in met {
        let is_known = carried.iter().any(|(known, _)| {
            (known.tier, known.category) == (label.tier, label.category)
                && known.confidence >= label.confidence
        });
        if !is_known {
            carried.push((label.clone(), distance));
        }
    }
    if carried.len() > MOST_CARRIED {
        carried.sort_by(|(a, _), (b, _)| {
            let standalone_risk = |label: &CarriedLabel| {
                u32::from(label.severity) * u32::from(label.confidence.percent())
            };
            (a.tier, standalone_risk(b), a).cmp(&(b.tier, standalone_risk(a), b))
        });
        carried.truncate(MOST_CARRIED);
    }
    carried.sort_by(|(a, _), (b, _)| a.cmp(b));
    carried.into_iter().unzip()
}
