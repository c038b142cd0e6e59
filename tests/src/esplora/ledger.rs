//! Payments of each script, from the blocks.

use std::collections::HashMap;

use assay_address::ChainId;
use assay_engine::utxo::{OutPoint, ScriptOwner, Txid};

use super::shape;
use crate::block_builder::{Block, Transaction, TxOut, sha256};

/// The data from which answers are computed.
#[derive(Debug)]
pub(super) struct Ledger {
    pub(super) chain: ChainId,
    /// The best chain, by height.
    pub(super) blocks: Vec<Block>,
    /// Blocks that a reorganization replaced.
    pub(super) stale: Vec<Block>,
    /// Position of each transaction: height and index.
    places: HashMap<Txid, (usize, usize)>,
    /// Input of a transaction that spends each spent output.
    spent: HashMap<OutPoint, (Txid, usize)>,
    /// Transactions of each owner, oldest first; by address and by hash of the script.
    histories: HashMap<String, Vec<Txid>>,
}

impl Ledger {
    pub(super) fn new(chain: ChainId, blocks: &[Block], stale: &[Block]) -> Self {
        let mut ledger = Self {
            chain,
            blocks: blocks.to_vec(),
            stale: stale.to_vec(),
            places: HashMap::new(),
            spent: HashMap::new(),
            histories: HashMap::new(),
        };
        for (height, block) in blocks.iter().enumerate() {
            for (place, transaction) in block.transactions.iter().enumerate() {
                ledger.add(height, place, transaction);
            }
        }
        ledger
    }

    fn add(&mut self, height: usize, place: usize, transaction: &Transaction) {
        let txid = transaction.txid();
        self.places.insert(txid, (height, place));
        for (input, each) in transaction.inputs.iter().enumerate() {
            self.spent.insert(each.output, (txid, input));
        }
        let spent = transaction.inputs.iter().filter_map(|input| self.output(input.output));
        let scripts = spent.chain(&transaction.outputs).map(|output| output.script.clone());
        for script in scripts.collect::<Vec<_>>() {
            for name in self.names(&script) {
                let history = self.histories.entry(name).or_default();
                if history.last() != Some(&txid) {
                    history.push(txid);
                }
            }
        }
    }

    /// Names under which a script's history is stored: address and script hash.
    pub(super) fn names(&self, script: &[u8]) -> impl Iterator<Item = String> + use<> {
        let hash = hex::encode(sha256(script));
        [Some(hash), self.address(script)].into_iter().flatten()
    }

    /// The address of a script. `None` for a bare public key.
    pub(super) fn address(&self, script: &[u8]) -> Option<String> {
        if shape::kind(script) == "p2pk" {
            return None;
        }
        let address = ScriptOwner::from_script(self.chain, script).address(self.chain)?;
        Some(address.to_string())
    }

    /// A transaction with its height.
    pub(super) fn transaction(&self, txid: &Txid) -> Option<(usize, &Transaction)> {
        let (height, place) = *self.places.get(txid)?;
        Some((height, self.blocks.get(height)?.transactions.get(place)?))
    }

    /// The position of a transaction: height and index.
    pub(super) fn position(&self, txid: &Txid) -> Option<(usize, usize)> {
        self.places.get(txid).copied()
    }

    /// An output.
    pub(super) fn output(&self, output: OutPoint) -> Option<&TxOut> {
        let (_, transaction) = self.transaction(&output.txid)?;
        transaction.outputs.get(usize::try_from(output.index).ok()?)
    }

    /// The transaction that spends an output, and the index of its input.
    pub(super) fn spender(&self, output: OutPoint) -> Option<(Txid, usize)> {
        self.spent.get(&output).copied()
    }

    /// The transactions of the owner with this name, newest first.
    pub(super) fn history(&self, name: &str) -> Vec<(usize, &Transaction)> {
        let txids = self.histories.get(name).into_iter().flatten().rev();
        txids.filter_map(|txid| self.transaction(txid)).collect()
    }

    /// The height of a block of the best chain.
    pub(super) fn height(&self, hash: &str) -> Option<usize> {
        self.blocks.iter().position(|block| block.hash.to_string() == hash)
    }

    /// A block of the best chain or a replaced one.
    pub(super) fn block(&self, hash: &str) -> Option<&Block> {
        self.blocks.iter().chain(&self.stale).find(|block| block.hash.to_string() == hash)
    }
}
