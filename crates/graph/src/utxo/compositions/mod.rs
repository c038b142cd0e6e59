//! What the money of each transaction of a graph is made of ([`Composition`]), computed forward and kept in an
//! environment of its own beside the graph's.
//!
//! Compositions follow from the graph and from the parties at which traces end ([`Ends`]). So they are never a part of
//! the graph: they are computed in slices, behind its newest block, by whoever knows lists and labels. When the ends
//! change, the compositions that change are computed beside the old ones, which answer until all of them are replaced
//! at once: those that follow from the changed ends, or all of them, where these are many.
//!
//! - `ends`: the parties at which traces end
//! - `stored_ends`: the ends that the compositions rest on which answer
//! - `state`: how far the compositions of one revision of the ends go
//! - `page`: compositions of neighbouring transactions
//! - `calculation`: the composition of one transaction
//! - `kept`: compositions that are kept in memory
//! - `slice`: computing them, block by block
//! - `update`: computing those that follow from changed ends
//! - `frontier`: the transactions that such an update computes next
//! - `advance`: which of it comes next
//! - `read`: reading them
//! - `beside`: the compositions that belong to one state of a graph
//! - `exposures`: what the money is made of that an owner received

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

/// Addresses of an environment, and its largest size: 256 GiB.
const MAP_SIZE: usize = 1 << 38;

/// The format of compositions.
const FORMAT: EnvironmentFormat = EnvironmentFormat {
    name: "assay-compositions",
    version: 4,
    tables: &["meta", "first", "second", "ends", "changed"],
    map_size: MAP_SIZE,
};

/// The environment with its tables.
#[derive(Clone, Debug)]
struct Tables {
    environment: Arc<MappedEnvironment>,
    /// 0: the state that answers; 1: the state that is computed to replace it; 2: the update of the state that answers.
    meta: NamedTable,
    /// By the number of a page: compositions. One half answers; in the other one all are computed anew.
    halves: [NamedTable; 2],
    /// By the number of an owner: the ends that the compositions rest on which answer.
    ends: NamedTable,
    /// By the number of a transaction: the compositions that an update computed and that do not answer yet.
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

    /// The pages of a half.
    const fn page(&self, half: u8) -> NamedTable {
        let [first, second] = self.halves;
        if half == 0 { first } else { second }
    }
}

/// The compositions of a chain, to be computed. One process has them at a time.
#[derive(Debug)]
pub struct CompositionWriter {
    tables: Tables,
    lock: WriterLock,
}

impl CompositionWriter {
    /// Opens the compositions in `folder`, and makes them if there are none. Those of an older format are removed: they
    /// are computed again.
    ///
    /// # Errors
    ///
    /// Returns an error if another process computes them, or if they cannot be opened.
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
    /// Opens the compositions in `folder`; `None` if there are none, or those of an older format, which are computed
    /// again.
    ///
    /// # Errors
    ///
    /// Returns an error if they cannot be opened.
    pub(crate) fn open(folder: &Path) -> Result<Option<Self>, GraphError> {
        let opened = match assay_mapped::open_existing(folder, &FORMAT) {
            Err(MappedError::Older { .. }) => None,
            opened => opened?,
        };
        opened.map(|environment| Tables::of(environment).map(Self::new)).transpose()
    }
}

/// The folder of a chain's compositions beside its graph.
pub(crate) fn folder_name(chain: ChainId) -> String {
    format!("{chain}.compositions")
}

impl TraceEndsRevision {
    /// A short name of the ends, for logs: equal for equal ones.
    #[must_use]
    pub fn name(&self) -> String {
        hex::encode(self.revision.first_chunk::<8>().copied().unwrap_or_default())
    }
}
