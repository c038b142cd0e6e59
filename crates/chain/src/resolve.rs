//! Resolving blocks: looks up the spent outputs, checks amounts and classifies payments.
//!
//! Pure: the caller looks up the outputs that [`outputs_to_look_up`] names; those that a batch of blocks
//! creates itself are known. Nothing is guessed: a spent output that is not known stays unknown, and a
//! contradiction is an error.

use std::collections::{HashMap, HashSet};

use assay_engine::{
    chain::ChainId,
    utxo::{
        Block, OutPoint, ResolvedBlock, ScriptOwner, Transaction, TransactionKind, TxInput, TxOut,
        Txid,
    },
};

use super::ChainParams;

/// An invalid block.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// A chain that is not of the Bitcoin family.
    #[error("{0} is not a chain of the Bitcoin family")]
    UnsupportedChain(ChainId),
    /// Outputs above the chain's largest amount.
    #[error(
        "transaction {txid} in block {height} makes {amount} base units: there are at most {most}"
    )]
    AmountTooLarge {
        /// The transaction.
        txid: Txid,
        /// Height of its block.
        height: u64,
        /// The outputs' total.
        amount: u128,
        /// The chain's largest amount.
        most: u64,
    },
    /// Outputs that exceed the inputs.
    #[error(
        "transaction {txid} in block {height} makes {outputs} base units out of {inputs}: it does \
         not add up"
    )]
    OutputsExceedInputs {
        /// The transaction.
        txid: Txid,
        /// Height of its block.
        height: u64,
        /// Total of its inputs.
        inputs: u128,
        /// Total of its outputs.
        outputs: u128,
    },
    /// An output that is spent twice.
    #[error(
        "transaction {txid} in block {height} spends {output}, which was spent before it in the \
         same blocks"
    )]
    DoubleSpend {
        /// The transaction.
        txid: Txid,
        /// Height of its block.
        height: u64,
        /// The output.
        output: OutPoint,
    },
    /// A spent output that does not exist.
    #[error(
        "transaction {txid} in block {height} spends {output}, which does not exist: blocks are \
         missing, or the source returns invalid data"
    )]
    UnknownOutput {
        /// The transaction.
        txid: Txid,
        /// Height of its block.
        height: u64,
        /// The output.
        output: OutPoint,
    },
    /// A spent output that the source describes differently than it is recorded.
    #[error(
        "transaction {txid} in block {height} spends {output}: the source says {said}, recorded is \
         {recorded}"
    )]
    ContradictsRecord {
        /// The transaction.
        txid: Txid,
        /// Height of its block.
        height: u64,
        /// The output.
        output: OutPoint,
        /// The source's description.
        said: Box<str>,
        /// The recorded output.
        recorded: Box<str>,
    },
    /// A coinbase with inputs.
    #[error("coinbase {txid} in block {height} takes coins from a shielded pool, which none can")]
    CoinbaseSpends {
        /// The transaction.
        txid: Txid,
        /// Height of its block.
        height: u64,
    },
}

/// The outputs that have to be looked up before these blocks can be resolved one after the other: those
/// that they spend and do not create themselves. Each once, in the order in which they are spent.
#[must_use]
pub fn outputs_to_look_up(blocks: &[Block]) -> Vec<OutPoint> {
    let transactions = || blocks.iter().flat_map(|block| &block.transactions);
    let created: HashMap<Txid, usize> =
        transactions().map(|creating| (creating.txid, creating.outputs.len())).collect();
    let mut seen = HashSet::new();
    transactions()
        .flat_map(|spending| {
            spending.inputs.iter().filter(|input| !input.is_from_pool(spending.txid))
        })
        .map(|input| input.outpoint)
        .filter(|outpoint| {
            let here = created.get(&outpoint.txid);
            here.is_none_or(|outputs| outpoint.index as usize >= *outputs) && seen.insert(*outpoint)
        })
        .collect()
}

/// Resolves the blocks of one batch, one after the other.
#[derive(Debug)]
pub struct Resolver {
    chain: ChainId,
    params: &'static ChainParams,
    complete: bool,
    created: HashMap<OutPoint, TxOut>,
    spent: HashSet<OutPoint>,
}

impl Resolver {
    /// A resolver for a batch of blocks of `chain`. `complete` says that all earlier blocks, from the
    /// genesis block on, are recorded: then every output that can be spent is known.
    ///
    /// # Errors
    ///
    /// Returns an error if the chain is not of the Bitcoin family.
    pub fn new(chain: ChainId, complete: bool) -> Result<Self, ResolveError> {
        let params = ChainParams::of(chain).ok_or(ResolveError::UnsupportedChain(chain))?;
        Ok(Self { chain, params, complete, created: HashMap::new(), spent: HashSet::new() })
    }

    /// Resolves the batch's next block: looks up its spent outputs, checks its amounts and classifies its
    /// payments. `recorded` looks up the outputs that the store holds of [`outputs_to_look_up`].
    ///
    /// # Errors
    ///
    /// Returns an error if the block is invalid. The batch must not be used any further then.
    pub fn resolve(
        &mut self,
        mut block: Block,
        recorded: &dyn Fn(&OutPoint) -> Option<TxOut>,
    ) -> Result<ResolvedBlock, ResolveError> {
        if self.params.spends_later {
            for transaction in &block.transactions {
                self.create(transaction);
            }
        }
        let (height, time) = (block.reference.height, block.reference.time);
        for transaction in &mut block.transactions {
            let txid = transaction.txid;
            for input in &mut transaction.inputs {
                if !input.is_from_pool(txid) {
                    self.look_up(input, txid, height, recorded)?;
                }
            }
            self.create(transaction);
            self.check_amounts(transaction, height)?;
            transaction.classify(self.chain, time);
        }
        Ok(ResolvedBlock::assume(block))
    }

    fn create(&mut self, transaction: &Transaction) {
        let txid = transaction.txid;
        let outpoints = (0..).map(|index| OutPoint { txid, index });
        self.created.extend(outpoints.zip(transaction.outputs.iter().cloned()));
    }

    /// Finds the output that an input of transaction `txid` spends.
    fn look_up(
        &mut self,
        input: &mut TxInput,
        txid: Txid,
        height: u64,
        recorded: &dyn Fn(&OutPoint) -> Option<TxOut>,
    ) -> Result<(), ResolveError> {
        let output = input.outpoint;
        if !self.spent.insert(output) {
            return Err(ResolveError::DoubleSpend { txid, height, output });
        }
        let known = self.created.get(&output).cloned().or_else(|| recorded(&output));
        match (&known, &input.spent) {
            (Some(known), Some(said)) if known != said => {
                let words = |output| describe(self.chain, output).into_boxed_str();
                let (said, recorded) = (words(said), words(known));
                return Err(ResolveError::ContradictsRecord {
                    txid,
                    height,
                    output,
                    said,
                    recorded,
                });
            }
            (None, _) if self.complete => {
                return Err(ResolveError::UnknownOutput { txid, height, output });
            }
            _ => {}
        }
        if known.is_some() {
            input.spent = known;
        }
        Ok(())
    }

    fn check_amounts(&self, transaction: &Transaction, height: u64) -> Result<(), ResolveError> {
        let Transaction { txid, kind, .. } = *transaction;
        let coinbase = kind == TransactionKind::Coinbase;
        if coinbase && !transaction.inputs.is_empty() {
            return Err(ResolveError::CoinbaseSpends { txid, height });
        }
        let (most, outputs) = (self.params.largest_amount, transaction.output_total());
        if outputs > most.into() {
            return Err(ResolveError::AmountTooLarge { txid, height, amount: outputs, most });
        }
        let inputs = transaction.input_total();
        if inputs < outputs {
            return Err(ResolveError::OutputsExceedInputs { txid, height, inputs, outputs });
        }
        Ok(())
    }
}

/// An output as text, with its owner's address if it has one.
fn describe(chain: ChainId, output: &TxOut) -> String {
    let owner = match (output.owner.address(chain), &output.owner) {
        (Some(address), _) => address.to_string(),
        (None, ScriptOwner::Pool(pool)) => format!("the {}", pool.as_str()),
        (None, owner) => format!("the script {}", hex::encode(owner.to_bytes())),
    };
    format!("{} base units of {owner}", output.value)
}

#[cfg(test)]
mod tests;
