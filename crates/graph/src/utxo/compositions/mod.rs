//! Compositions: the origins of the money in each transaction of a graph, computed in the order of the chain and stored
//! in an LMDB environment of their own.
//!
//! Compositions follow from the graph and from the parties at which traces end ([`TraceEnds`]), so that they are no
//! part of the graph. A program with lists and labels computes the compositions in slices up to the newest block. When
//! the trace ends change, the affected compositions are computed again, or all compositions if many are affected.
//! Readers use the old compositions until all changed compositions replace the old ones at once.
//!
//! - `ends`: the parties at which traces end
//! - `stored_ends`: the trace ends for which the current compositions were computed
//! - `state`: the extent of stored compositions
//! - `page`: storage of compositions in pages
//! - `calculation`: calculation of one composition
//! - `cache`: a cache of recent compositions
//! - `slice`: computation block by block
//! - `update`: computation of the compositions that changed ends affect
//! - `frontier`: the transactions that an update computes next
//! - `advance`: the order of slices and updates
//! - `read`: reading of compositions
//! - `folder`: the folder of a graph's compositions
//! - `exposures`: the composition of all money that an owner received

mod advance;
mod cache;
mod calculation;
mod ends;
mod exposures;
mod folder;
mod frontier;
mod page;
mod read;
mod slice;
mod state;
mod stored_ends;
mod update;

use std::{path::Path, sync::Arc};

use assay_address::ChainId;
use assay_columns::NamedTable;
use assay_mapped::{EnvironmentFormat, MappedEnvironment, MappedError, WriterLock};

pub use advance::SliceProgress;
pub use ends::{OwnerAttribution, TraceEnd, TraceEnds};
pub use exposures::OwnerExposure;
pub(crate) use folder::GraphCompositions;
pub use read::{CompositionReader, Compositions};
pub use state::{CompositionState, TraceEndsRevision};

use crate::{GraphError, error::damaged};

/// Size of the memory map, which limits the environment: 256 GiB.
const MAP_SIZE: usize = 1 << 38;

/// The format of compositions (origin breakdowns).
const FORMAT: EnvironmentFormat = EnvironmentFormat {
    name: "assay-compositions",
    version: 5,
    tables: &["meta", "first", "second", "ends", "changed"],
    map_size: MAP_SIZE,
};

/// The environment with its tables.
#[derive(Clone, Debug)]
struct Tables {
    environment: Arc<MappedEnvironment>,
    /// 0: the state that readers use; 1: the state that will replace it; 2: the unfinished update of the state that
    /// readers use.
    meta: NamedTable,
    /// Compositions (origin breakdowns) by the number of a page. Readers use one half of the table; the other half
    /// takes compositions while all compositions are computed again.
    halves: [NamedTable; 2],
    /// The trace ends for which the current compositions (origin breakdowns) were computed, by the number of an owner.
    ends: NamedTable,
    /// Compositions (origin breakdowns) of an unfinished update, which readers do not use yet, by the number of a
    /// transaction.
    changed: NamedTable,
}

impl Tables {
    fn of(environment: Arc<MappedEnvironment>) -> Result<Self, GraphError> {
        let tables: [_; 5] =
            environment.tables().try_into().map_err(|_| damaged("format", "tables"))?;
        let [meta, first, second, ends, changed] = tables;
        Ok(Self {
            environment,
            meta: NamedTable::new("meta", meta),
            halves: [NamedTable::new("page", first), NamedTable::new("page", second)],
            ends: NamedTable::new("ends", ends),
            changed: NamedTable::new("changed", changed),
        })
    }

    /// The pages of a half of the table.
    const fn page(&self, half: u8) -> NamedTable {
        let [first, second] = self.halves;
        if half == 0 { first } else { second }
    }
}

/// The writer of a chain's compositions (origin breakdowns). One process at a time has the writer.
#[derive(Debug)]
pub struct CompositionWriter {
    tables: Tables,
    lock: WriterLock,
}

impl CompositionWriter {
    /// Opens the compositions (origin breakdowns) in `folder`, and creates the compositions if the folder has none.
    /// Compositions of an older format are removed and computed again.
    ///
    /// # Errors
    ///
    /// Returns an error if another process writes the compositions, or if the compositions cannot be opened.
    pub(crate) fn open(folder: &Path) -> Result<Self, GraphError> {
        let opened = match assay_mapped::create(folder, &FORMAT) {
            Err(MappedError::Older { .. }) => {
                let failed = |error| MappedError::File { path: folder.to_owned(), error };
                std::fs::remove_dir_all(folder).map_err(failed)?;
                assay_mapped::create(folder, &FORMAT)
            }
            opened => opened,
        };
        let (environment, lock) = opened?;
        Ok(Self { tables: Tables::of(environment)?, lock })
    }
}

impl Compositions {
    /// Opens the compositions (origin breakdowns) in `folder`; `None` if the folder has none, or only compositions of
    /// an older format.
    ///
    /// # Errors
    ///
    /// Returns an error if the compositions cannot be opened.
    pub(crate) fn open(folder: &Path) -> Result<Option<Self>, GraphError> {
        let opened = match assay_mapped::open_existing(folder, &FORMAT) {
            Err(MappedError::Older { .. }) => None,
            opened => opened?,
        };
        opened.map(|environment| Tables::of(environment).map(Self::new)).transpose()
    }
}

/// The name of the folder of a chain's compositions (origin breakdowns).
pub(crate) fn folder_name(chain: ChainId) -> String {
    format!("{chain}.compositions")
}

impl TraceEndsRevision {
    /// A short digest of the trace ends, for logs.
    #[must_use]
    pub fn name(&self) -> String {
        hex::encode(self.revision.first_chunk::<8>().copied().unwrap_or_default())
    }
}
