//! What the money of each transaction of a graph is made of ([`Composition`]), computed forward and kept in an
//! environment of its own beside the graph's.
//!
//! Compositions follow from the graph and from the parties at which traces end ([`Ends`]). So they are never a part of
//! the graph: they are computed in slices, behind its newest block, by whoever knows lists and labels. When the ends
//! change, all of them are computed anew beside the old ones, which answer until the new ones are complete.
//!
//! - `ends`: the parties at which traces end
//! - `state`: how far the compositions of one revision of the ends go
//! - `page`: compositions of neighbouring transactions
//! - `advance`: computing them
//! - `read`: reading them
//! - `beside`: the compositions that belong to one state of a graph
//! - `exposures`: what the money is made of that an owner received

mod advance;
mod beside;
mod ends;
mod exposures;
mod page;
mod read;
mod state;

use std::{path::Path, sync::Arc};

use assay_engine::chain::ChainId;
use assay_mapped::{Environment, Format, Table, WriterLock};

pub use advance::Advanced;
pub(super) use beside::CompositionsBeside;
pub use ends::{End, Ends};
pub use exposures::Exposure;
pub use read::{CompositionReader, Compositions};
pub use state::{CompositionState, EndsUpTo};

use super::{Snapshot, error::damaged};
use crate::GraphError;

/// Addresses of an environment, and its largest size: 256 GiB.
const MAP_SIZE: usize = 1 << 38;

/// The format of compositions.
const FORMAT: Format = Format {
    name: "assay-compositions",
    version: 1,
    tables: &["meta", "page"],
    map_size: MAP_SIZE,
};

/// The environment with its tables.
#[derive(Clone, Debug)]
struct Tables {
    environment: Arc<Environment>,
    /// 0: the state that answers; 1: the state that is computed to replace it.
    meta: Table,
    /// Half, number of a page: compositions.
    page: Table,
}

impl Tables {
    fn of(environment: Arc<Environment>) -> Result<Self, GraphError> {
        let tables: [Table; 2] =
            environment.tables().try_into().map_err(|_| damaged("format", "tables"))?;
        let [meta, page] = tables;
        Ok(Self { environment, meta, page })
    }
}

/// The compositions of a chain, to be computed. One process has them at a time.
#[derive(Debug)]
pub struct CompositionWriter {
    tables: Tables,
    lock: WriterLock,
}

impl CompositionWriter {
    /// Opens the compositions in `folder`, and makes them if there are none.
    ///
    /// # Errors
    ///
    /// Returns an error if another process computes them, or if they cannot be opened.
    pub(super) fn open(folder: &Path) -> Result<Self, GraphError> {
        let (environment, lock) = assay_mapped::create(folder, &FORMAT)?;
        Ok(Self { tables: Tables::of(environment)?, lock })
    }
}

impl Compositions {
    /// Opens the compositions in `folder`; `None` if there are none.
    ///
    /// # Errors
    ///
    /// Returns an error if they cannot be opened.
    pub(super) fn open(folder: &Path) -> Result<Option<Self>, GraphError> {
        let opened = assay_mapped::open_existing(folder, &FORMAT)?;
        opened.map(|environment| Tables::of(environment).map(Self::new)).transpose()
    }
}

/// The folder of a chain's compositions beside its graph.
pub(super) fn folder_name(chain: ChainId) -> String {
    format!("{chain}.compositions")
}

impl Snapshot {
    /// Number of owners whom no reorganisation removes: their numbers stay theirs.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub fn settled_owners(&self) -> Result<u64, GraphError> {
        let reader = self.reader();
        let state = reader.state()?.state;
        let block = reader.block(state.reorganisable_from.max(state.start))?;
        Ok(block.map_or(state.next_owner.unsigned_abs(), |block| block.first_owner))
    }
}

impl EndsUpTo {
    /// A short name of the ends, for logs: equal for equal ones.
    #[must_use]
    pub fn name(&self) -> String {
        hex::encode(self.revision.first_chunk::<8>().copied().unwrap_or_default())
    }
}
