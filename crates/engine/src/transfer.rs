//! One transfer as the subject of an assessment.
//!
//! A deposit is assessed by the origins of its own funds. The receiving address is the caller's own, so its history and
//! labels do not count; a listing of the address does, because no rule weakens a listing. A withdrawal is assessed by
//! its receiver, or by the destinations of its own funds if these are riskier.

use assay_address::{CanonicalAddress, ChainId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    account::{AccountAddress, AccountTransfer, AccountTransferSelector, MoneyUnit},
    evidence::DirectionFlows,
    facts::Facts,
    trace::AttributedEnd,
    utxo::{OutputSelector, Transfer, Txid},
};

/// Direction of a transfer, as the caller sees it.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum TransferDirection {
    /// Funds come to the caller.
    Deposit,
    /// Funds go out from the caller.
    Withdrawal,
}

impl TransferDirection {
    /// The identifier used in answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Deposit => "deposit",
            Self::Withdrawal => "withdrawal",
        }
    }
}

/// A request to assess one transfer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TransferQuery {
    /// The blockchain.
    pub chain: ChainId,
    /// The transaction.
    pub txid: Txid,
    /// Selection of the transfer within the transaction.
    pub selector: TransferSelector,
    /// The direction.
    pub direction: TransferDirection,
}

/// Selection of a transfer within its transaction, by the ledger of the chain.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TransferSelector {
    /// Outputs of the transaction, which make up the transfer.
    Outputs(OutputSelector),
    /// One transfer of a transaction of an account chain.
    OfAccounts(AccountTransferSelector),
}

/// A transfer as its chain has it.
#[derive(Clone, Debug)]
pub enum FoundTransfer {
    /// Outputs with their transaction.
    Outputs(Box<Transfer>),
    /// A transfer of an account chain.
    OfAccounts(Box<FoundAccountTransfer>),
}

/// A transfer of an account chain with the accounts whose money it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundAccountTransfer {
    /// The transfer.
    pub transfer: AccountTransfer,
    /// The accounts whose money it was, with their sums in base units, the largest first; `None` for new units.
    pub senders: Vec<(Option<AccountAddress>, u128)>,
    /// Unit in which the money is assessed.
    pub unit: MoneyUnit,
}

impl FoundTransfer {
    /// The receiver.
    #[must_use]
    pub fn receiver(&self) -> &CanonicalAddress {
        match self {
            Self::Outputs(transfer) => &transfer.receiver,
            Self::OfAccounts(found) => &found.transfer.receiver,
        }
    }
}

/// The facts about a transfer, gathered before the transfer is assessed.
#[derive(Clone, Debug)]
pub struct TransferFacts {
    /// The direction.
    pub direction: TransferDirection,
    /// The transfer.
    pub transfer: FoundTransfer,
    /// Attributions of the senders, in their order ([`Transfer::senders`], [`FoundAccountTransfer::senders`]).
    pub senders: Vec<Option<AttributedEnd>>,
    /// The facts about the receiver. For a deposit, the facts hold only the receiver's listings, and the origins of
    /// this transfer's funds as the flows.
    pub receiver: Facts,
    /// The destinations of this transfer's funds, for a withdrawal.
    pub destinations: Option<DirectionFlows>,
    /// Height of the newest known block.
    pub tip_height: u64,
}
