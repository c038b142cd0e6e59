//! Histories of single addresses, fetched on demand: on a chain without a node, an Esplora-style API provides enough
//! data for a trace.
//!
//! Fetched data is stored. A check fetches within its time limit and answers with the data available at its end;
//! missing data is unresolved, and the answer says `partial`. A background job fetches the rest for the next check
//! (`background/histories`).
//!
//! - `stored`: stored responses, and the time for which they may be used
//! - `history`: an address's history from its transactions
//! - `fetch`: concurrent fetching within a time limit
//! - `order`: the order of transactions within their blocks
//! - `source`: the data that a trace requests and fetches

mod fetch;
mod history;
mod order;
mod source;
mod stored;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use assay_address::{CanonicalAddress, ChainId};
use assay_chain::histories::HistorySource;
use assay_engine::{
    evidence::{BehaviorFacts, ChainFacts, FlowFacts, IngestMode, Tip, Unavailable},
    ledger::{BlockRef, OwnHistory, OwnerNumber, ReadLimits},
    patterns::{PatternSearch, PatternSubject, rules::SHOWN},
    reading::{GatheredChain, Query, ReadRequest, Waypoint},
    timeline::Timeline,
    trace::{Trace, TraceRules, TraceSubject},
    transfer::TransferDirection,
    utxo::{OutputNumber, ScriptOwner, SideLimits, Txid},
};
use assay_graph::{ReadSource, run_query};
use assay_intel::IntelSnapshot;
use assay_store::FetchedStore;
use assay_telemetry::stage;
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use sha2::{Digest, Sha256};
use tokio::time::Instant;
use tracing::Instrument;

use super::{
    attributed_owners::{AttributionInputs, ViewAttributions},
    reader::ChainReader,
    subject::{ReadError, SubjectData, TraceRequest, activity},
    transfer::{TransferError, TransferRead, TransferReadRequest, spent_by},
};
use fetch::HistoryFetcher;
use history::Totals;
use order::BlockOrder;
use source::OnDemandSource;
use stored::StoredResponses;

/// Largest number of inputs and outputs that a trace reads in each direction: each transaction takes requests to the
/// API.
const MOST_ENTRIES: u32 = 2_000;

/// Largest number of an address's transactions that are read, the newest ones.
const MOST_TRANSFERS: u32 = 2_000;

/// Time after which the API is asked for a newer block.
const TIP_AGE: SignedDuration = SignedDuration::from_secs(30);

/// Reader of a chain that fetches histories on demand.
#[derive(Debug)]
pub struct OnDemand {
    chain: ChainId,
    store: Arc<dyn FetchedStore>,
    histories: Arc<dyn HistorySource>,
    bound: Duration,
    tip: Mutex<Option<(BlockRef, Timestamp)>>,
}

impl OnDemand {
    /// Returns a reader of `chain` from an API, for at most `bound` in one check.
    #[must_use]
    pub fn new(
        chain: ChainId,
        store: Arc<dyn FetchedStore>,
        histories: Arc<dyn HistorySource>,
        bound: Duration,
    ) -> Self {
        Self { chain, store, histories, bound, tip: Mutex::new(None) }
    }

    /// Traces the flows of a subject as far as a time bound allows.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub async fn trace_within(
        &self,
        request: TraceRequest<'_>,
        bound: Duration,
    ) -> Result<SubjectData, ReadError> {
        let stage = stage!("ask_source", chain = self.chain.info().id);
        self.trace_until(request, Instant::now() + bound).instrument(stage).await
    }

    async fn trace_until(
        &self,
        request: TraceRequest<'_>,
        deadline: Instant,
    ) -> Result<SubjectData, ReadError> {
        let TraceRequest { subject, rules, now, .. } = request;
        let rules = bounded(rules);
        let stored = self.stored_responses(now);
        let fetcher = HistoryFetcher { histories: Arc::clone(&self.histories), deadline };
        let Some((tip, reported_at)) = self.newest(&fetcher, now).await else {
            return Ok(SubjectData::unavailable(Unavailable::Unreadable));
        };
        let mut source = source(&fetcher, &stored, tip.height);
        let mut complete = true;
        let mut flows = FlowFacts { complete: true, ..FlowFacts::default() };
        let (mut lifetime, mut behavior) = (None, None);
        if let Some(owner) = ScriptOwner::from_address(subject) {
            let (transactions, totals, whole) =
                fetcher.history(&stored, subject, tip.height, &rules).await?;
            complete &= whole;
            source.used.add(transactions.iter().map(|confirmed| confirmed.transaction.txid));
            source.add(transactions.iter()).await?;
            let limits = rules.read_limits();
            let found =
                history::history(&mut source.gathered, &owner, &transactions, totals, limits);
            if let Some((owner, history)) = found {
                flows = self.follow(&mut source, (owner, &history), request, rules).await?;
                lifetime = Some(activity(subject, &history.statistics));
                behavior = Some(self.behavior(&source, (owner, &history), request)?);
            } else if whole {
                behavior = Some(BehaviorFacts::without_transactions());
            }
        }
        flows.complete &= complete;
        let (tip, revision) = self.state(tip, reported_at, &source);
        let facts = ChainFacts { tip, flows, behavior, activity: lifetime };
        Ok(SubjectData::facts(facts, revision))
    }

    /// Traces as far as data is available in time. Each address is an owner of its own, because there are no clusters.
    async fn follow(
        &self,
        source: &mut OnDemandSource<'_>,
        (owner, history): (OwnerNumber, &OwnHistory),
        request: TraceRequest<'_>,
        rules: TraceRules,
    ) -> Result<FlowFacts, ReadError> {
        let TraceRequest { policy, intel, now, .. } = request;
        let (chain, today) = (self.chain, intel.day(now));
        let by = AttributionInputs { chain, intel, policy, today };
        let attributions = ViewAttributions::uncached(by);
        let subject = TraceSubject { chain, owner, history, rules, today };
        let mut trace = Trace::begin(&source.gathered, subject, &attributions)?;
        run_query(&mut trace, source).await?;
        Ok(trace.finish(&source.gathered)?)
    }

    /// Searches the patterns of an address in the data that was read for its flows.
    fn behavior(
        &self,
        source: &OnDemandSource<'_>,
        (owner, history): (OwnerNumber, &OwnHistory),
        request: TraceRequest<'_>,
    ) -> Result<BehaviorFacts, ReadError> {
        let TraceRequest { rules, policy, intel, now, .. } = request;
        let (chain, today) = (self.chain, intel.day(now));
        let by = AttributionInputs { chain, intel, policy, today };
        let attributions = ViewAttributions::uncached(by);
        let histories = &[history];
        let subject = PatternSubject { cluster: owner, histories, addresses: 1, shown: SHOWN };
        let view = &source.gathered;
        let mut search = PatternSearch::begin(view, subject, rules.patterns, &attributions, 0)?;
        search.advance(view)?;
        Ok(search.finish())
    }

    /// Returns the newest block as a fact, and the revision of the data that an answer uses.
    fn state(
        &self,
        tip: BlockRef,
        reported_at: Timestamp,
        source: &OnDemandSource<'_>,
    ) -> (Tip, String) {
        let hash = hex::encode(tip.hash);
        let name = source.used.name(&hash, &source.order);
        let revision = format!("{}@{}-{name}", self.chain, tip.height);
        let tip = Tip {
            height: tip.height,
            hash,
            time: tip.time,
            reported_at,
            start: 0,
            ingest_mode: IngestMode::OnDemand,
            sample: false,
        };
        (tip, revision)
    }

    /// Reads a transfer as far as a time bound allows.
    async fn transfer_until(
        &self,
        request: TransferReadRequest<'_>,
        deadline: Instant,
    ) -> Result<TransferRead, TransferError> {
        let request = TransferReadRequest { rules: bounded(request.rules), ..request };
        let TransferReadRequest { query, now, .. } = request;
        let unreadable = || TransferError::Unavailable(self.chain, Unavailable::Unreadable);
        let stored = self.stored_responses(now);
        let fetcher = HistoryFetcher { histories: Arc::clone(&self.histories), deadline };
        let (tip, reported_at) = self.newest(&fetcher, now).await.ok_or_else(unreadable)?;
        let wanted = BTreeSet::from([query.txid]);
        let mut found = fetcher.transactions(&stored, &wanted, tip.height).await?;
        let transaction = match found.remove(&query.txid) {
            None => return Err(unreadable()),
            Some(None) => return Err(TransferError::unknown(query, tip.height, tip.time, now)),
            Some(Some(transaction)) => transaction,
        };
        let all = SideLimits { inputs: u32::MAX, outputs: u32::MAX };
        let transfer = request.select(transaction.view(all))?;
        let (of_receiver, rules) = (request.of_receiver(&transfer.receiver), request.own_rules());
        let mut source = source(&fetcher, &stored, tip.height);
        source.used.add([query.txid].into_iter());
        source.add([&transaction].into_iter()).await?;
        let number = source.gathered.number(query.txid);
        if query.direction == TransferDirection::Deposit {
            let history = transfer.deposit(number);
            let own = (OwnerNumber::NOBODY, &history);
            let flows = self.follow(&mut source, own, of_receiver, rules).await?;
            let state = self.state(tip, reported_at, &source);
            return Ok(TransferRead::deposit(transfer, &history.statistics, flows, state));
        }
        // The money of this transfer is traced first, because that reads little.
        let outputs = transfer.outpoints().into_iter();
        let outputs: Vec<(u32, OutputNumber)> = outputs
            .map(|outpoint| (outpoint.index, source.gathered.output_number(outpoint)))
            .collect();
        let asked = outputs.iter().map(|(_, output)| *output).collect();
        source.fetch(ReadRequest { transactions: vec![], outputs: asked }).await?;
        let read = outputs.iter().all(|(_, output)| source.knows_spender(*output));
        let owner = source.gathered.owner_number(transfer.owner());
        let outputs = outputs.into_iter().map(|(index, output)| (index, Waypoint::Output(output)));
        let history = transfer.withdrawal(spent_by(&source.gathered, outputs, owner)?);
        let mut own = self.follow(&mut source, (owner, &history), of_receiver, rules).await?;
        own.complete &= read;
        let traced = self.trace_until(of_receiver, deadline).await?;
        Ok(TransferRead::withdrawal(transfer, traced, own))
    }

    fn stored_responses(&self, now: Timestamp) -> StoredResponses<'_> {
        let seconds = self.chain.info().longest_tip_age_seconds();
        StoredResponses {
            store: &*self.store,
            chain: self.chain,
            now,
            longest_age: SignedDuration::from_secs(seconds),
        }
    }

    /// Returns the newest block and the time at which the API reported it, or the last known one if the API does not
    /// answer.
    async fn newest(
        &self,
        fetcher: &HistoryFetcher,
        now: Timestamp,
    ) -> Option<(BlockRef, Timestamp)> {
        let known = *self.tip.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, at)) = known
            && now.duration_since(at) < TIP_AGE
        {
            return known;
        }
        let Some(tip) = fetcher.one(|histories| histories.tip()).await else {
            return known;
        };
        let known = Some((tip, now));
        *self.tip.lock().unwrap_or_else(PoisonError::into_inner) = known;
        known
    }
}

#[async_trait]
impl ChainReader for OnDemand {
    /// Traces as far as the time limit of the source allows. A failing source is no error: the trace uses its stored
    /// responses.
    async fn trace(&self, request: TraceRequest<'_>) -> Result<SubjectData, ReadError> {
        self.trace_within(request, self.bound).await
    }

    async fn transfer(
        &self,
        request: TransferReadRequest<'_>,
    ) -> Result<TransferRead, TransferError> {
        let stage = stage!("ask_source", chain = self.chain.info().id);
        self.transfer_until(request, Instant::now() + self.bound).instrument(stage).await
    }

    async fn timeline(
        &self,
        subject: &CanonicalAddress,
        _intel: &IntelSnapshot,
        now: Timestamp,
    ) -> Result<Option<Timeline>, ReadError> {
        let Some(owner) = ScriptOwner::from_address(subject) else { return Ok(None) };
        let stored = self.stored_responses(now);
        let Some(known) = stored.history(subject.as_str()).await? else { return Ok(None) };
        let txids = known.transactions.iter().filter_map(|txid| txid.parse().ok());
        let most = usize::try_from(MOST_TRANSFERS).unwrap_or(usize::MAX);
        let txids: Vec<Txid> = txids.take(most).collect();
        let transactions: Vec<_> = stored.transactions(&txids).await?.into_values().collect();
        let totals = Totals { funded: known.funded, spent: known.spent };
        let limits = ReadLimits { transfers: MOST_TRANSFERS, entries: MOST_ENTRIES };
        let mut gathered = GatheredChain::default();
        let found = history::history(&mut gathered, &owner, &transactions, totals, limits);
        let ticker = self.chain.info().native().code;
        Ok(found.map(|(_, history)| Timeline::of_history(ticker, &history)))
    }

    async fn latest_block(&self) -> Result<Option<Tip>, ReadError> {
        Ok(None)
    }
}

/// Returns a source of which nothing was read yet.
fn source<'a>(
    fetcher: &'a HistoryFetcher,
    stored: &'a StoredResponses<'a>,
    tip: u64,
) -> OnDemandSource<'a> {
    let (gathered, order, used) =
        (GatheredChain::default(), BlockOrder::default(), UsedTransactions::default());
    OnDemandSource { fetcher, stored, tip, gathered, order, used }
}

/// Reduces rules to the bounds of chains that are read on demand.
fn bounded(rules: TraceRules) -> TraceRules {
    TraceRules {
        entries: rules.entries.min(MOST_ENTRIES),
        transfers_per_address: rules.transfers_per_address.min(MOST_TRANSFERS),
        ..rules
    }
}

/// Transactions that an answer uses.
#[derive(Debug, Default)]
struct UsedTransactions(BTreeSet<Txid>);

impl UsedTransactions {
    fn add(&mut self, transactions: impl Iterator<Item = Txid>) {
        self.0.extend(transactions);
    }

    /// Hashes the transactions, the requested indexes in their blocks, and the newest block.
    fn name(&self, tip: &str, order: &BlockOrder) -> String {
        let mut hash = Sha256::new();
        hash.update(tip);
        for txid in &self.0 {
            hash.update(txid.as_bytes());
            if let Some(index) = order.index(txid) {
                hash.update(index.to_be_bytes());
            }
        }
        let mut name = hex::encode(hash.finalize());
        name.truncate(12);
        name
    }
}

/// Values by transaction, in the order of the identifiers.
type ByTxid<T> = BTreeMap<Txid, T>;
