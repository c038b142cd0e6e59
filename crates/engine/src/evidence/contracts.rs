//! Dealings of a subject with contracts on an account chain (`docs/model/accounts.md` C9).

use std::{collections::BTreeMap, sync::Arc};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{evidence::Direction, taxonomy::Category};

/// Dealings of a subject with contracts, and what it holds in them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContractUse {
    /// The subject's own money that contracts exchanged or gave back, the largest sums first.
    pub kept: Vec<KeptMoney>,
    /// Number of contracts that exchanged or gave back smaller sums than those in `kept`.
    pub further_kept: u64,
    /// Tokens and claims of the subject that scored money backs, the largest sums first.
    pub holdings: Vec<ContractHolding>,
    /// Number of tokens and claims with smaller sums than those in `holdings`.
    pub further_holdings: u64,
    /// Transfers of tokens outside the table of scored assets between the subject and listed parties.
    pub token_dealings: Vec<TokenDealing>,
}

/// A contract, as the chain writes its address, with its name by lists and labels.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NamedContract {
    /// Its address.
    pub address: String,
    /// Its name, if known.
    pub name: Option<Arc<str>>,
}

/// The way in which a contract left a subject its own money.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum KeptWay {
    /// The contract gave another asset for it.
    Exchanged,
    /// The contract gave back what the subject had put in.
    Returned,
}

/// Own money of a subject that one contract exchanged or gave back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptMoney {
    /// The way.
    pub way: KeptWay,
    /// The contract that paid, or the person.
    pub via: NamedContract,
    /// True if the payer is a contract.
    pub is_contract: bool,
    /// Amounts that the subject gave in exchange, in base units, by ticker.
    pub gave: BTreeMap<String, u128>,
    /// Amounts that it got, in base units, by ticker.
    pub got: BTreeMap<String, u128>,
    /// Number of payments by the contract.
    pub payments: u64,
    /// The transactions with the largest payments.
    pub transactions: Vec<String>,
}

/// A token or a claim of a subject, with the money that backs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContractHolding {
    /// Address of the token's contract; `None` for a claim.
    pub token: Option<String>,
    /// The contract into which the money was paid, if it is known.
    pub contract: Option<NamedContract>,
    /// The money, by asset.
    pub backing: Vec<BackingMoney>,
}

/// Money in one asset that backs a token or a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackingMoney {
    /// Ticker of the asset.
    pub asset: String,
    /// Amount in base units.
    pub amount: u128,
    /// Part of the amount that is of severe origins, in millionths, rounded up.
    pub severe: u32,
    /// True for money that others put in, or paid for the token, and false for what the subject put in.
    pub is_of_others: bool,
}

/// Money that contracts paid a subject beyond what anybody is known to have put in for it, in one unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExcessMoney {
    /// Name of the unit.
    pub unit: String,
    /// Decimals of the unit, for showing amounts.
    pub decimals: u8,
    /// The sum, in the unit as it is shown.
    pub amount: u128,
    /// All that the subject received in the unit.
    pub received: u128,
    /// The transactions with the largest payments.
    pub transactions: Vec<String>,
}

/// Transfers of tokens outside the table of scored assets between a subject and one listed party, in one direction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenDealing {
    /// Address of the party.
    pub party: String,
    /// Name of the party, if known.
    pub entity: Option<Arc<str>>,
    /// Category of the party.
    pub category: Category,
    /// Direction of the tokens: from the party as their source, or to it.
    pub direction: Direction,
    /// True if the subject sent one of the transactions.
    pub is_initiated: bool,
    /// Addresses of the tokens' contracts, or their numbers.
    pub tokens: Vec<String>,
    /// The newest transactions; those that the subject sent, if it sent any.
    pub transactions: Vec<String>,
}
