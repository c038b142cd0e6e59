//! JSON of blocks and transactions.

use assay_engine::utxo::OutPoint;
use serde_json::{Map, Value, json};

use super::ledger::Ledger;
use crate::block_builder::{Block, Transaction, TxIn, TxOut};

/// Difficulty of regression test networks.
const DIFFICULTY: f64 = 4.656_542_373_906_925e-10;
/// Number of blocks over which the median time is computed.
const MEDIAN_OF: usize = 11;

/// JSON of a block. The median time of a replaced block is its own time.
pub(super) fn block(ledger: &Ledger, block: &Block) -> Value {
    let stripped: usize = block.transactions.iter().map(|each| each.stripped().len()).sum();
    let whole: usize = block.transactions.iter().map(|each| each.bytes().len()).sum();
    let around = block.bytes().len() - whole;
    let previous = (block.height > 0).then(|| block.parent.to_string());
    json!({
        "id": block.hash.to_string(),
        "height": block.height,
        "version": block.version,
        "timestamp": block.time,
        "tx_count": block.transactions.len(),
        "size": around + whole,
        "weight": 4 * around + 3 * stripped + whole,
        "merkle_root": reversed(&block.merkle_root),
        "previousblockhash": previous,
        "mediantime": median_time(ledger, block),
        "nonce": block.nonce,
        "bits": block.bits,
        "difficulty": DIFFICULTY,
    })
}

fn median_time(ledger: &Ledger, block: &Block) -> u32 {
    let before = ledger.blocks.iter().take_while(|other| other.height <= block.height);
    let mut times: Vec<u32> = before.map(|other| other.time).collect();
    let mut latest = times.split_off(times.len().saturating_sub(MEDIAN_OF));
    latest.sort_unstable();
    latest.get(latest.len() / 2).copied().unwrap_or(block.time)
}

/// JSON of a transaction; without a status if `status` is `None`.
pub(super) fn transaction(
    ledger: &Ledger,
    transaction: &Transaction,
    status: Option<Value>,
) -> Value {
    let (stripped, whole) = (transaction.stripped().len(), transaction.bytes().len());
    let spent = transaction.inputs.iter().filter_map(|input| ledger.output(input.output));
    let spent: u64 = spent.map(|output| output.value).sum();
    let made: u64 = transaction.outputs.iter().map(|output| output.value).sum();
    let mut shown = json!({
        "txid": transaction.txid().to_string(),
        "version": transaction.version,
        "locktime": transaction.lock_time,
        "vin": transaction.inputs.iter().map(|each| input(ledger, each)).collect::<Value>(),
        "vout": transaction.outputs.iter().map(|each| output(ledger, each)).collect::<Value>(),
        "size": whole,
        "weight": 3 * stripped + whole,
        "fee": if transaction.is_coinbase() { 0 } else { spent - made },
    });
    if let Some(status) = status {
        shown["status"] = status;
    }
    shown
}

/// Status of a transaction: its block.
pub(super) fn status(ledger: &Ledger, height: usize) -> Value {
    match ledger.blocks.get(height) {
        Some(block) => json!({
            "confirmed": true,
            "block_height": height,
            "block_hash": block.hash.to_string(),
            "block_time": block.time,
        }),
        None => json!({ "confirmed": false }),
    }
}

/// Spending status of an output: the transaction that spends it, if any.
pub(super) fn spending(ledger: &Ledger, spent: OutPoint) -> Value {
    let Some((txid, input)) = ledger.spender(spent) else {
        return json!({ "spent": false });
    };
    let height = ledger.transaction(&txid).map_or(usize::MAX, |(height, _)| height);
    json!({
        "spent": true,
        "txid": txid.to_string(),
        "vin": input,
        "status": status(ledger, height),
    })
}

fn input(ledger: &Ledger, input: &TxIn) -> Value {
    let is_coinbase = input.output.index == u32::MAX;
    let prevout = ledger.output(input.output);
    let mut shown = Map::new();
    shown.insert("txid".to_owned(), json!(input.output.txid.to_string()));
    shown.insert("vout".to_owned(), json!(input.output.index));
    shown.insert("prevout".to_owned(), prevout.map_or(Value::Null, |each| output(ledger, each)));
    shown.insert("scriptsig".to_owned(), json!(hex::encode(&input.script)));
    shown.insert("scriptsig_asm".to_owned(), json!(assembly(&input.script)));
    if !input.witness.is_empty() {
        shown.insert("witness".to_owned(), input.witness.iter().map(hex::encode).collect());
    }
    shown.insert("is_coinbase".to_owned(), json!(is_coinbase));
    shown.insert("sequence".to_owned(), json!(input.sequence));
    // The hashed script: the last item of the witness, or of the script.
    let inner = match prevout.map(|prevout| kind(&prevout.script)) {
        Some("v0_p2wsh") => input.witness.last().map(|script| ("inner_witnessscript_asm", script)),
        _ => None,
    };
    if let Some((name, script)) = inner {
        shown.insert(name.to_owned(), json!(assembly(script)));
    }
    if let (Some("p2sh"), Some((_, redeem))) =
        (prevout.map(|prevout| kind(&prevout.script)), input.script.split_first())
    {
        shown.insert("inner_redeemscript_asm".to_owned(), json!(assembly(redeem)));
    }
    Value::Object(shown)
}

fn output(ledger: &Ledger, output: &TxOut) -> Value {
    let mut shown = json!({
        "scriptpubkey": hex::encode(&output.script),
        "scriptpubkey_asm": assembly(&output.script),
        "scriptpubkey_type": kind(&output.script),
    });
    if let Some(address) = ledger.address(&output.script) {
        shown["scriptpubkey_address"] = json!(address);
    }
    shown["value"] = json!(output.value);
    shown
}

/// The form of an output's script.
pub(super) fn kind(script: &[u8]) -> &'static str {
    match script {
        [] => "empty",
        [0x6a, ..] => "op_return",
        [33, .., 0xac] if script.len() == 35 => "p2pk",
        [65, .., 0xac] if script.len() == 67 => "p2pk",
        [0x76, 0xa9, 20, .., 0x88, 0xac] if script.len() == 25 => "p2pkh",
        [0xa9, 20, .., 0x87] if script.len() == 23 => "p2sh",
        [0, 20, ..] if script.len() == 22 => "v0_p2wpkh",
        [0, 32, ..] if script.len() == 34 => "v0_p2wsh",
        [0x51, 32, ..] if script.len() == 34 => "v1_p2tr",
        _ => "unknown",
    }
}

/// Disassembles a script, as far as scripts of these tests need it.
fn assembly(mut script: &[u8]) -> String {
    let mut words = Vec::new();
    while let [code, rest @ ..] = script {
        script = rest;
        words.push(match code {
            0x00 => "OP_0".to_owned(),
            0x01..=0x4b => {
                let (pushed, rest) = rest.split_at(rest.len().min(usize::from(*code)));
                script = rest;
                format!("OP_PUSHBYTES_{code} {}", hex::encode(pushed))
            }
            0x51..=0x60 => format!("OP_PUSHNUM_{}", code - 0x50),
            0x6a => "OP_RETURN".to_owned(),
            0x75 => "OP_DROP".to_owned(),
            0x76 => "OP_DUP".to_owned(),
            0x87 => "OP_EQUAL".to_owned(),
            0x88 => "OP_EQUALVERIFY".to_owned(),
            0xa9 => "OP_HASH160".to_owned(),
            0xac => "OP_CHECKSIG".to_owned(),
            other => format!("OP_{other:#04x}"),
        });
    }
    words.join(" ")
}

/// Formats a hash in reverse byte order, as usual.
fn reversed(hash: &[u8; 32]) -> String {
    let mut hash = *hash;
    hash.reverse();
    hex::encode(hash)
}
