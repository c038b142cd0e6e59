//! Writing of blocks as JSON lines, one transaction a line.

use std::io::{self, Write};

use assay_address::ChainId;
use assay_engine::{
    ledger::BlockRef,
    utxo::{Block, OutPoint, ScriptOwner, Transaction, TxInput, TxOut},
};
use serde::Serialize;

use super::line::POOLS;
use crate::hash::hash_text;

#[derive(Serialize)]
struct Line<'a> {
    block: &'a BlockLine,
    #[serde(skip_serializing_if = "Option::is_none")]
    txid: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    inputs: Option<Vec<Input>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outputs: Option<Vec<OutputFields>>,
}

#[derive(Serialize)]
struct BlockLine {
    height: u64,
    hash: String,
    parent: String,
    time: String,
}

#[derive(Default, Serialize)]
struct Input {
    #[serde(skip_serializing_if = "Option::is_none")]
    txid: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hidden: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unsigned: Option<bool>,
    #[serde(flatten)]
    held: Option<OutputFields>,
}

#[derive(Default, Serialize)]
struct OutputFields {
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    script: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    script_sha256: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unspendable_sha256: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pool: Option<&'static str>,
    value: u64,
}

/// Writes a block: a line for each transaction, or a line with the block alone if the block has no transactions.
///
/// # Errors
///
/// Returns an error if `to` cannot be written.
pub fn write_block(chain: ChainId, block: &Block, to: &mut dyn Write) -> io::Result<()> {
    let BlockRef { height, hash, parent, time } = &block.reference;
    let (hash, parent) = (hash_text(hash), hash_text(parent));
    let head = BlockLine { height: *height, hash, parent, time: time.to_string() };
    let mut line = |line: Line<'_>| -> io::Result<()> {
        serde_json::to_writer(&mut *to, &line)?;
        to.write_all(b"\n")
    };
    if block.transactions.is_empty() {
        line(Line { block: &head, txid: None, inputs: None, outputs: None })?;
    }
    for transaction in &block.transactions {
        line(Line {
            block: &head,
            txid: Some(transaction.txid.to_string()),
            inputs: Some(inputs(chain, transaction)),
            outputs: Some(outputs(chain, transaction)),
        })?;
    }
    Ok(())
}

fn inputs(chain: ChainId, transaction: &Transaction) -> Vec<Input> {
    let input = |input: &TxInput| {
        let held = input.spent.as_ref().map(|output| held(chain, output));
        if input.is_from_pool(transaction.txid) {
            return Input { hidden: held.is_none().then_some(true), held, ..Input::default() };
        }
        let OutPoint { txid, index } = input.outpoint;
        let unsigned = (!input.is_signed).then_some(true);
        let (txid, index) = (Some(txid.to_string()), Some(index));
        Input { txid, index, unsigned, held, ..Input::default() }
    };
    transaction.inputs.iter().map(input).collect()
}

fn outputs(chain: ChainId, transaction: &Transaction) -> Vec<OutputFields> {
    transaction.outputs.iter().map(|output| held(chain, output)).collect()
}

fn held(chain: ChainId, output: &TxOut) -> OutputFields {
    let none = OutputFields { value: output.value, ..OutputFields::default() };
    if let Some(address) = output.owner.address(chain) {
        return OutputFields { address: Some(address.to_string()), ..none };
    }
    match &output.owner {
        ScriptOwner::Pool(pool) => {
            let name = POOLS.iter().find(|(_, known)| known == pool);
            OutputFields { pool: name.map(|(name, _)| *name), ..none }
        }
        ScriptOwner::Script(hash) => OutputFields { script_sha256: Some(hash_text(hash)), ..none },
        ScriptOwner::Unspendable(hash) => {
            OutputFields { unspendable_sha256: Some(hash_text(hash)), ..none }
        }
        // The witness program has a length that no address has.
        ScriptOwner::Witness(version, program) => {
            let script = [&[op_number(*version), length(program)], &**program].concat();
            OutputFields { script: Some(hex::encode(script)), ..none }
        }
        // Every other owner of a UTXO chain has an address.
        ScriptOwner::KeyHash(_) | ScriptOwner::ScriptHash(_) | ScriptOwner::LongScriptHash(_) => {
            none
        }
    }
}

/// Returns the opcode that pushes a witness version.
const fn op_number(version: u8) -> u8 {
    const BEFORE_OP_1: u8 = 0x50;
    if version == 0 { 0 } else { BEFORE_OP_1.saturating_add(version) }
}

fn length(program: &[u8]) -> u8 {
    u8::try_from(program.len()).unwrap_or_default()
}
