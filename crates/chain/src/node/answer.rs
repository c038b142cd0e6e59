//! JSON answers of nodes about blocks.

use serde::Deserialize;
use serde_json::Value;

use crate::decimal::Decimal;

/// A block. The form and the field of a block's transactions differ between nodes.
#[derive(Deserialize)]
pub(super) struct BlockAnswer<T> {
    pub(super) hash: String,
    pub(super) height: Option<u64>,
    pub(super) version: i64,
    pub(super) merkleroot: String,
    pub(super) time: u32,
    pub(super) nonce: Value,
    pub(super) bits: String,
    pub(super) previousblockhash: Option<String>,
    #[serde(default = "Vec::new")]
    pub(super) tx: Vec<T>,
    /// Full transactions in the answers of btcd.
    #[serde(default = "Vec::new")]
    pub(super) rawtx: Vec<T>,
    // Zcash.
    pub(super) solution: Option<String>,
    pub(super) blockcommitments: Option<String>,
    pub(super) chainhistoryroot: Option<String>,
    pub(super) finalsaplingroot: Option<String>,
}

/// A transaction.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TransactionAnswer {
    pub(super) txid: String,
    pub(super) version: i64,
    pub(super) locktime: u32,
    pub(super) vin: Vec<InputAnswer>,
    pub(super) vout: Vec<OutputAnswer>,
    // Dash.
    #[serde(rename = "type")]
    pub(super) kind: Option<Value>,
    pub(super) extra_payload: Option<String>,
    // Zcash.
    #[serde(default)]
    pub(super) overwintered: bool,
    #[serde(default)]
    pub(super) vjoinsplit: Vec<JoinSplitAnswer>,
    pub(super) value_balance: Option<Decimal>,
    pub(super) orchard: Option<OrchardAnswer>,
}

/// Input of a transaction.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct InputAnswer {
    pub(super) coinbase: Option<String>,
    pub(super) txid: Option<String>,
    pub(super) vout: Option<u32>,
    pub(super) script_sig: Option<ScriptAnswer>,
    #[serde(rename = "txinwitness", default)]
    pub(super) witness: Vec<String>,
    pub(super) sequence: Option<u32>,
    pub(super) prevout: Option<PrevoutAnswer>,
}

/// A script.
#[derive(Deserialize)]
pub(super) struct ScriptAnswer {
    pub(super) hex: String,
}

/// Spent output of an input, if the node returns it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PrevoutAnswer {
    pub(super) value: Decimal,
    pub(super) script_pub_key: ScriptAnswer,
}

/// Output of a transaction.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OutputAnswer {
    pub(super) value: Decimal,
    pub(super) n: u32,
    pub(super) script_pub_key: ScriptAnswer,
}

/// Movement between a transaction and Zcash's first shielded pool.
#[derive(Deserialize)]
pub(super) struct JoinSplitAnswer {
    pub(super) vpub_old: Decimal,
    pub(super) vpub_new: Decimal,
}

/// Sum of the movements between a transaction and Zcash's newest shielded pool.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OrchardAnswer {
    pub(super) value_balance: Option<Decimal>,
}

impl<T> BlockAnswer<T> {
    /// Takes the transactions out of the field that has them.
    pub(super) fn take_transactions(&mut self) -> Vec<T> {
        let tx = std::mem::take(&mut self.tx);
        if tx.is_empty() { std::mem::take(&mut self.rawtx) } else { tx }
    }
}
