//! The part of a risk policy that a question states.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The limits of a trace on one chain. Amounts are in base units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TraceRulesMessage {
    /// Maximum number of hops at which addresses are attributed. null: no limit.
    pub hops: Option<u16>,
    /// Share of the direction's total, in millionths, below which the trace may stop following money.
    pub stop_below_share_millionths: u32,
    /// Limit of all money in a direction that the trace stops following because of small shares.
    pub stop_trace_below: u128,
    /// Maximum number of transactions on the paths in each direction.
    pub transactions: u32,
    /// Maximum number of transactions on the paths towards sources, if the compositions (origin breakdowns) of the
    /// transactions beyond are known.
    pub source_transactions: u32,
    /// Maximum number of inputs or outputs read of all transactions on the paths, in each direction.
    pub entries: u32,
    /// Maximum number of transfers read per address.
    pub transfers_per_address: u32,
    /// Maximum number of inputs or outputs read of an address's own transactions, in each direction.
    pub entries_of_history: u32,
    /// Factor by which each hop after the first reduces the weight of money.
    pub decay: u64,
    /// Severity of joint transactions, 0 to 100.
    pub coinjoin_severity: u8,
    /// Minimum amount of a transfer that counts as solicited from any sender.
    pub unsolicited_below: u128,
    /// Largest payment that counts as dust.
    pub largest_dust: u128,
    /// Minimum amount of severe money for which the money that the subject holds is traced by itself. 0: never.
    #[serde(default)]
    pub held_from: u128,
    /// Maximum number of paths kept per exposure part. Paths explain a verdict and do not change it.
    pub paths_per_part: usize,
    /// Rules of the search for behavior patterns, which reads transactions in addition to the trace.
    #[serde(default)]
    pub patterns: PatternRulesMessage,
}

/// The rules of the pattern search that policy and chain set. Amounts are in base units, on account chains in
/// micro-dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PatternRulesMessage {
    /// Largest output that counts as dust.
    pub dust: u128,
    /// Largest sum that counts as little for an owner that only receives.
    pub little: u128,
    /// Reporting thresholds for structured transfers; 0 for an unused entry.
    pub thresholds: [u128; 4],
}

/// Direction of a transfer from the caller's view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TransferDirectionMessage {
    /// The caller receives the funds.
    Deposit,
    /// The caller sends the funds.
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
