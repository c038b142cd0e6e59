//! Transactions of account chains with their transfers, as files and nodes deliver them: one type for every source.

use std::{fmt, str::FromStr};

use jiff::Timestamp;
use ruint::aliases::U256;

use super::{AccountAddress, Asset};
use crate::utxo::Txid;

/// A transaction with all that it moved. Failed calls are left out; transfers of zero and of any token are not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountTransaction {
    /// Height of the block.
    pub block: u64,
    /// Time of the block.
    pub time: Timestamp,
    /// Identifier. Records outside of transactions, such as block rewards, have that of [`Self::id_of_block`].
    pub id: Txid,
    /// The account that sent the transaction; in a bundle of ERC-4337, the account named by `UserOperationEvent`. `None`
    /// if the source does not state the sender.
    pub initiator: Option<AccountAddress>,
    /// The transfers, in the order of the transaction.
    pub transfers: Vec<Transfer>,
    /// Facts about contracts: which accounts have code, and whom events of contracts name.
    pub contract_facts: Vec<ContractFact>,
    /// Events by which issuers of tokens froze accounts or ended freezes, in the order of the transaction.
    pub freezes: Vec<FreezeEvent>,
    /// Loans of resources that began or ended.
    pub delegations: Vec<ResourceDelegation>,
    /// Messages of bridges to and from other chains.
    pub messages: Vec<BridgeMessage>,
}

impl AccountTransaction {
    /// The identifier of the records of a block that are in no transaction: zeros, then the height.
    #[must_use]
    pub fn id_of_block(height: u64) -> Txid {
        let mut bytes = [0; 32];
        if let Some(last) = bytes.last_chunk_mut::<8>() {
            *last = height.to_be_bytes();
        }
        Txid::from_bytes(bytes)
    }
}

/// One transfer of an asset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Kind of the transfer.
    pub kind: TransferKind,
    /// The asset.
    pub asset: Asset,
    /// The payer; the zero address for new units.
    pub from: AccountAddress,
    /// The receiver; the zero address for destroyed units.
    pub to: AccountAddress,
    /// Amount in base units. Amounts of more than 128 bits are shown and move no ledger.
    pub amount: U256,
    /// Place in the transaction.
    pub place: TransferPlace,
}

/// Place of a transfer in its transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TransferPlace {
    /// Orders the transfers of the transaction.
    pub index: u32,
    /// The place as the source publishes it; `None` if the source states only the order.
    pub published: Option<PublishedPlace>,
}

impl fmt::Display for TransferPlace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.published {
            Some(published) => published.fmt(formatter),
            None => write!(formatter, "index {}", self.index),
        }
    }
}

/// A place of a transfer that explorers show too.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PublishedPlace {
    /// Index of the event log, within its block.
    Log(u32),
    /// Address of the call trace, such as `0,1`, or its index.
    Trace(Box<str>),
}

impl fmt::Display for PublishedPlace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Log(index) => write!(formatter, "log {index}"),
            Self::Trace(address) => write!(formatter, "trace {address}"),
        }
    }
}

/// Kind of a transfer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TransferKind {
    /// A transfer of the native coin or of a token.
    #[default]
    Transfer,
    /// A fee: to the block's producer, or to the zero address if the fee is destroyed.
    Fee,
    /// New units of a token.
    Mint,
    /// Destroyed units of a token.
    Burn,
    /// New coins for the producer of a block, or an allocation of the genesis block.
    Reward,
    /// A withdrawal of a validator.
    Withdrawal,
    /// The creation of a contract, with the coins that the contract gets.
    Create,
    /// The receiver's balance as the chain states it, which is no payment: an opening balance, or one that a rebasing
    /// token set.
    Balance,
}

impl TransferKind {
    /// Every kind.
    pub const ALL: [Self; 8] = [
        Self::Transfer,
        Self::Fee,
        Self::Mint,
        Self::Burn,
        Self::Reward,
        Self::Withdrawal,
        Self::Create,
        Self::Balance,
    ];

    /// The identifier in files and answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Transfer => "transfer",
            Self::Fee => "fee",
            Self::Mint => "mint",
            Self::Burn => "burn",
            Self::Reward => "reward",
            Self::Withdrawal => "withdrawal",
            Self::Create => "create",
            Self::Balance => "balance",
        }
    }
}

impl fmt::Display for TransferKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

/// A text that is no kind of transfer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown kind `{0}`: write transfer, fee, mint, burn, reward, withdrawal, create, balance, code, beneficiary or holder"
)]
pub struct UnknownKind(String);

impl FromStr for TransferKind {
    type Err = UnknownKind;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known = Self::ALL.into_iter().find(|kind| kind.as_str() == text);
        known.ok_or_else(|| UnknownKind(text.chars().take(40).collect()))
    }
}

/// A fact about a contract that a transaction shows beside its transfers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContractFact {
    /// The contract.
    pub contract: AccountAddress,
    /// Kind of the fact.
    pub kind: ContractFactKind,
    /// The account that the fact names; the contract itself if none is named.
    pub account: AccountAddress,
}

impl ContractFact {
    /// The fact that an account has code at the end of the transaction.
    #[must_use]
    pub const fn code(contract: AccountAddress) -> Self {
        Self { contract, kind: ContractFactKind::Code, account: contract }
    }
}

/// Kind of a fact about a contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ContractFactKind {
    /// It has code at the end of the transaction, which is no delegation of EIP-7702.
    Code,
    /// An event of the contract names the account as the owner of what was paid in.
    Beneficiary,
    /// An event of the contract names the account as the owner of what the contract pays out.
    Holder,
}

impl ContractFactKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Code, Self::Beneficiary, Self::Holder];

    /// The identifier in files.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::Beneficiary => "beneficiary",
            Self::Holder => "holder",
        }
    }
}

/// An event by which the issuer of a token froze an account or ended a freeze, or destroyed the funds of a frozen account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FreezeEvent {
    /// The token.
    pub asset: Asset,
    /// The account.
    pub account: AccountAddress,
    /// Change of the freeze.
    pub change: FreezeChange,
    /// Index of the event log in its block.
    pub log: u32,
}

/// Change of a freeze.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FreezeChange {
    /// The account is frozen.
    Frozen,
    /// The freeze ends.
    Lifted,
    /// The token's units of the frozen account are destroyed; the account stays frozen.
    Destroyed,
}

impl FreezeChange {
    /// Every change.
    pub const ALL: [Self; 3] = [Self::Frozen, Self::Lifted, Self::Destroyed];
}

/// The beginning or the end of a loan of resources, by which the borrower's transactions cost no coins. It moves no money.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceDelegation {
    /// The account whose stake gives the resource.
    pub lender: AccountAddress,
    /// The account that may use it.
    pub borrower: AccountAddress,
    /// The resource.
    pub resource: ChainResource,
    /// Change of the loan.
    pub change: DelegationChange,
}

/// A resource of TRON that pays for transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChainResource {
    /// Pays for the bytes of transactions.
    Bandwidth,
    /// Pays for the steps of contracts.
    Energy,
}

impl ChainResource {
    /// Every resource.
    pub const ALL: [Self; 2] = [Self::Bandwidth, Self::Energy];
}

/// Change of a loan of resources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DelegationChange {
    /// The loan begins, or grows.
    Begun,
    /// The loan ends, or shrinks.
    Ended,
}

impl DelegationChange {
    /// Every change.
    pub const ALL: [Self; 2] = [Self::Begun, Self::Ended];
}

/// An end of a message between chains, as a contract logs it: what is paid into a bridge on one chain and what the bridge pays out on
/// another one have the same message. Any contract can log any message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BridgeMessage {
    /// The contract that logs it.
    pub contract: AccountAddress,
    /// The identifier, which is the same at both ends, in the form of an account: the last 20 bytes of a hash.
    pub id: AccountAddress,
    /// The account that pays in or gets the payout, as the event names it.
    pub account: AccountAddress,
    /// The end.
    pub end: MessageEnd,
    /// The amount that is paid in or paid out, in base units of the asset on the own chain.
    pub amount: u128,
}

/// An end of a message between chains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MessageEnd {
    /// The chain that sends the message: something was paid in.
    Sent,
    /// The chain that receives it: something was paid out.
    Received,
}

impl MessageEnd {
    /// Both ends.
    pub const ALL: [Self; 2] = [Self::Sent, Self::Received];
}
