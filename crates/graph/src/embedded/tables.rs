//! The tables of a chain's environment.

use std::{path::Path, sync::Arc};

use assay_mapped::{Environment, Format, Table, WriterLock};

use super::column::Column;
use crate::GraphError;

/// Addresses of a graph, and its largest size: 1 TiB.
const MAP_SIZE: usize = 1 << 40;

/// The format of a graph. A change of a record's layout is a new version.
pub(super) const FORMAT: Format = Format {
    name: "assay-chain-graph",
    version: 1,
    tables: &[
        "meta",
        "block",
        "tx",
        "txid",
        "spent",
        "parent",
        "script",
        "link",
        "link_to",
        "link_by_tx",
        "txid_hash",
        "script_hash",
        "received",
        "sent",
        "statistics",
        "undo",
    ],
    map_size: MAP_SIZE,
};

/// A chain's environment with its tables.
#[derive(Clone, Debug)]
pub(super) struct Tables {
    pub(super) environment: Arc<Environment>,
    /// 0: the graph's state.
    pub(super) meta: Table,
    /// Height: [`StoredBlock`](super::record::StoredBlock).
    pub(super) block: Table,
    /// Number of a transaction: its record.
    pub(super) transaction: Table,
    /// Identifiers by number.
    pub(super) txid: Column,
    /// By the number of an output: one more than the number of the transaction that spends it; 0: none does.
    pub(super) spent: Column,
    /// By the number of an owner: its cluster's parent, or of a root the smallest member.
    pub(super) parent: Column,
    /// Number of an owner: [`ScriptOwner::to_bytes`](assay_engine::utxo::ScriptOwner::to_bytes).
    pub(super) script: Table,
    /// Number of a child: its link, with the confirmation.
    pub(super) link: Table,
    /// Number of a parent, size: child.
    pub(super) link_to: Table,
    /// Number of a transaction, 0 for a link and 1 for a confirmation, number of the child.
    pub(super) link_by_tx: Table,
    /// First bytes of an identifier, number of its transaction.
    pub(super) txid_hash: Table,
    /// First bytes of the hash of a script, number of its owner.
    pub(super) script_hash: Table,
    /// Number of an owner, value (largest first), number of a transaction, index: its outputs.
    pub(super) received: Table,
    /// The same: its spent outputs, by the inputs that spend them.
    pub(super) sent: Table,
    /// Number of an owner: its statistics.
    pub(super) statistics: Table,
    /// Height, number of an owner: its statistics before the block.
    pub(super) undo: Table,
}

impl Tables {
    /// Opens the graph in `folder`; `None` if there is none.
    pub(super) fn open(folder: &Path) -> Result<Option<Self>, GraphError> {
        let opened = assay_mapped::open_existing(folder, &FORMAT)?;
        opened.map(Self::of).transpose()
    }

    /// Opens the graph in `folder` for writing, and makes it if there is none.
    pub(super) fn create(folder: &Path) -> Result<(Self, WriterLock), GraphError> {
        let (environment, lock) = assay_mapped::create(folder, &FORMAT)?;
        Ok((Self::of(environment)?, lock))
    }

    fn of(environment: Arc<Environment>) -> Result<Self, GraphError> {
        let tables: [Table; 16] = environment
            .tables()
            .try_into()
            .map_err(|_| super::error::damaged("format", "tables"))?;
        let [
            meta,
            block,
            transaction,
            txid,
            spent,
            parent,
            script,
            link,
            link_to,
            link_by_tx,
            txid_hash,
            script_hash,
            received,
            of_inputs,
            statistics,
            undo,
        ] = tables;
        Ok(Self {
            environment,
            meta,
            block,
            transaction,
            txid: Column::new("txid", txid, 32),
            spent: Column::new("spent", spent, super::bytes::NUMBER),
            parent: Column::new("parent", parent, super::bytes::NUMBER),
            script,
            link,
            link_to,
            link_by_tx,
            txid_hash,
            script_hash,
            received,
            sent: of_inputs,
            statistics,
            undo,
        })
    }
}
