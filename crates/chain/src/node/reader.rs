//! Parsing and checking of a node's responses.
//!
//! A response is checked against its commitments: the header's fields give the hash, the
//! transactions the merkle root, and the fields of each transaction its identifier. A node
//! therefore cannot change a value unnoticed on chains whose transactions are serialized as
//! Bitcoin's.

use assay_address::ChainId;
use assay_engine::{
    ledger::BlockRef,
    utxo::{
        Block, OutPoint, Pool, ScriptOwner, Transaction, TransactionKind, TxInput, TxOut, Txid,
        shows_signature,
    },
};
use jiff::Timestamp;
use serde_json::Value;

use super::answer::{BlockAnswer, InputAnswer, OutputAnswer, TransactionAnswer};
use crate::{
    ChainParams,
    decimal::Decimal,
    hash::parse_hash,
    params::{HeaderForm, TransactionForm},
    raw::{
        Header,
        merkle::merkle_root,
        transaction::{NULL_OUTPOINT, RawInput, RawOutput, transaction_id},
        unsigned, zcash_header_hash,
    },
};

/// The type of Dash transactions that take coins out of its credit pool.
const DASH_ASSET_UNLOCK: u64 = 9;
/// Lowest version of Dash transactions with a type.
const DASH_SPECIAL: u32 = 3;

/// Value that moves out of a shielded pool or into one.
enum PoolMovement {
    None,
    /// Amount that moves out of a pool; `None` if the chain does not disclose the amount, as with Dash's credit pool.
    OutOf(Option<TxOut>),
    Into(TxOut),
}

/// Parser of responses about one chain's blocks. Errors are texts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader {
    pub(super) chain: ChainId,
    pub(super) params: &'static ChainParams,
    /// The difficulty limit, in the form of a header's `bits`.
    pub(super) limit: u32,
}

impl Reader {
    /// Returns the block with these transactions. Checks the block's hash, its height if one is expected, and its
    /// commitments.
    pub(super) fn block<T>(
        self,
        answer: &BlockAnswer<T>,
        transactions: &[TransactionAnswer],
        hash: &[u8; 32],
        height: Option<u64>,
    ) -> Result<Block, String> {
        let (reference, work) = self.reference(answer, hash, height)?;
        let transactions = transactions
            .iter()
            .map(|read| self.transaction(read))
            .collect::<Result<Vec<_>, _>>()?;
        let committed = parse_hash(&answer.merkleroot);
        let computed = merkle_root(transactions.iter().map(|read| read.txid));
        if computed.ok() != committed || committed.is_none() {
            return Err(format!(
                "its {} transactions do not have the merkle root {}",
                transactions.len(),
                answer.merkleroot
            ));
        }
        let mut coinbases = transactions.iter().map(|read| read.kind == TransactionKind::Coinbase);
        if coinbases.next() != Some(true) || coinbases.any(|coinbase| coinbase) {
            return Err(
                "it does not have exactly one coinbase, as its first transaction".to_owned()
            );
        }
        Ok(Block { reference, work: Some(work), transactions })
    }

    /// Checks and returns the block's reference, with the work of its header.
    pub(super) fn reference<T>(
        self,
        answer: &BlockAnswer<T>,
        hash: &[u8; 32],
        height: Option<u64>,
    ) -> Result<(BlockRef, u128), String> {
        if parse_hash(&answer.hash) != Some(*hash) {
            return Err(format!("it says it is block {}", answer.hash));
        }
        let height = match (height, answer.height) {
            (Some(asked), Some(said)) if asked != said => {
                return Err(format!("it says it is at height {said}, asked for was {asked}"));
            }
            (asked, said) => asked.or(said).ok_or("it does not say its height")?,
        };
        let parent = match &answer.previousblockhash {
            Some(text) => parse_hash(text).ok_or("its parent is no hash")?,
            None if height == 0 => [0; 32],
            None => return Err("it does not name its parent".to_owned()),
        };
        let work = self.check_hash(answer, hash, parent)?;
        let time = Timestamp::from_second(answer.time.into()).unwrap_or_default();
        Ok((BlockRef { height, hash: *hash, parent, time }, work))
    }

    /// Checks that the header's fields give the hash, and its target and work. Returns the work that the target
    /// requires.
    fn check_hash<T>(
        self,
        answer: &BlockAnswer<T>,
        hash: &[u8; 32],
        parent: [u8; 32],
    ) -> Result<u128, String> {
        let merkle_root = parse_hash(&answer.merkleroot).ok_or("its merkle root is no hash")?;
        let bits = u32::from_str_radix(&answer.bits, 16).map_err(|_| "its `bits` are no number")?;
        let mut header = Header {
            version: unsigned(answer.version),
            parent,
            merkle_root,
            time: answer.time,
            bits,
            nonce: 0,
        };
        match self.params.header {
            HeaderForm::Plain { .. } | HeaderForm::AuxPow => {}
            HeaderForm::Other => {
                header.check(self.params, self.limit, hash)?;
                return Ok(header.work());
            }
            HeaderForm::Equihash => {
                check_equihash(answer, hash, &header)?;
                header.check(self.params, self.limit, hash)?;
                return Ok(header.work());
            }
        }
        header.nonce = answer
            .nonce
            .as_u64()
            .and_then(|nonce| u32::try_from(nonce).ok())
            .ok_or("its nonce is no number of 32 bits")?;
        header.check(self.params, self.limit, hash)?;
        Ok(header.work())
    }

    /// Returns a transaction, whose identifier is checked on chains that compute it from the fields of the answer.
    pub(super) fn transaction(self, answer: &TransactionAnswer) -> Result<Transaction, String> {
        let txid: Txid = answer.txid.parse().map_err(|error| format!("{error}"))?;
        self.read_transaction(txid, answer)
            .map_err(|reason| format!("transaction {txid}: {reason}"))
    }

    fn read_transaction(
        self,
        txid: Txid,
        answer: &TransactionAnswer,
    ) -> Result<Transaction, String> {
        let pool = self.pool_movement(answer)?;
        let outputs = self.outputs(&answer.vout)?;
        let inputs = read_inputs(&answer.vin)?;
        self.check_txid(txid, answer, &inputs, &outputs)?;

        let coinbase =
            inputs.len() == 1 && inputs.iter().all(|input| input.outpoint == NULL_OUTPOINT);
        let spent = if coinbase { Vec::new() } else { inputs };
        let inputs = spent.into_iter().zip(&answer.vin).enumerate();
        let inputs = inputs.map(|(index, (input, answer))| {
            let spent = match &answer.prevout {
                Some(prevout) => {
                    let output = self.output(prevout.value, &prevout.script_pub_key.hex);
                    Some(output.map_err(|reason| format!("input {index}: {reason}"))?.0)
                }
                None => None,
            };
            let is_signed = input.is_signed;
            Ok(TxInput { is_signed, ..TxInput::new(input.outpoint, spent) })
        });
        let mut inputs = inputs.collect::<Result<Vec<_>, String>>()?;
        let mut outputs: Vec<TxOut> = outputs.into_iter().map(|(output, _)| output).collect();
        match pool {
            PoolMovement::None => {}
            PoolMovement::OutOf(spent) => inputs.push(TxInput::from_pool(txid, spent)),
            PoolMovement::Into(output) => outputs.push(output),
        }
        let kind = if coinbase { TransactionKind::Coinbase } else { TransactionKind::Payment };
        Ok(Transaction { txid, kind, inputs, outputs })
    }

    fn outputs(self, answers: &[OutputAnswer]) -> Result<Vec<(TxOut, Vec<u8>)>, String> {
        answers
            .iter()
            .zip(0_u32..)
            .map(|(answer, place)| {
                if answer.n != place {
                    return Err(format!("output {} stands in place {place}", answer.n));
                }
                self.output(answer.value, &answer.script_pub_key.hex)
                    .map_err(|reason| format!("output {place}: {reason}"))
            })
            .collect()
    }

    /// Returns an output and its script.
    fn output(self, value: Decimal, script: &str) -> Result<(TxOut, Vec<u8>), String> {
        let script = hex::decode(script).map_err(|_| "its script is not hexadecimal")?;
        let value = u64::try_from(self.units(value)?).map_err(|_| "its value is negative")?;
        Ok((TxOut { owner: ScriptOwner::from_script(self.chain, &script), value }, script))
    }

    /// Converts an amount to base units.
    fn units(self, amount: Decimal) -> Result<i128, String> {
        let most = i128::from(self.params.largest_amount);
        let units = amount.units(self.chain.info().native().decimals);
        units.filter(|units| units.abs() <= most).ok_or_else(|| {
            format!("{amount} is no amount: expected whole base units, at most {most}")
        })
    }

    /// Returns the movement of the transaction into a pool or out of one.
    fn pool_movement(self, answer: &TransactionAnswer) -> Result<PoolMovement, String> {
        if self.params.transactions == TransactionForm::DashSpecial {
            let kind = answer.kind.as_ref().and_then(Value::as_u64);
            let unlocks = answer.vin.is_empty() && kind == Some(DASH_ASSET_UNLOCK);
            return Ok(if unlocks { PoolMovement::OutOf(None) } else { PoolMovement::None });
        }
        if self.params.transactions != TransactionForm::Zcash {
            return Ok(PoolMovement::None);
        }
        let orchard = answer.orchard.as_ref().and_then(|orchard| orchard.value_balance);
        let mut out = 0;
        for balance in [answer.value_balance, orchard].into_iter().flatten() {
            out += self.units(balance)?;
        }
        for split in &answer.vjoinsplit {
            out += self.units(split.vpub_new)? - self.units(split.vpub_old)?;
        }
        // The pools count as one, because movements between them stay within shielded pools.
        let value =
            u64::try_from(out.unsigned_abs()).map_err(|_| "its balances are beyond reason")?;
        let shielded = TxOut { owner: ScriptOwner::Pool(Pool::ZcashShielded), value };
        Ok(match out {
            0 => PoolMovement::None,
            1.. => PoolMovement::OutOf(Some(shielded)),
            _ => PoolMovement::Into(shielded),
        })
    }

    /// Checks that a transaction's fields have its identifier, on chains that compute it from these fields.
    fn check_txid(
        self,
        txid: Txid,
        answer: &TransactionAnswer,
        inputs: &[ReadInput],
        outputs: &[(TxOut, Vec<u8>)],
    ) -> Result<(), String> {
        let mut version = unsigned(answer.version);
        let mut payload = None;
        match self.params.transactions {
            TransactionForm::Plain | TransactionForm::Witness | TransactionForm::Mweb => {}
            TransactionForm::Zcash if version == 1 && !answer.overwintered => {}
            TransactionForm::Zcash | TransactionForm::Other => return Ok(()),
            TransactionForm::DashSpecial => {
                let kind = answer.kind.as_ref().and_then(Value::as_u64).unwrap_or(0);
                let kind = u16::try_from(kind).map_err(|_| "its type is no number of 16 bits")?;
                version = version & 0xffff | u32::from(kind) << 16;
                if kind != 0 && version & 0xffff >= DASH_SPECIAL {
                    let text = answer.extra_payload.as_deref().ok_or("its payload is missing")?;
                    payload = Some(hex::decode(text).map_err(|_| "its payload is no hexadecimal")?);
                }
            }
        }
        let inputs: Option<Vec<RawInput<'_>>> = inputs.iter().map(ReadInput::raw).collect();
        // Some forks omit unlocking data: then the identifier cannot be computed.
        let Some(inputs) = inputs else { return Ok(()) };
        let outputs = outputs
            .iter()
            .map(|(output, script)| RawOutput { value: output.value, script })
            .collect::<Vec<_>>();
        let (inputs, outputs) = (inputs.into_iter(), outputs.into_iter());
        let computed =
            transaction_id(version, inputs, outputs, answer.locktime, payload.as_deref());
        if computed == txid {
            Ok(())
        } else {
            Err(format!("what it says is transaction {computed}"))
        }
    }
}

/// Input after parsing.
struct ReadInput {
    outpoint: OutPoint,
    script: Option<Vec<u8>>,
    sequence: Option<u32>,
    /// True if the unlocking data of an input shows a signature, or the node does not return the data.
    is_signed: bool,
}

impl ReadInput {
    fn raw(&self) -> Option<RawInput<'_>> {
        let (script, sequence) = (self.script.as_deref()?, self.sequence?);
        Some(RawInput { outpoint: self.outpoint, script, sequence })
    }
}

fn read_inputs(answers: &[InputAnswer]) -> Result<Vec<ReadInput>, String> {
    let read = |answer: &InputAnswer| {
        let (outpoint, script) = match (&answer.coinbase, &answer.txid, answer.vout) {
            (Some(script), None, _) => (NULL_OUTPOINT, Some(script)),
            (None, Some(txid), Some(index)) => {
                let txid = txid.parse().map_err(|error| format!("{error}"))?;
                let script = answer.script_sig.as_ref().map(|script| &script.hex);
                (OutPoint { txid, index }, script)
            }
            _ => return Err("it names neither `txid` and `vout` nor `coinbase`".to_owned()),
        };
        let script = script.map(hex::decode).transpose();
        let script = script.map_err(|_| "its script is not hexadecimal")?;
        let witness = answer.witness.iter().map(hex::decode).collect::<Result<Vec<_>, _>>();
        let witness = witness.map_err(|_| "its witness is not hexadecimal")?;
        let witness: Vec<&[u8]> = witness.iter().map(Vec::as_slice).collect();
        let is_signed = script.as_ref().is_none_or(|script| shows_signature(script, &witness));
        Ok(ReadInput { outpoint, script, sequence: answer.sequence, is_signed })
    };
    answers
        .iter()
        .enumerate()
        .map(|(place, answer)| read(answer).map_err(|reason| format!("input {place}: {reason}")))
        .collect()
}

/// Checks that the fields of a Zcash header have the hash. The content of one field, a commitment, changes with every
/// upgrade; older nodes do not name it, so that each candidate field is tried.
fn check_equihash<T>(
    answer: &BlockAnswer<T>,
    hash: &[u8; 32],
    header: &Header,
) -> Result<(), String> {
    let nonce = answer.nonce.as_str().and_then(parse_hash).ok_or("its nonce is no 256 bits")?;
    let solution = answer.solution.as_deref().ok_or("it has no solution")?;
    let solution = hex::decode(solution).map_err(|_| "its solution is not hexadecimal")?;
    let commitments: Vec<_> = match &answer.blockcommitments {
        Some(commitment) => vec![commitment],
        None => answer.chainhistoryroot.iter().chain(&answer.finalsaplingroot).collect(),
    };
    let mut commitments =
        commitments.into_iter().filter_map(|text| parse_hash(text)).chain([[0; 32]]);
    if commitments
        .any(|commitment| zcash_header_hash(header, commitment, nonce, &solution) == *hash)
    {
        return Ok(());
    }
    Err("its header does not have its hash".to_owned())
}
