//! Parties of a chain at which traces end or whose labels traces carry on, under the default policy. Compositions
//! (origin breakdowns) are computed for these parties.

use assay_address::ChainId;
use assay_engine::{
    composition::PassedLabel,
    policy::Policy,
    taxonomy::Category,
    utxo::{Pool, ScriptOwner},
};
use assay_graph::{
    GraphError, GraphView,
    compositions::{OwnerAttribution, TraceEnd, TraceEnds},
};
use assay_intel::IntelSnapshot;
use jiff::civil::Date;
use rustc_hash::FxHashMap;

/// Parties at which traces end on a day or whose labels traces carry on, by their scripts, including parties that no
/// graph has. Only traces apply the attributions of a single policy or tenant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parties(FxHashMap<ScriptOwner, OwnerAttribution>);

impl Parties {
    /// Returns the parties of a chain that lists and labels name, and its shielded pools.
    #[must_use]
    pub fn new(chain: ChainId, intel: &IntelSnapshot, today: Date) -> Self {
        let policy = Policy::default();
        let pools = [Pool::Mweb, Pool::ZcashShielded].map(ScriptOwner::Pool);
        let scripts = pools.into_iter().chain(intel.named_owners(chain));
        let attributed = scripts.filter_map(|script| {
            let attributed = attributed(chain, &script, intel, &policy, today)?;
            Some((script, attributed))
        });
        attributed.collect()
    }

    /// Returns the party with a script; `None` if traces pass through the script.
    #[must_use]
    pub fn get(&self, script: &ScriptOwner) -> Option<OwnerAttribution> {
        self.0.get(script).cloned()
    }

    /// Iterates over the parties.
    pub fn iter(&self) -> impl Iterator<Item = (&ScriptOwner, &OwnerAttribution)> {
        self.0.iter()
    }

    /// Number of parties.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True if there are no parties.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<(ScriptOwner, OwnerAttribution)> for Parties {
    fn from_iter<I: IntoIterator<Item = (ScriptOwner, OwnerAttribution)>>(parties: I) -> Self {
        Self(parties.into_iter().collect())
    }
}

/// Returns the attribution of a script under the default `policy`; `None` if lists and labels do not attribute the
/// script.
pub(super) fn attributed(
    chain: ChainId,
    script: &ScriptOwner,
    intel: &IntelSnapshot,
    policy: &Policy,
    today: Date,
) -> Option<OwnerAttribution> {
    if matches!(script, ScriptOwner::Pool(_)) {
        let pool = TraceEnd { category: Category::PrivacyProtocol, listed_on: None };
        return Some(pool.into());
    }
    let attribution = intel.attribution(chain, script, policy, today);
    let end = attribution.end.as_ref();
    let end = end.map(|end| TraceEnd { category: end.category, listed_on: end.listed_on });
    let attributed = OwnerAttribution {
        end,
        is_labelled: !attribution.carried.is_empty(),
        passed: PassedLabel::of(&attribution.carried),
    };
    (!attributed.is_nothing()).then_some(attributed)
}

/// Returns the parties at which traces end on a day, by their numbers in one state of a graph.
///
/// # Errors
///
/// Returns an error if the store fails.
pub async fn ends(
    view: &dyn GraphView,
    chain: ChainId,
    intel: &IntelSnapshot,
    today: Date,
) -> Result<TraceEnds, GraphError> {
    let mut ends = TraceEnds::default();
    for (script, attributed) in Parties::new(chain, intel, today).iter() {
        if let Some(owner) = view.owner_number(script).await? {
            ends.add(owner, attributed.clone());
        }
    }
    Ok(ends)
}
