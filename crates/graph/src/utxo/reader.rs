//! Reading of one state of a graph by numbers.

use std::cell::OnceCell;

use assay_columns::{PageCache, ReadCache, bytes::number, run::IndexReader};
use assay_engine::utxo::{ScriptOwner, Txid};
use heed::RoTxn;

use super::{
    entry::{GraphRuns, RunEntryKind},
    link::ForestNode,
    record::{StoredBlock, TransactionRecord},
    state::{self, GraphState},
    tables::Tables,
};
use crate::{GraphError, error::damaged};

/// One state of a graph, read by numbers. All methods are synchronous and allocate nothing for an entry. A reader
/// caches the positions of pages, so that repeated reads are faster.
pub struct Reader<'t> {
    pub(super) tables: &'t Tables,
    pub(super) runs: &'t GraphRuns,
    pub(super) txn: &'t RoTxn<'t>,
    txids: PageCache<'t>,
    spent: PageCache<'t>,
    parents: PageCache<'t>,
    blocks: ReadCache<StoredBlock, { 1 << 9 }>,
    /// True if the table of recent entries has any entries.
    recent: OnceCell<bool>,
}

impl std::fmt::Debug for Reader<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Reader").field("tables", self.tables).finish_non_exhaustive()
    }
}

/// A cluster, identified by its root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ClusterRoot {
    pub(super) root: u64,
    /// The smallest member.
    pub(super) smallest: u64,
    /// Number of members.
    pub(super) size: u64,
}

/// The transactions and owners that no rollback removes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Finalized {
    /// Number of transactions.
    pub(super) transactions: u64,
    /// Number of owners.
    pub(super) owners: u64,
}

impl<'t> Reader<'t> {
    pub(super) fn new(tables: &'t Tables, runs: &'t GraphRuns, txn: &'t RoTxn<'t>) -> Self {
        Self {
            tables,
            runs,
            txn,
            txids: PageCache::default(),
            spent: PageCache::default(),
            parents: PageCache::default(),
            blocks: ReadCache::default(),
            recent: OnceCell::new(),
        }
    }

    /// True if the table of recent entries has any entries.
    pub(super) fn has_recent(&self) -> Result<bool, GraphError> {
        if let Some(known) = self.recent.get() {
            return Ok(*known);
        }
        let empty = self.tables.recent.is_empty(self.txn)?;
        Ok(*self.recent.get_or_init(|| !empty))
    }

    /// The indexes of the state.
    pub(super) fn index(&self) -> Result<IndexReader<'_, RunEntryKind>, GraphError> {
        let recent = self.has_recent()?.then_some(self.tables.recent);
        Ok(IndexReader::new(self.txn, recent, self.tables.run, self.runs))
    }

    /// The graph's state; `None` in a new environment.
    pub(crate) fn stored_state(&self) -> Result<Option<GraphState>, GraphError> {
        let Some(bytes) = self.tables.meta.get(self.txn, state::KEY)? else { return Ok(None) };
        let block = |height| Ok(self.known_block(height)?.block);
        let highest = self.tables.meta.get(self.txn, state::HIGHEST)?;
        GraphState::read(bytes, highest, block).map(Some)
    }

    /// The graph's state.
    pub(super) fn state(&self) -> Result<GraphState, GraphError> {
        self.stored_state()?.ok_or_else(|| damaged("meta", "its state"))
    }

    /// The transactions and owners that no rollback removes.
    pub(super) fn finalized(&self) -> Result<Finalized, GraphError> {
        let state = self.state()?;
        Ok(match self.block(state.reorganizable_from.max(state.start))? {
            Some(block) => {
                Finalized { transactions: block.first_transaction, owners: block.first_owner }
            }
            None => Finalized { transactions: state.next_transaction, owners: state.next_owner },
        })
    }

    /// The block at a height; `None` if no block is recorded at that height.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub fn block(&self, height: u64) -> Result<Option<StoredBlock>, GraphError> {
        self.blocks.get(height, || {
            let found = self.tables.block.get(self.txn, &number(height))?;
            found.map(|bytes| StoredBlock::read(height, bytes)).transpose()
        })
    }

    /// The transaction with a number; `None` if no transaction has the number.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    #[inline]
    pub fn transaction(&self, tx: u64) -> Result<Option<TransactionRecord<'t>>, GraphError> {
        let found = self.tables.transaction.get(self.txn, &number(tx))?;
        found.map(|bytes| TransactionRecord::read(tx, bytes)).transpose()
    }

    /// The transaction with a number that a record names; an error if the transaction is missing.
    pub(super) fn known_transaction(&self, tx: u64) -> Result<TransactionRecord<'t>, GraphError> {
        self.transaction(tx)?.ok_or_else(|| damaged("tx", tx))
    }

    /// The identifier of a transaction.
    ///
    /// # Errors
    ///
    /// Returns an error if no transaction has the number, or if the store fails.
    pub fn txid(&self, tx: u64) -> Result<Txid, GraphError> {
        let bytes = self.tables.txid.get::<32>(self.txn, &self.txids, tx)?;
        bytes.map(|bytes| Txid::from_bytes(*bytes)).ok_or_else(|| damaged("txid", tx))
    }

    /// The block at a height that a record names; an error if the block is missing.
    pub(super) fn known_block(&self, height: u64) -> Result<StoredBlock, GraphError> {
        self.block(height)?.ok_or_else(|| damaged("block", height))
    }

    /// The transaction that spends an output; `None` for an unspent output.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    #[inline]
    pub fn spender(&self, output: u64) -> Result<Option<u64>, GraphError> {
        let slot = self.tables.spent.number(self.txn, &self.spent, output)?;
        Ok(slot.and_then(|slot| slot.checked_sub(1)))
    }

    /// The lowest owner number in an owner's cluster, which identifies the cluster.
    ///
    /// # Errors
    ///
    /// Returns an error if no owner has the number, or if the store fails.
    #[inline]
    pub fn cluster(&self, owner: u64) -> Result<u64, GraphError> {
        Ok(self.root(owner)?.smallest)
    }

    /// The root of an owner's cluster.
    #[inline]
    pub(super) fn root(&self, owner: u64) -> Result<ClusterRoot, GraphError> {
        let mut root = owner;
        loop {
            match self.forest_node(root)? {
                ForestNode::Root { smallest, size } => {
                    return Ok(ClusterRoot { root, smallest, size });
                }
                ForestNode::Child { parent, .. } => root = parent,
            }
        }
    }

    /// The node of an owner in the forest of clusters.
    #[inline]
    pub(super) fn forest_node(&self, owner: u64) -> Result<ForestNode, GraphError> {
        let bytes =
            self.tables.parent.get::<{ ForestNode::BYTES }>(self.txn, &self.parents, owner)?;
        bytes.and_then(ForestNode::from_bytes).ok_or_else(|| damaged("parent", owner))
    }

    /// The owner with a number.
    ///
    /// # Errors
    ///
    /// Returns an error if no owner has the number, or if the store fails.
    pub fn owner(&self, owner: u64) -> Result<ScriptOwner, GraphError> {
        let script = self.script(owner)?.ok_or_else(|| damaged("script", owner))?;
        ScriptOwner::from_bytes(script)
            .ok_or_else(|| GraphError::unreadable("holder.key", hex::encode(script)))
    }

    pub(super) fn script(&self, owner: u64) -> Result<Option<&'t [u8]>, GraphError> {
        Ok(self.tables.script.get(self.txn, &number(owner))?)
    }
}
