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

/// The parties at which traces end on a day, by their numbers in one state of a graph. What single policies and tenants
/// hear besides is left to traces.
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
    let (mut ends, policy) = (Ends::default(), Policy::default());
    for pool in [Pool::Mweb, Pool::ZcashShielded] {
        if let Some(owner) = view.owner_number(&ScriptOwner::Pool(pool)).await? {
            ends.add(owner, End { category: Category::PrivacyProtocol, listed_on: None });
        }
    }
    for script in intel.named_owners(chain) {
        let Some(owner) = view.owner_number(&script).await? else { continue };
        if let Some(end) = intel.attribution(chain, &script, &policy, today).end {
            ends.add(owner, End { category: end.category, listed_on: end.listed_on });
        }
    }
    Ok(ends)
}
