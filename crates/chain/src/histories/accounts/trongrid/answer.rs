//! Parsing and checking of TronGrid's answers.
//!
//! Rows of tokens state the time of their block, and not its height. The height of every row is computed from its time, which keeps
//! the rows of all lists in one order: the number of the slot of three seconds since the first block. The chain's own
//! heights are lower by the slots without a block.
//!
//! Transfers within transactions have a list of their own; rows of transactions that state them too are read without them. Stakes,
//! votes and lent resources give nothing to another account.

use std::collections::BTreeMap;

use assay_address::{CanonicalAddress, ChainId};
use assay_engine::{
    account::{AccountAddress, Asset, Transfer, TransferKind, TransferPlace},
    utxo::Txid,
};
use jiff::Timestamp;
use ruint::aliases::U256;
use serde::Deserialize;

use super::{
    super::{
        AccountList, AccountRow, ListOrder,
        client::{AnswerError, json},
    },
    page::{PageBounds, ReadPage},
};
use crate::{booking::kind_of_token_transfer, tron::numbered};

/// Slots of three seconds from 1970 to the slot before the chain's first block.
const SLOTS_BEFORE: i64 = 509_963_822;
/// Length of a slot in milliseconds.
const SLOT_MILLISECONDS: i64 = 3_000;

/// The height of a time: the number of its slot.
pub(super) fn height_of(time: Timestamp) -> u64 {
    let slot = time.as_millisecond() / SLOT_MILLISECONDS - SLOTS_BEFORE;
    u64::try_from(slot).unwrap_or(0)
}

/// Row of the list of transactions.
#[derive(Deserialize)]
struct TransactionAnswer {
    #[serde(rename = "txID")]
    id: Option<String>,
    block_timestamp: i64,
    #[serde(default)]
    ret: Vec<RetAnswer>,
    raw_data: Option<RawData>,
    withdraw_amount: Option<u64>,
    contract_address: Option<String>,
    net_fee: Option<u64>,
    energy_fee: Option<u64>,
    /// Identifier of a transfer within a transaction, which older answers have among the transactions.
    internal_tx_id: Option<String>,
}

/// Row of the list of transfers within transactions.
#[derive(Deserialize)]
struct InternalAnswer {
    block_timestamp: i64,
    tx_id: Option<String>,
    from_address: Option<String>,
    to_address: Option<String>,
    data: Option<InternalData>,
}

#[derive(Deserialize)]
struct RetAnswer {
    #[serde(rename = "contractRet")]
    result: Option<String>,
    fee: Option<u64>,
}

#[derive(Deserialize)]
struct RawData {
    contract: Vec<ContractAnswer>,
}

#[derive(Deserialize)]
struct ContractAnswer {
    #[serde(rename = "type")]
    kind: String,
    parameter: ParameterAnswer,
}

#[derive(Deserialize)]
struct ParameterAnswer {
    value: ValueAnswer,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ValueAnswer {
    amount: Option<u64>,
    asset_name: Option<String>,
    call_value: Option<u64>,
    call_token_value: Option<u64>,
    token_id: Option<u64>,
    owner_address: Option<String>,
    to_address: Option<String>,
    contract_address: Option<String>,
    new_contract: Option<NewContract>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct NewContract {
    call_value: Option<u64>,
}

#[derive(Deserialize)]
struct InternalData {
    note: Option<String>,
    /// Amounts by asset: `_` is TRX, numbers are tokens.
    call_value: Option<BTreeMap<String, u64>>,
    #[serde(default)]
    rejected: bool,
}

#[derive(Deserialize)]
struct TokenAnswer {
    transaction_id: String,
    block_timestamp: i64,
    from: String,
    to: String,
    value: String,
    #[serde(rename = "type")]
    kind: Option<String>,
    token_info: TokenInfo,
}

#[derive(Deserialize)]
struct TokenInfo {
    address: String,
}

/// Reader of the rows of a list.
#[derive(Clone, Copy, Debug)]
pub(super) struct ListReader {
    pub(super) account: AccountAddress,
    pub(super) list: AccountList,
    pub(super) order: ListOrder,
    /// Time of the last row of the page before.
    pub(super) from: Option<Timestamp>,
    /// The newest time that a block may have; `None` if it is not known.
    pub(super) newest: Option<Timestamp>,
}

impl ListReader {
    /// Reads a page.
    pub(super) fn read(self, body: &[u8]) -> Result<ReadPage<AccountRow>, AnswerError> {
        let bounds = PageBounds { order: self.order, from: self.from, newest: self.newest };
        ReadPage::read(body, bounds, |row| match self.list {
            AccountList::Tokens | AccountList::Token(_) => {
                self.token(&json(row)?).map_err(AnswerError::Invalid)
            }
            AccountList::Native => self.transaction(&json(row)?).map_err(AnswerError::Invalid),
            AccountList::Internal => self.internal(&json(row)?).map_err(AnswerError::Invalid),
        })
    }

    fn transaction(
        self,
        answer: &TransactionAnswer,
    ) -> Result<(Timestamp, Option<AccountRow>), String> {
        let time = time(answer.block_timestamp)?;
        if answer.internal_tx_id.is_some() {
            return Ok((time, None));
        }
        let contract = answer.raw_data.as_ref().and_then(|data| data.contract.first());
        let contract = contract.ok_or("it has no contract")?;
        let value = &contract.parameter.value;
        let owner = party(value.owner_address.as_deref())?.ok_or("it has no owner")?;
        let moved = moved(answer, contract, owner)?;
        let to = party(value.to_address.as_deref().or(value.contract_address.as_deref()))?;
        let is_own = [Some(owner), to].contains(&Some(self.account));
        if !is_own && moved.iter().all(|transfer| transfer.to != self.account) {
            return Err(format!("it is of {owner}, not of {}", self.account));
        }
        let id = answer.id.as_deref().ok_or("it has no identifier")?;
        let outcome = answer.ret.first();
        // Old blocks state no result.
        let is_failed =
            outcome.and_then(|ret| ret.result.as_deref()).is_some_and(|result| result != "SUCCESS");
        let mut transfers = if is_failed { Vec::new() } else { moved };
        let parts = answer.net_fee.unwrap_or(0).saturating_add(answer.energy_fee.unwrap_or(0));
        let fee = outcome.and_then(|ret| ret.fee).unwrap_or(parts);
        if owner == self.account && fee > 0 {
            transfers.push(native(TransferKind::Fee, owner, AccountAddress::ZERO, fee));
        }
        Ok((time, Some(row(id, time, Some(owner), transfers)?)))
    }

    /// Reads a transfer within a transaction.
    fn internal(self, answer: &InternalAnswer) -> Result<(Timestamp, Option<AccountRow>), String> {
        let time = time(answer.block_timestamp)?;
        let from = party(answer.from_address.as_deref())?.ok_or("it has no payer")?;
        let to = party(answer.to_address.as_deref())?.ok_or("it has no receiver")?;
        if ![from, to].contains(&self.account) {
            return Err(format!("it is of {from} and {to}, not of {}", self.account));
        }
        let data = answer.data.as_ref().filter(|data| !data.rejected && data.is_moving());
        // Code that runs in its caller's own name states the caller twice.
        let data = data.filter(|_| from != to);
        let amounts = data.and_then(|data| data.call_value.as_ref()).into_iter().flatten();
        let transfers = amounts.filter(|(_, amount)| **amount > 0).filter_map(|(name, amount)| {
            let asset = if name == "_" { Asset::Native } else { numbered(name)? };
            Some(Transfer { asset, ..native(TransferKind::Transfer, from, to, *amount) })
        });
        let transfers: Vec<Transfer> = transfers.collect();
        if transfers.is_empty() {
            return Ok((time, None));
        }
        let id = answer.tx_id.as_deref().ok_or("it has no transaction")?;
        Ok((time, Some(row(id, time, None, transfers)?)))
    }

    fn token(self, answer: &TokenAnswer) -> Result<(Timestamp, Option<AccountRow>), String> {
        let time = time(answer.block_timestamp)?;
        let from = address(&answer.from)?;
        let to = address(&answer.to)?;
        if ![from, to].contains(&self.account) {
            return Err(format!("it is of {from} and {to}, not of {}", self.account));
        }
        let contract = address(&answer.token_info.address)?;
        if let AccountList::Token(wanted) = self.list
            && wanted != contract
        {
            return Err(format!("it is of the token {contract}, not of {wanted}"));
        }
        if answer.kind.as_deref().is_some_and(|kind| kind != "Transfer") {
            return Ok((time, None));
        }
        let transfer = Transfer {
            kind: kind_of_token_transfer(from, to),
            asset: Asset::Token(contract),
            from,
            to,
            amount: decimal(&answer.value)?,
            place: TransferPlace::default(),
        };
        Ok((time, Some(row(&answer.transaction_id, time, None, vec![transfer])?)))
    }
}

impl InternalData {
    /// True for a call that moves what it states: stakes and votes of a contract move nothing to others. The kind of call is written
    /// in letters or in hexadecimal digits.
    fn is_moving(&self) -> bool {
        const MOVING: [&str; 3] = ["call", "create", "suicide"];
        let Some(note) = self.note.as_deref().filter(|note| !note.is_empty()) else { return true };
        MOVING.iter().any(|moving| *moving == note || hex::encode(moving) == note)
    }
}

/// The transfers that a transaction of an account itself makes. A reward has no payer.
fn moved(
    answer: &TransactionAnswer,
    contract: &ContractAnswer,
    owner: AccountAddress,
) -> Result<Vec<Transfer>, String> {
    let value = &contract.parameter.value;
    let called = value.token_id.and_then(|number| numbered(&number.to_string()));
    let (to, asset, amount, called) = match &*contract.kind {
        "TransferContract" | "ParticipateAssetIssueContract" => {
            (party(value.to_address.as_deref())?, Some(Asset::Native), value.amount, None)
        }
        "TransferAssetContract" => {
            let name = value.asset_name.as_deref().unwrap_or_default();
            (party(value.to_address.as_deref())?, named(name), value.amount, None)
        }
        "TriggerSmartContract" => {
            let contract = party(value.contract_address.as_deref())?;
            (contract, Some(Asset::Native), value.call_value, called)
        }
        "CreateSmartContract" => {
            let created = party(answer.contract_address.as_deref())?;
            let amount = value.new_contract.as_ref().and_then(|new| new.call_value);
            (created, Some(Asset::Native), amount, called)
        }
        "WithdrawBalanceContract" => {
            let amount = answer.withdraw_amount.unwrap_or(0);
            let reward = native(TransferKind::Reward, AccountAddress::ZERO, owner, amount);
            return Ok(Some(reward).filter(|_| amount > 0).into_iter().collect());
        }
        _ => return Ok(Vec::new()),
    };
    let Some(to) = to else { return Ok(Vec::new()) };
    let parts = [(asset, amount), (called, value.call_token_value)];
    let transfers = parts.into_iter().filter_map(|(asset, amount)| {
        let transfer = native(TransferKind::Transfer, owner, to, amount.filter(|it| *it > 0)?);
        Some(Transfer { asset: asset?, ..transfer })
    });
    Ok(transfers.collect())
}

/// The token of an identifier, in digits or in their bytes as hexadecimal digits.
fn named(name: &str) -> Option<Asset> {
    let bytes = hex::decode(name).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    bytes.as_deref().and_then(numbered).or_else(|| numbered(name))
}

pub(super) fn row(
    id: &str,
    time: Timestamp,
    initiator: Option<AccountAddress>,
    transfers: Vec<Transfer>,
) -> Result<AccountRow, String> {
    let id: Txid = id.parse().map_err(|error| format!("{error}"))?;
    let block = height_of(time);
    Ok(AccountRow { id, block, time, position: None, initiator, transfers, freezes: Vec::new() })
}

fn native(kind: TransferKind, from: AccountAddress, to: AccountAddress, amount: u64) -> Transfer {
    let (amount, place) = (U256::from(amount), TransferPlace::default());
    Transfer { kind, asset: Asset::Native, from, to, amount, place }
}

pub(super) fn time(milliseconds: i64) -> Result<Timestamp, String> {
    let time = Timestamp::from_millisecond(milliseconds).ok().filter(|_| milliseconds >= 0);
    time.ok_or_else(|| format!("{milliseconds} is no time"))
}

fn party(text: Option<&str>) -> Result<Option<AccountAddress>, String> {
    text.filter(|text| !text.is_empty()).map(address).transpose()
}

/// Reads an address in base58 or in hexadecimal digits with 41.
pub(super) fn address(text: &str) -> Result<AccountAddress, String> {
    let address = CanonicalAddress::parse(ChainId::TRX, text);
    let address = address.map_err(|error| format!("`{text}` is no address: {error}"))?;
    AccountAddress::of(&address).ok_or_else(|| format!("`{text}` is no account"))
}

pub(super) fn decimal(text: &str) -> Result<U256, String> {
    let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = is_plain.then(|| U256::from_str_radix(text, 10).ok()).flatten();
    number.ok_or_else(|| format!("amount `{text}` is no number of at most 256 bits"))
}
