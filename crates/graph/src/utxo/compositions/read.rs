//! Reading of compositions.

use std::sync::Arc;

use assay_columns::NamedTable;
use assay_engine::{composition::Composition, ledger::TransactionNumber};
use assay_mapped::ReadTransaction;
use heed::RoTxn;

use super::{
    CompositionState, Tables,
    calculation::ComputedComposition,
    page::{self, PageEntry, TRANSACTIONS},
};
use crate::{GraphError, error::damaged};

/// The key of the state that readers use.
pub(super) const CURRENT: &[u8] = &[0];
/// The key of the unfinished state that will replace the state that readers use.
pub(super) const NEXT: &[u8] = &[1];
/// The key of the unfinished update of the state that readers use.
pub(super) const UPDATE: &[u8] = &[2];

/// The compositions (origin breakdowns) of a chain, for reading.
#[derive(Debug)]
pub struct Compositions(Tables);

impl Compositions {
    pub(super) const fn new(tables: Tables) -> Self {
        Self(tables)
    }

    /// True unless the file of the compositions (origin breakdowns) was deleted or replaced.
    pub(super) fn is_current(&self) -> bool {
        self.0.environment.is_current()
    }

    /// Opens the newest state of the compositions (origin breakdowns); `None` before the first state is complete.
    ///
    /// # Errors
    ///
    /// Returns an error if the environment fails.
    pub fn reader(&self) -> Result<Option<CompositionReader>, GraphError> {
        let transaction = self.0.environment.read()?;
        let state = state(&transaction, self.0.meta, CURRENT)?;
        let page = |state: CompositionState| self.0.page(state.half);
        Ok(state.map(|state| CompositionReader { page: page(state), transaction, state }))
    }
}

/// One state of the compositions (origin breakdowns).
pub struct CompositionReader {
    page: NamedTable,
    transaction: ReadTransaction,
    state: CompositionState,
}

impl std::fmt::Debug for CompositionReader {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("CompositionReader")
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

impl CompositionReader {
    /// The extent of the compositions (origin breakdowns), and the trace ends for which they were computed.
    #[must_use]
    pub const fn state(&self) -> &CompositionState {
        &self.state
    }

    /// Size of all compositions (origin breakdowns) in bytes.
    ///
    /// # Errors
    ///
    /// Returns an error if the environment fails.
    pub fn bytes(&self) -> Result<u64, GraphError> {
        let pages = self.page.stat(&self.transaction)?;
        let count = pages.branch_pages + pages.leaf_pages + pages.overflow_pages;
        Ok(count as u64 * u64::from(pages.page_size))
    }

    /// The composition (origin breakdown) of a transaction; `None` if it is not computed yet.
    ///
    /// # Errors
    ///
    /// Returns an error if the environment fails or is damaged.
    pub fn composition(&self, of: TransactionNumber) -> Result<Option<Composition>, GraphError> {
        if of.0 >= self.state.transactions {
            return Ok(None);
        }
        let made = resolve(of.0, |number| stored(&self.transaction, self.page, number))?;
        Ok(Some(Arc::unwrap_or_clone(made.composition)))
    }
}

pub(super) fn state(
    txn: &RoTxn<'_>,
    meta: NamedTable,
    key: &[u8],
) -> Result<Option<CompositionState>, GraphError> {
    let found = meta.get(txn, key)?;
    let read = |bytes| CompositionState::read(bytes).ok_or_else(|| damaged("meta", "its state"));
    found.map(read).transpose()
}

/// Resolves the composition (origin breakdown) of a transaction. `entry` finds the entry of a transaction.
pub(super) fn resolve(
    transaction: u64,
    entry: impl Fn(u64) -> Result<Option<PageEntry>, GraphError>,
) -> Result<ComputedComposition, GraphError> {
    let broken = || damaged("page", transaction);
    let holder = match entry(transaction)?.ok_or_else(broken)? {
        PageEntry::Composition(composition) => {
            return Ok(ComputedComposition { composition, holder: Some(transaction) });
        }
        PageEntry::Replaced { own, .. } => {
            return Ok(ComputedComposition { composition: own, holder: None });
        }
        PageEntry::SameAs(holder) => holder,
    };
    match entry(holder)?.ok_or_else(broken)? {
        PageEntry::Composition(composition) | PageEntry::Replaced { named: composition, .. } => {
            Ok(ComputedComposition { composition, holder: Some(holder) })
        }
        PageEntry::SameAs(_) => Err(broken()),
    }
}

/// Reads the entry of a transaction from the table; `None` if the entry is missing or damaged.
pub(super) fn stored(
    txn: &RoTxn<'_>,
    table: NamedTable,
    transaction: u64,
) -> Result<Option<PageEntry>, GraphError> {
    let found = table.get(txn, &page::key(transaction / TRANSACTIONS));
    Ok(found?.and_then(|bytes| page::read(bytes, transaction)))
}
