//! Parsing and checking of responses of an Esplora API: identifiers are recomputed from the contents of transactions,
//! hashes from headers.

use assay_address::ChainId;
use assay_engine::{
    ledger::BlockRef,
    utxo::{
        OutPoint, ScriptOwner, Transaction, TransactionKind, TxInput, TxOut, Txid, shows_signature,
    },
};
use jiff::Timestamp;
use serde::Deserialize;

use crate::{
    ChainParams, TestNetworks,
    hash::parse_hash,
    histories::{ChainPosition, ConfirmedTransaction},
    mempool::{FIRST_FINAL_SEQUENCE, MempoolEntry, UnconfirmedTransaction},
    raw::{
        Header,
        transaction::{NULL_OUTPOINT, RawInput, RawOutput, transaction_id},
        unsigned,
    },
};

/// Largest accepted number of transactions of a block, above the number in any chain's blocks.
pub(super) const MOST_TRANSACTIONS: u64 = 1_000_000;

/// Confirmed totals of an address over its lifetime. Change counts as received and spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressStatistics {
    /// Number of the address's outputs.
    pub outputs: u64,
    /// Total of the outputs in base units.
    pub received: u64,
    /// Number of outputs that were spent.
    pub spent_outputs: u64,
    /// Total of the spent outputs in base units.
    pub spent: u64,
    /// Number of transactions in which the address appears.
    pub transactions: u64,
}

#[derive(Deserialize)]
pub(super) struct BlockAnswer {
    id: String,
    height: u64,
    version: i64,
    timestamp: u32,
    pub(super) tx_count: usize,
    merkle_root: String,
    previousblockhash: Option<String>,
    nonce: u32,
    bits: u32,
}

#[derive(Deserialize)]
pub(super) struct TransactionAnswer {
    txid: String,
    version: i64,
    locktime: u32,
    vin: Vec<InputAnswer>,
    vout: Vec<OutputAnswer>,
    status: StatusAnswer,
}

#[derive(Deserialize)]
struct InputAnswer {
    txid: String,
    vout: u32,
    prevout: Option<OutputAnswer>,
    scriptsig: String,
    #[serde(default)]
    witness: Vec<String>,
    sequence: u32,
    #[serde(default)]
    is_coinbase: bool,
}

#[derive(Deserialize)]
struct OutputAnswer {
    scriptpubkey: String,
    value: u64,
}

#[derive(Default, Deserialize)]
struct StatusAnswer {
    #[serde(default)]
    confirmed: bool,
    block_height: Option<u64>,
    block_time: Option<i64>,
}

#[derive(Deserialize)]
pub(super) struct AddressAnswer {
    chain_stats: StatisticsAnswer,
}

#[derive(Deserialize)]
struct StatisticsAnswer {
    funded_txo_count: u64,
    funded_txo_sum: u64,
    spent_txo_count: u64,
    spent_txo_sum: u64,
    tx_count: u64,
}

#[derive(Deserialize)]
pub(super) struct OutspendAnswer {
    spent: bool,
    txid: Option<String>,
    #[serde(default)]
    status: StatusAnswer,
}

/// Merkle branch of a transaction in its block, which shows the transaction's index in the block.
#[derive(Deserialize)]
pub(super) struct MerkleProofAnswer {
    block_height: u64,
    /// Hashes of the branch, from the transaction up to the root.
    merkle: Vec<String>,
    pos: u64,
}

/// Parser of responses about one chain. Errors are texts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader {
    pub(super) chain: ChainId,
    pub(super) params: &'static ChainParams,
    pub(super) test_networks: TestNetworks,
}

/// Header of a block after its check.
#[derive(Clone, Copy, Debug)]
pub(super) struct CheckedHeader {
    /// The block.
    pub(super) reference: BlockRef,
    /// Merkle root in the header.
    pub(super) merkle_root: [u8; 32],
    /// Work that the header's target requires.
    pub(super) work: u128,
}

impl Reader {
    /// Checks a block's header, and returns its reference, merkle root and work.
    pub(super) fn reference(
        self,
        answer: &BlockAnswer,
        hash: &[u8; 32],
    ) -> Result<CheckedHeader, String> {
        if parse_hash(&answer.id) != Some(*hash) {
            return Err(format!("it says it is block {}", answer.id));
        }
        let merkle_root = parse_hash(&answer.merkle_root).ok_or("its merkle root is no hash")?;
        let parent = match &answer.previousblockhash {
            Some(text) => parse_hash(text).ok_or("its parent is no hash")?,
            None if answer.height == 0 => [0; 32],
            None => return Err("it does not name its parent".to_owned()),
        };
        let header = Header {
            version: unsigned(answer.version),
            parent,
            merkle_root,
            time: answer.timestamp,
            bits: answer.bits,
            nonce: answer.nonce,
        };
        header.check(self.params, self.params.limit_of(self.test_networks), hash)?;
        let time = Timestamp::from_second(answer.timestamp.into()).unwrap_or_default();
        let reference = BlockRef { height: answer.height, hash: *hash, parent, time };
        Ok(CheckedHeader { reference, merkle_root, work: header.work() })
    }

    /// Returns a transaction; `None` if it is not confirmed.
    pub(super) fn transaction(
        self,
        answer: &TransactionAnswer,
    ) -> Result<Option<ConfirmedTransaction>, String> {
        let transaction = self.unconfirmed(answer)?;
        let Some((height, time)) = confirmation(&answer.status)? else { return Ok(None) };
        Ok(Some(ConfirmedTransaction { transaction, height, time }))
    }

    /// Returns the state of a transaction, which is read if it is not confirmed.
    pub(super) fn mempool_entry(self, answer: &TransactionAnswer) -> Result<MempoolEntry, String> {
        if answer.status.confirmed {
            return Ok(MempoolEntry::Confirmed);
        }
        let transaction = self.unconfirmed(answer)?;
        if transaction.kind == TransactionKind::Coinbase {
            return Err("it is a coinbase, which no mempool has".to_owned());
        }
        let mut sequences = answer.vin.iter().map(|input| input.sequence);
        let signals_replacement = sequences.any(|sequence| sequence < FIRST_FINAL_SEQUENCE);
        let read = UnconfirmedTransaction { transaction, signals_replacement };
        Ok(MempoolEntry::Unconfirmed(Box::new(read)))
    }

    /// Returns a transaction, confirmed or not.
    pub(super) fn unconfirmed(self, answer: &TransactionAnswer) -> Result<Transaction, String> {
        let said: Txid = answer.txid.parse().map_err(|error| format!("{error}"))?;
        self.parts(said, answer).map_err(|reason| format!("transaction {said}: {reason}"))
    }

    fn parts(self, said: Txid, answer: &TransactionAnswer) -> Result<Transaction, String> {
        let outputs = self.outputs(answer.vout.iter())?;
        let mut scripts = Vec::with_capacity(answer.vin.len());
        let mut inputs = Vec::with_capacity(answer.vin.len());
        for input in &answer.vin {
            let outpoint = if input.is_coinbase {
                NULL_OUTPOINT
            } else {
                let txid = input.txid.parse().map_err(|error| format!("{error}"))?;
                OutPoint { txid, index: input.vout }
            };
            let unlocking = script(&input.scriptsig)?;
            let witness = input.witness.iter().map(|item| script(item));
            let witness = witness.collect::<Result<Vec<_>, String>>()?;
            let witness: Vec<&[u8]> = witness.iter().map(Vec::as_slice).collect();
            let is_signed = shows_signature(&unlocking, &witness);
            scripts.push((outpoint, unlocking, input.sequence));
            let spent = match &input.prevout {
                Some(prevout) => self.outputs([prevout].into_iter())?.pop().map(|(spent, _)| spent),
                None => None,
            };
            inputs.push(TxInput { is_signed, ..TxInput::new(outpoint, spent) });
        }
        let spent = scripts.iter().map(|(outpoint, script, sequence)| RawInput {
            outpoint: *outpoint,
            script,
            sequence: *sequence,
        });
        let created =
            outputs.iter().map(|(output, script)| RawOutput { value: output.value, script });
        let txid = transaction_id(unsigned(answer.version), spent, created, answer.locktime, None);
        if txid != said {
            return Err(format!("what it says is transaction {txid}"));
        }
        let coinbase =
            inputs.len() == 1 && inputs.iter().all(|input| input.outpoint == NULL_OUTPOINT);
        let kind = if coinbase {
            inputs.clear();
            TransactionKind::Coinbase
        } else {
            TransactionKind::Payment
        };
        let outputs = outputs.into_iter().map(|(output, _)| output).collect();
        Ok(Transaction { txid, kind, inputs, outputs })
    }

    fn outputs<'a>(
        self,
        answers: impl Iterator<Item = &'a OutputAnswer>,
    ) -> Result<Vec<(TxOut, Vec<u8>)>, String> {
        let most = self.params.largest_amount;
        answers
            .map(|answer| {
                let script = script(&answer.scriptpubkey)?;
                if answer.value > most {
                    return Err(format!("{} is more than the {most} there can be", answer.value));
                }
                let owner = ScriptOwner::from_script(self.chain, &script);
                Ok((TxOut { owner, value: answer.value }, script))
            })
            .collect()
    }
}

impl From<AddressAnswer> for AddressStatistics {
    fn from(answer: AddressAnswer) -> Self {
        let chain = answer.chain_stats;
        Self {
            outputs: chain.funded_txo_count,
            received: chain.funded_txo_sum,
            spent_outputs: chain.spent_txo_count,
            spent: chain.spent_txo_sum,
            transactions: chain.tx_count,
        }
    }
}

/// Returns the confirmed transaction that spends an output; `None` if there is none.
pub(super) fn spender(answer: &OutspendAnswer) -> Result<Option<Txid>, String> {
    if !answer.spent || confirmation(&answer.status)?.is_none() {
        return Ok(None);
    }
    let txid = answer.txid.as_ref().ok_or("it is spent, but not by which transaction")?;
    txid.parse().map(Some).map_err(|error| format!("{error}"))
}

/// Returns the position of a transaction. An index beyond the size of the branch is an error.
pub(super) fn position(answer: &MerkleProofAnswer) -> Result<ChainPosition, String> {
    let MerkleProofAnswer { block_height: height, merkle, pos: index } = answer;
    let depth = u32::try_from(merkle.len()).unwrap_or(u32::MAX);
    if *index >= MOST_TRANSACTIONS || index.checked_shr(depth).unwrap_or(0) > 0 {
        return Err(format!("a branch of {depth} hashes has no transaction {index}"));
    }
    Ok(ChainPosition { height: *height, index: *index })
}

/// Returns the height and time of a transaction's block; `None` if the transaction is not confirmed.
fn confirmation(status: &StatusAnswer) -> Result<Option<(u64, Timestamp)>, String> {
    if !status.confirmed {
        return Ok(None);
    }
    let missing = "it is confirmed, but its block is not named in full";
    let height = status.block_height.ok_or(missing)?;
    let seconds = status.block_time.ok_or(missing)?;
    let time = Timestamp::from_second(seconds).map_err(|_| "its block has no time")?;
    Ok(Some((height, time)))
}

fn script(text: &str) -> Result<Vec<u8>, String> {
    hex::decode(text).map_err(|_| "a script is not hexadecimal".to_owned())
}
