//! Parsing and checking of answers in the form of Etherscan's API. Amounts are texts and are read exactly.

use assay_address::ChainId;
use assay_engine::{
    account::{AccountAddress, AccountTransaction, Asset, Transfer, TransferKind, TransferPlace},
    utxo::Txid,
};
use jiff::Timestamp;
use ruint::aliases::U256;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::{
    AccountList, AccountRow, ListOrder, client::AnswerError, client::json, paging::RowMark,
    refusal::ApiRefusal,
};
use crate::booking::kind_of_token_transfer;

/// Prefix of the hashes of rows for allocations of the first block.
const GENESIS: &str = "GENESIS";

/// Answer: the envelope of lists and numbers.
#[derive(Deserialize)]
struct Envelope<'a> {
    status: Option<Field>,
    message: Option<String>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
}

/// Field that APIs write as a text or a number.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Field {
    Text(String),
    Number(u64),
}

impl Field {
    fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Number(number) => number.to_string(),
        }
    }
}

/// Row of any list. Fields of other lists are missing.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct RowAnswer {
    block_number: Option<Field>,
    time_stamp: Option<Field>,
    hash: Option<String>,
    transaction_hash: Option<String>,
    transaction_index: Option<Field>,
    from: Option<String>,
    to: Option<String>,
    value: Option<Field>,
    gas_price: Option<Field>,
    gas_used: Option<Field>,
    is_error: Option<Field>,
    #[serde(rename = "txreceipt_status")]
    receipt_status: Option<Field>,
    contract_address: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    call_type: Option<String>,
    trace_id: Option<String>,
    index: Option<Field>,
    log_index: Option<Field>,
    #[serde(rename = "tokenID")]
    token_id: Option<Field>,
}

/// Reader of the rows of a list.
#[derive(Clone, Copy, Debug)]
pub(super) struct ListReader {
    pub(super) account: AccountAddress,
    pub(super) list: AccountList,
    pub(super) order: ListOrder,
    /// The block at which the request begins.
    pub(super) from: Option<u64>,
    /// The newest block that may be; `None` if it is not known.
    pub(super) newest: Option<u64>,
}

/// A row with its mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ReadRow {
    pub(super) mark: RowMark,
    /// The row; `None` for a call that moved nothing.
    pub(super) row: Option<AccountRow>,
}

/// Returns the result of an answer; `None` for an empty list.
pub(super) fn result(body: &[u8]) -> Result<Option<&RawValue>, AnswerError> {
    let envelope: Envelope<'_> = json(body)?;
    let status = envelope.status.as_ref().map(Field::text);
    let message = envelope.message.unwrap_or_default();
    let said = || {
        let result = envelope.result.map(RawValue::get).unwrap_or_default();
        let result = serde_json::from_str::<String>(result).unwrap_or_default();
        if result.is_empty() { message.clone() } else { result }
    };
    match status.as_deref() {
        // JSON-RPC has no status.
        Some("1") | None => envelope.result.map(Some).ok_or_else(|| AnswerError::of_text(&said())),
        Some("2") => Err(AnswerError::Refused(ApiRefusal::DataMissing, said())),
        _ if is_empty(&message, envelope.result) => Ok(None),
        _ => Err(AnswerError::of_text(&said())),
    }
}

/// True for an answer such as `No transactions found` with an empty list. The same words without a list are an error.
fn is_empty(message: &str, result: Option<&RawValue>) -> bool {
    let is_list = result.is_some_and(|result| result.get().split_whitespace().eq(["[]"]));
    is_list && message.starts_with("No ") && message.ends_with(" found")
}

/// Reads an amount in base units.
pub(super) fn amount(body: &[u8]) -> Result<U256, AnswerError> {
    let result = result(body)?.ok_or_else(|| unreadable("there is no balance"))?;
    let field: Field = json(result.get().as_bytes())?;
    decimal(&field.text()).ok_or_else(|| unreadable("the balance is no number"))
}

/// Reads the height of the newest block, a number in hexadecimal digits.
pub(super) fn height(body: &[u8]) -> Result<u64, AnswerError> {
    let result = result(body)?.ok_or_else(|| unreadable("there is no block"))?;
    let text: String = serde_json::from_str(result.get())
        .map_err(|_| unreadable("the height of the newest block is no text"))?;
    let digits = text.strip_prefix("0x").unwrap_or_default();
    u64::from_str_radix(digits, 16).map_err(|_| AnswerError::of_text(&text))
}

/// Reads whether an account has code of its own. A delegation of EIP-7702 is none.
pub(super) fn has_code(body: &[u8]) -> Result<bool, AnswerError> {
    let result = result(body)?.ok_or_else(|| unreadable("there is no code"))?;
    let text: String =
        serde_json::from_str(result.get()).map_err(|_| unreadable("the code is no text"))?;
    let code = text.strip_prefix("0x").ok_or_else(|| AnswerError::of_text(&text))?;
    Ok(!code.is_empty() && !code.starts_with("ef0100"))
}

fn unreadable(reason: &str) -> AnswerError {
    AnswerError::Unreadable(reason.to_owned())
}

impl ListReader {
    /// Reads the rows of a page.
    pub(super) fn read(self, body: &[u8]) -> Result<Vec<ReadRow>, AnswerError> {
        let Some(result) = result(body)? else { return Ok(Vec::new()) };
        let answers: Vec<RowAnswer> = json(result.get().as_bytes())?;
        let mut rows = Vec::with_capacity(answers.len());
        let mut previous: Option<(u64, Timestamp)> = None;
        for (answer, number) in answers.iter().zip(1_u32..) {
            let row = self.row(answer).and_then(|(row, time)| {
                self.check(row.mark.block, time, previous)?;
                Ok((row, time))
            });
            let (row, time) =
                row.map_err(|reason| AnswerError::Invalid(format!("row {number}: {reason}")))?;
            previous = Some((row.mark.block, time));
            rows.push(row);
        }
        Ok(rows)
    }

    /// Checks that rows are in order, from the begin of the request to the newest block.
    fn check(
        self,
        block: u64,
        time: Timestamp,
        previous: Option<(u64, Timestamp)>,
    ) -> Result<(), String> {
        if let Some(newest) = self.newest.filter(|newest| block > *newest) {
            return Err(format!("block {block} is far above the newest block {newest}"));
        }
        let is_oldest_first = self.order == ListOrder::OldestFirst;
        let ordered = |earlier: (u64, Timestamp), later: (u64, Timestamp)| {
            earlier.0 < later.0 && earlier.1 <= later.1 || earlier == later
        };
        let is_ordered = previous.is_none_or(|previous| {
            let (earlier, later) =
                if is_oldest_first { (previous, (block, time)) } else { ((block, time), previous) };
            ordered(earlier, later)
        });
        if !is_ordered {
            return Err(format!("block {block} of {time} is out of order"));
        }
        let is_outside = |from: u64| if is_oldest_first { block < from } else { block > from };
        if let Some(from) = self.from.filter(|from| is_outside(*from)) {
            return Err(format!("block {block} is outside of the request, which begins at {from}"));
        }
        Ok(())
    }

    fn row(self, answer: &RowAnswer) -> Result<(ReadRow, Timestamp), String> {
        let number = |field: &Option<Field>, name: &str| {
            let text = field.as_ref().map(Field::text).unwrap_or_default();
            text.parse::<u64>().map_err(|_| format!("{name} `{text}` is no number"))
        };
        let block = number(&answer.block_number, "block")?;
        let seconds = number(&answer.time_stamp, "time")?;
        let time = i64::try_from(seconds).ok().and_then(|it| Timestamp::from_second(it).ok());
        let time = time.ok_or_else(|| format!("{seconds} is no time"))?;
        let position = match &answer.transaction_index {
            Some(Field::Text(text)) if text.is_empty() => None,
            None => None,
            index => {
                Some(u32::try_from(number(index, "index")?).map_err(|_| "index is too large")?)
            }
        };
        let parties = Parties::read(answer)?;
        if !parties.concern(self.account) {
            return Err(format!("it is of {parties}, not of {}", self.account));
        }
        let hash = answer.hash.as_deref().or(answer.transaction_hash.as_deref());
        let id = identifier(hash.ok_or("it has no hash")?, block)?;
        let mark = answer.mark(block);
        let mut row = AccountRow {
            id,
            block,
            time,
            position,
            initiator: None,
            transfers: Vec::new(),
            freezes: Vec::new(),
        };
        let is_moving = match self.list {
            AccountList::Native => {
                row.initiator = parties.from;
                row.transfers = self.transaction(answer, &parties)?;
                true
            }
            AccountList::Internal => {
                row.transfers.extend(internal(answer, &parties)?);
                !row.transfers.is_empty()
            }
            AccountList::Tokens | AccountList::Token(_) => {
                row.transfers.extend(self.token(answer, &parties)?);
                !row.transfers.is_empty()
            }
        };
        Ok((ReadRow { mark, row: is_moving.then_some(row) }, time))
    }

    /// The transfers of a transaction: the coin that it moves, and the fee if the account is the sender.
    fn transaction(self, answer: &RowAnswer, parties: &Parties) -> Result<Vec<Transfer>, String> {
        let mut transfers = Vec::new();
        let value = value(answer)?;
        let Some(from) = parties.from else {
            // An allocation of the first block.
            let to = parties.to.ok_or("it has no receiver")?;
            let kind = TransferKind::Reward;
            return Ok(vec![native(kind, AccountAddress::ZERO, to, value)]);
        };
        if !is_failed(answer)? && !value.is_zero() {
            let (kind, to) = parties.receiver().ok_or("it has no receiver")?;
            transfers.push(native(kind, from, to, value));
        }
        if from == self.account {
            let of = |field: &Option<Field>, name: &str| {
                let text = field.as_ref().map(Field::text).unwrap_or_default();
                decimal(&text).ok_or_else(|| format!("{name} `{text}` is no number"))
            };
            let (gas, price) = (of(&answer.gas_used, "gas")?, of(&answer.gas_price, "price")?);
            let fee = gas.checked_mul(price).ok_or("its fee has more than 256 bits")?;
            if !fee.is_zero() {
                transfers.push(native(TransferKind::Fee, from, AccountAddress::ZERO, fee));
            }
        }
        Ok(transfers)
    }

    /// The transfer of a token; `None` for one that is not interchangeable.
    fn token(self, answer: &RowAnswer, parties: &Parties) -> Result<Option<Transfer>, String> {
        if answer.token_id.is_some() {
            return Ok(None);
        }
        let contract = parties.contract.ok_or("it names no contract")?;
        if let AccountList::Token(wanted) = self.list
            && wanted != contract
        {
            return Err(format!("it is of the token {contract}, not of {wanted}"));
        }
        let from = parties.from.ok_or("it has no payer")?;
        let to = parties.to.ok_or("it has no receiver")?;
        Ok(Some(Transfer {
            kind: kind_of_token_transfer(from, to),
            asset: Asset::Token(contract),
            from,
            to,
            amount: value(answer)?,
            place: TransferPlace::default(),
        }))
    }
}

/// The transfer of the coin within a transaction; `None` for a call that moved nothing.
fn internal(answer: &RowAnswer, parties: &Parties) -> Result<Option<Transfer>, String> {
    const MOVING: [&str; 6] = ["", "call", "create", "create2", "suicide", "selfdestruct"];
    let text = |field: &Option<String>| field.as_deref().unwrap_or_default().to_ascii_lowercase();
    let (kind, call) = (text(&answer.kind), text(&answer.call_type));
    let amount = value(answer)?;
    let is_moving = MOVING.contains(&&*kind) && matches!(&*call, "" | "call");
    if !is_moving || amount.is_zero() || is_failed(answer)? {
        return Ok(None);
    }
    let from = parties.from.ok_or("it has no payer")?;
    let (kind, to) = parties.receiver().ok_or("it has no receiver")?;
    Ok(Some(native(kind, from, to, amount)))
}

/// Parties of a row.
#[derive(Clone, Copy, Debug)]
struct Parties {
    /// The payer; `None` for the first block.
    from: Option<AccountAddress>,
    to: Option<AccountAddress>,
    contract: Option<AccountAddress>,
}

impl Parties {
    fn read(answer: &RowAnswer) -> Result<Self, String> {
        let of = |field: &Option<String>| match field.as_deref() {
            None | Some("") => Ok(None),
            Some(text) if text.starts_with(GENESIS) => Ok(None),
            Some(text) => address(text).map(Some).ok_or_else(|| format!("`{text}` is no address")),
        };
        let (from, to) = (of(&answer.from)?, of(&answer.to)?);
        Ok(Self { from, to, contract: of(&answer.contract_address)? })
    }

    fn concern(self, account: AccountAddress) -> bool {
        [self.from, self.to].contains(&Some(account))
            || self.to.is_none() && self.contract == Some(account)
    }

    /// The receiver: the new contract where there is none.
    fn receiver(self) -> Option<(TransferKind, AccountAddress)> {
        let created = self.contract.map(|contract| (TransferKind::Create, contract));
        self.to.map(|to| (TransferKind::Transfer, to)).or(created)
    }
}

impl std::fmt::Display for Parties {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = |party: Option<AccountAddress>| {
            party.map_or_else(|| "nobody".to_owned(), |party| party.to_string())
        };
        write!(formatter, "{} and {}", text(self.from), text(self.to.or(self.contract)))
    }
}

impl RowAnswer {
    fn mark(&self, block: u64) -> RowMark {
        let field = |field: &Option<Field>| field.as_ref().map(Field::text).unwrap_or_default();
        let text = |text: &Option<String>| text.clone().unwrap_or_default().to_ascii_lowercase();
        let fields = [
            text(&self.hash),
            text(&self.transaction_hash),
            text(&self.from),
            text(&self.to),
            field(&self.value),
            text(&self.contract_address),
            text(&self.kind),
            text(&self.call_type),
            text(&self.trace_id),
            field(&self.index),
            field(&self.log_index),
            field(&self.token_id),
        ];
        RowMark::new(block, &fields.each_ref().map(String::as_str))
    }
}

/// True if the transaction or the call failed. Receipts of old blocks have no status.
fn is_failed(answer: &RowAnswer) -> Result<bool, String> {
    let is_error = answer.is_error.as_ref().map(Field::text).unwrap_or_default();
    let status = answer.receipt_status.as_ref().map(Field::text).unwrap_or_default();
    match (&*is_error, &*status) {
        ("0", "") | ("0" | "", "1") => Ok(false),
        ("1", _) | ("0" | "", "0") => Ok(true),
        _ => Err(format!("it states neither success nor failure: `{is_error}`, `{status}`")),
    }
}

fn value(answer: &RowAnswer) -> Result<U256, String> {
    let text = answer.value.as_ref().map(Field::text).unwrap_or_default();
    decimal(&text).ok_or_else(|| format!("amount `{text}` is no number of at most 256 bits"))
}

/// A number in decimal digits.
fn decimal(text: &str) -> Option<U256> {
    let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_plain.then(|| U256::from_str_radix(text, 10).ok()).flatten()
}

/// An address of 40 hexadecimal digits.
pub(super) fn address(text: &str) -> Option<AccountAddress> {
    let mut bytes = [0; 20];
    hex::decode_to_slice(text.strip_prefix("0x")?, &mut bytes).ok()?;
    Some(AccountAddress(bytes))
}

fn identifier(hash: &str, block: u64) -> Result<Txid, String> {
    if hash.starts_with(GENESIS) {
        return Ok(AccountTransaction::id_of_block(block));
    }
    let digits = hash.strip_prefix("0x").unwrap_or(hash);
    digits.parse().map_err(|error| format!("{error}"))
}

fn native(kind: TransferKind, from: AccountAddress, to: AccountAddress, amount: U256) -> Transfer {
    Transfer { kind, asset: Asset::Native, from, to, amount, place: TransferPlace::default() }
}

/// The number of a chain with Ethereum's accounts (EIP-155).
pub(super) fn chain_number(chain: ChainId) -> Option<u64> {
    crate::evm::params::EvmParams::of(chain).map(|params| params.chain_id)
}
