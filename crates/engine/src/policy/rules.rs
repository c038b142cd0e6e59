//! Minimum score rules as a policy's author writes them.
//!
//! - `share`: shares of funds
//! - `schema`: validation rules for the Kubernetes API server
//! - `defaults`: the rules that a policy has unless the policy replaces them
//! - `compiled`: the form in which rules are evaluated

mod compiled;
mod defaults;
mod schema;
mod share;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use compiled::{Alternative, Rule, RuleThresholds, Selection};
pub(super) use defaults::{complete, large_amounts};
pub(super) use schema::rule;
pub use share::{InvalidShare, Share};

use super::Quantity;
use crate::{
    evidence::{Direction, Tier},
    taxonomy::Category,
};

/// Most rules of a policy.
pub(super) const MOST_RULES: usize = 64;
/// Largest number of condition groups in a rule's `anyOf`.
pub(super) const MOST_GROUPS: usize = 8;
/// Most characters of a rule's description.
pub(super) const LONGEST_DESCRIPTION: usize = 300;
/// Most characters of a rule's id.
pub(super) const LONGEST_ID: usize = 63;
/// Largest number of hops that a condition can name.
pub(super) const MOST_HOPS: u8 = 100;
/// Weakest tier of evidence by which a rule may lead to a block.
pub(super) const BLOCK_TIER: Tier = Tier::Investigation;

/// A minimum score rule that every policy has and that no policy can change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedRule {
    /// Identifier in answers, and the code of its reason.
    pub id: &'static str,
    /// Condition under which the rule raises the score to the review threshold.
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

/// A direct dealing of another address of the co-spend cluster with a listed party.
pub const CLUSTER_LISTED_COUNTERPARTY: FixedRule = FixedRule {
    id: "cluster_listed_counterparty",
    description: "Another address of the co-spend cluster dealt directly with a listed party since its listing.",
};

/// A large part of the coins that the address holds is severe funds.
pub const SEVERE_HELD: FixedRule = FixedRule {
    id: "severe_funds_held",
    description: "A tenth or more of the coins that the address holds comes from severe categories.",
};

/// Funds that others moved from the address to a party that harms payers.
pub const FUNDS_TAKEN: FixedRule = FixedRule {
    id: "funds_taken",
    description: "Funds of the address went to a party that steals, extorts or deceives, in a transaction that the \
                  address did not send.",
};

/// Tokens that moved between the address and a listed party in a transaction that the address sent.
pub const LISTED_TOKEN_DEALING: FixedRule = FixedRule {
    id: "listed_token_dealing",
    description: "The address sent a transaction that moved tokens, whose money is not followed, to or from a party on a \
                  sanctions list.",
};

/// The rules that every policy has.
pub const FIXED_RULES: [FixedRule; 7] = [
    LISTED_ADVISORY,
    LISTING_RECENTLY_EXPIRED,
    CLUSTER_LISTED,
    CLUSTER_LISTED_COUNTERPARTY,
    SEVERE_HELD,
    FUNDS_TAKEN,
    LISTED_TOKEN_DEALING,
];

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
    /// The address sent funds to a party that steals, extorts or deceives, or got back from such a party what it had
    /// sent before.
    PossibleVictim,
    /// The address has any other dealing with the party.
    Counterparty,
}

impl Role {
    /// Categories whose payers are possible victims.
    pub const HARMS_PAYERS: [Category; 5] = [
        Category::StolenFunds,
        Category::Scam,
        Category::PhishingDrainer,
        Category::Ransomware,
        Category::ExtortionSextortion,
    ];

    /// The role towards a party of a category, with which funds moved in a direction. `is_paid_back` is true for funds
    /// that came directly from a party to which the address had sent at least as much before.
    #[must_use]
    pub fn towards(category: Category, direction: Direction, is_paid_back: bool) -> Self {
        let is_loss = is_paid_back || direction == Direction::Destination;
        if is_loss && Self::HARMS_PAYERS.contains(&category) {
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

/// Adds the fields of the conditions to a struct with further fields.
macro_rules! with_conditions {
    ($(#[$meta:meta])* pub struct $name:ident { $($own:tt)* }) => {
        $(#[$meta])*
        pub struct $name {
            $($own)*
            /// Categories of the parties, such as `mixer`: funds count if the endpoint of the trace or a label on the
            /// path attributes them to one of these categories. Not together with `severityFrom`.
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            #[schemars(schema_with = "schema::categories")]
            pub categories: Vec<String>,
            /// Lowest severity of the parties' categories, 1 to 100, instead of the categories' names.
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
            /// Role of the address: `possible_victim` for funds sent to stolen funds, scams, phishing, ransomware or
            /// extortion, and for as much as came back from such a party, `counterparty` for all other funds. Default:
            /// both.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[schemars(with = "Role")]
            pub role: Option<Role>,
            /// Counts funds of parties on a list in force only, and of these funds the amount that moved on the day of
            /// the listing or later; the whole amount if that day is not known. Default `false`.
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
            #[schemars(schema_with = "schema::amounts")]
            pub amount_from: BTreeMap<String, Quantity>,
        }

        impl $name {
            /// The rule's conditions without the conditions of the rule's groups.
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
    #[schemars(extend("x-kubernetes-validations" = schema::rule_checks()))]
    pub struct RuleSpec {
        /// Identifier in answers: 1 to 63 lowercase letters, digits and underscores, a letter first. The id of a
        /// default rule replaces that rule.
        #[schemars(schema_with = "schema::id")]
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
        /// Groups of further conditions, of which at least one group must hold.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[schemars(length(min = 1, max = MOST_GROUPS))]
        pub any_of: Vec<ConditionGroup>,
    }
}

with_conditions! {
    /// Conditions that must all hold, in addition to those of the rule.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    #[schemars(extend("x-kubernetes-validations" = schema::group_checks()))]
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

/// Conditions that select the funds of certain parties; a rule needs at least one of them.
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

    /// True if at least one condition selects the funds of certain parties.
    pub(super) fn selects(&self) -> bool {
        self.present().iter().any(|name| SELECTING.contains(name))
    }
}

/// True if a text has the form of a rule's id.
pub(super) fn is_id(id: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    (1..=LONGEST_ID).contains(&id.len())
        && id.bytes().all(inner)
        && id.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase())
}
