//! A risk policy as its author writes it, with the defaults.

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{ALWAYS_BLOCKING, Quantity, SAME_KEY_SCORE};
use crate::{
    evidence::Pattern,
    names::{ListId, SourceId},
    score::{HalfLife, Score},
    taxonomy::{Category, RISKY_FROM},
};

/// The keyword of schemas for rules that a cluster checks by itself.
const RULES: &str = "x-kubernetes-validations";

/// A rule about a field: what must hold, and otherwise what would be right.
fn rule(path: &str, holds: &str, sentence: &str) -> Value {
    json!({"rule": holds, "message": sentence, "fieldPath": path})
}

/// The rule that the numbers of two fields rise.
fn rising(low: &str, high: &str) -> Value {
    let sentence = format!("must be above {low}: thresholds rise strictly");
    rule(&format!(".{high}"), &format!("self.{low} < self.{high}"), &sentence)
}

/// The rule that weaker evidence has no higher cap than stronger evidence.
fn weaker(weak: &str, strong: &str) -> Value {
    let sentence = format!("must not exceed that of {strong}, which is stronger evidence");
    rule(&format!(".{weak}"), &format!("self.{weak} <= self.{strong}"), &sentence)
}

/// The schema of severities by name.
fn severities(names: &[&str], what: &str) -> Schema {
    let (known, most) = (format!("self.all(name, name in {names:?})"), names.len());
    let sentence = format!("names no {what}; `GET /api/v1/signals` lists them");
    json_schema!({
        "type": "object",
        "maxProperties": most,
        "additionalProperties": {"type": "integer", "minimum": 0, "maximum": 100},
        RULES: [{"rule": known, "message": sentence}],
    })
}

fn category_severities(_: &mut SchemaGenerator) -> Schema {
    let names: Vec<&str> = Category::ALL.iter().map(|category| category.as_str()).collect();
    severities(&names, "category")
}

fn pattern_severities(_: &mut SchemaGenerator) -> Schema {
    let names: Vec<&str> = Pattern::ALL.iter().map(|pattern| pattern.as_str()).collect();
    severities(&names, "pattern")
}

fn lists(generator: &mut SchemaGenerator) -> Schema {
    let kept =
        format!("{ALWAYS_BLOCKING:?}.all(list, !(list in self) || self[list] == 'blocking')");
    json_schema!({
        "type": "object",
        "maxProperties": 64,
        "additionalProperties": generator.subschema_for::<ListEffect>(),
        RULES: [
            {"rule": kept, "message": "OFAC SDN, UK, EU and UN are blocking and cannot be weakened"},
            {
                "rule": "self.all(list, list.matches('^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'))",
                "message": "names of lists have 1 to 63 lowercase letters, digits and hyphens",
            },
        ],
    })
}

fn amounts(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "maxProperties": 32,
        "additionalProperties": generator.subschema_for::<AmountRules>(),
    })
}

/// What a tenant's risk policy says. Everything has a default; what is left out keeps it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(extend("x-kubernetes-validations" = [
    rule(
        ".tierCaps.community",
        "self.tierCaps.community < self.thresholds.block",
        "must be below the block threshold: such evidence never blocks",
    ),
    rule(
        ".tierCaps.heuristic",
        "self.tierCaps.heuristic < self.thresholds.block",
        "must be below the block threshold: such evidence never blocks",
    ),
    rule(
        ".tierCaps.behavior",
        "self.tierCaps.behavior < self.thresholds.review",
        "must be below the review threshold: behaviour alone never reaches review",
    ),
]))]
pub struct PolicySpec {
    /// Severities of categories, 0 to 100, where they differ from the defaults.
    #[schemars(schema_with = "category_severities")]
    pub severities: BTreeMap<String, u8>,
    /// Severities of patterns, 0 to 100, where they differ from the defaults.
    #[schemars(schema_with = "pattern_severities")]
    pub pattern_severities: BTreeMap<String, u8>,
    /// Where bands and verdicts begin.
    pub thresholds: Thresholds,
    /// Hops after which the weight of evidence has halved; at most one decimal.
    pub half_life_hops: HalfLife,
    /// The highest score that evidence of a tier and weaker ones can reach together.
    pub tier_caps: TierCaps,
    /// The force of lists. OFAC SDN, UK, EU and UN are blocking and cannot be weakened; lists not named
    /// here are informative.
    #[schemars(schema_with = "lists")]
    pub lists: BTreeMap<ListId, ListEffect>,
    /// Sources without which nothing is allowed.
    #[schemars(
        length(min = 1, max = 64),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"])
    )]
    pub mandatory_sources: Vec<MandatorySource>,
    /// Whether an address whose flows of money are not known is never allowed.
    pub flows_required: bool,
    /// What lifts a score to review whatever the shares are.
    pub minimum_score_rules: MinimumScoreRules,
    /// What absolute amounts mean, by unit (`USD` or an asset's ticker). A native coin's own numbers
    /// count where no price is known.
    #[schemars(schema_with = "amounts")]
    pub amounts: BTreeMap<String, AmountRules>,
    /// How far money is followed.
    pub trace: TraceSpec,
}

/// How far money is followed. A tenant's plan may set lower ceilings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct TraceSpec {
    /// Hops: 1 looks at direct counterparties only.
    #[schemars(range(min = 1, max = 12))]
    pub hops: u8,
    /// A flow is no longer followed where its share of all money of its direction, in millionths, is
    /// below this and its amount is below `stopTraceBelow` of its unit too.
    #[schemars(range(max = 100_000))]
    pub stop_below_share_millionths: u32,
    /// Addresses that are followed further at each hop: those with the largest amounts.
    #[schemars(range(min = 1, max = 20_000))]
    pub addresses_per_hop: u32,
    /// Transfers that are read of one address or transaction: the largest ones.
    #[schemars(range(min = 1, max = 20_000))]
    pub transfers_per_address: u32,
}

impl Default for TraceSpec {
    fn default() -> Self {
        Self {
            hops: 6,
            stop_below_share_millionths: 1_000,
            addresses_per_hop: 256,
            transfers_per_address: 2_000,
        }
    }
}

impl TraceSpec {
    /// The lower of both in everything that costs time.
    #[must_use]
    pub fn within(self, ceiling: Self) -> Self {
        Self {
            hops: self.hops.min(ceiling.hops),
            stop_below_share_millionths: self
                .stop_below_share_millionths
                .max(ceiling.stop_below_share_millionths),
            addresses_per_hop: self.addresses_per_hop.min(ceiling.addresses_per_hop),
            transfers_per_address: self.transfers_per_address.min(ceiling.transfers_per_address),
        }
    }
}

/// Where bands and verdicts begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(extend("x-kubernetes-validations" = [
    rule(".medium", "self.medium > 0.0", "must be above zero: thresholds rise strictly"),
    rising("medium", "high"),
    rising("high", "severe"),
    rule(".review", "self.review > 0.0", "must be above zero: thresholds rise strictly"),
    rising("review", "block"),
    rule(
        ".block",
        &format!("self.block <= {SAME_KEY_SCORE}"),
        &format!("must be at most {SAME_KEY_SCORE}, which the same key as a listed address scores"),
    ),
]))]
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
#[schemars(extend("x-kubernetes-validations" = [
    weaker("community", "investigation"),
    weaker("heuristic", "community"),
    weaker("behavior", "heuristic"),
]))]
pub struct TierCaps {
    /// Investigations.
    pub investigation: Score,
    /// Users' reports and scraped lists; below the block threshold.
    pub community: Score,
    /// Heuristics; below the block threshold.
    pub heuristic: Score,
    /// Behaviour; below the review threshold.
    pub behavior: Score,
}

impl Default for TierCaps {
    fn default() -> Self {
        Self {
            investigation: Score::from_points(95),
            community: Score::from_tenths(699),
            heuristic: Score::from_tenths(599),
            behavior: Score::from_tenths(499),
        }
    }
}

/// Whether a list decides or informs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ListEffect {
    /// An active listing scores 100 and blocks; nothing weakens it.
    Blocking,
    /// An active listing asks for a review at least.
    Advisory,
}

/// A source without which nothing is allowed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MandatorySource {
    /// The source, or a list that any source may carry.
    #[schemars(with = "SourceId")]
    pub name: String,
    /// Longest time since it was last obtained or confirmed unchanged, in hours.
    #[serde(default = "default_maximum_age_hours")]
    #[schemars(range(min = 1, max = 87_840))]
    pub maximum_age_hours: u32,
}

const fn default_maximum_age_hours() -> u32 {
    48
}

/// What lifts a score to review whatever the shares are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct MinimumScoreRules {
    /// Severity from which a category is grave: by default sanctions, terrorism, child abuse,
    /// ransomware, human trafficking, sanctioned jurisdictions, special measures and stolen funds.
    #[schemars(range(min = RISKY_FROM, max = 100))]
    pub severe_category_from: u8,
    /// Per cent of all money of one direction from grave categories that asks for a review.
    #[schemars(range(min = 1, max = 100))]
    pub severe_category_share_percent: u8,
}

impl Default for MinimumScoreRules {
    fn default() -> Self {
        Self { severe_category_from: 90, severe_category_share_percent: 10 }
    }
}

/// What absolute amounts of one unit mean.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AmountRules {
    /// What an amount of the riskiest money is worth by itself, whatever share it has. Between points,
    /// `score^2.5` grows in a straight line; before the first it starts at nothing, after the last it
    /// stays.
    #[schemars(length(min = 1, max = 16), extend("x-kubernetes-validations" = [
        {
            "rule": "self.all(i, point, i == 0 \
                || double(self[i - 1].amount) < double(point.amount))",
            "message": "amounts rise strictly from point to point",
        },
        {
            "rule": "self.all(i, point, i == 0 || self[i - 1].score < point.score)",
            "message": "scores rise strictly from point to point",
        },
    ]))]
    pub curve: Vec<CurvePoint>,
    /// Unasked-for money of one category up to this amount, in whole units, is shown and not scored.
    pub unsolicited_up_to: Quantity,
    /// A flow is no longer followed where its amount, in whole units, is below this and its share is
    /// below `trace.stopBelowShareMillionths` too.
    #[serde(default)]
    pub stop_trace_below: Quantity,
}

/// One point of a curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CurvePoint {
    /// The amount in whole units.
    pub amount: Quantity,
    /// The score it is worth.
    pub score: Score,
}

impl Default for PolicySpec {
    fn default() -> Self {
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
            minimum_score_rules: MinimumScoreRules::default(),
            amounts: default_amounts(),
            trace: TraceSpec::default(),
        }
    }
}

/// Dollars, and where no price is known native coins in round numbers of about the same worth: they
/// need only tell a purse from a fortune, and a policy may set its own.
fn default_amounts() -> BTreeMap<String, AmountRules> {
    let rules = |first: u64, hundredths: bool| {
        let quantity = |whole: u64| {
            let text = if hundredths {
                format!("{}.{:02}", whole / 100, whole % 100)
            } else {
                whole.to_string()
            };
            text.parse().unwrap_or_default()
        };
        let point = |amount, points| CurvePoint { amount, score: Score::from_points(points) };
        AmountRules {
            curve: vec![
                point(quantity(first), 25),
                point(quantity(first * 10), 50),
                point(quantity(first * 100), 75),
                point(quantity(first * 1_000), 100),
            ],
            unsolicited_up_to: quantity(first / 10),
            stop_trace_below: quantity(first / 10),
        }
    };
    BTreeMap::from([
        ("USD".into(), rules(10_000, false)),
        ("BTC".into(), rules(10, true)),
        ("LTC".into(), rules(100, false)),
        ("BCH".into(), rules(20, false)),
        ("DOGE".into(), rules(50_000, false)),
        ("DASH".into(), rules(200, false)),
        ("ZEC".into(), rules(100, false)),
    ])
}
