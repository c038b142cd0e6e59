//! Event logs: transfers of tokens, freezes by their issuers, and accounts that a bundle was sent for.

use alloy_primitives::hex;
use assay_address::ChainId;
use assay_engine::account::{
    AccountAddress, Asset, AssetId, AssetRole, FreezeChange, IssueLog, ScoredAsset, TransferKind,
    scored_asset,
};
use ruint::aliases::U256;

use super::{answer::LogAnswer, hex::Hash};
use crate::booking::kind_of_token_transfer;

/// Account from which chains log transfers of their own coin in the form of a token (EIP-7708), and their system calls.
pub(crate) const SYSTEM: AccountAddress =
    AccountAddress(hex!("fffffffffffffffffffffffffffffffffffffffe"));

/// Contracts that execute bundles of ERC-4337, versions 0.6 to 0.9: anybody else's event names nobody.
const ENTRY_POINTS: [[u8; 20]; 4] = [
    hex!("5ff137d4b0fdcd49dca30c7cf57e578a026d2789"),
    hex!("0000000071727de22e5e9d8baf0edac6f37da032"),
    hex!("4337084d9e255ff0702461cf8895ce9e3b5ff108"),
    hex!("433709009b8330fda32311df1c2afa402ed8d009"),
];

/// Signatures of events, hashed.
pub(crate) mod topics {
    use alloy_primitives::hex;

    /// `Transfer(address,address,uint256)`
    pub(crate) const TRANSFER: [u8; 32] =
        hex!("ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef");
    /// `Deposit(address,uint256)`
    pub(crate) const DEPOSIT: [u8; 32] =
        hex!("e1fffcc4923d04b559f4d29a8bfc6cda04eb5b0d3c460751c2402c5c5cc9109c");
    /// `Withdrawal(address,uint256)`
    pub(crate) const WITHDRAWAL: [u8; 32] =
        hex!("7fcf532c15f0a6db0bd6d0e038bea71d30d808c7d98cb3bf7268a95bf5081b65");
    /// `Issue(uint256)`
    pub(crate) const ISSUE: [u8; 32] =
        hex!("cb8241adb0c3fdb35b70c24ce35c5eb0c17af7431c99f827d44a445ca624176a");
    /// `Redeem(uint256)`
    pub(crate) const REDEEM: [u8; 32] =
        hex!("702d5967f45f6513a38ffc42d6ba9bf230bd40e8f53b16363c7eb4fd2deb9a44");
    /// `DestroyedBlackFunds(address,uint256)`
    pub(crate) const DESTROYED: [u8; 32] =
        hex!("61e6e66b0d6339b2980aecc6ccc0039736791f0ccde9ed512e789a7fbdd698c6");
    /// `AddedBlackList(address)`
    pub(crate) const ADDED_BLACK_LIST: [u8; 32] =
        hex!("42e160154868087d6bfdc0ca23d96a1c1cfa32f1b72ba9ba27b69b98a0d819dc");
    /// `RemovedBlackList(address)`
    pub(crate) const REMOVED_BLACK_LIST: [u8; 32] =
        hex!("d7e9ec6e6ecd65492dce6bf513cd6867560d49544421d0783ddf06e76c24470c");
    /// `Blacklisted(address)`
    pub(crate) const BLACKLISTED: [u8; 32] =
        hex!("ffa4e6181777692565cf28528fc88fd1516ea86b56da075235fa575af6a4b855");
    /// `UnBlacklisted(address)`
    pub(crate) const UN_BLACKLISTED: [u8; 32] =
        hex!("117e3210bb9aa7d9baff172026820255c6f6c30ba8999d1c2fd88e2848137c4e");
    /// `BlockPlaced(address)`
    pub(crate) const BLOCK_PLACED: [u8; 32] =
        hex!("406bbf2d8d145125adf1198d2cf8a67c66cc4bb0ab01c37dccd4f7c0aae1e7c7");
    /// `BlockReleased(address)`
    pub(crate) const BLOCK_RELEASED: [u8; 32] =
        hex!("665918c9e02eb2fd85acca3969cb054fc84c138e60ec4af22ab6ef2fd4c93c27");
    /// `DestroyedBlockedFunds(address,uint256)`
    pub(crate) const DESTROYED_BLOCKED: [u8; 32] =
        hex!("6a2859ae7902313752498feb80a014e6e7275fe964c79aa965db815db1c7f1e9");
    /// `AddressFrozen(address)`
    pub(crate) const ADDRESS_FROZEN: [u8; 32] =
        hex!("90811a8edd3b3c17eeaefffc17f639cc69145d41a359c9843994dc2538203690");
    /// `AddressUnfrozen(address)`
    pub(crate) const ADDRESS_UNFROZEN: [u8; 32] =
        hex!("c3776b472ebf54114339eec9e4dc924e7ce307a97f5c1ee72b6d474e6e5e8b7c");
    /// `FreezeAddress(address)`
    pub(crate) const FREEZE_ADDRESS: [u8; 32] =
        hex!("1aa660498c83ea285bc55e4cfc00afcaa7120798db87b74f3c0d7c6e001bc392");
    /// `UnfreezeAddress(address)`
    pub(crate) const UNFREEZE_ADDRESS: [u8; 32] =
        hex!("150465b020dfc06a59269da94ed66db9b65a516cf4fdd5f583b0f12752339bbe");
    /// `FrozenAddressWiped(address)`
    pub(crate) const WIPED: [u8; 32] =
        hex!("fc5960f1c5a5d2b60f031bf534af053b1bf7d9881989afaeb8b1d164db23aede");
    /// `UserOperationEvent(bytes32,address,address,uint256,bool,uint256,uint256)`
    pub(crate) const USER_OPERATION: [u8; 32] =
        hex!("49628fd1471006c1482da88028e9ce4dbb080b815c9b0344d39e5a8e6ec1419f");
}

/// Content of an event log, as far as it is of money.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A transfer that the token logs as one.
    Transfer { from: AccountAddress, to: AccountAddress, amount: U256 },
    /// Units of a wrapped coin that are new or destroyed. A token may log a transfer too.
    Changed { kind: TransferKind, account: AccountAddress, amount: U256 },
    /// Units that the issuer of a token made or destroyed, of the account that called the token.
    Issued { kind: TransferKind, amount: U256 },
    /// The freeze of an account by the token's issuer, or its end.
    Frozen { account: AccountAddress, is_lifted: bool },
    /// Funds of a frozen account that the issuer destroyed; without an amount, the token logs their transfer.
    Destroyed { account: AccountAddress, amount: Option<U256> },
    /// The account that a bundle was sent for.
    UserOperation { sender: AccountAddress },
}

impl Event {
    /// Reads an event log; `None` if it is not of money.
    pub(crate) fn read(chain: ChainId, log: &LogAnswer) -> Option<Self> {
        let contract = log.address.0;
        let (Hash { 0: topic }, indexed) = log.topics.split_first()?;
        if contract == SYSTEM {
            return None;
        }
        if *topic == topics::TRANSFER {
            return transfer(chain, contract, indexed, &log.data.0);
        }
        if *topic == topics::USER_OPERATION && ENTRY_POINTS.contains(&contract.0) {
            let [_, sender, _] = indexed else { return None };
            return Some(Self::UserOperation { sender: account(&sender.0)? });
        }
        let token = listed(chain, contract)?;
        let words = words(indexed, &log.data.0)?;
        let is_dollar = token.role == AssetRole::Stablecoin;
        match (*topic, &*words) {
            (topics::DEPOSIT, [of, amount]) if token.role == AssetRole::Wrapped => {
                Self::changed(TransferKind::Mint, of, amount)
            }
            (topics::WITHDRAWAL, [of, amount]) if token.role == AssetRole::Wrapped => {
                Self::changed(TransferKind::Burn, of, amount)
            }
            (topics::ISSUE, [amount]) if token.issue == IssueLog::Events => {
                Some(Self::Issued { kind: TransferKind::Mint, amount: number(amount) })
            }
            (topics::REDEEM, [amount]) if token.issue == IssueLog::Events => {
                Some(Self::Issued { kind: TransferKind::Burn, amount: number(amount) })
            }
            (topic, arguments) if is_dollar => Self::freeze(token, topic, arguments),
            _ => None,
        }
    }

    /// Reads the freeze of an account, as Tether, Circle and Paxos log it, or what followed it.
    fn freeze(token: &ScoredAsset, topic: [u8; 32], arguments: &[[u8; 32]]) -> Option<Self> {
        let (of, others) = arguments.split_first()?;
        let account = account(of)?;
        match (topic, others) {
            (
                topics::ADDED_BLACK_LIST
                | topics::BLACKLISTED
                | topics::BLOCK_PLACED
                | topics::ADDRESS_FROZEN
                | topics::FREEZE_ADDRESS,
                [],
            ) => Some(Self::Frozen { account, is_lifted: false }),
            (
                topics::REMOVED_BLACK_LIST
                | topics::UN_BLACKLISTED
                | topics::BLOCK_RELEASED
                | topics::ADDRESS_UNFROZEN
                | topics::UNFREEZE_ADDRESS,
                [],
            ) => Some(Self::Frozen { account, is_lifted: true }),
            (topics::DESTROYED, [amount]) if token.issue != IssueLog::Transfers => {
                Some(Self::Destroyed { account, amount: Some(number(amount)) })
            }
            (topics::DESTROYED | topics::DESTROYED_BLOCKED, [_]) | (topics::WIPED, []) => {
                Some(Self::Destroyed { account, amount: None })
            }
            _ => None,
        }
    }

    /// The change of a freeze, with its account.
    pub(crate) fn freeze_change(self) -> Option<(AccountAddress, FreezeChange)> {
        match self {
            Self::Frozen { account, is_lifted: false } => Some((account, FreezeChange::Frozen)),
            Self::Frozen { account, is_lifted: true } => Some((account, FreezeChange::Lifted)),
            Self::Destroyed { account, .. } => Some((account, FreezeChange::Destroyed)),
            _ => None,
        }
    }

    fn changed(kind: TransferKind, of: &[u8; 32], amount: &[u8; 32]) -> Option<Self> {
        Some(Self::Changed { kind, account: account(of)?, amount: number(amount) })
    }

    /// The transfer of the event: its kind, payer, receiver and amount. `caller` called the token.
    pub(crate) fn moved(
        self,
        caller: Option<AccountAddress>,
    ) -> Option<(TransferKind, AccountAddress, AccountAddress, U256)> {
        let of = |kind, account, amount| match kind {
            TransferKind::Mint => (kind, AccountAddress::ZERO, account, amount),
            _ => (kind, account, AccountAddress::ZERO, amount),
        };
        match self {
            Self::Transfer { from, to, amount } => {
                Some((kind_of_token_transfer(from, to), from, to, amount))
            }
            Self::Changed { kind, account, amount } => Some(of(kind, account, amount)),
            Self::Issued { kind, amount } => Some(of(kind, caller?, amount)),
            Self::Destroyed { account, amount } => Some(of(TransferKind::Burn, account, amount?)),
            Self::Frozen { .. } | Self::UserOperation { .. } => None,
        }
    }
}

/// Reads a transfer. Arguments that are not indexed are those of old tokens: they are read from listed contracts only. Four
/// topics are a token that is not interchangeable, whose last argument is no amount.
fn transfer(
    chain: ChainId,
    contract: AccountAddress,
    indexed: &[Hash],
    data: &[u8],
) -> Option<Event> {
    let is_common = indexed.len() == 2 && data.len() == 32;
    if !is_common && (indexed.len() > 2 || listed(chain, contract).is_none()) {
        return None;
    }
    let [from, to, amount] = *words(indexed, data)? else { return None };
    Some(Event::Transfer { from: account(&from)?, to: account(&to)?, amount: number(&amount) })
}

/// The scored token of a contract.
fn listed(chain: ChainId, contract: AccountAddress) -> Option<&'static ScoredAsset> {
    scored_asset(AssetId { chain, asset: Asset::Token(contract) })
}

/// The arguments of an event, of which each has 32 bytes, whether they are indexed or not.
fn words(indexed: &[Hash], data: &[u8]) -> Option<Vec<[u8; 32]>> {
    let (in_data, rest) = data.as_chunks::<32>();
    let is_whole = rest.is_empty() && in_data.len() <= 3;
    is_whole.then(|| indexed.iter().map(|topic| topic.0).chain(in_data.iter().copied()).collect())
}

/// The account in a word, whose first bytes are zeros.
pub(crate) fn account(word: &[u8; 32]) -> Option<AccountAddress> {
    let (zeros, address) = word.split_first_chunk::<12>()?;
    let address = address.first_chunk::<20>()?;
    (*zeros == [0; 12]).then_some(AccountAddress(*address))
}

fn number(word: &[u8; 32]) -> U256 {
    U256::from_be_bytes(*word)
}
