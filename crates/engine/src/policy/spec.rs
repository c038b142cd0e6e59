//! A risk policy as its author writes it, with the defaults.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    names::ListId,
    score::{HalfLife, Score},
};

/// What a tenant's risk policy says. Everything has a default; what is left out keeps it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PolicySpec {
    /// Severities of categories, 0 to 100, where they differ from the defaults.
    pub severities: BTreeMap<String, u8>,
    /// Severities of patterns, 0 to 100, where they differ from the defaults.
    pub pattern_severities: BTreeMap<String, u8>,
    /// Where bands and verdicts begin.
    pub thresholds: Thresholds,
    /// Hops after which the weight of evidence has halved; at most one decimal.
    pub half_life_hops: HalfLife,
    /// The highest score that evidence of a tier and weaker ones can reach together.
    pub tier_caps: TierCaps,
    /// The force of lists. OFAC SDN, UK, EU and UN are binding and cannot be weakened; lists not named
    /// here are informative.
    pub lists: BTreeMap<ListId, Force>,
    /// Sources without which nothing is allowed.
    pub mandatory_sources: Vec<MandatorySource>,
    /// Whether an address whose flows of money are not known is never allowed.
    pub flows_required: bool,
    /// What lifts a score to review whatever the shares are.
    pub floors: Floors,
    /// What absolute amounts mean, by unit (`USD` or an asset's ticker).
    pub amounts: BTreeMap<String, AmountRules>,
}

/// Where bands and verdicts begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Thresholds {
    /// First score of the medium band.
    pub medium: Score,
    /// First score of the high band.
    pub high: Score,
    /// First score of the severe band.
    pub severe: Score,
    /// First score that asks for a review.
    pub review: Score,
    /// First score that blocks.
    pub block: Score,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self {
            medium: Score::from_points(25),
            high: Score::from_points(50),
            severe: Score::from_points(75),
            review: Score::from_points(50),
            block: Score::from_points(75),
        }
    }
}

/// The highest score that evidence of a tier and weaker ones can reach together. Official lists and
/// cryptographic facts are not capped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct TierCaps {
    /// Investigations.
    pub investigation: Score,
    /// Users' reports and scraped lists; below the block threshold.
    pub community: Score,
    /// Heuristics; below the block threshold.
    pub heuristic: Score,
    /// Behaviour; below the review threshold.
    pub behaviour: Score,
}

impl Default for TierCaps {
    fn default() -> Self {
        Self {
            investigation: Score::from_points(95),
            community: Score::from_tenths(699),
            heuristic: Score::from_tenths(599),
            behaviour: Score::from_tenths(499),
        }
    }
}

/// Whether a list decides or informs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Force {
    /// An active listing scores 100 and blocks; nothing weakens it.
    Binding,
    /// An active listing asks for a review at least.
    Informative,
}

/// A source without which nothing is allowed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MandatorySource {
    /// The source, or a list that any source may carry.
    pub name: String,
    /// Longest time since it was last obtained or confirmed unchanged, in hours.
    #[serde(default = "default_maximum_age_hours")]
    pub maximum_age_hours: u32,
}

const fn default_maximum_age_hours() -> u32 {
    48
}

/// What lifts a score to review whatever the shares are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Floors {
    /// Severity from which a category is grave: by default sanctions, terrorism, child abuse,
    /// ransomware, human trafficking, sanctioned jurisdictions, special measures and stolen funds.
    pub grave_from: u8,
    /// Per cent of all money of one direction from grave categories that asks for a review.
    pub grave_share_percent: u8,
}

impl Default for Floors {
    fn default() -> Self {
        Self { grave_from: 90, grave_share_percent: 10 }
    }
}

/// What absolute amounts of one unit mean.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AmountRules {
    /// What an amount of the riskiest money is worth by itself, whatever share it has. Between points,
    /// `worth^2.5` grows in a straight line; before the first it starts at nothing, after the last it
    /// stays.
    pub curve: Vec<CurvePoint>,
    /// Unasked-for money of one category up to this amount, in whole units, is shown and not scored.
    pub unsolicited_up_to: u64,
}

/// One point of a curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CurvePoint {
    /// The amount in whole units.
    pub amount: u64,
    /// The score it is worth.
    pub worth: Score,
}

impl Default for PolicySpec {
    fn default() -> Self {
        let point = |amount, points| CurvePoint { amount, worth: Score::from_points(points) };
        let dollars = AmountRules {
            curve: vec![
                point(10_000, 25),
                point(100_000, 50),
                point(1_000_000, 75),
                point(10_000_000, 100),
            ],
            unsolicited_up_to: 1_000,
        };
        Self {
            severities: BTreeMap::new(),
            pattern_severities: BTreeMap::new(),
            thresholds: Thresholds::default(),
            half_life_hops: HalfLife::default(),
            tier_caps: TierCaps::default(),
            lists: BTreeMap::new(),
            mandatory_sources: vec![MandatorySource {
                name: "ofac-sdn".into(),
                maximum_age_hours: default_maximum_age_hours(),
            }],
            flows_required: false,
            floors: Floors::default(),
            amounts: BTreeMap::from([("USD".into(), dollars)]),
        }
    }
}
