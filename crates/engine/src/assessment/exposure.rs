//! Flows of funds as an answer shows them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Amount;
use crate::{
    evidence::{Direction, PartyListing, PathStep, Tier, UnresolvedReason},
    score::Confidence,
    taxonomy::Category,
};

/// Funds of one direction that came from, or went to, one party or kind of endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts, each a field of the answer")]
pub struct Exposure {
    /// Direction of the funds.
    pub direction: Direction,
    /// Kind of endpoint: a category, `mining`, `bridge`, `unspent_by_subject` (the address itself holds the funds),
    /// `unspent_downstream` (an address further on the path holds them), `fee`, `returned` (funds of the address that
    /// came back to it; they were counted when they first came, and are not counted again in shares or the score),
    /// `destroyed` (funds sent to an address or script that nobody controls) or `unresolved`.
    pub endpoint_type: &'static str,
    /// Reason for which the funds were not followed to an endpoint; null where the funds were followed to an endpoint.
    pub unresolved_reason: Option<UnresolvedReason>,
    /// Protocol of the joint transaction that the funds passed, if the funds are scored by that transaction.
    pub coinjoin: Option<&'static str>,
    /// Category by which the funds are scored: that of the endpoint, or of a label on the path that weighs
    /// more.
    pub category: Option<Category>,
    /// Name of the entity at the endpoint.
    pub entity: Option<String>,
    /// Entry of the sanctions list that names the entity; null where the entity is not listed, or lies beyond the
    /// trace's last transactions.
    pub listing: Option<PartyListing>,
    /// Amount of the funds.
    pub amount: Amount,
    /// On an account chain, the amounts of each asset in its base units, as far as they are known: further on, only
    /// values are divided. Absent on other chains.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assets: Vec<Amount>,
    /// Share of all funds of the direction without `returned` funds, as a decimal from 0 to 1; 0 for `returned` funds.
    pub share: String,
    /// Part of the amount that moved in the last 90 days.
    pub recent_amount: Amount,
    /// Greatest sum of the funds that was outstanding with the direct counterparty at any time, if funds went round: as
    /// much lowers the shares by which other funds are scored. Null where that is the whole amount.
    pub outstanding: Option<Amount>,
    /// Part of the amount that moved before the party was listed; null where the party is not listed or the day is not
    /// known.
    pub before_listing: Option<Amount>,
    /// Part of the amount that moved on the day of the listing or later.
    pub since_listing: Option<Amount>,
    /// Fewest hops to the endpoint: 1 is direct, 0 stands for funds that the address itself holds. Null if the endpoint
    /// lies beyond the trace's last transactions.
    pub hops: Option<u16>,
    /// Number of transactions that the trace passed before it stopped; null unless the endpoint lies beyond its last
    /// transactions. The amount is then computed from the compositions (breakdowns of a transaction's funds by origin)
    /// of the transactions at which the trace stopped.
    pub further_than_transactions: Option<u32>,
    /// True if the party is a direct counterparty.
    pub direct: bool,
    /// True if the party is on a list in force.
    pub listed: bool,
    /// `false` for funds that an unrelated party sent unsolicited, such as dust.
    pub solicited: bool,
    /// True for funds of risky or listed parties that came unasked, from senders whom the address never paid, and of
    /// which the address moved nothing. Such funds lead to a review at most.
    pub untouched: bool,
    /// True for dust: payments of negligible amounts. Dust counts for the score only if it is risky and, together with
    /// other risky unsolicited funds, exceeds the policy's limit.
    pub dust: bool,
    /// True if the funds count for the score; dust and small sums of unsolicited funds do not.
    pub scored: bool,
    /// Parts of the amount by their attributions, as minimum score rules evaluate them. Funds without a category are in
    /// none of the parts.
    pub parts: Vec<ExposurePart>,
    /// Transactions that show the exposure, those of the largest path first.
    pub transactions: Vec<String>,
    /// Paths with the largest amounts, from the address outwards.
    pub paths: Vec<ExposurePath>,
}

/// Part of an exposure whose funds have the same attributions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExposurePart {
    /// Amount in base units, as a decimal string.
    pub amount: String,
    /// Part of the amount that moved in the last 90 days.
    pub recent_amount: String,
    /// Part of the amount that was outstanding at most, as a decimal string; null where that is the whole amount.
    #[serde(default)]
    pub outstanding: Option<String>,
    /// Part of the amount that moved since the party was listed; null where the party is not listed or the day is not
    /// known.
    pub since_listing: Option<String>,
    /// True if the funds count for the score.
    pub scored: bool,
    /// Attributions: that of the endpoint, and those of labels on the path.
    pub claims: Vec<RuleClaim>,
}

/// Path that funds took.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ExposurePath {
    /// Amount that took the path.
    pub amount: Amount,
    /// Hops of the path, the address's own transaction first.
    pub steps: Vec<PathStep>,
}

/// One attribution of funds.
#[expect(clippy::struct_excessive_bools, reason = "independent facts, each a field of the answer")]
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub struct RuleClaim {
    /// Category of the party.
    pub category: Category,
    /// Strength of the attribution.
    pub tier: Tier,
    /// Hops between the address and the party; 1 is direct. Null if the party lies beyond the trace's last
    /// transactions.
    pub hops: Option<u16>,
    /// True if the party is a direct counterparty.
    pub direct: bool,
    /// True if the party is on a list in force.
    pub listed: bool,
    /// Confidence of the attribution, in percent.
    #[serde(default = "certain")]
    pub confidence: Confidence,
    /// True if the claim is a joint transaction that the funds passed, and not a label of an address.
    #[serde(default)]
    pub joint: bool,
    /// True if the claim is risky and nothing shows that the address asked for the funds. Such claims lead to a review at
    /// most, and rules do not count their funds as recent.
    #[serde(default)]
    pub unasked: bool,
    /// True if the funds came directly from the party, and the address had sent the party at least as much before.
    #[serde(default)]
    pub paid_back: bool,
}

/// Confidence of claims in records of earlier versions, which state no confidence: rules accepted claims of any
/// confidence.
const fn certain() -> Confidence {
    Confidence::CERTAIN
}
