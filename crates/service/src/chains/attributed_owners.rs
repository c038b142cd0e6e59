//! Owners of a chain that lists and labels attribute, by their numbers.
//!
//! A trace looks up the owner of each input and output, and few owners are attributed. Therefore one bit of each owner
//! states that the owner is not attributed: the first lookup sets the bit, which holds for all checks until lists and
//! labels change. Owners of recent blocks have no bits, because a reorganisation may give their numbers to other
//! owners.

use std::{
    collections::{BTreeSet, hash_map::Entry},
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use assay_address::ChainId;
use assay_engine::{
    ledger::OwnerNumber,
    policy::Policy,
    reading::{ChainView, ViewError},
    trace::{Attribution, Attributions},
    utxo::ScriptOwner,
};
use assay_graph::{GraphError, GraphView};
use assay_intel::IntelSnapshot;
use jiff::civil::Date;
use rustc_hash::FxHashMap;

/// Number of owners whose bits are in one page of 8 KiB.
const OWNERS_OF_PAGE: u64 = 1 << 16;
const BITS: u64 = u64::BITS as u64;

/// Lookups of the owners of one chain's graph, shared by all checks.
#[derive(Debug, Default)]
pub struct AttributedOwners(Mutex<Option<Arc<UnattributedOwners>>>);

/// Owners without attribution in one revision of lists and labels, as far as they were looked up.
#[derive(Debug)]
struct UnattributedOwners {
    /// Generation of lists and labels.
    generation: u64,
    pages: Box<[OnceLock<Box<[AtomicU64]>>]>,
}

impl UnattributedOwners {
    /// Reserves bits for twice as many owners, because the chain grows.
    fn new(generation: u64, owners: u64) -> Self {
        let pages = owners.saturating_mul(2) / OWNERS_OF_PAGE + 1;
        Self { generation, pages: (0..pages).map(|_| OnceLock::new()).collect() }
    }

    fn has_bits_for(&self, owners: u64) -> bool {
        owners <= self.pages.len() as u64 * OWNERS_OF_PAGE
    }

    /// Returns the word with the bit of an owner, and the bit.
    fn word(&self, owner: u64) -> Option<(&AtomicU64, u64)> {
        let page = self.pages.get(usize::try_from(owner / OWNERS_OF_PAGE).ok()?)?;
        let words =
            page.get_or_init(|| (0..OWNERS_OF_PAGE / BITS).map(|_| AtomicU64::new(0)).collect());
        let word = words.get(usize::try_from(owner % OWNERS_OF_PAGE / BITS).ok()?)?;
        Some((word, 1 << (owner % BITS)))
    }

    // All threads set the same bits, so that the order of writes does not matter.

    fn contains(&self, owner: u64) -> bool {
        self.word(owner).is_some_and(|(word, bit)| word.load(Ordering::Relaxed) & bit != 0)
    }

    fn add(&self, owner: u64) {
        if let Some((word, bit)) = self.word(owner) {
            word.fetch_or(bit, Ordering::Relaxed);
        }
    }
}

/// Data that decides which owners are attributed: lists and labels, under a policy and on a day.
#[derive(Clone, Copy, Debug)]
pub struct AttributionInputs<'a> {
    /// The chain.
    pub chain: ChainId,
    /// Lists and labels.
    pub intel: &'a IntelSnapshot,
    /// The policy.
    pub policy: &'a Policy,
    /// Day on which listings must be in force.
    pub today: Date,
}

impl AttributedOwners {
    /// Returns the attributions for one view of the graph.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub async fn for_view<'a>(
        &self,
        view: &dyn GraphView,
        by: AttributionInputs<'a>,
    ) -> Result<ViewAttributions<'a>, GraphError> {
        let settled = view.finalized_owners().await?;
        let generation = by.intel.generation();
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let unattributed = match &*kept {
            Some(known) if known.generation == generation && known.has_bits_for(settled) => {
                Arc::clone(known)
            }
            _ => Arc::clone(kept.insert(Arc::new(UnattributedOwners::new(generation, settled)))),
        };
        Ok(ViewAttributions { unattributed, settled, by, known: Mutex::default() })
    }
}

/// Attributions of the owners of one view.
#[derive(Debug)]
pub struct ViewAttributions<'a> {
    unattributed: Arc<UnattributedOwners>,
    /// Number of the first owner whose number a reorganisation may change.
    settled: u64,
    by: AttributionInputs<'a>,
    /// Owners that were looked up and are attributed, or have no bits.
    known: Mutex<FxHashMap<OwnerNumber, Option<Arc<Attribution>>>>,
}

impl<'a> ViewAttributions<'a> {
    /// Returns the attributions for a view with numbers of its own, which share no bits with other views.
    #[must_use]
    pub fn uncached(by: AttributionInputs<'a>) -> Self {
        let unattributed = Arc::new(UnattributedOwners::new(by.intel.generation(), 0));
        Self { unattributed, settled: 0, by, known: Mutex::default() }
    }

    /// Returns the data that decides which owners are attributed.
    #[must_use]
    pub const fn inputs(&self) -> &AttributionInputs<'a> {
        &self.by
    }

    /// Returns the owners that a list in force names, directly or by their key, even if the graph does not have them.
    #[must_use]
    pub fn listed(&self) -> Vec<ScriptOwner> {
        let owners: BTreeSet<ScriptOwner> = self.by.intel.listed_owners(self.by.chain).collect();
        let is_listed = |owner: &ScriptOwner| {
            self.attribution(owner).and_then(|it| it.end).is_some_and(|end| end.listed)
        };
        owners.into_iter().filter(is_listed).collect()
    }

    /// True if lists or labels name an owner or its key, or if the owner is a shielded pool or nobody.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub fn is_attributed(
        &self,
        owner: OwnerNumber,
        view: &dyn ChainView,
    ) -> Result<bool, ViewError> {
        Ok(self.attributed_script(owner, view)?.is_some())
    }

    /// Returns the script of an owner that is attributed; `None` for any other owner.
    fn attributed_script(
        &self,
        owner: OwnerNumber,
        view: &dyn ChainView,
    ) -> Result<Option<ScriptOwner>, ViewError> {
        let is_settled = owner.0 < self.settled;
        if is_settled && self.unattributed.contains(owner.0) {
            return Ok(None);
        }
        let script = view.owner(owner)?;
        let AttributionInputs { chain, intel, .. } = self.by;
        let is_attributed = matches!(script, ScriptOwner::Pool(_))
            || script.unowned_kind().is_some()
            || script.address(chain).is_some_and(|address| intel.has_attribution(&address));
        if is_settled && !is_attributed {
            self.unattributed.add(owner.0);
        }
        Ok(is_attributed.then_some(script))
    }

    fn attribution(&self, owner: &ScriptOwner) -> Option<Attribution> {
        let AttributionInputs { chain, intel, policy, today } = self.by;
        let attribution = match owner {
            ScriptOwner::Pool(pool) => Attribution::of_pool(*pool),
            owner => intel.attribution(chain, owner, policy, today),
        };
        (!attribution.is_nothing()).then_some(attribution)
    }
}

impl Attributions for ViewAttributions<'_> {
    fn of_owner(
        &self,
        owner: OwnerNumber,
        view: &dyn ChainView,
    ) -> Result<Option<Arc<Attribution>>, ViewError> {
        if owner.0 < self.settled && self.unattributed.contains(owner.0) {
            return Ok(None);
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let unknown = match known.entry(owner) {
            Entry::Occupied(known) => return Ok(known.get().clone()),
            Entry::Vacant(unknown) => unknown,
        };
        let attribution =
            self.attributed_script(owner, view)?.and_then(|owner| self.attribution(&owner));
        Ok(unknown.insert(attribution.map(Arc::new)).clone())
    }
}
