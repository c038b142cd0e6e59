//! Comparison of the parties for which compositions (origin breakdowns) were computed with the parties that the present
//! lists and labels name.
//!
//! Each state of lists and labels is searched once for its parties; after that, only owners that are new to the graph
//! are looked up.

use std::{collections::BTreeMap, ops::Range};

use assay_address::ChainId;
use assay_engine::{
    ledger::{BlockId, OwnerNumber},
    policy::Policy,
};
use assay_graph::{
    GraphError, GraphTip, GraphView,
    compositions::{OwnerAttribution, TraceEnds, TraceEndsRevision},
};
use assay_intel::IntelSnapshot;
use jiff::civil::Date;
use tokio::sync::Mutex;

use super::ends::{Parties, attributed};

/// Largest number of new owners that are looked up in lists and labels; of more owners, the parties are looked up among
/// the owners.
const NEW_OWNERS: u64 = 1 << 20;

/// Parties of one chain's graph under the present lists and labels, shared by all checks.
#[derive(Debug, Default)]
pub(super) struct PresentEnds(Mutex<Option<SearchedState>>);

/// Lists and labels on a day.
#[derive(Clone, Copy, Debug)]
pub(super) struct IntelOfDay<'a> {
    pub(super) intel: &'a IntelSnapshot,
    pub(super) today: Date,
}

/// State of lists, labels and the graph that was searched for parties.
#[derive(Debug)]
struct SearchedState {
    generation: u64,
    today: Date,
    newest: BlockId,
    /// Number of the owners that were searched.
    owners: u64,
    /// Number of owners that no reorganisation removes.
    settled: u64,
    found: BTreeMap<u64, OwnerAttribution>,
    /// The last compared compositions (origin breakdowns), and the result.
    compared: (TraceEndsRevision, bool),
}

impl PresentEnds {
    /// True if the compositions (origin breakdowns) of a view were computed for the parties that lists and labels name
    /// on a day.
    pub(super) async fn agree_with(
        &self,
        compositions: TraceEndsRevision,
        (view, tip): (&dyn GraphView, &GraphTip),
        chain: ChainId,
        IntelOfDay { intel, today }: IntelOfDay<'_>,
    ) -> Result<bool, GraphError> {
        let mut kept = self.0.lock().await;
        let (generation, newest) = (intel.generation(), tip.block.id());
        let known = kept.take().filter(|it| (it.generation, it.today) == (generation, today));
        let (from, mut found) = match known {
            Some(known) if (known.newest, known.compared.0) == (newest, compositions) => {
                return Ok(kept.insert(known).compared.1);
            }
            Some(mut known) => {
                let from = known.unchanged_owners(view).await?;
                // Parties from there on are searched again.
                drop(known.found.split_off(&from));
                (from, known.found)
            }
            None => (0, BTreeMap::new()),
        };
        let to = compositions.owners;
        found.extend(search(view, chain, IntelOfDay { intel, today }, from..to).await?);
        let mut ends = TraceEnds::default();
        for (owner, attributed) in &found {
            ends.add(OwnerNumber(*owner), attributed.clone());
        }
        let agrees = ends.up_to(to) == compositions;
        *kept = Some(SearchedState {
            generation,
            today,
            newest,
            owners: to,
            settled: view.finalized_owners().await?,
            found,
            compared: (compositions, agrees),
        });
        Ok(agrees)
    }
}

impl SearchedState {
    /// Number of owners that equal the owners of the searched state: all owners of that state if its newest block is
    /// still on the chain.
    async fn unchanged_owners(&self, view: &dyn GraphView) -> Result<u64, GraphError> {
        let height = self.newest.height;
        let block = view.blocks(height, height).await?;
        let is_on_chain = block.first().is_some_and(|block| block.id() == self.newest);
        Ok(if is_on_chain { self.owners } else { self.settled.min(self.owners) })
    }
}

/// Searches owners for parties.
async fn search(
    view: &dyn GraphView,
    chain: ChainId,
    IntelOfDay { intel, today }: IntelOfDay<'_>,
    owners: Range<u64>,
) -> Result<BTreeMap<u64, OwnerAttribution>, GraphError> {
    let mut found = BTreeMap::new();
    let new = owners.end.saturating_sub(owners.start);
    if owners.start > 0 && new <= NEW_OWNERS {
        let policy = Policy::default();
        view.read(|view| {
            for owner in owners {
                let script = view.owner(OwnerNumber(owner))?;
                let party = attributed(chain, &script, intel, &policy, today);
                found.extend(party.map(|party| (owner, party)));
            }
            Ok(())
        })?;
    } else {
        for (script, party) in Parties::new(chain, intel, today).iter() {
            let owner = view.owner_number(script).await?.map(|owner| owner.0);
            found
                .extend(owner.filter(|it| owners.contains(it)).map(|owner| (owner, party.clone())));
        }
    }
    Ok(found)
}
