//! Comparison of a block with its identifier: its header, the root of its transactions, and the identifier of each.

use prost::Message;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{
    answer::{BlockAnswer, HeaderAnswer, RawHeaderAnswer, ResultAnswer, TransactionAnswer},
    contract::Contract,
    wire::{Fields, RawHeader, TransactionResult, UnknownValue, WholeTransaction, append_unknown},
};
use crate::{hash::hash_text, http::shortened};

/// Results that a block states, by their numbers in the published description (Tron.proto).
const RESULTS: [&str; 16] = [
    "DEFAULT",
    SUCCESS,
    "REVERT",
    "BAD_JUMP_DESTINATION",
    "OUT_OF_MEMORY",
    "PRECOMPILED_CONTRACT",
    "STACK_TOO_SMALL",
    "STACK_TOO_LARGE",
    "ILLEGAL_OPERATION",
    "STACK_OVERFLOW",
    "OUT_OF_ENERGY",
    "OUT_OF_TIME",
    "JVM_STACK_OVER_FLOW",
    "UNKNOWN",
    "TRANSFER_FAILED",
    "INVALID_CODE",
];
const SUCCESS: &str = "SUCCESS";
/// Names of a transaction's JSON that stand beside what its bytes prove.
const KNOWN_NAMES: [&str; 5] = ["visible", "raw_data", "raw_data_hex", "txID", "signature"];

fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// A block whose parts were compared with its identifier.
#[derive(Debug)]
pub(super) struct VerifiedBlock {
    pub(super) height: u64,
    pub(super) id: [u8; 32],
    pub(super) parent: [u8; 32],
    /// Milliseconds since 1970.
    pub(super) timestamp: i64,
    pub(super) transactions: Vec<VerifiedTransaction>,
}

/// A transaction that the block's root commits to.
#[derive(Debug)]
pub(super) struct VerifiedTransaction {
    pub(super) id: [u8; 32],
    pub(super) contract: Contract,
    /// Success as the block states it; `None` in blocks before smart contracts.
    pub(super) succeeded: Option<bool>,
}

/// The identifier of a block: its height, then the end of the hash of its header.
///
/// # Errors
///
/// Returns a description of the problem if the height is negative.
pub(super) fn block_id(header: &RawHeaderAnswer) -> Result<(u64, [u8; 32]), String> {
    let height =
        u64::try_from(header.number).map_err(|_| format!("its height is {}", header.number))?;
    let raw = RawHeader {
        timestamp: header.timestamp,
        tx_trie_root: header.tx_trie_root.0.clone(),
        parent_hash: header.parent_hash.0.clone(),
        number: header.number,
        witness_id: header.witness_id,
        witness_address: header.witness_address.0.clone(),
        version: header.version,
        account_state_root: header.account_state_root.0.clone(),
    };
    let mut id = sha256(&raw.encode_to_vec());
    if let Some(first) = id.first_chunk_mut::<8>() {
        *first = height.to_be_bytes();
    }
    Ok((height, id))
}

impl BlockAnswer {
    /// Compares the header with the identifier, and returns the height.
    ///
    /// # Errors
    ///
    /// Returns a description of what differs.
    pub(super) fn check_header(&self) -> Result<u64, String> {
        let (height, id) = block_id(&self.block_header.raw_data)?;
        if id != self.id.0 {
            let (found, stated) = (hash_text(&id), hash_text(&self.id.0));
            return Err(format!("its header has the identifier {found}, and it is {stated}"));
        }
        Ok(height)
    }

    /// Compares the block with its identifier.
    ///
    /// # Errors
    ///
    /// Returns a description of what differs.
    pub(super) fn verify(&self) -> Result<VerifiedBlock, String> {
        let height = self.check_header()?;
        let HeaderAnswer { raw_data: header } = &self.block_header;
        let parent = <[u8; 32]>::try_from(&*header.parent_hash.0)
            .map_err(|_| "its parent's identifier has not 32 bytes".to_owned())?;
        let mut leaves = Vec::with_capacity(self.transactions.len());
        let mut transactions = Vec::with_capacity(self.transactions.len());
        for transaction in &self.transactions {
            let named =
                |reason: String| format!("transaction {}: {reason}", hash_text(&transaction.id.0));
            leaves.push(sha256(&transaction.whole().map_err(named)?));
            transactions.push(transaction.verify().map_err(named)?);
        }
        let root = root(leaves);
        // Without transactions, a header may state no root at all.
        let is_stated = header.tx_trie_root.0 == root
            || (transactions.is_empty() && header.tx_trie_root.0.is_empty());
        if !is_stated {
            let (found, stated) = (hash_text(&root), hex::encode(&header.tx_trie_root.0));
            return Err(format!(
                "its transactions have the root {found}, and its header states {stated}"
            ));
        }
        let (id, timestamp) = (self.id.0, header.timestamp);
        Ok(VerifiedBlock { height, id, parent, timestamp, transactions })
    }
}

/// The root of a tree of hashes: each level joins two and two, and one without another rises as it is. Zeros without leaves.
fn root(mut level: Vec<[u8; 32]>) -> [u8; 32] {
    while level.len() > 1 {
        let pairs = level.chunks(2).map(|pair| match pair {
            [left, right] => sha256(&[*left, *right].concat()),
            alone => alone.first().copied().unwrap_or_default(),
        });
        level = pairs.collect();
    }
    level.pop().unwrap_or_default()
}

impl TransactionAnswer {
    /// The transaction with its signatures and results, as the block's root commits to it.
    fn whole(&self) -> Result<Vec<u8>, String> {
        let results: Result<Vec<_>, _> = self.ret.iter().map(ResultAnswer::encoded).collect();
        let whole = WholeTransaction {
            raw_data: self.raw_data_hex.0.clone(),
            signatures: self.signature.iter().map(|it| it.0.clone()).collect(),
            results: results?,
        };
        let mut bytes = whole.encode_to_vec();
        let known = |name: &str| KNOWN_NAMES.contains(&name);
        append_others(self.others.iter().filter(|(name, _)| !known(name)), &mut bytes)?;
        Ok(bytes)
    }

    fn verify(&self) -> Result<VerifiedTransaction, String> {
        let id = sha256(&self.raw_data_hex.0);
        if id != self.id.0 {
            return Err(format!("its bytes have the identifier {}", hash_text(&id)));
        }
        let contract = Contract::read(&self.raw_data_hex.0)?;
        if let Some(beside) = self.raw_data.contract.first() {
            check_beside(&self.raw_data_hex.0, &beside.parameter.value)?;
        }
        // Nodes write the first result; others are the sender's words.
        let result = self.ret.first().and_then(|result| result.contract_ret.as_deref());
        let succeeded = result.filter(|result| *result != "DEFAULT").map(|it| it == SUCCESS);
        Ok(VerifiedTransaction { id, contract, succeeded })
    }
}

/// Compares addresses and amounts that the JSON states beside a transaction's bytes with these: a reader of the JSON alone would be
/// misled by others.
fn check_beside(raw_data: &[u8], beside: &Value) -> Result<(), String> {
    let Some(beside) = beside.as_object() else { return Ok(()) };
    let raw = Fields::read(raw_data)?;
    let contract = raw.message(11);
    let parameter = Fields::read(&contract)?.message(2);
    let parameter = Fields::read(&parameter)?;
    let value = Fields::read(parameter.bytes(2))?;
    let (addresses, amounts): (&[_], &[_]) = match Fields::read(&contract)?.number(1) {
        1 => (&[("owner_address", 1), ("to_address", 2)], &[("amount", 3)]),
        2 => (&[("owner_address", 2), ("to_address", 3)], &[("amount", 4)]),
        9 => (&[("owner_address", 1), ("to_address", 2)], &[("amount", 4)]),
        31 => (
            &[("owner_address", 1), ("contract_address", 2)],
            &[("call_value", 3), ("call_token_value", 5), ("token_id", 6)],
        ),
        _ => (&[("owner_address", 1)], &[]),
    };
    for (name, field) in addresses {
        let stated = beside.get(*name).and_then(Value::as_str);
        let proven = hex::encode(value.bytes(*field));
        if stated.is_some_and(|stated| !stated.eq_ignore_ascii_case(&proven)) {
            let stated = shortened(stated.unwrap_or_default());
            return Err(format!(
                "its bytes have the {name} {proven}, and its JSON states {stated}"
            ));
        }
    }
    for (name, field) in amounts {
        let stated = beside.get(*name).map_or(Some(0), Value::as_i64);
        let proven = value.number(*field);
        if stated != Some(proven) {
            let stated = beside.get(*name).map_or_else(|| "0".to_owned(), Value::to_string);
            let stated = shortened(&stated);
            return Err(format!(
                "its bytes have the {name} {proven}, and its JSON states {stated}"
            ));
        }
    }
    Ok(())
}

impl ResultAnswer {
    fn encoded(&self) -> Result<Vec<u8>, String> {
        let code = match self.ret.as_deref() {
            None | Some("SUCESS") => 0,
            Some("FAILED") => 1,
            Some(other) => return Err(format!("its result `{}` is not known", shortened(other))),
        };
        let contract_result = match self.contract_ret.as_deref() {
            None => 0,
            Some(name) => {
                let known = (0..).zip(RESULTS).find(|(_, result)| *result == name);
                let (number, _) = known.ok_or_else(|| {
                    let name = shortened(name);
                    format!(
                        "its result `{name}` is not known: a newer version of Assay may know it"
                    )
                })?;
                number
            }
        };
        let result = TransactionResult {
            fee: self.fee,
            code,
            contract_result,
            asset_issue_id: self.asset_issue_id.clone(),
            withdraw_amount: self.withdraw_amount,
            unfreeze_amount: self.unfreeze_amount,
            exchange_received_amount: self.exchange_received_amount,
            exchange_inject_another_amount: self.exchange_inject_another_amount,
            exchange_withdraw_another_amount: self.exchange_withdraw_another_amount,
            exchange_id: self.exchange_id,
            shielded_transaction_fee: self.shielded_transaction_fee,
            order_id: self.order_id.0.clone(),
            withdraw_expire_amount: self.withdraw_expire_amount,
        };
        let mut bytes = result.encode_to_vec();
        append_others(self.others.iter(), &mut bytes)?;
        Ok(bytes)
    }
}

/// Appends fields that the node does not know: their names are their numbers, in whose order messages have them.
fn append_others<'a>(
    others: impl Iterator<Item = (&'a String, &'a Value)>,
    bytes: &mut Vec<u8>,
) -> Result<(), String> {
    let unreadable = |name: &str| {
        format!("it has the field `{}`, which a newer version of Assay may know", shortened(name))
    };
    let mut fields = Vec::new();
    for (name, values) in others {
        let number: u32 = name.parse().map_err(|_| unreadable(name))?;
        let values = values.as_array().ok_or_else(|| unreadable(name))?;
        for value in values {
            let value = match value {
                Value::String(text) if text.is_empty() => UnknownValue::Empty,
                value => UnknownValue::Number(value.as_u64().ok_or_else(|| unreadable(name))?),
            };
            fields.push((number, value));
        }
    }
    fields.sort_by_key(|(number, _)| *number);
    for (number, value) in fields {
        append_unknown(number, &value, bytes);
    }
    Ok(())
}
