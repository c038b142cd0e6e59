//! Blocks of account chains from a node: the trait of their sources.

use assay_graph::account::AccountBlock;

use super::{BatchLimit, SourceError, TipRef};

/// Source of the blocks of an account chain, newest ones included. A block is validated as far as that is possible without
/// other blocks; [`NodeAbilities`] says what that leaves open.
///
/// The calls block the thread.
pub trait AccountBlockSource: Send {
    /// Verifies that the source serves the chain, by its number and its first block.
    ///
    /// # Errors
    ///
    /// Returns an error if the source serves another chain or a refused test network, or does not answer.
    fn check_chain(&mut self) -> Result<(), SourceError>;

    /// Returns the newest block.
    ///
    /// # Errors
    ///
    /// Returns an error if the source fails.
    fn tip(&mut self) -> Result<TipRef, SourceError>;

    /// Returns the newest final block, which the chain's consensus replaces no more; `None` if the source does not state
    /// one.
    ///
    /// # Errors
    ///
    /// Returns an error if the source fails.
    fn finalized(&mut self) -> Result<Option<TipRef>, SourceError>;

    /// Returns the hash of the block at a height; `None` above the newest block.
    ///
    /// # Errors
    ///
    /// Returns an error if the source fails.
    fn hash_at(&mut self, height: u64) -> Result<Option<[u8; 32]>, SourceError>;

    /// Returns the block with this hash.
    ///
    /// # Errors
    ///
    /// Returns an error if no block has the hash, or it cannot be read.
    fn block(&mut self, hash: &[u8; 32]) -> Result<AccountBlock, SourceError>;

    /// Returns the blocks from a height, in order: at least one, and at most the limit, whose entries are transfers. If the
    /// chain is reorganized in the meantime, the blocks may belong to different branches, which the blocks' parents show.
    ///
    /// # Errors
    ///
    /// Returns an error if the first block does not exist or cannot be read.
    fn blocks(&mut self, from: u64, limit: BatchLimit) -> Result<Vec<AccountBlock>, SourceError>;

    /// Returns what the source states and proves. Before the first block it is what is known of the chain.
    fn abilities(&self) -> NodeAbilities;
}

/// What a node states about blocks of an account chain, and what of that their headers prove.
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
