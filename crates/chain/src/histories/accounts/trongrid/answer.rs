//! Parsing and checking of TronGrid's answers.
//!
//! Rows of tokens state the time of their block, and not its height. The height of every row is computed from its time, which keeps
//! the rows of all lists in one order: the number of the slot of three seconds since the first block. The chain's own
//! heights are lower by the slots without a block.

use assay_address::{CanonicalAddress, ChainId};
use assay_engine::{
    account::{AccountAddress, Asset, Transfer, TransferKind, TransferPlace},
    utxo::Txid,
};
use jiff::Timestamp;
use ruint::aliases::U256;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::{
    AccountList, AccountRow, ApiTip, ListOrder,
    client::{AnswerError, json},
    paging::RowMark,
};
use crate::booking::kind_of_token_transfer;

/// Slots of three seconds from 1970 to the slot before the chain's first block.
const SLOTS_BEFORE: i64 = 509_963_822;
/// Length of a slot in milliseconds.
const SLOT_MILLISECONDS: i64 = 3_000;

/// The height of a time: the number of its slot.
pub(super) fn height_of(time: Timestamp) -> u64 {
    let slot = time.as_millisecond() / SLOT_MILLISECONDS - SLOTS_BEFORE;
    u64::try_from(slot).unwrap_or(0)
}

#[derive(Deserialize)]
struct PageAnswer<'a> {
    #[serde(borrow, default)]
    data: Option<Vec<&'a RawValue>>,
    success: Option<bool>,
    #[serde(alias = "Error")]
    error: Option<String>,
    #[serde(default)]
    meta: MetaAnswer,
}

#[derive(Default, Deserialize)]
struct MetaAnswer {
    fingerprint: Option<String>,
}

/// Row of the list of transactions: a transaction, or a transfer within one.
#[derive(Deserialize)]
struct TransactionAnswer {
    #[serde(rename = "txID")]
    id: Option<String>,
    block_timestamp: i64,
    #[serde(default)]
    ret: Vec<RetAnswer>,
    raw_data: Option<RawData>,
    #[serde(default)]
    internal_transactions: Vec<InternalAnswer>,
    withdraw_amount: Option<u64>,
    contract_address: Option<String>,
    net_fee: Option<u64>,
    energy_fee: Option<u64>,
    // Rows of transfers within transactions.
    internal_tx_id: Option<String>,
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
    call_value: Option<u64>,
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
struct InternalAnswer {
    caller_address: Option<String>,
    #[serde(rename = "transferTo_address")]
    to: Option<String>,
    #[serde(default, rename = "callValueInfo")]
    values: Vec<CallValue>,
    #[serde(default)]
    rejected: bool,
}

/// Value of a transfer within a transaction: of TRX where no token is named.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CallValue {
    #[serde(default)]
    call_value: u64,
    token_id: Option<String>,
}

#[derive(Deserialize)]
struct InternalData {
    call_value: Option<std::collections::BTreeMap<String, u64>>,
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

/// A page of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ReadPage {
    pub(super) rows: Vec<AccountRow>,
    /// Fingerprints of all rows of the page.
    pub(super) marks: Vec<u64>,
    /// Times of the first and the last row.
    pub(super) times: Option<(Timestamp, Timestamp)>,
    /// Fingerprint of the next page.
    pub(super) next: Option<String>,
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
    pub(super) fn read(self, body: &[u8]) -> Result<ReadPage, AnswerError> {
        let answer: PageAnswer<'_> = json(body)?;
        let data = data(&answer)?;
        let mut page = ReadPage {
            rows: Vec::with_capacity(data.len()),
            marks: Vec::with_capacity(data.len()),
            times: None,
            next: answer.meta.fingerprint.clone().filter(|next| !next.is_empty()),
        };
        for (answer, number) in data.iter().zip(1_u32..) {
            let invalid = |reason| AnswerError::Invalid(format!("row {number}: {reason}"));
            let (time, row) = match self.list {
                AccountList::Tokens | AccountList::Token(_) => {
                    let answer: TokenAnswer = json(answer.get().as_bytes())?;
                    self.token(&answer).map_err(invalid)?
                }
                AccountList::Native | AccountList::Internal => {
                    let answer: TransactionAnswer = json(answer.get().as_bytes())?;
                    self.transaction(&answer).map_err(invalid)?
                }
            };
            let before = page.times.map(|(_, last)| last).or(self.from);
            self.check(time, before).map_err(invalid)?;
            page.times = Some((page.times.map_or(time, |(first, _)| first), time));
            page.marks.push(RowMark::new(0, &[answer.get()]).fingerprint);
            page.rows.extend(row);
        }
        Ok(page)
    }

    fn check(self, time: Timestamp, before: Option<Timestamp>) -> Result<(), String> {
        if self.newest.is_some_and(|newest| time > newest) {
            return Err(format!("{time} is after the newest block"));
        }
        let is_ordered = before.is_none_or(|before| match self.order {
            ListOrder::OldestFirst => before <= time,
            ListOrder::NewestFirst => before >= time,
        });
        if is_ordered { Ok(()) } else { Err(format!("{time} is out of order")) }
    }

    fn transaction(
        self,
        answer: &TransactionAnswer,
    ) -> Result<(Timestamp, Option<AccountRow>), String> {
        let time = time(answer.block_timestamp)?;
        if answer.internal_tx_id.is_some() {
            return Ok((time, self.internal_row(answer, time)?));
        }
        let contract = answer.raw_data.as_ref().and_then(|data| data.contract.first());
        let contract = contract.ok_or("it has no contract")?;
        let value = &contract.parameter.value;
        let owner = party(value.owner_address.as_deref())?.ok_or("it has no owner")?;
        let moved = moved(answer, contract)?;
        let to = party(value.to_address.as_deref().or(value.contract_address.as_deref()))?;
        if owner != self.account
            && to != Some(self.account)
            && moved.is_none_or(|(_, to, _)| to != self.account)
        {
            return Err(format!("it is of {owner}, not of {}", self.account));
        }
        let id = answer.id.as_deref().ok_or("it has no identifier")?;
        let outcome = answer.ret.first();
        // Old blocks state no result.
        let is_failed =
            outcome.and_then(|ret| ret.result.as_deref()).is_some_and(|result| result != "SUCCESS");
        let mut transfers = Vec::new();
        if !is_failed {
            transfers.extend(moved.map(|(from, to, amount)| of_moved(owner, from, to, amount)));
            for internal in answer.internal_transactions.iter().filter(|it| !it.rejected) {
                let from = party(internal.caller_address.as_deref())?;
                let to = party(internal.to.as_deref())?;
                let (Some(from), Some(to)) = (from, to) else { continue };
                let values = internal.values.iter();
                let coins = values.filter(|it| it.token_id.is_none() && it.call_value > 0);
                let is_own = [from, to].contains(&self.account);
                transfers.extend(
                    coins
                        .filter(|_| is_own)
                        .map(|it| native(TransferKind::Transfer, from, to, it.call_value)),
                );
            }
        }
        let parts = answer.net_fee.unwrap_or(0).saturating_add(answer.energy_fee.unwrap_or(0));
        let fee = outcome.and_then(|ret| ret.fee).unwrap_or(parts);
        if owner == self.account && fee > 0 {
            transfers.push(native(TransferKind::Fee, owner, AccountAddress::ZERO, fee));
        }
        Ok((time, Some(row(id, time, Some(owner), transfers)?)))
    }

    /// Reads a transfer within a transaction.
    fn internal_row(
        self,
        answer: &TransactionAnswer,
        time: Timestamp,
    ) -> Result<Option<AccountRow>, String> {
        let from = party(answer.from_address.as_deref())?.ok_or("it has no payer")?;
        let to = party(answer.to_address.as_deref())?.ok_or("it has no receiver")?;
        if ![from, to].contains(&self.account) {
            return Err(format!("it is of {from} and {to}, not of {}", self.account));
        }
        let Some(data) = answer.data.as_ref().filter(|data| !data.rejected) else {
            return Ok(None);
        };
        let amount = data.call_value.as_ref().and_then(|values| values.get("_")).copied();
        let Some(amount) = amount.filter(|amount| *amount > 0) else { return Ok(None) };
        let id = answer.tx_id.as_deref().ok_or("it has no transaction")?;
        let transfers = vec![native(TransferKind::Transfer, from, to, amount)];
        row(id, time, None, transfers).map(Some)
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

/// The TRX that a transaction itself moves: payer, receiver, amount. A reward has no payer.
fn moved(
    answer: &TransactionAnswer,
    contract: &ContractAnswer,
) -> Result<Option<(Option<AccountAddress>, AccountAddress, u64)>, String> {
    let value = &contract.parameter.value;
    let owner = party(value.owner_address.as_deref())?;
    let (from, to, amount) = match &*contract.kind {
        "TransferContract" => (owner, party(value.to_address.as_deref())?, value.amount),
        "TriggerSmartContract" => {
            (owner, party(value.contract_address.as_deref())?, value.call_value)
        }
        "CreateSmartContract" => {
            let created = party(answer.contract_address.as_deref())?;
            (owner, created, value.new_contract.as_ref().and_then(|new| new.call_value))
        }
        "WithdrawBalanceContract" => (None, owner, answer.withdraw_amount),
        _ => return Ok(None),
    };
    let amount = amount.filter(|amount| *amount > 0);
    Ok(to.zip(amount).map(|(to, amount)| (from, to, amount)))
}

fn of_moved(
    owner: AccountAddress,
    from: Option<AccountAddress>,
    to: AccountAddress,
    amount: u64,
) -> Transfer {
    match from {
        Some(_) => native(TransferKind::Transfer, owner, to, amount),
        None => native(TransferKind::Reward, AccountAddress::ZERO, to, amount),
    }
}

fn row(
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

fn time(milliseconds: i64) -> Result<Timestamp, String> {
    let time = Timestamp::from_millisecond(milliseconds).ok().filter(|_| milliseconds >= 0);
    time.ok_or_else(|| format!("{milliseconds} is no time"))
}

fn party(text: Option<&str>) -> Result<Option<AccountAddress>, String> {
    text.filter(|text| !text.is_empty()).map(address).transpose()
}

/// Reads an address in base58 or in hexadecimal digits with 41.
fn address(text: &str) -> Result<AccountAddress, String> {
    let address = CanonicalAddress::parse(ChainId::TRX, text);
    let address = address.map_err(|error| format!("`{text}` is no address: {error}"))?;
    AccountAddress::of(&address).ok_or_else(|| format!("`{text}` is no account"))
}

fn decimal(text: &str) -> Result<U256, String> {
    let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = is_plain.then(|| U256::from_str_radix(text, 10).ok()).flatten();
    number.ok_or_else(|| format!("amount `{text}` is no number of at most 256 bits"))
}

fn data<'a, 'b>(answer: &'b PageAnswer<'a>) -> Result<&'b [&'a RawValue], AnswerError> {
    if let Some(error) = &answer.error {
        return Err(AnswerError::of_text(error));
    }
    if answer.success == Some(false) {
        return Err(AnswerError::of_text("it states no success"));
    }
    let data = answer.data.as_deref();
    data.ok_or_else(|| AnswerError::Unreadable("there is no data".to_owned()))
}

#[derive(Deserialize)]
struct AccountAnswer {
    #[serde(default)]
    balance: u64,
    #[serde(default)]
    trc20: Vec<std::collections::BTreeMap<String, String>>,
    #[serde(default, rename = "assetV2")]
    numbered: Vec<NumberedBalance>,
}

#[derive(Deserialize)]
struct NumberedBalance {
    key: String,
    value: u64,
}

/// Reads the balance of an account; `None` for tokens of an account that is not activated, which the answer lacks.
pub(super) fn balance(body: &[u8], asset: Asset) -> Result<Option<U256>, AnswerError> {
    let answer: PageAnswer<'_> = json(body)?;
    let Some(account) = data(&answer)?.first() else {
        return Ok((asset == Asset::Native).then_some(U256::ZERO));
    };
    let account: AccountAnswer = json(account.get().as_bytes())?;
    match asset {
        Asset::Native => Ok(Some(U256::from(account.balance))),
        Asset::Numbered(number) => {
            let key = number.to_string();
            let found = account.numbered.iter().find(|balance| balance.key == key);
            Ok(Some(U256::from(found.map_or(0, |balance| balance.value))))
        }
        Asset::Token(contract) => {
            for (token, amount) in account.trc20.iter().flatten() {
                if address(token).map_err(AnswerError::Unreadable)? == contract {
                    return decimal(amount).map(Some).map_err(AnswerError::Unreadable);
                }
            }
            Ok(Some(U256::ZERO))
        }
    }
}

#[derive(Deserialize)]
struct BlockAnswer {
    block_header: Option<HeaderAnswer>,
    #[serde(rename = "Error")]
    error: Option<String>,
}

#[derive(Deserialize)]
struct HeaderAnswer {
    raw_data: HeaderData,
}

#[derive(Deserialize)]
struct HeaderData {
    timestamp: i64,
}

/// Reads the newest block.
pub(super) fn tip(body: &[u8]) -> Result<ApiTip, AnswerError> {
    let answer: BlockAnswer = json(body)?;
    let Some(header) = answer.block_header else {
        return Err(AnswerError::of_text(&answer.error.unwrap_or_default()));
    };
    let time = time(header.raw_data.timestamp).map_err(AnswerError::Invalid)?;
    Ok(ApiTip { height: height_of(time), time: Some(time) })
}

#[derive(Deserialize)]
struct ContractInfo {
    contract_address: Option<String>,
    #[serde(rename = "Error")]
    error: Option<String>,
}

/// Reads whether an account is a contract: the answer about another account is empty.
pub(super) fn has_code(body: &[u8]) -> Result<bool, AnswerError> {
    let answer: ContractInfo = json(body)?;
    match answer.error {
        Some(error) => Err(AnswerError::of_text(&error)),
        None => Ok(answer.contract_address.is_some_and(|address| !address.is_empty())),
    }
}
