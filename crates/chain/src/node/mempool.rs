//! Unconfirmed transactions of a node.

use assay_address::ChainId;
use assay_engine::utxo::{Transaction, TransactionKind, Txid};
use serde::Deserialize;
use serde_json::{json, value::RawValue};

use super::{answer::TransactionAnswer, reader::Reader};
use crate::{
    ChainParams, SourceError,
    mempool::{FIRST_FINAL_SEQUENCE, MempoolEntry, MempoolSource, UnconfirmedTransaction},
    params::{TEST_NETWORK_LIMIT, TransactionForm},
    raw::transaction::RawTransaction,
    rpc::Rpc,
};

const METHOD: &str = "getrawtransaction";
/// Largest answer, in bytes. A transaction has at most 4 MB, and stands in the answer in hexadecimal and in JSON.
const LARGEST_ANSWER: u64 = 64 * 1024 * 1024;

/// Source of the unconfirmed transactions of a node. A node needs no transaction index for them.
#[derive(Debug)]
pub struct NodeMempool {
    rpc: Rpc,
    reader: Reader,
}

/// State of a transaction, and its bytes.
#[derive(Deserialize)]
struct EntryAnswer {
    hex: Option<String>,
    blockhash: Option<String>,
    confirmations: Option<i64>,
}

impl NodeMempool {
    /// Returns the unconfirmed transactions of a node of `chain`. Requests are not retried.
    ///
    /// # Errors
    ///
    /// Returns an error if the chain is not of the Bitcoin family.
    pub fn new(chain: ChainId, rpc: &Rpc) -> Result<Self, SourceError> {
        let params = ChainParams::for_chain(chain).ok_or(SourceError::Unsupported {
            chain,
            how: "from a node like Bitcoin's",
            instead: "its money is not coins",
        })?;
        let reader = Reader { chain, params, limit: TEST_NETWORK_LIMIT };
        Ok(Self { rpc: rpc.without_retries().with_max_bytes(LARGEST_ANSWER), reader })
    }

    fn read(&self, txid: &Txid, result: &RawValue) -> Result<MempoolEntry, SourceError> {
        let what = format!("{METHOD} {txid}");
        let answer: EntryAnswer = self.rpc.read(&what, result)?;
        if answer.blockhash.is_some() || answer.confirmations.is_some_and(|count| count > 0) {
            return Ok(MempoolEntry::Confirmed);
        }
        let read = if self.reader.params.reads_raw() {
            self.read_bytes(answer.hex.as_deref())
        } else {
            self.read_fields(&self.rpc.read(&what, result)?)
        };
        let checked = read.and_then(|read| match &read.transaction {
            other if other.txid != *txid => Err(format!("it is transaction {}", other.txid)),
            Transaction { kind: TransactionKind::Coinbase, .. } => {
                Err("it is a coinbase, which no mempool has".to_owned())
            }
            _ => Ok(MempoolEntry::Unconfirmed(Box::new(read))),
        });
        checked.map_err(|reason| {
            let url = self.rpc.url().to_owned();
            SourceError::InvalidData { url, what, reason }
        })
    }

    /// Reads a transaction from its bytes, which give its identifier.
    fn read_bytes(&self, hex: Option<&str>) -> Result<UnconfirmedTransaction, String> {
        let Reader { chain, params, .. } = self.reader;
        let bytes = hex::decode(hex.ok_or("its bytes are missing")?);
        let bytes = bytes.map_err(|_| "its bytes are not hexadecimal")?;
        let raw = RawTransaction::parse(&bytes, params.transactions);
        let raw = raw.map_err(|error| error.to_string())?;
        let signals = raw.inputs.iter().any(|input| input.sequence < FIRST_FINAL_SEQUENCE);
        Ok(UnconfirmedTransaction {
            transaction: raw.to_transaction(chain),
            signals_replacement: signals,
        })
    }

    /// Reads a transaction from the fields of the answer.
    fn read_fields(&self, answer: &TransactionAnswer) -> Result<UnconfirmedTransaction, String> {
        let has_other_form = matches!(
            self.reader.params.transactions,
            TransactionForm::Zcash | TransactionForm::Other
        );
        let is_whole = answer.vin.iter().all(|input| {
            input.coinbase.is_some() || (input.script_sig.is_some() && input.sequence.is_some())
        });
        if !has_other_form && !is_whole {
            return Err(
                "its inputs lack unlocking data: its identifier cannot be verified".to_owned()
            );
        }
        let signals = |sequence: u32| sequence < FIRST_FINAL_SEQUENCE;
        Ok(UnconfirmedTransaction {
            transaction: self.reader.transaction(answer)?,
            signals_replacement: answer.vin.iter().filter_map(|input| input.sequence).any(signals),
        })
    }
}

impl MempoolSource for NodeMempool {
    fn entries(&self, txids: &[Txid]) -> Result<Vec<MempoolEntry>, SourceError> {
        let params: Vec<_> = txids.iter().map(|txid| json!([txid.to_string(), 1])).collect();
        let replies = self.rpc.call_many(METHOD, &params)?;
        let entries = replies.into_iter().zip(txids).map(|(reply, txid)| match reply {
            Ok(result) => self.read(txid, &result),
            Err(error) if error.is_not_found() => Ok(MempoolEntry::Absent),
            Err(error) => Err(self.rpc.refused(&format!("{METHOD} {txid}"), error)),
        });
        entries.collect()
    }
}

#[cfg(test)]
mod tests {
    use assay_engine::utxo::{OutPoint, ScriptOwner};
    use serde_json::Value;

    use super::*;
    use crate::{
        http::{
            Backoff, Server,
            tests::{Noted, Script, answer},
        },
        testing,
    };

    const ALICE: [u8; 22] = [0, 20, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7];

    /// The entry that is read from a node's answer about one transaction.
    fn entry(asked: Txid, result: &Value) -> Result<MempoolEntry, SourceError> {
        entry_of(ChainId::BTC, asked, &json!({"result": result, "error": null, "id": 0}))
    }

    fn entry_of(chain: ChainId, asked: Txid, body: &Value) -> Result<MempoolEntry, SourceError> {
        let script = Script::new([Ok(answer(200, &body.to_string()))]);
        let server = Server::new(script, Noted::new(5, 0), Backoff::default());
        let mempool = NodeMempool::new(chain, &Rpc::new(server)).unwrap();
        mempool.entries(&[asked]).map(|mut entries| entries.remove(0))
    }

    /// A payment that spends the third output of a transaction, in hexadecimal, with its identifier.
    fn payment() -> (String, Txid) {
        let bytes = testing::transaction(&[([9; 32], 2)], &[(70, &ALICE)]);
        let txid = RawTransaction::parse(&bytes, TransactionForm::Witness).unwrap().txid;
        (hex::encode(bytes), txid)
    }

    #[test]
    fn a_transaction_is_read_from_its_bytes_whatever_else_the_node_says() {
        let (hex, txid) = payment();
        let said = json!({"hex": hex, "txid": "00", "vout": "nonsense", "fee": -1});
        let Ok(MempoolEntry::Unconfirmed(read)) = entry(txid, &said) else { panic!("{said}") };
        let spends = OutPoint { txid: Txid::from_bytes([9; 32]), index: 2 };
        assert_eq!(read.transaction.inputs[0].outpoint, spends);
        assert_eq!(read.transaction.inputs[0].spent, None, "it is looked up in the graph");
        let paid = &read.transaction.outputs[0];
        assert_eq!((&paid.owner, paid.value), (&ScriptOwner::Witness(0, vec![7; 20]), 70));
        assert!(!read.signals_replacement);
    }

    #[test]
    fn an_input_with_a_low_sequence_signals_replacement() {
        let (hex, _) = payment();
        for (sequence, signals) in [("fdffffff", true), ("feffffff", false), ("00000000", true)] {
            let hex = hex.replacen("ffffffff", sequence, 1);
            let bytes = hex::decode(&hex).unwrap();
            let txid = RawTransaction::parse(&bytes, TransactionForm::Witness).unwrap().txid;
            let read = entry(txid, &json!({ "hex": hex })).unwrap();
            let MempoolEntry::Unconfirmed(read) = read else { panic!("{read:?}") };
            assert_eq!(read.signals_replacement, signals, "{sequence}");
        }
    }

    #[test]
    fn nodes_say_that_they_do_not_have_it_or_have_it_in_a_block() {
        let (hex, txid) = payment();
        let absent = json!({"result": null, "id": 0, "error": {"code": -5, "message": "No such mempool transaction"}});
        assert_eq!(entry_of(ChainId::BTC, txid, &absent).unwrap(), MempoolEntry::Absent);
        let mined =
            [json!({"hex": hex, "confirmations": 3}), json!({"hex": hex, "blockhash": "00"})];
        for said in mined {
            assert_eq!(entry(txid, &said).unwrap(), MempoolEntry::Confirmed);
        }
        let unconfirmed = entry(txid, &json!({"hex": hex, "confirmations": 0})).unwrap();
        assert!(matches!(unconfirmed, MempoolEntry::Unconfirmed(_)));
    }

    #[test]
    fn what_a_node_invents_is_refused() {
        let (hex, txid) = payment();
        let coinbase = testing::coinbase(7, 1, &[(50, &ALICE)]);
        let of_coinbase = RawTransaction::parse(&coinbase, TransactionForm::Witness).unwrap().txid;
        let other = Txid::from_bytes([1; 32]);
        for (asked, said, reason) in [
            (other, json!({ "hex": hex }), "it is transaction"),
            (txid, json!({ "hex": &hex[2..] }), ""),
            (txid, json!({ "hex": format!("{hex}00") }), ""),
            (txid, json!({ "hex": "zz" }), "not hexadecimal"),
            (txid, json!({}), "missing"),
            (of_coinbase, json!({ "hex": hex::encode(&coinbase) }), "coinbase"),
        ] {
            let refused = entry(asked, &said).unwrap_err();
            assert!(matches!(refused, SourceError::InvalidData { .. }), "{said}: {refused}");
            assert!(refused.to_string().contains(reason), "{said}: {refused}");
        }
        for said in [json!("text"), json!([hex]), Value::Null] {
            assert!(entry(txid, &said).is_err(), "{said}");
        }
    }

    #[test]
    fn without_unlocking_data_no_identifier_can_be_verified() {
        // Dash has other headers, so that its transactions are read from their fields.
        let dash: ChainId = "dash".parse().unwrap();
        let txid = Txid::from_bytes([3; 32]);
        let said = json!({
            "txid": txid.to_string(), "version": 2, "locktime": 0, "vout": [],
            "vin": [{"txid": "09".repeat(32), "vout": 2, "sequence": 0}],
        });
        let body = json!({"result": said, "error": null, "id": 0});
        let refused = entry_of(dash, txid, &body).unwrap_err().to_string();
        assert!(refused.contains("cannot be verified"), "{refused}");
    }
}
