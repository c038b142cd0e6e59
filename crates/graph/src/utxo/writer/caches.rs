//! The caches of a writer: unspent outputs, owners, clusters and filters.

use assay_columns::{
    RowCache,
    run::{Filters, UnfinishedFilters},
};
use assay_engine::utxo::{OutPoint, ScriptOwner, TxOut};

use super::clusters::Clusters;

/// Size of the cache of outputs, in bytes: most outputs are spent soon.
const OUTPUT_BYTES: usize = 96 << 20;
/// Size of the cache of owners, in bytes.
const OWNER_BYTES: usize = 64 << 20;
/// Heap bytes of an owner with a witness program.
const OWNER_HEAP: usize = 48;

/// An output that is recorded or that the batch will record.
#[derive(Clone, Debug)]
pub(super) struct KnownOutput {
    pub(super) transaction: u64,
    /// The number of the output.
    pub(super) number: u64,
    /// The number of the output's owner.
    pub(super) owner: u64,
    pub(super) output: TxOut,
}

/// The caches of a writer.
#[derive(Debug)]
pub(super) struct Caches {
    pub(super) outputs: RowCache<OutPoint, KnownOutput>,
    pub(super) owners: RowCache<ScriptOwner, u64>,
    pub(super) clusters: Clusters,
    pub(super) filters: Filters,
    pub(super) unfinished: UnfinishedFilters,
}

impl Caches {
    pub(super) fn new(filters: Filters) -> Self {
        Self {
            outputs: RowCache::within(OUTPUT_BYTES, OWNER_HEAP),
            owners: RowCache::within(OWNER_BYTES, OWNER_HEAP),
            clusters: Clusters::default(),
            filters,
            unfinished: UnfinishedFilters::default(),
        }
    }

    /// Clears the caches that rolled back blocks may have filled.
    pub(super) fn forget_blocks(&mut self) {
        self.outputs.clear();
        self.owners.clear();
        self.clusters.clear();
    }
}
