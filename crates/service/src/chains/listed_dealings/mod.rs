//! Direct dealings of the addresses of a subject's cluster with listed parties.
//!
//! Listed parties are few, so that their payments are read once, from their side, and kept by the root of the cluster of
//! the other party. New blocks update this index. A check looks its cluster up in the index, and reads nothing further
//! if the cluster has no such dealing.
//!
//! - `index`: the payments of listed parties

mod index;

use std::{cmp::Reverse, collections::BTreeMap, sync::Arc};

use assay_address::ChainId;
use assay_engine::{
    facts::{CoSpend, ListedDealing, ListedDealings},
    ledger::OwnerNumber,
    reading::{ChainView, ViewError},
    trace::Attributions,
    utxo::ScriptOwner,
};
use assay_graph::{ClusterEvidence, GraphError, GraphTip, GraphView};
use assay_intel::IntelSnapshot;
use jiff::tz::TimeZone;
use tokio::sync::Mutex;

use self::index::{Index, ListedPayment};
use super::clusters::CO_SPENDS;

/// Largest number of payments of a cluster that are examined, the newest first.
const EXAMINED: usize = 10_000;
/// Largest number of members whose connection with the subject is read, those with the largest payments first.
const CONNECTED: usize = 200;
/// Largest number of dealings that an answer names.
const NAMED: usize = 3;

/// Index of the payments between listed parties and others on one chain, shared by all checks.
#[derive(Debug, Default)]
pub struct ListedPayments(Mutex<Option<Index>>);

/// Subject of a check, in a graph.
#[derive(Clone, Copy, Debug)]
pub struct DealingSubject<'a> {
    /// The chain.
    pub chain: ChainId,
    /// The subject's script.
    pub script: &'a ScriptOwner,
    /// The subject's number.
    pub owner: OwnerNumber,
    /// The largest payment that is dust.
    pub largest_dust: u128,
}

impl ListedPayments {
    /// Returns the dealings of other members of the subject's cluster with parties on lists in force.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub async fn of_cluster(
        &self,
        (view, tip): (&dyn GraphView, &GraphTip),
        subject: DealingSubject<'_>,
        intel: &IntelSnapshot,
        attributions: &impl Attributions,
    ) -> Result<ListedDealings, GraphError> {
        let DealingSubject { chain, script, owner, largest_dust } = subject;
        let root = view.read(|view| view.cluster_of(owner))?;
        let (payments, count) = self.payments_of(root, (view, tip), chain, intel).await?;
        if payments.is_empty() {
            return Ok(ListedDealings::default());
        }
        let mut dealings = Vec::new();
        view.read(|view| {
            for payment in payments {
                let is_other = payment.member != owner && payment.amount > largest_dust;
                if is_other
                    && payment.height <= tip.block.height
                    && view.cluster_of(payment.party)? != root
                    && is_since_listing(view, &payment, attributions)?
                {
                    dealings.push(payment);
                }
            }
            Ok(())
        })?;
        dealings.sort_by_key(|it| (Reverse(it.amount), it.transaction, it.member, it.party));
        let mut connected: BTreeMap<OwnerNumber, Option<Vec<ClusterEvidence>>> = BTreeMap::new();
        for dealing in &dealings {
            if connected.len() < CONNECTED {
                connected.insert(dealing.member, None);
            }
        }
        let members: Vec<ScriptOwner> = view.read(|view| {
            connected.keys().map(|member| view.owner(*member)).collect::<Result<_, ViewError>>()
        })?;
        let found = view.connections(script, &members, CO_SPENDS).await?;
        for (connection, found) in connected.values_mut().zip(found) {
            *connection = found;
        }
        let is_limited = count > EXAMINED
            || dealings.iter().any(|it| connected.get(&it.member).is_none_or(Option::is_none));
        let certain: Vec<(ListedPayment, &[ClusterEvidence])> = dealings
            .into_iter()
            .filter_map(|dealing| {
                let co_spends = connected.get(&dealing.member)?.as_deref()?;
                co_spends.iter().all(is_certain).then_some((dealing, co_spends))
            })
            .collect();
        let largest = view.read(|view| {
            let named = certain.iter().take(NAMED);
            let named = named
                .map(|(it, co_spends)| named_dealing(view, chain, it, co_spends, attributions));
            named.filter_map(Result::transpose).collect::<Result<Vec<_>, ViewError>>()
        })?;
        let found = u64::try_from(certain.len()).unwrap_or(u64::MAX);
        Ok(ListedDealings { largest, found, is_limited })
    }

    /// Returns the newest payments of a cluster with listed owners, and the number of all.
    async fn payments_of(
        &self,
        root: OwnerNumber,
        (view, tip): (&dyn GraphView, &GraphTip),
        chain: ChainId,
        intel: &IntelSnapshot,
    ) -> Result<(Vec<ListedPayment>, usize), GraphError> {
        let mut kept = self.0.lock().await;
        // If the update fails, the next check builds the index.
        let index = Index::in_state(kept.take(), (view, tip), chain, intel).await?;
        let all = kept.insert(index).of_root(root);
        Ok((all.iter().take(EXAMINED).copied().collect(), all.len()))
    }
}

/// True if a list in force names the party, and the payment is of the day of the listing or later; if that day is not
/// known, every payment counts.
fn is_since_listing(
    view: &dyn ChainView,
    payment: &ListedPayment,
    attributions: &impl Attributions,
) -> Result<bool, ViewError> {
    let attribution = attributions.of_owner(payment.party, view)?;
    let end = attribution.as_ref().and_then(|it| it.end.as_ref()).filter(|end| end.listed);
    let day = payment.time.to_zoned(TimeZone::UTC).date();
    Ok(end.is_some_and(|end| end.listed_on.is_none_or(|listed_on| listed_on <= day)))
}

/// True if the co-spend cannot be a `PayJoin`, or was repeated.
const fn is_certain(co_spend: &ClusterEvidence) -> bool {
    co_spend.is_conclusive || co_spend.confirmed_by.is_some()
}

/// Describes a dealing; `None` if the member or the party has no address.
fn named_dealing(
    view: &dyn ChainView,
    chain: ChainId,
    payment: &ListedPayment,
    co_spends: &[ClusterEvidence],
    attributions: &impl Attributions,
) -> Result<Option<ListedDealing>, ViewError> {
    let ListedPayment { member, party, direction, transaction, time, amount, .. } = *payment;
    let (member, of) = (view.owner(member)?.address(chain), view.owner(party)?.address(chain));
    let (Some(member), Some(address)) = (member, of) else { return Ok(None) };
    let attribution = attributions.of_owner(party, view)?;
    let end = attribution.as_ref().and_then(|it| it.end.as_ref());
    Ok(Some(ListedDealing {
        member,
        co_spends: co_spends.iter().map(CoSpend::from).collect(),
        party: address,
        entity: end.and_then(|end| end.entity.as_deref()).map(str::to_owned),
        listed_by: end.and_then(|end| end.listed_by.clone()).map(Arc::unwrap_or_clone),
        direction,
        transaction: view.txid(transaction)?.to_string(),
        time,
        amount,
    }))
}
