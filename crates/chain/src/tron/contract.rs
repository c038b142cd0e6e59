//! Actions of transactions, from the bytes that its identifier is the hash of.

use assay_engine::account::{AccountAddress, Asset, ChainResource, DelegationChange};

use super::wire::Fields;

/// First byte of an address.
const ADDRESS_PREFIX: u8 = 0x41;
/// The least number of a token without a contract: numbers begin above it. Before tokens had numbers they were named, and a name
/// may be written in digits too.
const LEAST_NUMBER: u32 = 1_000_001;

/// A transaction's content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Contract {
    /// The account that sent the transaction; `None` in the first block, whose coins come from nobody.
    pub(super) owner: Option<AccountAddress>,
    /// The owner's address as its bytes stand in the transaction.
    pub(super) owner_bytes: Vec<u8>,
    /// The movement if the transaction succeeds.
    pub(super) effect: Effect,
}

/// Movement of a transaction that succeeds. Amounts are in base units; `None` instead of an asset is a token that has a name only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// A payment.
    Payment { to: AccountAddress, asset: Option<Asset>, amount: i64 },
    /// A call of a contract, with coins and a numbered token.
    Call { contract: AccountAddress, amount: i64, token: Option<(Asset, i64)> },
    /// The creation of a contract, with coins and a numbered token.
    Create { amount: i64, token: Option<(Asset, i64)> },
    /// New coins for votes and blocks, whose amount the node states.
    Reward,
    /// The creation of an exchange with what it begins with.
    OpenExchange { parts: [(Option<Asset>, i64); 2] },
    /// A payment into an exchange, of both its tokens. The node states the other amount.
    Inject { exchange: i64, token: Option<Asset>, amount: i64 },
    /// A payment out of an exchange, of both its tokens. The node states the other amount.
    Withdraw { exchange: i64, token: Option<Asset>, amount: i64 },
    /// A trade with an exchange. The node states what it gives.
    Trade { exchange: i64, token: Option<Asset>, amount: i64 },
    /// An order of a market, or a transfer out of or into a shielded pool: the node does not state all that moves.
    Unstated,
    /// The beginning or the end of a loan of resources.
    Delegation { borrower: AccountAddress, resource: ChainResource, change: DelegationChange },
    /// No other account gets anything: stakes, votes, settings.
    Nothing,
}

/// Kinds of contracts that move money or lend resources.
mod kinds {
    pub(super) const TRANSFER: i64 = 1;
    pub(super) const TRANSFER_ASSET: i64 = 2;
    pub(super) const PARTICIPATE_ASSET_ISSUE: i64 = 9;
    pub(super) const FREEZE_BALANCE: i64 = 11;
    pub(super) const UNFREEZE_BALANCE: i64 = 12;
    pub(super) const WITHDRAW_BALANCE: i64 = 13;
    pub(super) const CREATE_SMART_CONTRACT: i64 = 30;
    pub(super) const TRIGGER_SMART_CONTRACT: i64 = 31;
    pub(super) const EXCHANGE_CREATE: i64 = 41;
    pub(super) const EXCHANGE_INJECT: i64 = 42;
    pub(super) const EXCHANGE_WITHDRAW: i64 = 43;
    pub(super) const EXCHANGE_TRANSACTION: i64 = 44;
    pub(super) const SHIELDED_TRANSFER: i64 = 51;
    pub(super) const MARKET_SELL: i64 = 52;
    pub(super) const MARKET_CANCEL: i64 = 53;
    pub(super) const DELEGATE_RESOURCE: i64 = 57;
    pub(super) const UNDELEGATE_RESOURCE: i64 = 58;
}

impl Contract {
    /// Reads the content of a transaction.
    ///
    /// # Errors
    ///
    /// Returns a description of what cannot be read.
    pub(super) fn read(raw_data: &[u8]) -> Result<Self, String> {
        // Fields of the messages, by their numbers in the published description (Tron.proto and its contracts).
        const CONTRACT: u32 = 11;
        let raw = Fields::read(raw_data)?;
        let mut contracts = raw.messages(CONTRACT);
        let contract = contracts.next().ok_or("it does nothing: it has no contract")?;
        if contracts.next().is_some() {
            return Err("it has several contracts, and nodes accept one".to_owned());
        }
        let contract = Fields::read(contract)?;
        let kind = contract.number(1);
        let parameter = contract.message(2);
        let parameter = Fields::read(&parameter)?;
        let value = Fields::read(parameter.bytes(2))?;
        // The shielded transfer alone has another first field.
        let owner_field = if kind == kinds::TRANSFER_ASSET { 2 } else { 1 };
        let owner_bytes = value.bytes(owner_field);
        let owner = address(owner_bytes);
        let effect = effect(kind, &value)?;
        Ok(Self { owner, owner_bytes: owner_bytes.to_vec(), effect })
    }
}

fn effect(kind: i64, value: &Fields<'_>) -> Result<Effect, String> {
    let account = |field| {
        let bytes = value.bytes(field);
        address(bytes).ok_or_else(|| format!("`{}` is no address", hex::encode(bytes)))
    };
    let number = |field| value.number(field);
    let token = |field| token(value.bytes(field));
    Ok(match kind {
        kinds::TRANSFER => {
            Effect::Payment { to: account(2)?, asset: Some(Asset::Native), amount: number(3) }
        }
        kinds::TRANSFER_ASSET => {
            Effect::Payment { to: account(3)?, asset: token(1), amount: number(4) }
        }
        // The issuer gets coins; the amount of the token that is bought is stated nowhere.
        kinds::PARTICIPATE_ASSET_ISSUE => {
            Effect::Payment { to: account(2)?, asset: Some(Asset::Native), amount: number(4) }
        }
        kinds::CREATE_SMART_CONTRACT => {
            let created = value.message(2);
            let amount = Fields::read(&created)?.number(5);
            Effect::Create { amount, token: called_with(number(4), number(3)) }
        }
        kinds::TRIGGER_SMART_CONTRACT => Effect::Call {
            contract: account(2)?,
            amount: number(3),
            token: called_with(number(6), number(5)),
        },
        kinds::WITHDRAW_BALANCE => Effect::Reward,
        kinds::EXCHANGE_CREATE => {
            Effect::OpenExchange { parts: [(token(2), number(3)), (token(4), number(5))] }
        }
        kinds::EXCHANGE_INJECT => {
            Effect::Inject { exchange: number(2), token: token(3), amount: number(4) }
        }
        kinds::EXCHANGE_WITHDRAW => {
            Effect::Withdraw { exchange: number(2), token: token(3), amount: number(4) }
        }
        kinds::EXCHANGE_TRANSACTION => {
            Effect::Trade { exchange: number(2), token: token(3), amount: number(4) }
        }
        // Stakes of the first kind: with a receiver they lend what they give.
        kinds::FREEZE_BALANCE => delegation(value, (15, 10), DelegationChange::Begun),
        kinds::UNFREEZE_BALANCE => delegation(value, (15, 10), DelegationChange::Ended),
        kinds::DELEGATE_RESOURCE => delegation(value, (4, 2), DelegationChange::Begun),
        kinds::UNDELEGATE_RESOURCE => delegation(value, (4, 2), DelegationChange::Ended),
        kinds::SHIELDED_TRANSFER | kinds::MARKET_SELL | kinds::MARKET_CANCEL => Effect::Unstated,
        _ => Effect::Nothing,
    })
}

/// A loan to the account of a field, of the resource of another one; nothing without a borrower. Power to vote is not lent.
fn delegation(
    value: &Fields<'_>,
    (borrower, resource): (u32, u32),
    change: DelegationChange,
) -> Effect {
    let resource = match value.number(resource) {
        0 => ChainResource::Bandwidth,
        1 => ChainResource::Energy,
        _ => return Effect::Nothing,
    };
    address(value.bytes(borrower)).map_or(Effect::Nothing, |borrower| Effect::Delegation {
        borrower,
        resource,
        change,
    })
}

/// The account of an address: 20 bytes behind the prefix of the chain.
pub(super) fn address(bytes: &[u8]) -> Option<AccountAddress> {
    let (prefix, account) = bytes.split_first()?;
    let account = <[u8; 20]>::try_from(account).ok()?;
    (*prefix == ADDRESS_PREFIX).then_some(AccountAddress(account))
}

/// The asset that a token's bytes name: `_` is the coin. `None` for a token that has a name only.
pub(super) fn token(name: &[u8]) -> Option<Asset> {
    if name == b"_" {
        return Some(Asset::Native);
    }
    numbered(std::str::from_utf8(name).ok()?)
}

/// The token of a number in digits.
pub(crate) fn numbered(digits: &str) -> Option<Asset> {
    let is_number = digits.bytes().all(|digit| digit.is_ascii_digit());
    let number = digits.parse().ok().filter(|_| is_number)?;
    (number >= LEAST_NUMBER).then_some(Asset::Numbered(number))
}

/// The numbered token of a call; `None` if the call brings none.
fn called_with(token: i64, amount: i64) -> Option<(Asset, i64)> {
    let number = u32::try_from(token).ok()?;
    (amount > 0 && number >= LEAST_NUMBER).then_some((Asset::Numbered(number), amount))
}
