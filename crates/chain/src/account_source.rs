//! Blocks of account chains from a node: the trait of their sources.

use assay_engine::ledger::BlockRef;
use assay_graph::account::AccountBlock;

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

/// Parts of the blocks of an account chain that a node states, and those that their headers prove.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeAbilities {
    /// The way in which the node states transfers inside of transactions; `None` until it was asked.
    pub tracer: Option<Tracer>,
    /// The statements that are recomputed from a block's hash.
    pub proven: ProvenParts,
}

impl NodeAbilities {
    /// True if transfers inside of transactions are read. False until the node was asked.
    #[must_use]
    pub const fn reads_internal_transfers(&self) -> bool {
        matches!(self.tracer, Some(Tracer::Calls | Tracer::Parity))
    }
}

/// A node's way to state transfers inside of transactions. No header proves them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tracer {
    /// `debug_traceBlockByHash` with the call tracer.
    Calls,
    /// `trace_block`, in the form that Parity introduced.
    Parity,
    /// The node has neither: transfers inside of transactions are not assessed.
    None,
}

/// Parts of a block that are recomputed and compared with its hash.
#[expect(clippy::struct_excessive_bools, reason = "each is a part of its own")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProvenParts {
    /// The header.
    pub header: bool,
    /// Transactions, with the sender of each.
    pub transactions: bool,
    /// Receipts: success, gas and event logs.
    pub receipts: bool,
    /// Withdrawals of validators.
    pub withdrawals: bool,
}

impl ProvenParts {
    /// Every part is proven, as on Ethereum.
    pub const ALL: Self =
        Self { header: true, transactions: true, receipts: true, withdrawals: true };
    /// No part is proven.
    pub const NONE: Self =
        Self { header: false, transactions: false, receipts: false, withdrawals: false };
}
