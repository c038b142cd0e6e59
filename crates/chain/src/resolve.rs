//! From blocks to what a store records: what each input spends, and whether the values add up.
//!
//! Pure. What has to be looked up in the store first is named ([`wanted`]); what is made within the same
//! batch of blocks is known by itself. Nothing is guessed: an input whose output is not known stays
//! unknown, and whatever contradicts itself is an error.

use std::collections::{HashMap, HashSet};

use assay_engine::{
    chain::ChainId,
    utxo::{OutPoint, Pool, ScriptOwner, TransactionKind, Txid},
};

use super::{BlockHead, ChainBlock, ChainParams, ChainTransaction, Coin, Hidden};

/// Where an input is said to come from that spends no output: this place of the transaction itself.
pub const NO_PLACE: u32 = u32::MAX;

/// A block with everything that it spends, as far as that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedBlock {
    /// Its place in the chain.
    pub head: BlockHead,
    /// Its transactions, in order.
    pub transactions: Vec<ResolvedTransaction>,
}

/// A transaction with everything that it spends, as far as that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedTransaction {
    /// Its identifier.
    pub txid: Txid,
    /// What it is.
    pub kind: TransactionKind,
    /// What it spends; empty for a coinbase. What comes out of a pool without spending an output has
    /// the place [`NO_PLACE`] of the transaction itself.
    pub inputs: Vec<ResolvedInput>,
    /// What it makes. What goes into a pool without being an output comes last.
    pub outputs: Vec<Coin>,
    /// What the inputs without a coin are worth together, as far as the outputs tell: what the outputs
    /// are worth beyond the known inputs, in base units.
    pub unknown: u64,
}

/// What a transaction spends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedInput {
    /// The output.
    pub output: OutPoint,
    /// Its value and owner; `None` where they are not known.
    pub coin: Option<Coin>,
}

/// What a block says that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// A chain without coins.
    #[error("{0} is not a chain of the Bitcoin family")]
    NoCoins(ChainId),
    /// More than can exist.
    #[error(
        "transaction {txid} in block {height} makes {amount} base units: there are at most {most}"
    )]
    TooMuch {
        /// The transaction.
        txid: Txid,
        /// Its block.
        height: u64,
        /// How much.
        amount: u128,
        /// The most there can be.
        most: u64,
    },
    /// Outputs worth more than the inputs.
    #[error(
        "transaction {txid} in block {height} makes {outputs} base units out of {inputs}: it does \
         not add up"
    )]
    AddsUpToLess {
        /// The transaction.
        txid: Txid,
        /// Its block.
        height: u64,
        /// What its inputs are worth.
        inputs: u128,
        /// What its outputs are worth.
        outputs: u128,
    },
    /// The same output twice.
    #[error(
        "transaction {txid} in block {height} spends {output}, which was spent before it in the \
         same blocks"
    )]
    Twice {
        /// The transaction.
        txid: Txid,
        /// Its block.
        height: u64,
        /// The output.
        output: OutPoint,
    },
    /// An output that nobody made.
    #[error(
        "transaction {txid} in block {height} spends {output}, which does not exist: blocks are \
         missing, or the source lies"
    )]
    Missing {
        /// The transaction.
        txid: Txid,
        /// Its block.
        height: u64,
        /// The output.
        output: OutPoint,
    },
    /// The source says something else of an output than is recorded.
    #[error(
        "transaction {txid} in block {height} spends {output}: the source says {said}, recorded is \
         {recorded}"
    )]
    Contradiction {
        /// The transaction.
        txid: Txid,
        /// Its block.
        height: u64,
        /// The output.
        output: OutPoint,
        /// What the source says of it.
        said: Box<str>,
        /// What is recorded.
        recorded: Box<str>,
    },
    /// A coinbase that spends.
    #[error("coinbase {txid} in block {height} takes coins from a pool, which none can")]
    CoinbaseSpends {
        /// The transaction.
        txid: Txid,
        /// Its block.
        height: u64,
    },
}

/// The outputs that have to be looked up before these blocks can be resolved one after the other: what
/// they spend and do not make themselves. Each once, in the order in which they are spent.
#[must_use]
pub fn wanted(blocks: &[ChainBlock]) -> Vec<OutPoint> {
    let transactions = || blocks.iter().flat_map(|block| &block.transactions);
    let made: HashMap<Txid, usize> =
        transactions().map(|made| (made.txid, made.outputs.len())).collect();
    let mut seen = HashSet::new();
    transactions()
        .flat_map(|spending| &spending.inputs)
        .map(|input| input.output)
        .filter(|output| {
            let here = made.get(&output.txid);
            here.is_none_or(|outputs| output.index as usize >= *outputs) && seen.insert(*output)
        })
        .collect()
}

/// Resolves blocks of one batch, one after the other.
#[derive(Debug)]
pub struct Resolver {
    chain: ChainId,
    params: &'static ChainParams,
    complete: bool,
    made: HashMap<OutPoint, Coin>,
    spent: HashSet<OutPoint>,
}

impl Resolver {
    /// For a batch of blocks of `chain`. `complete` says that all blocks before them, from the first of
    /// the chain, are recorded: then everything that can be spent is known.
    ///
    /// # Errors
    ///
    /// Where the chain is not of the Bitcoin family.
    pub fn new(chain: ChainId, complete: bool) -> Result<Self, ResolveError> {
        let params = ChainParams::of(chain).ok_or(ResolveError::NoCoins(chain))?;
        Ok(Self { chain, params, complete, made: HashMap::new(), spent: HashSet::new() })
    }

    /// Resolves the batch's next block. `recorded` gives what the store holds of the outputs that were
    /// [`wanted`]; `classify` says what a transaction that is no coinbase is.
    ///
    /// # Errors
    ///
    /// Where the block cannot be as it is. The batch is of no use any more then.
    pub fn resolve(
        &mut self,
        block: ChainBlock,
        recorded: &dyn Fn(&OutPoint) -> Option<Coin>,
        classify: &dyn Fn(&ResolvedTransaction) -> TransactionKind,
    ) -> Result<ResolvedBlock, ResolveError> {
        let ChainBlock { head, transactions } = block;
        if self.params.spends_later {
            for transaction in &transactions {
                self.make(transaction);
            }
        }
        let transactions = transactions
            .into_iter()
            .map(|transaction| {
                let inputs = self.inputs(&transaction, head.height, recorded)?;
                self.make(&transaction);
                self.finish(transaction, inputs, head.height, classify)
            })
            .collect::<Result<_, _>>()?;
        Ok(ResolvedBlock { head, transactions })
    }

    fn make(&mut self, transaction: &ChainTransaction) {
        let txid = transaction.txid;
        let outputs = (0..).map(|index| OutPoint { txid, index });
        self.made.extend(outputs.zip(transaction.outputs.iter().cloned()));
    }

    fn inputs(
        &mut self,
        transaction: &ChainTransaction,
        height: u64,
        recorded: &dyn Fn(&OutPoint) -> Option<Coin>,
    ) -> Result<Vec<ResolvedInput>, ResolveError> {
        let txid = transaction.txid;
        let mut inputs = Vec::with_capacity(transaction.inputs.len());
        for input in &transaction.inputs {
            let output = input.output;
            if !self.spent.insert(output) {
                return Err(ResolveError::Twice { txid, height, output });
            }
            let known = self.made.get(&output).cloned().or_else(|| recorded(&output));
            let coin = match (known, &input.coin) {
                (Some(known), Some(said)) if known != *said => {
                    let words = |coin| describe(self.chain, coin).into_boxed_str();
                    let (said, recorded) = (words(said), words(&known));
                    return Err(ResolveError::Contradiction {
                        txid,
                        height,
                        output,
                        said,
                        recorded,
                    });
                }
                (None, _) if self.complete => {
                    return Err(ResolveError::Missing { txid, height, output });
                }
                (known, said) => known.or_else(|| said.clone()),
            };
            inputs.push(ResolvedInput { output, coin });
        }
        Ok(inputs)
    }

    fn finish(
        &self,
        transaction: ChainTransaction,
        mut inputs: Vec<ResolvedInput>,
        height: u64,
        classify: &dyn Fn(&ResolvedTransaction) -> TransactionKind,
    ) -> Result<ResolvedTransaction, ResolveError> {
        let ChainTransaction { txid, coinbase, mut outputs, hidden, .. } = transaction;
        let pool = |value| Coin { owner: ScriptOwner::Pool(Pool::ZcashShielded), value };
        let mut enters = |coin| {
            let output = OutPoint { txid, index: NO_PLACE };
            inputs.push(ResolvedInput { output, coin });
        };
        match hidden {
            Hidden::None => {}
            Hidden::FromPool(_) | Hidden::FromNowhere if coinbase => {
                return Err(ResolveError::CoinbaseSpends { txid, height });
            }
            Hidden::FromPool(value) => enters(Some(pool(value))),
            Hidden::FromNowhere => enters(None),
            Hidden::IntoPool(value) => outputs.push(pool(value)),
        }

        let most = self.params.largest_amount;
        let made = total(outputs.iter());
        if made > most.into() {
            return Err(ResolveError::TooMuch { txid, height, amount: made, most });
        }
        let known = total(inputs.iter().filter_map(|input| input.coin.as_ref()));
        let all_known = inputs.iter().all(|input| input.coin.is_some());
        if all_known && !coinbase && known < made {
            return Err(ResolveError::AddsUpToLess { txid, height, inputs: known, outputs: made });
        }
        let missing = if all_known { 0 } else { made.saturating_sub(known) };
        let mut resolved = ResolvedTransaction {
            txid,
            kind: if coinbase { TransactionKind::Coinbase } else { TransactionKind::Payment },
            inputs,
            outputs,
            unknown: u64::try_from(missing).unwrap_or(most),
        };
        if !coinbase {
            resolved.kind = classify(&resolved);
        }
        Ok(resolved)
    }
}

fn total<'a>(coins: impl Iterator<Item = &'a Coin>) -> u128 {
    coins.map(|coin| u128::from(coin.value)).sum()
}

/// A coin in words, with its owner's address where it has one.
fn describe(chain: ChainId, coin: &Coin) -> String {
    let owner = match (coin.owner.address(chain), &coin.owner) {
        (Some(address), _) => address.to_string(),
        (None, ScriptOwner::Pool(pool)) => format!("the {}", pool.as_str()),
        (None, owner) => format!("the script {}", hex::encode(owner.to_bytes())),
    };
    format!("{} base units of {owner}", coin.value)
}

#[cfg(test)]
mod tests;
