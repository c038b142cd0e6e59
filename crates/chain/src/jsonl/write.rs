//! Blocks written as JSON lines, one line a transaction, as they are read back.

use std::io::{self, Write};

use assay_engine::{
    chain::ChainId,
    utxo::{Pool, ScriptOwner},
};
use serde::Serialize;

use super::line::POOLS;
use crate::{BlockHead, ChainBlock, ChainTransaction, Coin, Hidden, block::hash_text};

#[derive(Serialize)]
struct Line<'a> {
    block: &'a Block,
    #[serde(skip_serializing_if = "Option::is_none")]
    txid: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    inputs: Option<Vec<Input>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outputs: Option<Vec<Held>>,
}

#[derive(Serialize)]
struct Block {
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
    #[serde(flatten)]
    held: Option<Held>,
}

#[derive(Default, Serialize)]
struct Held {
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    script: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    script_sha256: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pool: Option<&'static str>,
    value: u64,
}

/// Writes a block: a line for each transaction, or one for the block where it has none.
///
/// # Errors
///
/// Where `to` cannot be written.
pub fn write_block(chain: ChainId, block: &ChainBlock, to: &mut dyn Write) -> io::Result<()> {
    let BlockHead { height, hash, parent, time } = &block.head;
    let (hash, parent) = (hash_text(hash), hash_text(parent));
    let head = Block { height: *height, hash, parent, time: time.to_string() };
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

fn inputs(chain: ChainId, transaction: &ChainTransaction) -> Vec<Input> {
    let spent = transaction.inputs.iter().map(|input| Input {
        txid: Some(input.output.txid.to_string()),
        index: Some(input.output.index),
        held: input.coin.as_ref().map(|coin| held(chain, coin)),
        ..Input::default()
    });
    let hidden = match transaction.hidden {
        Hidden::None | Hidden::IntoPool(_) => None,
        Hidden::FromPool(value) => {
            Some(Input { held: Some(held(chain, &shielded(value))), ..Input::default() })
        }
        Hidden::FromNowhere => Some(Input { hidden: Some(true), ..Input::default() }),
    };
    spent.chain(hidden).collect()
}

fn outputs(chain: ChainId, transaction: &ChainTransaction) -> Vec<Held> {
    let hidden = match transaction.hidden {
        Hidden::IntoPool(value) => Some(held(chain, &shielded(value))),
        Hidden::None | Hidden::FromPool(_) | Hidden::FromNowhere => None,
    };
    transaction.outputs.iter().map(|coin| held(chain, coin)).chain(hidden).collect()
}

const fn shielded(value: u64) -> Coin {
    Coin { owner: ScriptOwner::Pool(Pool::ZcashShielded), value }
}

fn held(chain: ChainId, coin: &Coin) -> Held {
    let none = Held { value: coin.value, ..Held::default() };
    if let Some(address) = coin.owner.address(chain) {
        return Held { address: Some(address.to_string()), ..none };
    }
    match &coin.owner {
        ScriptOwner::Pool(pool) => {
            let name = POOLS.iter().find(|(_, known)| known == pool);
            Held { pool: name.map(|(name, _)| *name), ..none }
        }
        ScriptOwner::Script(hash) => Held { script_sha256: Some(hash_text(hash)), ..none },
        // A program of a length that no address has.
        ScriptOwner::Witness(version, program) => {
            let script = [&[op_number(*version), length(program)], &**program].concat();
            Held { script: Some(hex::encode(script)), ..none }
        }
        // Every other owner of a chain of coins has an address.
        ScriptOwner::KeyHash(_) | ScriptOwner::ScriptHash(_) | ScriptOwner::LongScriptHash(_) => {
            none
        }
    }
}

/// The operation that pushes a witness version.
const fn op_number(version: u8) -> u8 {
    const BEFORE_OP_1: u8 = 0x50;
    if version == 0 { 0 } else { BEFORE_OP_1.saturating_add(version) }
}

fn length(program: &[u8]) -> u8 {
    u8::try_from(program.len()).unwrap_or_default()
}
