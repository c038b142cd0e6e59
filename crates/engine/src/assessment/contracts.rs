//! Dealings with contracts as an answer shows them.

use schemars::JsonSchema;
use serde::Serialize;

use super::Amount;
use crate::{
    evidence::{Direction, KeptWay},
    taxonomy::Category,
};

/// Dealings of the address with contracts, and what it holds in them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "ContractUse")]
pub struct AssessedContractUse {
    /// Own money of the address that was exchanged, or that contracts gave back, the largest sums first, at most 10, of the
    /// payments that a check reads one by one. It is no income: it keeps its own history, and what the contract holds is not
    /// the address's.
    pub kept: Vec<AssessedKeptMoney>,
    /// Number of further ones.
    pub further_kept: u64,
    /// Tokens and claims of the address that followed money backs, the largest sums first, at most 10. They change no
    /// score: their money counts when a contract pays it out.
    pub holdings: Vec<AssessedHolding>,
    /// Number of tokens and claims that are not in `holdings`.
    pub further_holdings: u64,
    /// Money that contracts paid beyond what anybody is known to have put in for the address, by unit. It has the origins of
    /// what is left in the contract.
    pub contract_pool: Vec<ContractPool>,
    /// Transfers between the address and parties on sanctions lists of tokens whose money is not followed, since the listing
    /// where its day is known; at most 10.
    pub token_dealings: Vec<AssessedTokenDealing>,
}

/// A contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ContractParty {
    /// Address of the contract.
    pub address: String,
    /// Name of the contract by lists and labels; null if it has none.
    pub entity: Option<String>,
}

/// Own money that a contract exchanged or gave back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "KeptMoney")]
pub struct AssessedKeptMoney {
    /// The way in which the money was kept.
    pub way: KeptWay,
    /// The contract that paid, or the person with whom the address exchanged within one transaction.
    pub via: ContractParty,
    /// Amounts that the address gave in exchange.
    pub gave: Vec<Amount>,
    /// Amounts that it got.
    pub got: Vec<Amount>,
    /// Number of payments by the contract.
    pub payments: u64,
    /// Explanation for people.
    pub detail: String,
    /// Transactions with the largest payments, at most 5.
    pub transactions: Vec<String>,
}

/// A token or claim with the money that backs it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "ContractHolding")]
pub struct AssessedHolding {
    /// Kind of the holding.
    pub kind: HoldingKind,
    /// Address of the token's contract; null for a claim.
    pub token: Option<String>,
    /// The contract into which the money was paid; null if it is not known.
    pub contract: Option<ContractParty>,
    /// The money, by asset.
    pub backing: Vec<HoldingBacking>,
    /// Explanation for people.
    pub detail: String,
}

/// Kind of a holding beside scored assets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HoldingKind {
    /// A token outside the table of scored assets, such as a receipt for a deposit.
    Token,
    /// A claim on what a contract holds, without a token.
    Claim,
}

/// Money in one asset that backs a holding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HoldingBacking {
    /// Amount of the money.
    pub amount: Amount,
    /// Share of the amount that is of severe categories, as a decimal from 0 to 1.
    pub severe_share: String,
    /// False for what the address put in; true for what others put in for it, or paid for the token. Anybody can put in for
    /// anybody: such money is received only when it is paid out.
    pub of_others: bool,
}

/// Money that contracts paid beyond what anybody is known to have put in for the address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ContractPool {
    /// The sum.
    pub amount: Amount,
    /// Share of all that the address received in the unit, as a decimal from 0 to 1.
    pub share: String,
    /// Transactions with the largest payments, at most 5.
    pub transactions: Vec<String>,
}

/// Transfers of tokens with a listed party in one direction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "TokenDealing")]
pub struct AssessedTokenDealing {
    /// Address of the party.
    pub party: String,
    /// Name of the party.
    pub entity: Option<String>,
    /// Category of the party.
    pub category: Category,
    /// Direction of the tokens.
    pub direction: Direction,
    /// True if the address sent one of the transactions: then the rule `listed_token_dealing` fires, except for services.
    pub initiated: bool,
    /// Addresses of the tokens' contracts, at most 5.
    pub tokens: Vec<String>,
    /// The newest of the transactions, at most 5.
    pub transactions: Vec<String>,
}
