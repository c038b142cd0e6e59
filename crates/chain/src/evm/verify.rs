//! Comparison of a block's parts with its hash, and with one another.

use alloy_primitives::B256;
use alloy_trie::root::ordered_trie_root_encoded;
use assay_engine::account::AccountAddress;
use ruint::aliases::U256;

use super::{
    answer::{BlockAnswer, ReceiptAnswer, TransactionAnswer, WithdrawalAnswer},
    block::Untraced,
    envelope::{Envelope, created_contract},
    header::unknown_fields,
    params::{BlockRewards, EvmParams},
    rlp::{List, keccak},
    trace::{Call, CallKind, TransactionTrace},
};
use crate::http::shortened;

/// A hash as nodes write it.
pub(super) fn text(hash: &[u8; 32]) -> String {
    format!("0x{}", hex::encode(hash))
}

/// Compares the header of a block with its hash, and the transactions and withdrawals with the header. Returns the sender of
/// each transaction. `json` is the node's answer.
///
/// # Errors
///
/// Returns a description of what differs.
pub(super) fn check_block(
    params: &EvmParams,
    block: &BlockAnswer<TransactionAnswer>,
    json: &str,
) -> Result<Vec<AccountAddress>, String> {
    if params.proven.header {
        let hash = block.header_hash();
        if hash != block.hash.0 {
            return Err(header_error(block, &hash, json));
        }
    }
    let mut senders = Vec::with_capacity(block.transactions.len());
    if params.proven.transactions {
        let mut encoded = Vec::with_capacity(block.transactions.len());
        for transaction in &block.transactions {
            let named =
                |reason: String| format!("transaction {}: {reason}", text(&transaction.hash.0));
            let Some(envelope) = transaction.envelope().map_err(named)? else {
                let kind = transaction.kind();
                return Err(named(format!(
                    "its type 0x{kind:x} is not known: a newer version of Assay may know it"
                )));
            };
            check_envelope(transaction, &envelope).map_err(named)?;
            encoded.push(envelope.encoded);
            senders.push(envelope.sender);
        }
        compare_root("transactions", &encoded, block.transactions_root.0)?;
    } else {
        if block.transactions.is_empty() && !params.unlike.lists {
            check_emptiness(block.transactions_root.0)?;
        }
        for transaction in &block.transactions {
            if !params.unlike.signatures && transaction.is_signed() {
                check_signature(transaction).map_err(|reason| {
                    format!("transaction {}: {reason}", text(&transaction.hash.0))
                })?;
            }
            senders.push(transaction.from.0);
        }
    }
    if params.proven.withdrawals {
        match block.withdrawals_root {
            Some(root) => {
                let encoded = block.withdrawals.iter().map(WithdrawalAnswer::encoded);
                let withdrawals: Vec<_> = encoded.collect();
                // Chains of the OP Stack have the root of a contract's storage here, and no withdrawals.
                if params.deposits.is_none() || !withdrawals.is_empty() {
                    compare_root("withdrawals", &withdrawals, root.0)?;
                }
            }
            None if block.withdrawals.is_empty() => {}
            None => return Err("it has withdrawals, and its header has no root of them".to_owned()),
        }
    }
    Ok(senders)
}

/// Compares a signed transaction with its hash and its sender.
fn check_signature(transaction: &TransactionAnswer) -> Result<(), String> {
    match transaction.envelope()? {
        Some(envelope) => check_envelope(transaction, &envelope),
        None => Ok(()),
    }
}

fn check_envelope(transaction: &TransactionAnswer, envelope: &Envelope) -> Result<(), String> {
    let hash = keccak(&envelope.encoded);
    if hash != transaction.hash.0 {
        return Err(format!("its fields have the hash {}", text(&hash)));
    }
    let (sender, stated) = (envelope.sender, transaction.from.0);
    if sender != stated {
        return Err(format!("it was signed by {sender}, and `from` is {stated}"));
    }
    Ok(())
}

/// Refuses a block without transactions whose header commits to some: pruned nodes leave them out.
fn check_emptiness(root: [u8; 32]) -> Result<(), String> {
    let B256 { 0: of_none } = ordered_trie_root_encoded::<Vec<u8>>(&[]);
    // Some chains have no roots, or hash the transactions one after the other.
    if [of_none, [0; 32], keccak([])].contains(&root) {
        return Ok(());
    }
    Err(format!(
        "it has no transactions, and its header states their root {}: the node may be pruned",
        text(&root)
    ))
}

impl WithdrawalAnswer {
    pub(super) fn encoded(&self) -> Vec<u8> {
        let mut list = List::new();
        list.number(self.index.0)
            .number(self.validator_index.0)
            .account(Some(self.address.0))
            .number(self.amount.0);
        list.encoded()
    }
}

fn header_error<T>(block: &BlockAnswer<T>, hash: &[u8; 32], json: &str) -> String {
    let differs =
        format!("its header has the hash {}, and it is {}", text(hash), text(&block.hash.0));
    let unknown = unknown_fields(json);
    if unknown.is_empty() {
        return differs;
    }
    format!(
        "{differs}: it has fields that are not known ({}), which a newer version of Assay may know",
        shortened(&unknown.join(", "))
    )
}

/// Compares the root of what a header commits to.
fn compare_root(what: &str, encoded: &[Vec<u8>], stated: [u8; 32]) -> Result<(), String> {
    let B256 { 0: root } = ordered_trie_root_encoded(encoded);
    if root == stated {
        return Ok(());
    }
    Err(format!(
        "its {what} have the root {}, and its header states {}",
        text(&root),
        text(&stated)
    ))
}

/// Compares the receipts of a block with its header and its transactions.
///
/// # Errors
///
/// Returns a description of what differs.
pub(super) fn check_receipts(
    params: &EvmParams,
    block: &BlockAnswer<TransactionAnswer>,
    receipts: &[ReceiptAnswer],
) -> Result<(), String> {
    if receipts.len() != block.transactions.len() {
        let (found, wanted) = (receipts.len(), block.transactions.len());
        return Err(format!("there are {found} receipts of {wanted} transactions"));
    }
    let (mut gas, mut logs) = (0, 0);
    for (index, (receipt, transaction)) in (0..).zip(receipts.iter().zip(&block.transactions)) {
        let named = |reason: String| format!("receipt {index}: {reason}");
        if receipt.block_hash != block.hash {
            return Err(named(format!("it is of block {}", text(&receipt.block_hash.0))));
        }
        if receipt.transaction_hash != transaction.hash || receipt.transaction_index.0 != index {
            let (other, wanted) = (receipt.transaction_hash.0, transaction.hash.0);
            let place = receipt.transaction_index.0;
            return Err(named(format!(
                "it is of transaction {place}, {}, and not of {}",
                text(&other),
                text(&wanted)
            )));
        }
        if receipt.status.is_some_and(|status| status.0 > 1) {
            return Err(named("its status is neither 0 nor 1".to_owned()));
        }
        for log in &receipt.logs {
            if log.removed
                || log.block_hash != block.hash
                || log.transaction_hash != transaction.hash
            {
                return Err(named("it has a log of another block or transaction".to_owned()));
            }
            if log.log_index.0 != logs {
                let stated = log.log_index.0;
                return Err(named(format!("log {stated} stands where log {logs} is due")));
            }
            logs += 1;
        }
        let next = receipt.cumulative_gas_used.0;
        if next.checked_sub(gas) != Some(receipt.gas_used.0) && params.proven.receipts {
            let used = receipt.gas_used.0;
            return Err(named(format!(
                "it states {used} of gas, and the block's rises to {next} from {gas}"
            )));
        }
        gas = next;
    }
    if params.proven.receipts {
        let encoded: Result<Vec<_>, _> = receipts.iter().map(ReceiptAnswer::encoded).collect();
        compare_root("receipts", &encoded?, block.receipts_root.0)?;
    }
    Ok(())
}

/// Compares the headers of uncles with those that a block names, of which some get new coins.
///
/// # Errors
///
/// Returns a description of what differs.
pub(super) fn check_uncles<T, U>(
    params: &EvmParams,
    block: &BlockAnswer<T>,
    uncles: &[BlockAnswer<U>],
) -> Result<(), String> {
    let is_rewarded = params.rewards != BlockRewards::None && !block.difficulty.0.is_zero();
    if uncles.is_empty() && !(is_rewarded && params.proven.header) {
        return Ok(());
    }
    let hashes = uncles.iter().map(BlockAnswer::header_hash);
    if !hashes.eq(block.uncles.iter().map(|hash| hash.0)) {
        return Err("its uncles are not those that it names".to_owned());
    }
    let mut list = List::new();
    for uncle in uncles {
        list.encoded_list(&uncle.encoded_header());
    }
    let hash = keccak(list.encoded());
    if hash == block.sha3_uncles.0 {
        return Ok(());
    }
    let stated = text(&block.sha3_uncles.0);
    Err(format!("its uncles have the hash {}, and its header states {stated}", text(&hash)))
}

/// Compares the traces of a block with its transactions and receipts, and returns that of each transaction. No root commits
/// to traces. `None` is a transaction without a trace: one of the untraced ones, or one that only its chain has.
///
/// # Errors
///
/// Returns a description of what differs.
pub(super) fn check_traces<'a>(
    params: &EvmParams,
    block: &BlockAnswer<TransactionAnswer>,
    senders: &[AccountAddress],
    receipts: &[ReceiptAnswer],
    (traces, untraced): (&'a [TransactionTrace], &[Untraced]),
) -> Result<Vec<Option<&'a TransactionTrace>>, String> {
    let (found, wanted) = (traces.len() + untraced.len(), block.transactions.len());
    if found > wanted || (found < wanted && params.proven.transactions) {
        return Err(format!("there are traces of {found} transactions, and it has {wanted}"));
    }
    let mut traces = traces.iter().peekable();
    let mut all = Vec::with_capacity(wanted);
    for ((transaction, sender), receipt) in block.transactions.iter().zip(senders).zip(receipts) {
        if untraced.iter().any(|it| it.hash == transaction.hash.0) {
            all.push(None);
            continue;
        }
        let is_its_own =
            |trace: &&TransactionTrace| trace.hash.is_none_or(|hash| hash == transaction.hash.0);
        let may_lack = !params.proven.transactions && transaction.is_of_its_chain();
        let trace = if may_lack { traces.next_if(is_its_own) } else { traces.next() };
        let checked = match trace {
            Some(trace) => check_trace(params, block, transaction, *sender, receipt, trace),
            None if may_lack => Ok(()),
            None => Err("is missing"),
        };
        checked.map_err(|reason| {
            format!("the trace of transaction {} {reason}", text(&transaction.hash.0))
        })?;
        all.push(trace);
    }
    match traces.next() {
        Some(_) => Err("there are traces of other transactions than its own".to_owned()),
        None => Ok(all),
    }
}

fn check_trace(
    params: &EvmParams,
    block: &BlockAnswer<TransactionAnswer>,
    transaction: &TransactionAnswer,
    sender: AccountAddress,
    receipt: &ReceiptAnswer,
    trace: &TransactionTrace,
) -> Result<(), &'static str> {
    if trace.block.is_some_and(|hash| hash != block.hash.0) {
        return Err("is of another block");
    }
    if trace.hash.is_some_and(|hash| hash != transaction.hash.0) {
        return Err("is of another transaction");
    }
    let call = trace.calls.first().ok_or("has no call")?;
    if (call.kind == CallKind::Create) != transaction.to.is_none() {
        return Err("begins with another kind of call");
    }
    let to = match transaction.to {
        Some(to) => to.0,
        None => created_by(transaction, sender, receipt),
    };
    // Some nodes state the zero address for a contract whose creation failed.
    let is_other = !call.is_failed && call.to.is_some_and(|called| called != to);
    if call.from != sender || is_other {
        return Err("begins with the call of another account");
    }
    if call.amount != transaction.value.0 {
        return Err("begins with a call of another value");
    }
    if receipt.status.is_some_and(|status| (status.0 == 0) != call.is_failed) {
        return Err("and its receipt differ about its success");
    }
    // Otherwise a call could pay in the name of any account.
    let is_of_other = |call: &Call| {
        // Booking leaves self-destructions of others out, which some nodes invent.
        !call.is_failed && call.kind != CallKind::SelfDestruct && trace.is_of_other(call)
    };
    if !params.unlike.calls && trace.calls.iter().any(is_of_other) {
        return Err("has a call of another account than that in which the call above it runs");
    }
    Ok(())
}

/// The contract that a transaction without receiver creates.
pub(super) fn created_by(
    transaction: &TransactionAnswer,
    sender: AccountAddress,
    receipt: &ReceiptAnswer,
) -> AccountAddress {
    // Deposits are numbered in their receipts.
    created_contract(sender, receipt.deposit_nonce.unwrap_or(transaction.nonce).0)
}

/// The price of gas that a transaction paid: by its own fields where these are proven, else as its receipt states it.
///
/// # Errors
///
/// Returns a description of what is missing.
pub(super) fn gas_price(
    params: &EvmParams,
    base_fee: U256,
    transaction: &TransactionAnswer,
    receipt: &ReceiptAnswer,
) -> Result<U256, String> {
    if params.deposits == Some(transaction.kind()) {
        return Ok(U256::ZERO);
    }
    let own = match (transaction.max_fee_per_gas, transaction.max_priority_fee_per_gas) {
        (Some(most), Some(tip)) if transaction.kind() >= 2 => {
            Some(most.0.min(base_fee.saturating_add(tip.0)))
        }
        _ => transaction.gas_price.map(|price| price.0),
    };
    let stated = receipt.effective_gas_price.map(|price| price.0);
    let price = if params.proven.transactions { own.or(stated) } else { stated.or(own) };
    price.ok_or_else(|| "it has no gas price".to_owned())
}
