//! Blocks.

use std::ops::Deref;

use super::Transaction;
use crate::ledger::BlockRef;

/// A block with its transactions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Identity and position in the chain.
    pub reference: BlockRef,
    /// Work of the header: the expected number of hashes for its target; `None` if the source does not state the
    /// target.
    pub work: Option<u128>,
    /// Transactions, in the order of the block.
    pub transactions: Vec<Transaction>,
}

impl Block {
    /// The number of inputs and outputs of all transactions of the block.
    #[must_use]
    pub fn inputs_and_outputs(&self) -> usize {
        let transactions = self.transactions.iter();
        transactions.map(|transaction| transaction.inputs.len() + transaction.outputs.len()).sum()
    }
}

/// A block with resolved spent outputs, checked amounts and classified payments. Graphs record only such blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedBlock(Block);

impl ResolvedBlock {
    /// Declares a block resolved without checks: the caller resolved its spent outputs, or reads a block that a graph
    /// recorded.
    #[must_use]
    pub const fn assume(block: Block) -> Self {
        Self(block)
    }

    /// The block itself.
    #[must_use]
    pub fn into_block(self) -> Block {
        self.0
    }
}

impl Deref for ResolvedBlock {
    type Target = Block;

    fn deref(&self) -> &Block {
        &self.0
    }
}
