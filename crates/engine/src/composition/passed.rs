//! Severe labels that funds passed on the way from their origin.

use std::cmp::Reverse;

use crate::{
    evidence::{CarriedLabel, Tier},
    score::Confidence,
    taxonomy::Category,
};

/// Lowest default severity of the labels that compositions (breakdowns of a transaction's funds by origin) name. Lower
/// labels only count into [`Composition::labelled`](super::Composition::labelled): beyond a trace, where funds count as
/// fully decayed, such labels have no weight.
const NAMED_FROM: u8 = 75;

/// Lowest product of severity and confidence in percent of a label that rules hear: the default review threshold.
/// Compositions name no other labels, so that anonymous reports of little confidence displace none.
const HEARD_FROM: u32 = 50 * 100;

/// Most categories of labels that a composition (breakdown of a transaction's funds by origin) names.
pub(super) const MOST_CATEGORIES: usize = 4;

/// A severe label that funds passed and that is too weak to end a trace, the strongest of its category.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PassedLabel {
    /// Category.
    pub category: Category,
    /// Strongest tier of the category's labels.
    pub tier: Tier,
    /// Highest confidence of the category's labels.
    pub confidence: Confidence,
}

impl PassedLabel {
    /// The labels of an owner that compositions name: one of each severe category, at most four, the riskiest.
    #[must_use]
    pub fn of(carried: &[CarriedLabel]) -> Vec<Self> {
        let mut labels: Vec<Self> = Vec::new();
        for CarriedLabel { tier, category, confidence, .. } in carried {
            let label = Self { category: *category, tier: *tier, confidence: *confidence };
            if category.info().severity < NAMED_FROM || label.risk() < HEARD_FROM {
                continue;
            }
            match labels.iter_mut().find(|known| known.category == label.category) {
                Some(known) => known.join(label),
                None => labels.push(label),
            }
        }
        labels.sort_unstable_by_key(|label| (Reverse(label.risk()), *label));
        labels.truncate(MOST_CATEGORIES);
        labels.sort_unstable();
        labels
    }

    /// Joins another label of the category: the stronger tier and the higher confidence count.
    pub(super) fn join(&mut self, other: Self) {
        self.tier = self.tier.min(other.tier);
        self.confidence = self.confidence.max(other.confidence);
    }

    /// Product of the category's default severity and the confidence, by which labels are compared.
    pub(crate) fn risk(self) -> u32 {
        u32::from(self.category.info().severity) * u32::from(self.confidence.percent())
    }

    /// Number of bytes of an encoded label.
    pub(super) const BYTES: usize = 3;

    /// The label as bytes: the places of the category and the tier among all, and the confidence.
    pub(super) fn to_bytes(self) -> [u8; Self::BYTES] {
        let tier = Tier::ALL.iter().position(|tier| *tier == self.tier).unwrap_or_default();
        [self.category as u8, u8::try_from(tier).unwrap_or_default(), self.confidence.percent()]
    }

    /// Decodes a label; `None` if the bytes are invalid.
    pub(super) fn from_bytes([category, tier, percent]: [u8; Self::BYTES]) -> Option<Self> {
        Some(Self {
            category: *Category::ALL.get(usize::from(category))?,
            tier: *Tier::ALL.get(usize::from(tier))?,
            confidence: (percent <= 100).then(|| Confidence::from_percent(percent))?,
        })
    }
}
