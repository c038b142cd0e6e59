//! The spec of a risk policy, with its defaults.

use std::collections::{BTreeMap, BTreeSet};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Quantity, SAME_KEY_SCORE, Share,
    rules::{MOST_RULES, RuleSpec, rule},
};
use crate::{
    evidence::{ALWAYS_BLOCKING, Pattern},
    names::{ListId, SourceId},
    score::{HalfLife, Score},
    taxonomy::Category,
};

/// Keyword of schemas for validation rules (CEL) that the Kubernetes API server evaluates.
const RULES: &str = "x-kubernetes-validations";

/// The validation rule that one field is less than another field.
fn rising(low: &str, high: &str) -> Value {
    let sentence = format!("must be above {low}: thresholds rise strictly");
    rule(&format!(".{high}"), &format!("self.{low} < self.{high}"), &sentence)
}

/// The validation rule that weaker evidence has no higher cap than stronger evidence.
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

/// A risk policy: severities, thresholds, effects of lists and depth of tracing. Each field has a default.
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
    /// Severities of categories, 0 to 100, that differ from the defaults, such as `mixer: 80`.
    #[schemars(schema_with = "category_severities")]
    pub severities: BTreeMap<String, u8>,
    /// Severities of behavior patterns, 0 to 100, that differ from the defaults, such as `peel_chain: 45`.
    #[schemars(schema_with = "pattern_severities")]
    pub pattern_severities: BTreeMap<String, u8>,
    /// Lowest scores of risk levels and verdicts.
    pub thresholds: Thresholds,
    /// Number of hops after which the weight of indirect exposure is halved, with at most one decimal. Default 2.4.
    pub half_life_hops: HalfLife,
    /// Severity, 0 to 100, from which distance does not lower the score of a category's funds below 59.9: such funds
    /// lead to a review after any number of hops. Default 80.
    #[schemars(range(max = 100))]
    pub undecayed_from: u8,
    /// Highest scores that evidence of a tier and of weaker tiers can reach together.
    pub tier_caps: TierCaps,
    /// Effects of sanctions lists, by name of the list, such as `il-nbctf: blocking`. `blocking`: a listed address gets
    /// the verdict `block`; `advisory`: its score is raised to the review threshold. The lists of OFAC (SDN), the UK,
    /// the EU and the UN are always `blocking`; every other list is `advisory` unless this field names it.
    #[schemars(schema_with = "lists")]
    pub lists: BTreeMap<ListId, ListEffect>,
    /// Lists and label sources that must be present and fresh; otherwise the verdict `allow` becomes `indeterminate`.
    /// Default: `ofac-sdn`.
    #[schemars(
        length(min = 1, max = 64),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"])
    )]
    pub mandatory_sources: Vec<MandatorySource>,
    /// Texts on blocking lists, exactly as published, that are no addresses of the chain for which the list states them,
    /// and that you have examined. Each other such text makes the checks of its chain incomplete, because a check cannot
    /// match it.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    #[schemars(length(max = 256), inner(length(min = 1, max = 1024)))]
    pub accepted_texts: BTreeSet<String>,
    /// Requires flows of funds: an address on a chain without a source gets `indeterminate` instead of `allow`. Default
    /// `false`.
    pub flows_required: bool,
    /// Smallest share of the funds received, such as `50%`, whose origin must have been found for an `allow`; with a
    /// smaller share, the verdict is `indeterminate`. Default: any share suffices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum_traced: Option<Share>,
    /// Largest share of the funds of a direction, such as `20%`, that may be unread because a trace stopped at a limit
    /// (`trace_limit`) for an `allow`; with a larger share, the verdict is `indeterminate`. Default: any share, because
    /// funds of honest receivers also come from more transactions than the limits permit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maximum_unread: Option<Share>,
    /// Minimum score rules, beside the default ones: each raises the score to the threshold of its verdict if all
    /// its conditions hold. A rule with the id of a default rule replaces it; `enabled: false` switches it off.
    /// The defaults are `direct_listed_counterparty`, `severe_category_exposure`, `direct_mixing` and
    /// `direct_illicit_income`; `GET /api/v1/signals` lists the rules in force.
    #[schemars(
        length(max = MOST_RULES),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["id"])
    )]
    pub rules: Vec<RuleSpec>,
    /// Scores of absolute amounts, by unit: `USD`, or an asset's ticker such as `BTC`, which applies where no
    /// price is known.
    #[schemars(schema_with = "amounts")]
    pub amounts: BTreeMap<String, AmountRules>,
    /// Limits of tracing funds. A plan can set lower limits.
    pub trace: TraceSpec,
}

/// Limits of tracing funds. The tenant's plan may set lower limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct TraceSpec {
    /// Most hops from the address; 1 covers direct counterparties only. Default: no limit, because a limit hides
    /// parties that pass funds on often enough.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 255))]
    pub hops: Option<u8>,
    /// Share of all funds of a direction, in millionths, below which a flow is not followed further, as long as all
    /// such flows together are at most 1 % and below `stopTraceBelow` of their unit. The share is rounded to a power of
    /// two. Default 61 (2^-14).
    #[schemars(range(max = 100_000))]
    pub stop_below_share_millionths: u32,
    /// Most transactions that a trace passes in each direction. Default 100000.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub transactions: u32,
    /// Most transactions that a trace passes towards sources if the compositions (breakdowns by origin) of the
    /// following transactions are known (`docs/model/compositions.md`): these compositions divide the remaining funds.
    /// No effect if a category's severity differs from the default. Default 300.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub source_transactions: u32,
    /// Most inputs and outputs of the passed transactions that a trace reads in each direction. Default 1000000.
    #[schemars(range(min = 1, max = 10_000_000))]
    pub entries: u32,
    /// Most transfers of the address itself that a trace reads in each direction, largest first. Default 1000000.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub transfers_per_address: u32,
}

impl Default for TraceSpec {
    fn default() -> Self {
        Self {
            hops: None,
            stop_below_share_millionths: 61,
            transactions: 100_000,
            source_transactions: 300,
            entries: 1_000_000,
            transfers_per_address: 1_000_000,
        }
    }
}

impl TraceSpec {
    /// The stricter of two limits, field by field.
    #[must_use]
    pub fn within(self, ceiling: Self) -> Self {
        Self {
            hops: match (self.hops, ceiling.hops) {
                (Some(hops), Some(ceiling)) => Some(hops.min(ceiling)),
                (hops, ceiling) => hops.or(ceiling),
            },
            stop_below_share_millionths: self
                .stop_below_share_millionths
                .max(ceiling.stop_below_share_millionths),
            transactions: self.transactions.min(ceiling.transactions),
            source_transactions: self.source_transactions.min(ceiling.source_transactions),
            entries: self.entries.min(ceiling.entries),
            transfers_per_address: self.transfers_per_address.min(ceiling.transfers_per_address),
        }
    }
}

/// Lowest scores of risk levels and verdicts, 0 to 100 with at most one decimal.
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
    /// Lowest score of the risk level `medium`. Default 25.
    pub medium: Score,
    /// Lowest score of the risk level `high`. Default 50.
    pub high: Score,
    /// Lowest score of the risk level `severe`. Default 75.
    pub severe: Score,
    /// Lowest score of the verdict `review`. Default 50.
    pub review: Score,
    /// Lowest score of the verdict `block`. Default 75.
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

/// Highest scores that evidence of a tier and of weaker tiers can reach together. Official lists and on-chain
/// proof are not capped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(extend("x-kubernetes-validations" = [
    weaker("community", "investigation"),
    weaker("heuristic", "community"),
    weaker("behavior", "heuristic"),
]))]
pub struct TierCaps {
    /// Cap of investigations. Default 95.
    pub investigation: Score,
    /// Cap of community reports; below the block threshold. Default 69.9.
    pub community: Score,
    /// Cap of heuristics; below the block threshold. Default 59.9.
    pub heuristic: Score,
    /// Cap of behavior patterns; below the review threshold. Default 49.9.
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

/// Effect of a sanctions list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ListEffect {
    /// An active listing gives the score 100 and the verdict `block`; no other evidence weakens such a listing.
    Blocking,
    /// An active listing raises the score to the review threshold.
    Advisory,
}

/// A sanctions list or label source that must be present and fresh.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MandatorySource {
    /// Name of a sanctions list, which any source may hold, or of a label source.
    #[schemars(with = "SourceId")]
    pub name: String,
    /// Longest time in hours since the list or source was last fetched or confirmed to be unchanged. Default 48.
    #[serde(default = "default_maximum_age_hours")]
    #[schemars(range(min = 1, max = 87_840))]
    pub maximum_age_hours: u32,
}

const fn default_maximum_age_hours() -> u32 {
    48
}

/// Scores of absolute amounts of one unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AmountRules {
    /// Scores of amounts of the riskiest funds, regardless of their share. Between points `score^2.5` is interpolated
    /// linearly, from 0 before the first point; after the last point the score is constant.
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
    /// Largest sum, in whole units, of unsolicited funds of one category that is shown and not scored, if that sum is
    /// also less than 1 % of all funds received. Funds of listed parties are always scored.
    pub unsolicited_up_to: Quantity,
    /// Largest payment, in whole units, that counts as dust, which is shown and not scored. Payments of one sender are
    /// dust up to 20 times this amount in total. Default: a thousandth of `unsolicitedUpTo`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dust_up_to: Option<Quantity>,
    /// Thresholds, in whole units, for the pattern `structuring`: many transfers that are each less than 10 % below
    /// the same threshold. Default: once, three times and ten times `unsolicitedUpTo`, which stand for the 1,000, 3,000
    /// and 10,000 US dollars of reporting rules. An empty list: structuring is not searched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 4))]
    pub structuring_below: Option<Vec<Quantity>>,
    /// Amount, in whole units, below which a flow is not followed further, if the flow's share is also below
    /// `trace.stopBelowShareMillionths`. Default 0.
    #[serde(default)]
    pub stop_trace_below: Quantity,
}

/// A point of the amount curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CurvePoint {
    /// Amount in whole units, such as `0.01` or `1000`.
    pub amount: Quantity,
    /// Score of that amount, 0 to 100 with at most one decimal.
    pub score: Score,
}

impl Default for PolicySpec {
    fn default() -> Self {
        Self {
            severities: BTreeMap::new(),
            pattern_severities: BTreeMap::new(),
            thresholds: Thresholds::default(),
            half_life_hops: HalfLife::default(),
            undecayed_from: 80,
            tier_caps: TierCaps::default(),
            lists: BTreeMap::new(),
            mandatory_sources: vec![MandatorySource {
                name: "ofac-sdn".into(),
                maximum_age_hours: default_maximum_age_hours(),
            }],
            accepted_texts: BTreeSet::new(),
            flows_required: false,
            minimum_traced: None,
            maximum_unread: None,
            rules: Vec::new(),
            amounts: default_amounts(),
            trace: TraceSpec::default(),
        }
    }
}

/// The default curves: US dollars, and native coins, which apply where no price is known, in round numbers of about the
/// same value.
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
            dust_up_to: None,
            structuring_below: None,
            stop_trace_below: quantity(first / 10),
        }
    };
    BTreeMap::from([
        ("USD".into(), rules(10_000, false)),
        ("BTC".into(), rules(10, true)),
        ("LTC".into(), rules(100, false)),
        ("BCH".into(), rules(20, false)),
        ("BSV".into(), rules(400, false)),
        ("BTG".into(), rules(2_000, false)),
        ("DOGE".into(), rules(50_000, false)),
        ("DASH".into(), rules(200, false)),
        ("ZEC".into(), rules(100, false)),
        ("XVG".into(), rules(1_000_000, false)),
    ])
}
