//! `assay export transfers` on an account chain: rows that can be ingested again.

use assay_address::{CanonicalAddress, ChainId};
use assay_engine::account::{
    AccountAddress, AccountTransaction, ContractFact, PublishedPlace, Transfer, transaction_text,
};
use serde::Serialize;

use super::sink::Sink;
use crate::commands::{Context, Failure, require_graph};

/// A transfer in the columns of a file of transfers.
#[derive(Serialize)]
struct Row<'a> {
    block: u64,
    time: &'a str,
    /// Empty for records of a block that are in no transaction.
    txid: &'a str,
    /// `None` for an event, which moves nothing.
    index: Option<u32>,
    asset: String,
    from: String,
    to: String,
    amount: String,
    initiator: &'a str,
    kind: &'static str,
    log_index: Option<u32>,
    trace_index: Option<&'a str>,
}

/// The columns, in the order of the fields of a row.
pub(super) const COLUMNS: [&str; 12] = [
    "block",
    "time",
    "txid",
    "index",
    "asset",
    "from",
    "to",
    "amount",
    "initiator",
    "kind",
    "log_index",
    "trace_index",
];

/// Blocks and accounts whose transfers are written.
pub(super) struct Selection {
    pub(super) from: Option<u64>,
    pub(super) to: Option<u64>,
    /// Account that pays or receives; `None` for all transfers.
    pub(super) account: Option<CanonicalAddress>,
}

/// Writes the recorded transfers of a chain in the order of the chain.
pub(super) async fn run(
    chain: ChainId,
    selection: &Selection,
    mut sink: Sink,
    context: &Context,
) -> Result<(), Failure> {
    let databases = context.open_databases().await?;
    let recorded = require_graph(chain, databases.graphs.account_snapshot(chain)?)?;
    let (first, last) = (selection.from.unwrap_or(0), selection.to.unwrap_or(u64::MAX));
    let account = selection.account.as_ref().and_then(AccountAddress::of);
    for block in recorded.blocks_from(first) {
        let (block, transactions) = block?;
        if block.height > last {
            break;
        }
        for transaction in &transactions {
            write(chain, transaction, account, &mut sink)?;
        }
    }
    sink.finish()
}

fn write(
    chain: ChainId,
    transaction: &AccountTransaction,
    account: Option<AccountAddress>,
    sink: &mut Sink,
) -> Result<(), Failure> {
    let is_selected = |transfer: &&Transfer| {
        account.is_none_or(|account| transfer.from == account || transfer.to == account)
    };
    let text = |account: AccountAddress| match account.on(chain) {
        Some(address) => address.as_str().to_owned(),
        None => account.to_string(),
    };
    let is_outside = transaction.id == AccountTransaction::id_of_block(transaction.block);
    let txid = if is_outside { String::new() } else { transaction_text(chain, transaction.id) };
    let time = transaction.time.to_string();
    let initiator = transaction.initiator.map(text).unwrap_or_default();
    for transfer in transaction.transfers.iter().filter(is_selected) {
        let (log_index, trace_index) = match &transfer.place.published {
            Some(PublishedPlace::Log(index)) => (Some(*index), None),
            Some(PublishedPlace::Trace(trace)) => (None, Some(&**trace)),
            None => (None, None),
        };
        sink.row(&Row {
            block: transaction.block,
            time: &time,
            txid: &txid,
            index: Some(transfer.place.index),
            asset: transfer.asset.text(chain),
            from: text(transfer.from),
            to: text(transfer.to),
            amount: transfer.amount.to_string(),
            initiator: &initiator,
            kind: transfer.kind.as_str(),
            log_index,
            trace_index,
        })?;
    }
    let is_selected = |fact: &&ContractFact| {
        account.is_none_or(|account| fact.contract == account || fact.account == account)
    };
    for fact in transaction.contract_facts.iter().filter(is_selected) {
        sink.row(&Row {
            block: transaction.block,
            time: &time,
            txid: &txid,
            index: None,
            asset: String::new(),
            from: text(fact.contract),
            to: text(fact.account),
            amount: "0".to_owned(),
            initiator: &initiator,
            kind: fact.kind.as_str(),
            log_index: None,
            trace_index: None,
        })?;
    }
    Ok(())
}
