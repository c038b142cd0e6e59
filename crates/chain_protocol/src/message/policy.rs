//! The part of a risk policy that a question states.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The limits of a trace on one chain. Amounts are in base units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TraceRulesMessage {
    /// Maximum number of hops: the last one whose addresses are attributed. `None`: no limit.
    pub hops: Option<u16>,
    /// Share below which money may be cut, in millionths of its direction's total.
    pub stop_below_share_millionths: u32,
    /// Amount that all money that is cut in a direction is below.
    pub stop_trace_below: u128,
    /// Transactions that money passes in each direction.
    pub transactions: u32,
    /// Transactions that money passes towards sources, where the view knows what the following ones are made of.
    pub source_transactions: u32,
    /// Inputs or outputs read in each direction, of all these transactions together.
    pub entries: u32,
    /// Transfers read of an address.
    pub transfers_per_address: u32,
    /// Inputs or outputs read of an address's own transactions together, in each direction.
    pub entries_of_history: u32,
    /// Factor by which each hop but the first lessens the weight of money.
    pub decay: u64,
    /// Severity of joint transactions, 0 to 100.
    pub coinjoin_severity: u8,
    /// Amount from which on a transfer counts as solicited, for any sender.
    pub unsolicited_below: u128,
    /// The largest payment that is dust.
    pub largest_dust: u128,
    /// Paths kept of each part. Paths explain a verdict and do not change it.
    pub paths_per_part: usize,
    /// Rules of the search for behavior patterns, which reads beside the trace.
    #[serde(default)]
    pub patterns: PatternRulesMessage,
}

/// The part of the rules that the policy and the chain set. Amounts are in base units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PatternRulesMessage {
    /// Largest output that is dust.
    pub dust: u128,
    /// Largest sum that counts as little where the owner only receives.
    pub little: u128,
    /// Thresholds below which transfers are structured; 0 stands for none.
    pub thresholds: [u128; 4],
}

/// Direction of a transfer, as the caller sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TransferDirectionMessage {
    /// Funds come to the caller.
    Deposit,
    /// Funds go out from the caller.
    Withdrawal,
}

/// Effect of a sanctions list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ListEffectMessage {
    /// An active listing gives the score 100 and the verdict `block`; no other evidence weakens it.
    Blocking,
    /// An active listing raises the score to the review threshold.
    Advisory,
}
