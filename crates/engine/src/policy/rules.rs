//! Minimum score rules: the spec that a policy's author writes, the defaults, and the form in which they
//! are evaluated.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    str::FromStr,
};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};

use super::{Quantity, spec::rule as cel};
use crate::{
    evidence::{Direction, Tier},
    taxonomy::Category,
};

/// Most rules of a policy.
pub(super) const MOST_RULES: usize = 64;
/// Most groups of a rule's `anyOf`.
pub(super) const MOST_GROUPS: usize = 8;
/// Most characters of a rule's description.
pub(super) const LONGEST_DESCRIPTION: usize = 300;
/// Most characters of a rule's id.
pub(super) const LONGEST_ID: usize = 63;
/// Most hops of a condition.
pub(super) const MOST_HOPS: u8 = 100;
/// Weakest tier of evidence by which a rule may lead to a block.
pub(super) const BLOCK_TIER: Tier = Tier::Investigation;

/// A minimum score rule that every policy has: it rests on listings of the address or of its cluster, and no
/// policy changes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedRule {
    /// Identifier in answers, and the code of its reason.
    pub id: &'static str,
    /// Situation in which the rule raises the score to the review threshold.
    pub description: &'static str,
}

/// An active listing on an advisory list.
pub const LISTED_ADVISORY: FixedRule =
    FixedRule { id: "listed_advisory", description: "The address is on an advisory list." };
/// A listing that expired within 90 days.
pub const LISTING_RECENTLY_EXPIRED: FixedRule = FixedRule {
    id: "listing_recently_expired",
    description: "A listing of the address expired within the last 90 days.",
};
/// A co-spend cluster that holds an active listing.
pub const CLUSTER_LISTED: FixedRule = FixedRule {
    id: "cluster_listed",
    description: "The co-spend cluster of the address contains a listed address.",
};

/// The rules that every policy has.
pub const FIXED_RULES: [FixedRule; 3] = [LISTED_ADVISORY, LISTING_RECENTLY_EXPIRED, CLUSTER_LISTED];

/// A share of funds, written as a percentage with up to four decimals, such as `10%` or `2.5%`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Share(u32);

/// A text that is no share.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no share: write a percentage above 0% and up to 100%, such as 10% or 2.5%")]
pub struct InvalidShare(String);

impl Share {
    /// All of the funds, in millionths.
    pub const WHOLE: u32 = 1_000_000;

    /// A share of whole percent; anything above 100 counts as 100.
    #[must_use]
    pub const fn from_percent(percent: u8) -> Self {
        Self(if percent > 100 { Self::WHOLE } else { percent as u32 * 10_000 })
    }

    /// The share in millionths.
    #[must_use]
    pub const fn millionths(self) -> u32 {
        self.0
    }
}

impl FromStr for Share {
    type Err = InvalidShare;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let invalid = || InvalidShare(text.chars().take(32).collect());
        let number = text.strip_suffix('%').ok_or_else(invalid)?;
        let (whole, decimals) = number.split_once('.').unwrap_or((number, "0"));
        let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if !(1..=3).contains(&whole.len())
            || !(1..=4).contains(&decimals.len())
            || !digits(whole)
            || !digits(decimals)
        {
            return Err(invalid());
        }
        let whole: u32 = whole.parse().map_err(|_| invalid())?;
        let decimals: u32 = format!("{decimals:0<4}").parse().map_err(|_| invalid())?;
        let millionths = whole * 10_000 + decimals;
        if (1..=Self::WHOLE).contains(&millionths) { Ok(Self(millionths)) } else { Err(invalid()) }
    }
}

impl fmt::Display for Share {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, decimals) = (self.0 / 10_000, self.0 % 10_000);
        if decimals == 0 {
            return formatter.pad(&format!("{whole}%"));
        }
        let decimals = format!("{decimals:04}");
        formatter.pad(&format!("{whole}.{}%", decimals.trim_end_matches('0')))
    }
}

impl Serialize for Share {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Share {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = match Value::deserialize(deserializer)? {
            Value::String(text) => text,
            other => other.to_string(),
        };
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Share {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Share".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "maxLength": 9,
            "x-kubernetes-validations": [{
                "rule": "self.matches('^(100([.]0{1,4})?|[0-9]{1,2}([.][0-9]{1,4})?)%$') \
                    && self.matches('[1-9]')",
                "message": "write a percentage above 0% and up to 100%, such as 10% or 2.5%",
            }],
        })
    }
}

/// Verdict that a rule leads to at least.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RuleVerdict {
    /// The score is raised to the review threshold.
    #[default]
    Review,
    /// The score is raised to the block threshold; to just below it if the rule fires only with evidence that is
    /// weaker than the tier `investigation`.
    Block,
}

impl RuleVerdict {
    /// The identifier used in policies and answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Review => "review",
            Self::Block => "block",
        }
    }
}

/// Role of the address towards the party at the other side of the funds.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The address sent funds to a party that steals, extorts or deceives.
    PossibleVictim,
    /// The address has any other dealing with the party.
    Counterparty,
}

impl Role {
    /// Categories whose payers are possible victims.
    const HARMS_PAYERS: [Category; 5] = [
        Category::StolenFunds,
        Category::Scam,
        Category::PhishingDrainer,
        Category::Ransomware,
        Category::ExtortionSextortion,
    ];

    /// The role towards a party of a category, with which funds moved in a direction.
    #[must_use]
    pub fn towards(category: Category, direction: Direction) -> Self {
        if direction == Direction::Destination && Self::HARMS_PAYERS.contains(&category) {
            Self::PossibleVictim
        } else {
            Self::Counterparty
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
const fn is_false(value: &bool) -> bool {
    !*value
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
const fn is_true(value: &bool) -> bool {
    *value
}

const fn enabled() -> bool {
    true
}

/// Adds the conditions to a struct that has them beside fields of its own.
macro_rules! with_conditions {
    ($(#[$meta:meta])* pub struct $name:ident { $($own:tt)* }) => {
        $(#[$meta])*
        pub struct $name {
            $($own)*
            /// Categories of the parties, such as `mixer`: funds count that are attributed to one of them by the
            /// endpoint of the trace or by a label on the path. Not together with `severityFrom`.
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            #[schemars(schema_with = "categories")]
            pub categories: Vec<String>,
            /// Lowest severity of the categories, 1 to 100, instead of their names.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[schemars(with = "u8", range(min = 1, max = 100))]
            pub severity_from: Option<u8>,
            /// Direction of the funds: `source` for received, `destination` for sent. Default: each direction by
            /// itself.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[schemars(with = "Direction")]
            pub direction: Option<Direction>,
            /// Counts direct counterparties only. Not together with `hopsUpTo`. Default `false`.
            #[serde(default, skip_serializing_if = "is_false")]
            pub direct: bool,
            /// Most hops between the address and the party, 1 to 100; 1 is direct.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[schemars(with = "u8", range(min = 1, max = MOST_HOPS))]
            pub hops_up_to: Option<u8>,
            /// Weakest tier of the attribution. Default: every tier.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[schemars(with = "Tier")]
            pub tier_from: Option<Tier>,
            /// Role of the address: `possible_victim` for funds sent to stolen funds, scams, phishing, ransomware
            /// or extortion, `counterparty` for all others. Default: both.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[schemars(with = "Role")]
            pub role: Option<Role>,
            /// Counts funds of parties on a list in force only, and of these the amount that moved on the day of
            /// the listing or later; all of it if that day is not known. Default `false`.
            #[serde(default, skip_serializing_if = "is_false")]
            pub since_listing: bool,
            /// Lowest share of all funds of the direction, such as `10%`.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[schemars(with = "Share")]
            pub share_from: Option<Share>,
            /// Lowest share of the funds of the last 90 days, such as `10%`. If less than a tenth of all funds is
            /// recent, the share is reduced in proportion.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[schemars(with = "Share")]
            pub recent_share_from: Option<Share>,
            /// Lowest part of all funds of the direction that moved in the last 90 days, such as `25%`, whatever
            /// their attribution.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[schemars(with = "Share")]
            pub recent_part_from: Option<Share>,
            /// Lowest amount in whole units, by unit: `USD` where prices are known, else the ticker of the asset,
            /// such as `BTC: 1`. The condition does not hold in a unit that is not named.
            #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
            #[schemars(schema_with = "amounts")]
            pub amount_from: BTreeMap<String, Quantity>,
        }

        impl $name {
            /// The conditions, apart from the groups.
            pub(super) fn conditions(&self) -> Conditions<'_> {
                Conditions {
                    categories: &self.categories,
                    severity_from: self.severity_from,
                    direction: self.direction,
                    direct: self.direct,
                    hops_up_to: self.hops_up_to,
                    tier_from: self.tier_from,
                    role: self.role,
                    since_listing: self.since_listing,
                    share_from: self.share_from,
                    recent_share_from: self.recent_share_from,
                    recent_part_from: self.recent_part_from,
                    amount_from: &self.amount_from,
                }
            }
        }
    };
}

with_conditions! {
    /// A rule that raises the score if all its conditions hold in one direction of the funds.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    #[schemars(extend("x-kubernetes-validations" = rule_checks()))]
    pub struct RuleSpec {
        /// Identifier in answers: 1 to 63 lowercase letters, digits and underscores, a letter first. The id of a
        /// default rule replaces that rule.
        #[schemars(schema_with = "id")]
        pub id: String,
        /// Situation in which the rule fires, in one sentence: the reason that answers give. At most 300
        /// characters.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        #[schemars(length(max = LONGEST_DESCRIPTION))]
        pub description: String,
        /// `false` switches the rule off, a default rule too. Default `true`.
        #[serde(default = "enabled", skip_serializing_if = "is_true")]
        pub enabled: bool,
        /// Verdict that the rule leads to at least: `review` or `block`. `block` needs evidence of the tier
        /// `investigation` or stronger: with weaker evidence the score ends just below the block threshold.
        /// Default `review`.
        #[serde(default)]
        pub verdict: RuleVerdict,
        /// Groups of further conditions, of which one must hold.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[schemars(length(min = 1, max = MOST_GROUPS))]
        pub any_of: Vec<ConditionGroup>,
    }
}

with_conditions! {
    /// Conditions that all hold, beside those of the rule.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    #[schemars(extend("x-kubernetes-validations" = group_checks()))]
    pub struct ConditionGroup {}
}

impl Default for RuleSpec {
    fn default() -> Self {
        Self {
            id: String::new(),
            description: String::new(),
            enabled: true,
            verdict: RuleVerdict::default(),
            any_of: Vec::new(),
            categories: Vec::new(),
            severity_from: None,
            direction: None,
            direct: false,
            hops_up_to: None,
            tier_from: None,
            role: None,
            since_listing: false,
            share_from: None,
            recent_share_from: None,
            recent_part_from: None,
            amount_from: BTreeMap::new(),
        }
    }
}

/// The conditions of a rule or of one of its groups, by reference.
#[derive(Clone, Copy, Debug)]
pub(super) struct Conditions<'a> {
    pub(super) categories: &'a [String],
    pub(super) severity_from: Option<u8>,
    pub(super) direction: Option<Direction>,
    pub(super) direct: bool,
    pub(super) hops_up_to: Option<u8>,
    pub(super) tier_from: Option<Tier>,
    pub(super) role: Option<Role>,
    pub(super) since_listing: bool,
    pub(super) share_from: Option<Share>,
    pub(super) recent_share_from: Option<Share>,
    pub(super) recent_part_from: Option<Share>,
    pub(super) amount_from: &'a BTreeMap<String, Quantity>,
}

/// Names of the conditions in manifests, in the order of [`Conditions::present`].
const CONDITIONS: [&str; 12] = [
    "categories",
    "severityFrom",
    "direction",
    "direct",
    "hopsUpTo",
    "tierFrom",
    "role",
    "sinceListing",
    "shareFrom",
    "recentShareFrom",
    "recentPartFrom",
    "amountFrom",
];

/// Conditions of which one at least selects the funds of certain parties.
const SELECTING: [&str; 4] = ["categories", "severityFrom", "role", "sinceListing"];

impl Conditions<'_> {
    /// Names of the conditions that are set.
    pub(super) fn present(&self) -> Vec<&'static str> {
        let set = [
            !self.categories.is_empty(),
            self.severity_from.is_some(),
            self.direction.is_some(),
            self.direct,
            self.hops_up_to.is_some(),
            self.tier_from.is_some(),
            self.role.is_some(),
            self.since_listing,
            self.share_from.is_some(),
            self.recent_share_from.is_some(),
            self.recent_part_from.is_some(),
            !self.amount_from.is_empty(),
        ];
        CONDITIONS.into_iter().zip(set).filter(|(_, set)| *set).map(|(name, _)| name).collect()
    }

    /// True if a condition selects the funds of certain parties.
    pub(super) fn selects(&self) -> bool {
        self.present().iter().any(|name| SELECTING.contains(name))
    }
}

/// A rule as it is evaluated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Identifier in answers.
    pub id: String,
    /// Situation in which the rule fires, in one sentence.
    pub description: String,
    /// Verdict that the rule leads to at least.
    pub verdict: RuleVerdict,
    /// Combinations of conditions of which one must hold: one for each group, or one if there are none.
    pub alternatives: Vec<Alternative>,
}

/// Conditions that all hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Alternative {
    /// Direction of the funds; `None` for each of both.
    pub direction: Option<Direction>,
    /// Conditions of the parts of the flows that are summed up.
    pub selection: Selection,
    /// Conditions of the sum.
    pub thresholds: RuleThresholds,
}

/// Conditions of a part of the flows. A part matches if one of its claims meets all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Categories; `None` for any.
    pub categories: Option<BTreeSet<Category>>,
    /// Lowest severity; `None` for any.
    pub severity_from: Option<u8>,
    /// Direct counterparties only.
    pub direct: bool,
    /// Most hops; `None` for any number.
    pub hops_up_to: Option<u8>,
    /// Weakest tier; `None` for any.
    pub tier_from: Option<Tier>,
    /// Role of the subject; `None` for any.
    pub role: Option<Role>,
    /// Parties on a list in force only, since their listing.
    pub since_listing: bool,
}

/// Conditions of the sum of the parts that match.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuleThresholds {
    /// Lowest share of all funds.
    pub share: Option<Share>,
    /// Lowest weighted share of recent funds.
    pub recent_share: Option<Share>,
    /// Lowest part of all funds that is recent.
    pub recent_part: Option<Share>,
    /// Lowest amounts by unit; empty for any.
    pub amounts: BTreeMap<String, Quantity>,
}

impl Rule {
    /// The rule of a spec that was checked.
    pub(super) fn compile(spec: &RuleSpec) -> Self {
        let own = Alternative::default().and(spec.conditions());
        let groups = spec.any_of.iter().map(|group| own.clone().and(group.conditions()));
        let alternatives: Vec<_> = groups.collect();
        Self {
            id: spec.id.clone(),
            description: spec.description.clone(),
            verdict: spec.verdict,
            alternatives: if alternatives.is_empty() { vec![own] } else { alternatives },
        }
    }

    /// True if the rule is one of the defaults, or replaces it.
    #[must_use]
    pub fn default_id(&self) -> Option<&'static str> {
        DEFAULT_IDS.into_iter().find(|id| *id == self.id)
    }
}

impl Alternative {
    fn and(mut self, conditions: Conditions<'_>) -> Self {
        let selection = &mut self.selection;
        if !conditions.categories.is_empty() {
            let parsed = conditions.categories.iter().filter_map(|id| id.parse().ok());
            selection.categories = Some(parsed.collect());
        }
        selection.severity_from = conditions.severity_from.or(selection.severity_from);
        selection.direct |= conditions.direct;
        selection.hops_up_to = conditions.hops_up_to.or(selection.hops_up_to);
        selection.tier_from = conditions.tier_from.or(selection.tier_from);
        selection.role = conditions.role.or(selection.role);
        selection.since_listing |= conditions.since_listing;
        self.direction = conditions.direction.or(self.direction);
        let thresholds = &mut self.thresholds;
        thresholds.share = conditions.share_from.or(thresholds.share);
        thresholds.recent_share = conditions.recent_share_from.or(thresholds.recent_share);
        thresholds.recent_part = conditions.recent_part_from.or(thresholds.recent_part);
        if !conditions.amount_from.is_empty() {
            thresholds.amounts.clone_from(conditions.amount_from);
        }
        self
    }
}

const DIRECT_LISTED: &str = "direct_listed_counterparty";
const SEVERE: &str = "severe_category_exposure";
const MIXING: &str = "direct_mixing";
const ILLICIT_INCOME: &str = "direct_illicit_income";

/// Ids of the default rules, which are codes of their reasons too.
const DEFAULT_IDS: [&str; 4] = [DIRECT_LISTED, SEVERE, MIXING, ILLICIT_INCOME];

/// The default rules.
pub(super) fn default_rules() -> Vec<RuleSpec> {
    let names = |categories: &[Category]| categories.iter().map(ToString::to_string).collect();
    let percent = |percent| Some(Share::from_percent(percent));
    vec![
        RuleSpec {
            id: DIRECT_LISTED.into(),
            description: "Direct dealing with a sanctioned party since its listing".into(),
            direct: true,
            since_listing: true,
            ..RuleSpec::default()
        },
        RuleSpec {
            id: SEVERE.into(),
            description: "Exposure to sanctions or severe-crime categories".into(),
            severity_from: Some(90),
            any_of: vec![
                ConditionGroup { share_from: percent(10), ..ConditionGroup::default() },
                ConditionGroup {
                    direct: true,
                    recent_share_from: percent(10),
                    ..ConditionGroup::default()
                },
                ConditionGroup {
                    recent_share_from: percent(10),
                    recent_part_from: percent(25),
                    ..ConditionGroup::default()
                },
                ConditionGroup {
                    direct: true,
                    amount_from: large_amounts(),
                    ..ConditionGroup::default()
                },
                ConditionGroup {
                    share_from: percent(2),
                    amount_from: large_amounts(),
                    ..ConditionGroup::default()
                },
            ],
            ..RuleSpec::default()
        },
        RuleSpec {
            id: MIXING.into(),
            description: "Direct use of mixing services or joint transactions".into(),
            categories: names(&[Category::Mixer, Category::Coinjoin]),
            direct: true,
            any_of: vec![
                ConditionGroup { share_from: percent(10), ..ConditionGroup::default() },
                ConditionGroup { amount_from: large_amounts(), ..ConditionGroup::default() },
            ],
            ..RuleSpec::default()
        },
        RuleSpec {
            id: ILLICIT_INCOME.into(),
            description: "Funds received directly from a darknet market, fraud shop or scam".into(),
            categories: names(&[Category::DarknetMarket, Category::FraudShop, Category::Scam]),
            direction: Some(Direction::Source),
            direct: true,
            share_from: percent(5),
            ..RuleSpec::default()
        },
    ]
}

/// 50,000 US dollars, one bitcoin, and about as much as the former of each other coin, at the round numbers
/// of the default amount curves.
fn large_amounts() -> BTreeMap<String, Quantity> {
    [
        ("USD", 50_000),
        ("BTC", 1),
        ("LTC", 500),
        ("BCH", 100),
        ("DOGE", 250_000),
        ("DASH", 1_000),
        ("ZEC", 500),
    ]
    .map(|(unit, whole)| (unit.to_owned(), Quantity::whole(whole)))
    .into()
}

/// The rules of a policy in one notation: the defaults, each as written or replaced, then the policy's own by
/// id. Of a rule that is switched off only the id of a default stays.
pub(super) fn complete(written: &[RuleSpec]) -> Vec<RuleSpec> {
    let find = |id: &str| written.iter().find(|rule| rule.id == id).cloned();
    let defaults = default_rules().into_iter().map(|default| match find(&default.id) {
        Some(rule) if rule.enabled => rule,
        Some(RuleSpec { id, .. }) => RuleSpec { id, enabled: false, ..RuleSpec::default() },
        None => default,
    });
    let own = |rule: &&RuleSpec| rule.enabled && !DEFAULT_IDS.contains(&rule.id.as_str());
    let mut own: Vec<_> = written.iter().filter(own).cloned().collect();
    own.sort_by(|a, b| a.id.cmp(&b.id));
    let mut complete: Vec<_> = defaults.chain(own).collect();
    for rule in &mut complete {
        let of_groups = rule.any_of.iter_mut().map(|group| &mut group.categories);
        for categories in of_groups.chain([&mut rule.categories]) {
            categories.sort();
            categories.dedup();
        }
    }
    complete
}

/// The form of a rule's id.
pub(super) fn is_id(id: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    (1..=LONGEST_ID).contains(&id.len())
        && id.bytes().all(inner)
        && id.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase())
}

fn id(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string",
        "maxLength": LONGEST_ID,
        "x-kubernetes-validations": [{
            "rule": "self.matches('^[a-z][a-z0-9_]{0,62}$')",
            "message": "an id has 1 to 63 lowercase letters, digits and underscores, a letter first",
        }],
    })
}

fn categories(_: &mut SchemaGenerator) -> Schema {
    let names: Vec<&str> = Category::ALL.iter().map(|category| category.as_str()).collect();
    json_schema!({
        "type": "array",
        "minItems": 1,
        "maxItems": names.len(),
        "items": {"type": "string", "enum": names},
        "x-kubernetes-list-type": "set",
    })
}

fn amounts(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "minProperties": 1,
        "maxProperties": 32,
        "additionalProperties": generator.subschema_for::<Quantity>(),
    })
}

/// What an API server checks of the conditions of a rule or group.
fn condition_checks() -> Vec<Value> {
    vec![
        cel(
            ".categories",
            "!has(self.categories) || !has(self.severityFrom)",
            "names categories beside `severityFrom`: use one of both",
        ),
        cel(
            ".direct",
            "!has(self.direct) || !self.direct || !has(self.hopsUpTo)",
            "contradicts `hopsUpTo`: use one of both",
        ),
        cel(
            ".role",
            "!has(self.role) || self.role != 'possible_victim' || !has(self.direction) \
             || self.direction != 'source'",
            "a possible victim sent the funds: use `direction: destination`, or no direction",
        ),
    ]
}

fn group_checks() -> Value {
    let any: Vec<_> = CONDITIONS.iter().map(|name| format!("has(self.{name})")).collect();
    let mut checks = condition_checks();
    checks.push(json!({"rule": any.join(" || "), "message": "a group needs a condition"}));
    Value::Array(checks)
}

fn rule_checks() -> Value {
    let fixed = FIXED_RULES.map(|rule| rule.id);
    let selects = |of: &str| SELECTING.map(|name| format!("has({of}.{name})")).join(" || ");
    let twice: Vec<_> = CONDITIONS
        .iter()
        .map(|name| format!("!(has(self.{name}) && has(group.{name}))"))
        .chain(
            [
                ("categories", "severityFrom"),
                ("severityFrom", "categories"),
                ("direct", "hopsUpTo"),
                ("hopsUpTo", "direct"),
            ]
            .map(|(own, other)| format!("!(has(self.{own}) && has(group.{other}))")),
        )
        .collect();
    let off = "(has(self.enabled) && !self.enabled)";
    let strong = "['official_list', 'on_chain_proof', 'investigation']";
    let mut checks = condition_checks();
    checks.extend([
        cel(
            ".id",
            &format!("!(self.id in {fixed:?})"),
            "is the id of a rule that every policy has: choose another",
        ),
        cel(
            ".description",
            &format!("{off} || (has(self.description) && size(self.description) > 0)"),
            "needs a sentence: answers give it as the reason",
        ),
        json!({
            "rule": format!(
                "{off} || {} || (has(self.anyOf) && self.anyOf.all(group, {}))",
                selects("self"), selects("group"),
            ),
            "message": "selects no funds: name `categories`, `severityFrom`, `role` or `sinceListing`, in the \
                rule or in every group of `anyOf`",
        }),
        cel(
            ".anyOf",
            &format!("!has(self.anyOf) || self.anyOf.all(group, {})", twice.join(" && ")),
            "repeats or contradicts a condition of the rule: use it in the rule or in the groups",
        ),
        cel(
            ".verdict",
            &format!(
                "!has(self.verdict) || self.verdict != 'block' || ((!has(self.tierFrom) || self.tierFrom \
                 in {strong}) && (!has(self.anyOf) || self.anyOf.all(group, !has(group.tierFrom) \
                 || group.tierFrom in {strong})))"
            ),
            "`block` needs evidence of the tier `investigation` or stronger: raise `tierFrom`, or use `review`",
        ),
    ]);
    Value::Array(checks)
}
