//! Rows of transfer files, from their cells.

use assay_address::ChainId;
use assay_engine::{
    account::{
        AccountAddress, Asset, ContractFact, ContractFactKind, PublishedPlace, TransferKind,
    },
    utxo::Txid,
};
use jiff::Timestamp;
use ruint::aliases::U256;
use serde::Deserialize;

use super::{
    RowPosition,
    cell::{self, CellValue, Values},
    columns::{Columns, Field, FileForm},
    counts::LeftOut,
};
use crate::booking::{kind_of_token_transfer, withdrawn};

/// Place of a row: its file, by index, and its position there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowOrigin {
    /// Index of the file.
    pub file: usize,
    /// Position in the file.
    pub position: RowPosition,
}

/// A row with its block.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) block: u64,
    pub(super) origin: RowOrigin,
    /// Time of the block; `None` if the row does not state it.
    pub(super) time: Option<Timestamp>,
    /// The transaction; `None` for a record of the block.
    pub(super) txid: Option<Txid>,
    /// Index of the transaction in its block.
    pub(super) transaction_index: Option<u32>,
    pub(super) content: Content,
}

/// Content of a row.
#[derive(Clone, Debug)]
pub(super) enum Content {
    Transfer(TransferRow),
    Fact(FactRow),
    Frame(Frame),
    Transaction(Box<TransactionRow>),
    Block(Box<BlockRow>),
    /// A row that moves nothing.
    LeftOut(LeftOut),
}

/// A transfer.
#[derive(Clone, Debug)]
pub(super) struct TransferRow {
    pub(super) kind: TransferKind,
    pub(super) asset: Asset,
    pub(super) from: AccountAddress,
    pub(super) to: AccountAddress,
    pub(super) amount: U256,
    /// Order among the rows of the transaction; `None` if the file states only the published place.
    pub(super) index: Option<u32>,
    pub(super) published: Option<PublishedPlace>,
    pub(super) initiator: Option<AccountAddress>,
}

/// A fact about a contract.
#[derive(Clone, Copy, Debug)]
pub(super) struct FactRow {
    pub(super) fact: ContractFact,
    pub(super) initiator: Option<AccountAddress>,
}

/// A call, a reward or another record of a trace.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    pub(super) kind: FrameKind,
    pub(super) from: Option<AccountAddress>,
    pub(super) to: Option<AccountAddress>,
    pub(super) amount: U256,
    /// Path in the calls of the transaction; `None` for a record of the block, or if the file states only an index.
    pub(super) path: Option<Box<[u32]>>,
    /// The index or the identifier of the frame, if it has no path.
    pub(super) label: Option<Box<str>>,
    /// True if the frame failed, or the file states a failure above it.
    pub(super) is_failed: bool,
    /// True if the file states failures above a frame with the frame.
    pub(super) is_status_final: bool,
}

/// Kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FrameKind {
    Call,
    Create,
    SelfDestruct,
    /// A call in the account of the caller, or one that cannot move value.
    Delegate,
    /// A reward of a block, or an allocation of the genesis block.
    Reward,
    /// A change of balances that the rules of the chain made.
    Fork,
}

/// A transaction, from a file of transactions or of receipts.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct TransactionRow {
    pub(super) from: Option<AccountAddress>,
    pub(super) to: Option<AccountAddress>,
    pub(super) value: Option<U256>,
    /// True if the transaction succeeded; `None` if the row does not state it.
    pub(super) is_successful: Option<bool>,
    pub(super) gas_used: Option<U256>,
    pub(super) gas_price: Option<U256>,
    /// Payment for blobs.
    pub(super) blob_fee: Option<U256>,
    /// The contract that the transaction created.
    pub(super) created: Option<AccountAddress>,
}

/// A block.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct BlockRow {
    pub(super) miner: Option<AccountAddress>,
    pub(super) base_fee: Option<U256>,
    pub(super) withdrawals: Vec<Withdrawal>,
}

/// A withdrawal of a validator.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Withdrawal {
    pub(super) index: u32,
    pub(super) to: AccountAddress,
    pub(super) amount: U256,
}

/// The cells of a row.
pub(super) trait Cells {
    /// The cell of a column.
    fn cell(&self, column: usize) -> CellValue<'_>;
}

/// The chain's first block of proof of stake, from which on no block has a reward.
const MERGE: u64 = 15_537_394;

/// Reads one row.
pub(super) struct RowReader<'a, C> {
    pub(super) columns: &'a Columns,
    pub(super) cells: &'a C,
    pub(super) values: &'a mut Values,
}

impl<'a, C: Cells> RowReader<'a, C> {
    pub(super) fn read(mut self, form: FileForm, origin: RowOrigin) -> Result<Row, String> {
        let height = if form == FileForm::Blocks && self.columns.has(Field::Number) {
            Field::Number
        } else {
            Field::Block
        };
        let block = self.with(height, cell::number)?;
        let block = self.required(height, block)?;
        if block > u64::from(u32::MAX) << 16 {
            return Err(format!("{block} is no height of a block"));
        }
        let (mut txid, mut time) = (None, None);
        if form != FileForm::Blocks {
            let field = if self.columns.has(Field::Txid) { Field::Txid } else { Field::Hash };
            txid = self.with(field, cell::txid)?;
        }
        if self.columns.has(Field::Time) {
            let cell = self.cell(Field::Time);
            let found = self.values.time(cell);
            time = found.map_err(|reason| self.named(Field::Time, &reason))?;
        }
        let transaction_index = self.with(Field::TransactionIndex, cell::position)?;
        let content = match form {
            FileForm::Transfers => {
                self.required(Field::Time, time)?;
                self.transfer(&mut txid)?
            }
            FileForm::TokenTransfers => {
                self.required(Field::Txid, txid)?;
                self.token_transfer()?
            }
            FileForm::Traces => self.frame(block, &mut txid)?,
            FileForm::Transactions | FileForm::Receipts => {
                let field = if self.columns.has(Field::Txid) { Field::Txid } else { Field::Hash };
                self.required(field, txid)?;
                self.transaction(form)?
            }
            FileForm::Blocks => {
                self.required(Field::Time, time)?;
                self.block()?
            }
        };
        Ok(Row { block, origin, time, txid, transaction_index, content })
    }

    fn cell(&self, field: Field) -> CellValue<'a> {
        self.columns.column(field).map_or(CellValue::Missing, |column| self.cells.cell(column))
    }

    fn named(&self, field: Field, reason: &str) -> String {
        format!("{}: {reason}", self.columns.name(field))
    }

    fn with<T>(
        &self,
        field: Field,
        parse: impl FnOnce(CellValue<'_>) -> Result<T, String>,
    ) -> Result<T, String> {
        parse(self.cell(field)).map_err(|reason| self.named(field, &reason))
    }

    fn required<T>(&self, field: Field, found: Option<T>) -> Result<T, String> {
        found.ok_or_else(|| format!("{}: it is missing", self.columns.name(field)))
    }

    fn account(&mut self, field: Field) -> Result<Option<AccountAddress>, String> {
        let Some(column) = self.columns.column(field) else { return Ok(None) };
        let found = self.values.account(self.cells.cell(column));
        found.map_err(|reason| self.named(field, &reason))
    }

    fn asset(&mut self, field: Field) -> Result<Asset, String> {
        let Some(column) = self.columns.column(field) else { return self.required(field, None) };
        let found = self.values.asset(self.cells.cell(column));
        let found = found.map_err(|reason| self.named(field, &reason))?;
        self.required(field, found)
    }

    fn note_names(&mut self, asset: Asset) {
        for field in [Field::Symbol, Field::TokenName] {
            if let Some(name) = self.cell(field).text() {
                self.values.note_name(asset, name);
            }
        }
    }

    /// The amount of a row of a warehouse.
    fn exported_amount(&self) -> Result<Option<U256>, String> {
        self.with(Field::Amount, cell::exported_amount)
    }

    /// A row of our own format.
    fn transfer(&mut self, txid: &mut Option<Txid>) -> Result<Content, String> {
        let kind = self.cell(Field::Kind).text();
        if let Some(fact) = ContractFactKind::ALL.into_iter().find(|it| kind == Some(it.as_str())) {
            return self.fact(fact, txid.as_ref());
        }
        let kind = match kind {
            None => TransferKind::Transfer,
            Some(kind) => kind.parse().map_err(|error| format!("kind: {error}"))?,
        };
        let asset = self.asset(Field::Asset)?;
        let is_of_block =
            matches!(kind, TransferKind::Reward | TransferKind::Withdrawal | TransferKind::Balance);
        if txid.is_none() && !is_of_block {
            return Err(format!("txid: it is missing; a {kind} happens in a transaction"));
        }
        let (from, to) = (self.account(Field::From)?, self.account(Field::To)?);
        let from_nobody = is_of_block || kind == TransferKind::Mint;
        let to_nobody = matches!(kind, TransferKind::Burn | TransferKind::Fee);
        let zero = |is_zero: bool| is_zero.then_some(AccountAddress::ZERO);
        let from = self.required(Field::From, from.or(zero(from_nobody)))?;
        let to = self.required(Field::To, to.or(zero(to_nobody)))?;
        if from_nobody && from != AccountAddress::ZERO {
            return Err(format!(
                "from: a {kind} comes from the zero address; leave the cell empty"
            ));
        }
        if kind == TransferKind::Burn && to != AccountAddress::ZERO {
            return Err("to: a burn goes to the zero address; leave the cell empty".to_owned());
        }
        let amount = self.with(Field::Amount, cell::amount)?;
        let amount = self.required(Field::Amount, amount)?;
        let index = self.with(Field::Index, cell::position)?;
        let index = Some(self.required(Field::Index, index)?);
        let log = self.with(Field::LogIndex, cell::position)?;
        let trace = self.cell(Field::TraceIndex);
        let trace = match trace {
            CellValue::Number(number) => Some(number.to_string()),
            other => other.text().map(str::to_owned),
        };
        let published = match (log, trace) {
            (Some(_), Some(_)) => {
                return Err("a transfer has a log_index or a trace_index, not both".to_owned());
            }
            (Some(log), None) => Some(PublishedPlace::Log(log)),
            (None, Some(trace)) if trace.len() > LONGEST_LABEL => {
                return Err(format!("trace_index: it is longer than {LONGEST_LABEL} characters"));
            }
            (None, Some(trace)) => Some(PublishedPlace::Trace(trace.into())),
            (None, None) => None,
        };
        let initiator = self.account(Field::Initiator)?;
        let kind = kind_of(kind, asset, from, to);
        self.note_names(asset);
        Ok(Content::Transfer(TransferRow {
            kind,
            asset,
            from,
            to,
            amount,
            index,
            published,
            initiator,
        }))
    }

    /// A fact of our own format: `from` is the contract, `to` the account that it names, and nothing moves.
    fn fact(&mut self, kind: ContractFactKind, txid: Option<&Txid>) -> Result<Content, String> {
        let name = kind.as_str();
        if txid.is_none() {
            return Err(format!("txid: it is missing; a {name} row is of a transaction"));
        }
        let (from, to) = (self.account(Field::From)?, self.account(Field::To)?);
        let (contract, account) = match kind {
            ContractFactKind::Code => {
                let contract = self.required(Field::From, from)?;
                if to.is_some_and(|to| to != contract) {
                    return Err(format!("to: a {name} row names no account; leave it empty"));
                }
                (contract, contract)
            }
            ContractFactKind::Beneficiary | ContractFactKind::Holder => {
                (self.required(Field::From, from)?, self.required(Field::To, to)?)
            }
        };
        if [contract, account].contains(&AccountAddress::ZERO) {
            return Err(format!("a {name} row is about accounts other than the zero address"));
        }
        if self.with(Field::Amount, cell::amount)?.is_some_and(|amount| !amount.is_zero()) {
            return Err(format!("amount: a {name} row moves nothing; write 0"));
        }
        let initiator = self.account(Field::Initiator)?;
        let fact = ContractFact { contract, kind, account };
        Ok(Content::Fact(FactRow { fact, initiator }))
    }

    /// A transfer of a token as warehouses export it.
    fn token_transfer(&mut self) -> Result<Content, String> {
        let standard = self.cell(Field::TokenKind).text().map(letters).unwrap_or_default();
        let is_removed = self.with(Field::Removed, cell::truth)?;
        if is_removed == Some(true) {
            return Ok(Content::LeftOut(LeftOut::Removed));
        }
        // A token with a number of its own has no amount.
        let has_number = self.cell(Field::TokenId) != CellValue::Missing
            && self.cell(Field::TokenId).text() != Some("0");
        if standard.contains("721")
            || standard.contains("1155")
            || (standard.is_empty() && has_number)
        {
            return Ok(Content::LeftOut(LeftOut::NotFungible));
        }
        let (from, to) = (self.account(Field::From)?, self.account(Field::To)?);
        let from = self.required(Field::From, from)?;
        let to = self.required(Field::To, to)?;
        let amount = self.exported_amount()?;
        let amount = self.required(Field::Amount, amount)?;
        let initiator = self.account(Field::Initiator)?;
        let log = self.with(Field::LogIndex, cell::position)?;
        if standard == "native" {
            let path =
                self.with(Field::TraceAddress, |cell| cell::path(cell.text().unwrap_or("")))?;
            return Ok(Content::Frame(Frame {
                kind: FrameKind::Call,
                from: Some(from),
                to: Some(to),
                amount,
                path: Some(path.into()),
                label: None,
                is_failed: false,
                is_status_final: true,
            }));
        }
        let field = if self.columns.has(Field::Token) { Field::Token } else { Field::Address };
        let contract = self.account(field)?;
        let asset = Asset::Token(self.required(field, contract)?);
        let log = self.required(Field::LogIndex, log)?;
        self.note_names(asset);
        Ok(Content::Transfer(TransferRow {
            kind: kind_of(TransferKind::Transfer, asset, from, to),
            asset,
            from,
            to,
            amount,
            index: None,
            published: Some(PublishedPlace::Log(log)),
            initiator,
        }))
    }

    /// A frame of a trace as warehouses export it.
    fn frame(&mut self, block: u64, txid: &mut Option<Txid>) -> Result<Content, String> {
        let id = self.cell(Field::TraceId).text();
        let (id_kind, id_path) = id.map_or((None, None), parts_of_id);
        let kind = self.frame_kind(id_kind)?;
        let is_of_block = matches!(kind, FrameKind::Reward | FrameKind::Fork);
        let mut label: Option<Box<str>> = None;
        let mut path = None;
        if is_of_block {
            *txid = None;
            label = id.or(self.cell(Field::TraceIndex).text()).map(Box::from);
            if label.as_ref().is_some_and(|label| label.len() > LONGEST_LABEL) {
                return Err("trace_id: it is too long".to_owned());
            }
        } else if self.columns.has(Field::TraceAddress) || id_path.is_some() {
            let text = match self.cell(Field::TraceAddress).text() {
                Some(text) => Some(text),
                None => id_path,
            };
            path = Some(cell::path(text.unwrap_or(""))?.into());
        } else {
            let index = self.with(Field::TraceIndex, cell::position)?;
            let index = index.ok_or("the row has neither a trace_address nor a trace_index")?;
            label = Some(index.to_string().into());
        }
        if !is_of_block && txid.is_none() {
            return Err(
                "the row names no transaction: exports of calls by `debug_traceBlock` leave it out; export them by \
                 `trace_block`"
                    .to_owned(),
            );
        }
        if kind == FrameKind::Reward && block >= MERGE && self.values.chain() == ChainId::ETH {
            return Ok(Content::LeftOut(LeftOut::RewardAfterMerge));
        }
        let status = self.with(Field::Status, cell::truth)?;
        let transaction_status = self.with(Field::TransactionStatus, cell::truth)?;
        let is_rejected = self.with(Field::Rejected, cell::truth)? == Some(true);
        let has_error = self.cell(Field::Error).text().is_some();
        let is_failed =
            status == Some(false) || transaction_status == Some(false) || is_rejected || has_error;
        let amount = self.exported_amount()?.unwrap_or_default();
        let (mut from, mut to) = (self.account(Field::From)?, self.account(Field::To)?);
        if kind == FrameKind::Create {
            to = to.or(self.account(Field::ResultAddress)?).or(self.account(Field::Address)?);
        }
        if kind == FrameKind::SelfDestruct {
            from = from.or(self.account(Field::Address)?);
            to = to.or(self.account(Field::RefundAddress)?);
        }
        Ok(Content::Frame(Frame {
            kind,
            from,
            to,
            amount,
            path,
            label,
            is_failed,
            is_status_final: status.is_some(),
        }))
    }

    fn frame_kind(&self, of_id: Option<&str>) -> Result<FrameKind, String> {
        let own = self.cell(Field::TraceType).text();
        let kind = own.or(self.cell(Field::Type).text()).filter(|kind| *kind != "trace");
        let call = self.cell(Field::CallType).text();
        let kind = kind.or(of_id).or(call).unwrap_or("call");
        Ok(match letters(kind).as_str() {
            "call" => match call.map(letters).as_deref() {
                None | Some("call") => FrameKind::Call,
                Some("create" | "create2") => FrameKind::Create,
                Some("suicide" | "selfdestruct") => FrameKind::SelfDestruct,
                Some("delegatecall" | "callcode" | "staticcall") => FrameKind::Delegate,
                Some(other) => return Err(format!("unknown kind of a call: `{other}`")),
            },
            "create" | "create2" => FrameKind::Create,
            "suicide" | "selfdestruct" => FrameKind::SelfDestruct,
            "delegatecall" | "callcode" | "staticcall" => FrameKind::Delegate,
            "reward" | "genesis" => FrameKind::Reward,
            "daofork" => FrameKind::Fork,
            other => return Err(format!("unknown kind of a trace: `{}`", cell::shortened(other))),
        })
    }

    /// A transaction or a receipt as warehouses export it.
    fn transaction(&mut self, form: FileForm) -> Result<Content, String> {
        let is_receipt = form == FileForm::Receipts;
        let gas_used = self.with(Field::GasUsed, cell::amount)?;
        let gas_price = self.with(Field::GasPrice, cell::amount)?;
        let blob_gas = self.with(Field::BlobGasUsed, cell::amount)?;
        let blob_price = self.with(Field::BlobGasPrice, cell::amount)?;
        let blob_fee = blob_gas.zip(blob_price).and_then(|(gas, price)| gas.checked_mul(price));
        let is_successful = self.with(Field::Status, cell::truth)?;
        let created = self.account(if is_receipt { Field::Token } else { Field::Created })?;
        let mut row = TransactionRow {
            is_successful,
            gas_used,
            gas_price,
            blob_fee,
            created,
            ..TransactionRow::default()
        };
        if !is_receipt {
            row.from = self.account(Field::From)?;
            row.to = self.account(Field::To)?;
            row.value = self.exported_amount()?;
        }
        Ok(Content::Transaction(Box::new(row)))
    }

    /// A block as warehouses export it.
    fn block(&mut self) -> Result<Content, String> {
        let withdrawals = match self.cell(Field::Withdrawals).text() {
            None => Vec::new(),
            Some(text) => {
                let listed: Vec<StatedWithdrawal> =
                    withdrawals(text).map_err(|reason| self.named(Field::Withdrawals, &reason))?;
                let read = |withdrawal: StatedWithdrawal| {
                    let to = self.values.account(CellValue::Text(&withdrawal.address))?;
                    let to = to.ok_or("a withdrawal has no address")?;
                    let amount = withdrawn(withdrawal.amount);
                    Ok(Withdrawal { index: withdrawal.index, to, amount })
                };
                let read: Result<Vec<_>, String> = listed.into_iter().map(read).collect();
                read.map_err(|reason| self.named(Field::Withdrawals, &reason))?
            }
        };
        let miner = self.account(Field::Miner)?;
        let base_fee = self.with(Field::BaseFee, cell::amount)?;
        Ok(Content::Block(Box::new(BlockRow { miner, base_fee, withdrawals })))
    }
}

/// Longest label of a trace.
const LONGEST_LABEL: usize = 200;

/// A withdrawal as ethereum-etl writes it.
#[derive(Deserialize)]
struct StatedWithdrawal {
    index: u32,
    address: String,
    amount: u64,
}

/// Withdrawals in a cell: a JSON array, or, in CSV, its elements without brackets.
fn withdrawals(text: &str) -> Result<Vec<StatedWithdrawal>, String> {
    let array = if text.starts_with('[') { text.to_owned() } else { format!("[{text}]") };
    serde_json::from_str(&array).map_err(|error| error.to_string())
}

/// The kind and the path of a trace by its identifier, such as `call_0x12.._0_1`.
fn parts_of_id(id: &str) -> (Option<&str>, Option<&str>) {
    let Some((kind, rest)) = id.split_once('_') else { return (Some(id), None) };
    let path = rest.split_once('_').map(|(_, path)| path);
    (Some(kind), path.filter(|_| rest.starts_with("0x")))
}

/// The letters and digits of a text, in lower case.
fn letters(text: &str) -> String {
    let kept = text.chars().filter(char::is_ascii_alphanumeric).take(40);
    kept.map(|character| character.to_ascii_lowercase()).collect()
}

/// The kind of a transfer: tokens come from and go to the zero address when they are minted and burned.
fn kind_of(
    stated: TransferKind,
    asset: Asset,
    from: AccountAddress,
    to: AccountAddress,
) -> TransferKind {
    match (stated, asset) {
        (TransferKind::Transfer, Asset::Token(_)) => kind_of_token_transfer(from, to),
        _ => stated,
    }
}
