//! The tables of an account chain's environment.

use std::{path::Path, sync::Arc};

use assay_columns::{Column, NamedTable};
use assay_mapped::{EnvironmentFormat, MappedEnvironment, WriterLock};
use heed::RoTxn;

use super::entry::AccountRuns;
use crate::{GraphError, error::damaged};

/// Size of the memory map, which limits a graph: 4 TiB.
const MAP_SIZE: usize = 1 << 42;

/// The format of a graph. A change of a record's layout requires a new version.
const FORMAT: EnvironmentFormat = EnvironmentFormat {
    name: "assay-account-graph",
    version: 8,
    tables: &[
        "meta", "block", "log", "txid", "address", "asset", "symbol", "end", "recent", "undo",
        "run", "draft", "price",
    ],
    map_size: MAP_SIZE,
};

/// The key of the state's record in `meta`.
pub(super) const STATE: &[u8] = &[0];
/// The key of the list of runs in `meta`.
pub(super) const RUNS: &[u8] = &[1];
/// The key of the record of an unfinished update in `meta`.
pub(super) const DRAFT: &[u8] = &[2];
/// The key of the list of its runs in `meta`.
pub(super) const DRAFT_RUNS: &[u8] = &[3];
/// The key of the notes about the source in `meta`.
pub(super) const SOURCE: &[u8] = &[4];
/// The key of the list of blocks without traces in `meta`.
pub(super) const INTERNAL_GAPS: &[u8] = &[5];

/// A chain's environment with its tables.
#[derive(Clone, Debug)]
pub(super) struct Tables {
    pub(super) environment: Arc<MappedEnvironment>,
    /// [`STATE`]: the graph's state; [`RUNS`]: the manifest of runs; [`DRAFT`] and [`DRAFT_RUNS`]: the
    /// same of an unfinished update; [`SOURCE`]: what the source says about the blocks; [`INTERNAL_GAPS`]: those without traces.
    pub(super) meta: NamedTable,
    /// By height: [`StoredBlock`](super::block::StoredBlock).
    pub(super) block: NamedTable,
    /// By the number of a page's first transaction: transactions with their transfers.
    pub(super) log: NamedTable,
    /// Identifiers of transactions by number.
    pub(super) txid: Column,
    /// Addresses of accounts by number.
    pub(super) address: Column,
    /// By the number of an asset: the asset.
    pub(super) asset: NamedTable,
    /// By contract: the symbol of a scored asset that another token bears.
    pub(super) symbol: NamedTable,
    /// By address: a party at which money ends.
    pub(super) end: NamedTable,
    /// By kind and key of an entry: entries of the newest blocks.
    pub(super) recent: NamedTable,
    /// By height: the keys of the block's recent entries, for blocks that can be rolled back.
    pub(super) undo: NamedTable,
    /// By kind, number of a run and key of the first entry: a page of a run.
    pub(super) run: NamedTable,
    /// By kind and key: what an unfinished update of the ledgers for other ends knows.
    pub(super) draft: NamedTable,
    /// By day: the prices with which its transactions were booked.
    pub(super) price: NamedTable,
}

impl Tables {
    /// Opens the graph in `folder`; `None` if the folder has no graph.
    pub(super) fn open(folder: &Path) -> Result<Option<Self>, GraphError> {
        let opened = assay_mapped::open_existing(folder, &FORMAT)?;
        opened.map(Self::of).transpose()
    }

    /// Opens the graph in `folder` for writing, and creates it if the folder has none.
    pub(super) fn create(folder: &Path) -> Result<(Self, WriterLock), GraphError> {
        let (environment, lock) = assay_mapped::create(folder, &FORMAT)?;
        Ok((Self::of(environment)?, lock))
    }

    /// The manifest of runs in a state of the graph.
    pub(super) fn runs(&self, txn: &RoTxn<'_>) -> Result<AccountRuns, GraphError> {
        let found = self.meta.get(txn, RUNS)?;
        Ok(found.map(AccountRuns::from_bytes).transpose()?.unwrap_or_default())
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
            log: next()?,
            txid: Column::new(next()?, 32),
            address: Column::new(next()?, 20),
            asset: next()?,
            symbol: next()?,
            end: next()?,
            recent: next()?,
            undo: next()?,
            run: next()?,
            draft: next()?,
            price: next()?,
        })
    }
}
