//! Resolving blocks: looks up the spent outputs, checks amounts and classifies payments.
//!
//! The functions are pure: the caller looks up the outputs that [`outputs_to_look_up`] returns; outputs of the batch
//! itself are known. A spent output that is not known stays unknown, and a contradiction is an error.

mod error;

use std::collections::{HashMap, HashSet};

use assay_address::ChainId;
use assay_engine::utxo::{
    Block, OutPoint, Pool, ResolvedBlock, ScriptOwner, Transaction, TransactionKind, TxInput,
    TxOut, Txid,
};

use assay_graph::RecordedOutput;

pub use error::{ResolveError, Spend};

use super::ChainParams;

/// Returns the outputs to look up before these blocks can be resolved one after the other: those that they spend and do
/// not create, each once, in the order in which they are spent.
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
    /// Transactions of `created`, including those without outputs.
    creators: HashSet<Txid>,
    spent: HashSet<OutPoint>,
    /// Spends of unknown outputs, one for each transaction.
    unknown: HashMap<Txid, Spend>,
}

impl Resolver {
    /// Returns a resolver for a batch of blocks of `chain`. `complete` states that all earlier blocks from the genesis
    /// block are recorded, so that every output that can be spent is known.
    ///
    /// # Errors
    ///
    /// Returns an error if the chain is not of the Bitcoin family.
    pub fn new(chain: ChainId, complete: bool) -> Result<Self, ResolveError> {
        let params = ChainParams::for_chain(chain).ok_or(ResolveError::UnsupportedChain(chain))?;
        Ok(Self {
            chain,
            params,
            complete,
            created: HashMap::new(),
            creators: HashSet::new(),
            spent: HashSet::new(),
            unknown: HashMap::new(),
        })
    }

    /// Resolves the batch's next block: looks up its spent outputs, checks its amounts and classifies its payments.
    /// `recorded` returns a recorded output of [`outputs_to_look_up`].
    ///
    /// # Errors
    ///
    /// Returns an error if the block is invalid. The batch must not be used after an error.
    pub fn resolve(
        &mut self,
        mut block: Block,
        recorded: &dyn Fn(&OutPoint) -> RecordedOutput,
    ) -> Result<ResolvedBlock, ResolveError> {
        let (height, time) = (block.reference.height, block.reference.time);
        // Transactions of the block whose outputs cannot be spent yet.
        let mut later = HashSet::new();
        for transaction in &block.transactions {
            if self.params.spends_later {
                self.create(transaction)?;
            } else {
                later.insert(transaction.txid);
            }
        }
        for transaction in &mut block.transactions {
            let txid = transaction.txid;
            for (index, input) in transaction.inputs.iter_mut().enumerate() {
                if !input.is_from_pool(txid) {
                    let spend = Spend { height, txid, input: index, output: input.outpoint };
                    self.look_up(input, spend, &later, recorded)?;
                }
            }
            self.create(transaction)?;
            later.remove(&txid);
            self.check_amounts(transaction, height)?;
            transaction.classify(self.chain, time);
        }
        Ok(ResolvedBlock::assume(block))
    }

    fn create(&mut self, transaction: &Transaction) -> Result<(), ResolveError> {
        let txid = transaction.txid;
        if let Some(spend) = self.unknown.remove(&txid) {
            return Err(ResolveError::LaterOutput(spend));
        }
        let outpoints = (0..).map(|index| OutPoint { txid, index });
        self.created.extend(outpoints.zip(transaction.outputs.iter().cloned()));
        self.creators.insert(txid);
        Ok(())
    }

    /// Finds the output that an input spends.
    fn look_up(
        &mut self,
        input: &mut TxInput,
        spend: Spend,
        later: &HashSet<Txid>,
        recorded: &dyn Fn(&OutPoint) -> RecordedOutput,
    ) -> Result<(), ResolveError> {
        let output = input.outpoint;
        if output.txid == spend.txid {
            return Err(ResolveError::OwnOutput(spend));
        }
        if !self.spent.insert(output) {
            return Err(ResolveError::DoubleSpend(spend));
        }
        let known = match self.created.get(&output) {
            Some(created) => RecordedOutput::Found(created.clone()),
            None if self.creators.contains(&output.txid) => RecordedOutput::Missing,
            None if later.contains(&output.txid) => return Err(ResolveError::LaterOutput(spend)),
            None => recorded(&output),
        };
        match known {
            // A movement into a pool counts as an output that no input can spend.
            RecordedOutput::Found(TxOut {
                owner: ScriptOwner::Pool(Pool::ZcashShielded), ..
            })
            | RecordedOutput::Missing => Err(ResolveError::NoSuchOutput(spend)),
            RecordedOutput::Found(known) => {
                if let Some(said) = input.spent.as_ref().filter(|said| **said != known) {
                    let words = [said, &known].map(|output| describe(self.chain, output));
                    let said_and_recorded = Box::new(words);
                    return Err(ResolveError::ContradictsRecord { spend, said_and_recorded });
                }
                input.spent = Some(known);
                Ok(())
            }
            RecordedOutput::Unknown if self.complete => Err(ResolveError::UnknownOutput(spend)),
            RecordedOutput::Unknown => {
                self.unknown.entry(output.txid).or_insert(spend);
                Ok(())
            }
        }
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

/// Describes an output, with its owner's address if it has one.
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
