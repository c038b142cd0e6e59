//! The tables of a chain's environment.

use std::{path::Path, sync::Arc};

use assay_columns::{Column, NamedTable, bytes::NUMBER_BYTES};
use assay_mapped::{EnvironmentFormat, MappedEnvironment, WriterLock};
use heed::RoTxn;

use super::{entry::GraphRuns, state::RUNS};
use crate::{GraphError, error::damaged};

/// Size of the memory map, which limits a graph: 1 TiB.
const MAP_SIZE: usize = 1 << 40;

/// The format of a graph. A change of a record's layout requires a new version.
pub(super) const FORMAT: EnvironmentFormat = EnvironmentFormat {
    name: "assay-chain-graph",
    version: 3,
    tables: &[
        "meta",
        "block",
        "payers",
        "tx",
        "txid",
        "spent",
        "parent",
        "script",
        "link",
        "confirmed",
        "undo",
        "recent",
        "run",
    ],
    map_size: MAP_SIZE,
};

/// A chain's environment with its tables.
#[derive(Clone, Debug)]
pub(crate) struct Tables {
    pub(crate) environment: Arc<MappedEnvironment>,
    /// 0: the graph's state; 1: the manifest of runs; 2: the height of the highest block.
    pub(super) meta: NamedTable,
    /// Height: [`StoredBlock`](super::record::StoredBlock).
    pub(super) block: NamedTable,
    /// By height: the fee payers of a block with fees.
    pub(super) payers: NamedTable,
    /// By the number of a transaction: the transaction's record.
    pub(super) transaction: NamedTable,
    /// Identifiers by number.
    pub(super) txid: Column,
    /// By the number of an output: one more than the number of the spending transaction; 0 for an unspent output.
    pub(super) spent: Column,
    /// By the number of an owner: its [`ForestNode`](super::link::ForestNode) in the forest of clusters.
    pub(super) parent: Column,
    /// By the number of an owner: [`ScriptOwner::to_bytes`](assay_engine::utxo::ScriptOwner::to_bytes).
    pub(super) script: NamedTable,
    /// By the number of a transaction and the number of a child: the link, with its confirmation.
    pub(super) link: NamedTable,
    /// By the number of a transaction and the number of a child: a confirmation of the child's link.
    pub(super) confirmed: NamedTable,
    /// By height and the number of an owner: the owner's forest node before the block, for blocks that can be rolled
    /// back.
    pub(super) undo: NamedTable,
    /// By kind and key of an entry: entries of the newest blocks.
    pub(super) recent: NamedTable,
    /// By kind, number of a run and key of the first entry: a page of a run.
    pub(super) run: NamedTable,
}

impl Tables {
    /// Opens the graph in `folder`; `None` if the folder has no graph.
    pub(crate) fn open(folder: &Path) -> Result<Option<Self>, GraphError> {
        let opened = assay_mapped::open_existing(folder, &FORMAT)?;
        opened.map(Self::of).transpose()
    }

    /// Opens the graph in `folder` for writing, and creates it if the folder has none.
    pub(super) fn create(folder: &Path) -> Result<(Self, WriterLock), GraphError> {
        let (environment, lock) = assay_mapped::create(folder, &FORMAT)?;
        Ok((Self::of(environment)?, lock))
    }

    /// The manifest of runs in a state of the graph.
    pub(super) fn runs(&self, txn: &RoTxn<'_>) -> Result<GraphRuns, GraphError> {
        let found = self.meta.get(txn, RUNS)?;
        Ok(found.map(GraphRuns::from_bytes).transpose()?.unwrap_or_default())
    }

    fn of(environment: Arc<MappedEnvironment>) -> Result<Self, GraphError> {
        let tables = environment.tables().to_vec();
        let mut named =
            FORMAT.tables.iter().zip(tables).map(|(name, table)| NamedTable::new(name, table));
        // In the order of the format.
        let mut next = || named.next().ok_or_else(|| damaged("format", "tables"));
        Ok(Self {
            environment,
            meta: next()?,
            block: next()?,
            payers: next()?,
            transaction: next()?,
            txid: Column::new(next()?, 32),
            spent: Column::new(next()?, NUMBER_BYTES),
            parent: Column::new(next()?, 2 * NUMBER_BYTES),
            script: next()?,
            link: next()?,
            confirmed: next()?,
            undo: next()?,
            recent: next()?,
            run: next()?,
        })
    }
}
