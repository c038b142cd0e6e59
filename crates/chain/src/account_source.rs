//! Blocks of account chains from a node: the trait of their sources.

use assay_engine::ledger::BlockRef;
use assay_graph::account::AccountBlock;

pub use super::abilities::{NodeAbilities, ProvenParts, Tracer};
use super::{BlockSource, SourceBlock, SourceError, TipRef};

impl SourceBlock for AccountBlock {
    fn reference(&self) -> BlockRef {
        self.reference
    }

    /// Returns the number of transfers.
    fn entries(&self) -> usize {
        self.transactions.iter().map(|transaction| transaction.transfers.len()).sum()
    }

    fn transactions(&self) -> usize {
        self.transactions.len()
    }
}

/// Source of the blocks of an account chain, newest ones included: a [`BlockSource`] that also states which blocks are
/// final. A block is validated as far as that is possible without other blocks; [`NodeAbilities`] says what that leaves
/// open.
pub trait AccountBlockSource: BlockSource<AccountBlock> {
    /// Verifies that the source serves the chain, by its number and its first block.
    ///
    /// # Errors
    ///
    /// Returns an error if the source serves another chain or a refused test network, or does not answer.
    fn check_chain(&mut self) -> Result<(), SourceError>;

    /// Returns the newest final block, which the chain's consensus replaces no more; `None` if the source does not state
    /// one.
    ///
    /// # Errors
    ///
    /// Returns an error if the source fails.
    fn finalized(&mut self) -> Result<Option<TipRef>, SourceError>;

    /// Returns what the source states and proves. Before the first block it is what is known of the chain.
    fn abilities(&self) -> NodeAbilities;
}
