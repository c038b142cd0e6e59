//! Unconfirmed transactions: those that a node or an Esplora server knows and that no block holds yet.

use std::fmt;

use assay_engine::utxo::{Transaction, Txid};

use crate::SourceError;

/// Sequence number below which an input signals that its transaction may be replaced (BIP 125).
pub(crate) const FIRST_FINAL_SEQUENCE: u32 = 0xffff_fffe;

/// Transaction that no block holds yet. The outputs that it spends are those that the source states; most sources state
/// none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnconfirmedTransaction {
    /// The transaction.
    pub transaction: Transaction,
    /// True if an input signals that the transaction may be replaced by one that pays a higher fee (BIP 125).
    pub signals_replacement: bool,
}

/// State of a transaction at a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MempoolEntry {
    /// The source does not have the transaction. Most nodes have only unconfirmed ones.
    Absent,
    /// A block of the source's chain holds the transaction.
    Confirmed,
    /// No block holds the transaction yet.
    Unconfirmed(Box<UnconfirmedTransaction>),
}

/// Source of unconfirmed transactions. The source's calls block the thread.
pub trait MempoolSource: fmt::Debug + Send + Sync {
    /// Returns the state of each of these transactions, in their order. Identifiers are recomputed on chains whose
    /// transactions have Bitcoin's form; spent outputs and amounts are not verified.
    ///
    /// # Errors
    ///
    /// Returns an error if the source does not answer in time, or answers with another transaction or with a coinbase.
    fn entries(&self, txids: &[Txid]) -> Result<Vec<MempoolEntry>, SourceError>;
}
