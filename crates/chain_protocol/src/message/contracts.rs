//! Account chains: a subject's dealings with contracts.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Identifier;

/// Dealings of a subject with contracts, and what it holds in them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ContractUseMessage {
    /// The subject's own money that contracts exchanged or gave back, the largest sums first.
    pub kept: Vec<KeptMoneyMessage>,
    /// Number of contracts that exchanged or gave back smaller sums than those in `kept`.
    pub further_kept: u64,
    /// Tokens and claims of the subject that followed money backs, the largest sums first.
    pub holdings: Vec<ContractHoldingMessage>,
    /// Number of tokens and claims with smaller sums than those in `holdings`.
    pub further_holdings: u64,
    /// Transfers of tokens whose money is not followed between the subject and listed parties.
    pub token_dealings: Vec<TokenDealingMessage>,
}

/// A contract with its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NamedContractMessage {
    /// Address of the contract.
    pub address: String,
    /// Name by the server's lists and labels, if known.
    pub name: Option<String>,
}

/// Own money of a subject that one contract exchanged or gave back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KeptMoneyMessage {
    /// `exchanged` or `returned`.
    pub way: Identifier,
    /// The contract that paid, or the person.
    pub via: NamedContractMessage,
    /// True if the payer is a contract.
    pub is_contract: bool,
    /// Amounts that the subject gave in exchange, in base units, by ticker.
    pub gave: BTreeMap<String, u128>,
    /// Amounts that it got, in base units, by ticker.
    pub got: BTreeMap<String, u128>,
    /// Number of payments by the contract.
    pub payments: u64,
    /// Identifiers of the transactions with the largest payments.
    pub transactions: Vec<String>,
}

/// A token or a claim of a subject, with the money that backs it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContractHoldingMessage {
    /// Address of the token's contract; null for a claim.
    pub token: Option<String>,
    /// The contract into which the money was paid; null if it is not known.
    pub contract: Option<NamedContractMessage>,
    /// The money, by asset.
    pub backing: Vec<BackingMoneyMessage>,
}

/// Money in one asset that backs a token or a claim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BackingMoneyMessage {
    /// Ticker of the asset.
    pub asset: String,
    /// Amount in base units.
    pub amount: u128,
    /// Part of the amount that is of severe origins, in millionths, rounded up.
    pub severe: u32,
    /// True for money that others put in, or paid for the token.
    pub is_of_others: bool,
}

/// Money that contracts paid a subject beyond what anybody is known to have put in for it, in one unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExcessMoneyMessage {
    /// Name of the unit: `USD` or a ticker.
    pub unit: String,
    /// Decimals of the unit.
    pub decimals: u8,
    /// The sum.
    pub amount: u128,
    /// All that the subject received in the unit.
    pub received: u128,
    /// Identifiers of the transactions with the largest payments.
    pub transactions: Vec<String>,
}

/// Transfers of tokens whose money is not followed between a subject and one listed party, in one direction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokenDealingMessage {
    /// Address of the party.
    pub party: String,
    /// Name of the party, if known.
    pub entity: Option<String>,
    /// Category of the party.
    pub category: Identifier,
    /// `source` for tokens from the party, `destination` for tokens to it.
    pub direction: Identifier,
    /// True if the subject sent one of the transactions.
    pub is_initiated: bool,
    /// Addresses of the tokens' contracts, or their numbers.
    pub tokens: Vec<String>,
    /// Identifiers of the newest transactions.
    pub transactions: Vec<String>,
}

/// A contract that left a party on a path its own money.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StepViaMessage {
    /// Address of the contract.
    pub address: String,
    /// Name by the server's lists and labels, if known.
    pub entity: Option<String>,
    /// The transaction.
    pub transaction: String,
    /// Asset that the party gave in exchange; null if the contract gave money back.
    pub gave: Option<String>,
}
