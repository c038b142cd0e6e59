//! What a writer remembers: outputs that were not spent, and owners.

use assay_columns::{
    RowCache,
    run::{Filters, UnfinishedFilters},
};
use assay_engine::utxo::{OutPoint, ScriptOwner, TxOut};

use super::clusters::Clusters;

/// Bytes of memory for outputs: most are spent soon after they were created.
const OUTPUT_BYTES: usize = 96 << 20;
/// Bytes of memory for owners.
const OWNER_BYTES: usize = 64 << 20;
/// Bytes of an owner on the heap: witness programs.
const OWNER_HEAP: usize = 48;

/// An output that is recorded, or planned.
#[derive(Clone, Debug)]
pub(super) struct KnownOutput {
    pub(super) transaction: u64,
    /// Its number.
    pub(super) number: u64,
    /// The number of its owner.
    pub(super) owner: u64,
    pub(super) output: TxOut,
}

/// The memory of a writer.
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

    /// Forgets what blocks that were rolled back may have made.
    pub(super) fn forget_blocks(&mut self) {
        self.outputs.clear();
        self.owners.clear();
        self.clusters.clear();
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.forget_blocks();
        self.filters.clear();
        self.unfinished.clear();
    }
}
