//! The parties of a chain at which traces end, under the default policy: what compositions rest on.

use assay_engine::{
    chain::ChainId,
    policy::Policy,
    taxonomy::Category,
    utxo::{Pool, ScriptOwner},
};
use assay_graph::{
    GraphError, GraphView,
    compositions::{End, Ends},
};
use assay_intel::IntelSnapshot;
use jiff::civil::Date;
use rustc_hash::FxHashMap;

/// The parties at which traces end on a day, by their scripts, whether or not a graph has them. What single policies and
/// tenants hear besides is left to traces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parties(FxHashMap<ScriptOwner, End>);

impl Parties {
    /// The parties of a chain that lists and labels name, and its shielded pools.
    #[must_use]
    pub fn of(chain: ChainId, intel: &IntelSnapshot, today: Date) -> Self {
        let policy = Policy::default();
        let pool = End { category: Category::PrivacyProtocol, listed_on: None };
        let pools = [Pool::Mweb, Pool::ZcashShielded].map(|it| (ScriptOwner::Pool(it), pool));
        let named = intel.named_owners(chain).filter_map(|script| {
            let end = intel.attribution(chain, &script, &policy, today).end?;
            Some((script, End { category: end.category, listed_on: end.listed_on }))
        });
        pools.into_iter().chain(named).collect()
    }

    /// The party with a script; `None` if traces go on there.
    #[must_use]
    pub fn get(&self, script: &ScriptOwner) -> Option<End> {
        self.0.get(script).copied()
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (&ScriptOwner, End)> {
        self.0.iter().map(|(script, end)| (script, *end))
    }

    /// Number of parties.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<(ScriptOwner, End)> for Parties {
    fn from_iter<I: IntoIterator<Item = (ScriptOwner, End)>>(parties: I) -> Self {
        Self(parties.into_iter().collect())
    }
}

/// The parties at which traces end on a day, by their numbers in one state of a graph.
///
/// # Errors
///
/// Returns an error if the store fails.
pub async fn ends(
    view: &dyn GraphView,
    chain: ChainId,
    intel: &IntelSnapshot,
    today: Date,
) -> Result<Ends, GraphError> {
    let mut ends = Ends::default();
    for (script, end) in Parties::of(chain, intel, today).iter() {
        if let Some(owner) = view.owner_number(script).await? {
            ends.add(owner, end);
        }
    }
    Ok(ends)
}
