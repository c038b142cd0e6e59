//! Reading by numbers, in one state of a graph.

use std::cell::OnceCell;

use assay_engine::utxo::{ScriptOwner, Statistics, Txid};
use heed::RoTxn;

use super::{
    bytes::number,
    error::{damaged, table_error},
    index,
    kept::{KeptBlocks, KeptPages},
    links::Slot,
    record::{StoredBlock, TransactionRecord},
    run::Manifest,
    state::{self, StoredState},
    tables::Tables,
};
use crate::{GraphError, backend::rows};

/// One state of a graph, read by numbers. All methods are synchronous and allocate nothing for an entry. A reader
/// keeps where it found pages, and so gets faster the more it reads.
pub struct Reader<'t> {
    pub(super) tables: &'t Tables,
    pub(super) runs: &'t Manifest,
    pub(super) txn: &'t RoTxn<'t>,
    txids: KeptPages<'t>,
    spent: KeptPages<'t>,
    pub(super) parents: KeptPages<'t>,
    blocks: KeptBlocks,
    /// True if there are entries of recent blocks.
    recent: OnceCell<bool>,
}

impl std::fmt::Debug for Reader<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Reader").field("tables", self.tables).finish_non_exhaustive()
    }
}

/// Side of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Its inputs: what an owner sent.
    Inputs,
    /// Its outputs: what an owner received.
    Outputs,
}

/// An input or an output of an owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved {
    /// Value in base units.
    pub value: u64,
    /// The number of the transaction.
    pub transaction: u64,
    /// The index on the transaction's side.
    pub index: u32,
}

impl<'t> Reader<'t> {
    pub(super) fn new(tables: &'t Tables, runs: &'t Manifest, txn: &'t RoTxn<'t>) -> Self {
        Self {
            tables,
            runs,
            txn,
            txids: KeptPages::default(),
            spent: KeptPages::default(),
            parents: KeptPages::default(),
            blocks: KeptBlocks::default(),
            recent: OnceCell::new(),
        }
    }

    /// True if there are entries of recent blocks.
    pub(super) fn has_recent(&self) -> Result<bool, GraphError> {
        if let Some(known) = self.recent.get() {
            return Ok(*known);
        }
        let empty = self.tables.recent.is_empty(self.txn);
        let empty = empty.map_err(|error| table_error("recent", error))?;
        Ok(*self.recent.get_or_init(|| !empty))
    }

    pub(super) fn get(
        &self,
        name: &'static str,
        table: assay_mapped::Table,
        key: &[u8],
    ) -> Result<Option<&'t [u8]>, GraphError> {
        table.get(self.txn, key).map_err(|error| table_error(name, error))
    }

    /// The graph's state; `None` in an environment without one.
    pub(super) fn stored_state(&self) -> Result<Option<StoredState>, GraphError> {
        let Some(bytes) = self.get("meta", self.tables.meta, state::KEY)? else { return Ok(None) };
        let block = |height| {
            let stored = self.block(height)?.ok_or_else(|| damaged("block", height))?;
            Ok(stored.block)
        };
        let highest = self.get("meta", self.tables.meta, state::HIGHEST)?;
        StoredState::read(bytes, highest, block).map(Some)
    }

    /// The graph's state.
    pub(super) fn state(&self) -> Result<StoredState, GraphError> {
        self.stored_state()?.ok_or_else(|| damaged("meta", "its state"))
    }

    /// The block at a height; `None` if it is not recorded.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub fn block(&self, height: u64) -> Result<Option<StoredBlock>, GraphError> {
        self.blocks.get(height, || {
            let found = self.get("block", self.tables.block, &number(height))?;
            found.map(|bytes| StoredBlock::read(height, bytes)).transpose()
        })
    }

    /// The transaction with a number; `None` if it is not recorded.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    #[inline]
    pub fn transaction(&self, tx: u64) -> Result<Option<TransactionRecord<'t>>, GraphError> {
        let found = self.get("tx", self.tables.transaction, &number(tx))?;
        found.map(|bytes| TransactionRecord::read(tx, bytes)).transpose()
    }

    /// The transaction with a number that some record names.
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

    /// The number of the newest transaction with an identifier.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub fn find_transaction(&self, txid: &Txid) -> Result<Option<u64>, GraphError> {
        index::newest_transaction(self, None, txid)
    }

    /// The transaction that spends an output; `None` if none does.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    #[inline]
    pub fn spender(&self, output: u64) -> Result<Option<u64>, GraphError> {
        let slot = self.tables.spent.number(self.txn, &self.spent, output)?;
        Ok(slot.and_then(|slot| slot.checked_sub(1)))
    }

    /// The smallest member of an owner's cluster: its identity.
    ///
    /// # Errors
    ///
    /// Returns an error if no owner has the number, or if the store fails.
    #[inline]
    pub fn cluster(&self, owner: u64) -> Result<u64, GraphError> {
        let mut at = owner;
        loop {
            match self.slot(at)? {
                Slot::Root { smallest, .. } => return Ok(smallest),
                Slot::Child { parent, .. } => at = parent,
            }
        }
    }

    /// The owner with a number.
    ///
    /// # Errors
    ///
    /// Returns an error if no owner has it, or if the store fails.
    pub fn owner(&self, owner: u64) -> Result<ScriptOwner, GraphError> {
        rows::owner_from_key(self.script(owner)?.ok_or_else(|| damaged("script", owner))?)
    }

    pub(super) fn script(&self, owner: u64) -> Result<Option<&'t [u8]>, GraphError> {
        self.get("script", self.tables.script, &number(owner))
    }

    /// The number of an owner; `None` if it never appeared.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub fn find_owner(&self, owner: &ScriptOwner) -> Result<Option<u64>, GraphError> {
        index::find_script_owner(self, owner)
    }

    /// The statistics of an owner.
    ///
    /// # Errors
    ///
    /// Returns an error if no owner has the number, or if the store fails.
    pub fn statistics(&self, owner: u64) -> Result<Statistics, GraphError> {
        index::statistics(self, owner)?.ok_or_else(|| damaged("statistics", owner))
    }

    /// Passes the inputs or outputs of an owner to `each`, largest first, then in the order of the chain, until
    /// `each` answers false.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub fn moved(
        &self,
        owner: u64,
        side: Side,
        each: impl FnMut(Moved) -> bool,
    ) -> Result<(), GraphError> {
        index::moved(self, owner, side, each)
    }
}
