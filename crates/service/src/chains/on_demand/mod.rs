//! Histories of single addresses, fetched on demand: on a chain without a node, an Esplora-style
//! API provides enough data for a trace.
//!
//! Fetched data is stored. A check fetches within its time limit and answers with the data
//! available at its end; missing data is unresolved, and the answer says `partial`. A background
//! job fetches the rest for the next check (`background/histories`).
//!
//! - `kept`: stored responses, and the time for which they may be used
//! - `history`: an address's history from its transactions
//! - `fetch`: concurrent fetching within a time limit

mod fetch;
mod history;
mod kept;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use assay_chain::histories::HistorySource;
use assay_engine::{
    chain::ChainId,
    evidence::{ChainFacts, FlowFacts, IngestMode, Tip, Unavailable},
    trace::{Clusters, ENTRIES_PER_TRANSACTION, ReadRequest, ReadResponse, Trace, TraceRules},
    transfer::TransferDirection,
    utxo::{BlockRef, ScriptOwner, SideLimits, Txid, transfer::DEPOSIT_SUBJECT},
};
use assay_store::{FetchedStore, StoreError};
use assay_telemetry::stage;
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp, tz::TimeZone};
use sha2::{Digest, Sha256};
use tokio::time::Instant;
use tracing::Instrument;

use super::{
    reader::{ChainReader, ReadError, TraceRequest, Traced, activity},
    transfer::{TransferError, TransferRead, TransferRequest, outputs_read, own_trace},
};
use fetch::Fetching;
use history::Totals;
use kept::Kept;

/// Most inputs and outputs that a trace reads in each direction: each transaction takes requests to the API.
const MOST_ENTRIES: u32 = 2_000;

/// For how long the newest block is taken for the newest without asking again.
const TIP_AGE: SignedDuration = SignedDuration::from_secs(30);

/// A chain that is read on demand.
#[derive(Debug)]
pub struct OnDemand {
    chain: ChainId,
    store: Arc<dyn FetchedStore>,
    histories: Arc<dyn HistorySource>,
    bound: Duration,
    tip: Mutex<Option<(BlockRef, Timestamp)>>,
}

impl OnDemand {
    /// Reads `chain` from an API, for at most `bound` in one check.
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
    ) -> Result<Traced, ReadError> {
        let stage = stage!("ask_source", chain = self.chain.info().id);
        Ok(self.trace_until(request, Instant::now() + bound).instrument(stage).await?)
    }

    async fn trace_until(
        &self,
        request: TraceRequest<'_>,
        deadline: Instant,
    ) -> Result<Traced, StoreError> {
        let TraceRequest { subject, rules, policy, intel, now } = request;
        let rules = bounded(rules);
        let kept = self.kept(now);
        let fetching = Fetching { histories: Arc::clone(&self.histories), deadline };
        let Some((tip, reported_at)) = self.newest(&fetching, now).await else {
            return Ok(Traced::unavailable(Unavailable::Unreadable));
        };
        let mut seen = Seen::default();
        let mut complete = true;
        let mut flows = FlowFacts { complete: true, ledgers: vec![] };
        let mut lifetime = None;
        if let Some(owner) = ScriptOwner::from_address(subject) {
            let (transactions, totals, whole) =
                fetching.history(&kept, subject, tip.height, &rules).await?;
            complete &= whole;
            seen.add(transactions.iter().map(|confirmed| confirmed.transaction.txid));
            let history = history::history(subject, &transactions, totals, rules.read_limits());
            if let Some(history) = history {
                let today = now.to_zoned(TimeZone::UTC).date();
                let attribute =
                    |owner: &ScriptOwner| intel.attribution(self.chain, owner, policy, today);
                // No clusters: an address is an owner of its own.
                let clusters = Clusters::default();
                let mut trace =
                    Trace::new(self.chain, &owner, &history, clusters, rules, today, &attribute);
                self.follow(&fetching, &kept, &mut trace, tip.height, &mut seen).await?;
                flows = trace.finish();
                lifetime = Some(activity(subject, &history));
            }
        }
        flows.complete &= complete;
        let (tip, revision) = self.state(tip, reported_at, &seen);
        let facts = ChainFacts { tip, flows, patterns: None, activity: lifetime };
        Ok(Traced::facts(facts, revision))
    }

    /// Runs a trace to its end, as far as data is available in time.
    async fn follow(
        &self,
        fetching: &Fetching,
        kept: &Kept<'_>,
        trace: &mut Trace<'_>,
        tip: u64,
        seen: &mut Seen,
    ) -> Result<(), StoreError> {
        while !trace.read_request().is_empty() {
            let wants = trace.read_request();
            let supply = self.supply(fetching, kept, wants, tip, ENTRIES_PER_TRANSACTION).await?;
            seen.add(supply.origins.keys().copied());
            seen.add(supply.destinations.keys().map(|output| output.txid));
            trace.resume(&supply);
        }
        Ok(())
    }

    /// The newest block as a fact, and the name of the data that an answer rests on.
    fn state(&self, tip: BlockRef, reported_at: Timestamp, seen: &Seen) -> (Tip, String) {
        let hash = hex::encode(tip.hash);
        let revision = format!("{}@{}-{}", self.chain, tip.height, seen.name(&hash));
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
        request: TransferRequest<'_>,
        deadline: Instant,
    ) -> Result<TransferRead, TransferError> {
        let request = TransferRequest { rules: bounded(request.rules), ..request };
        let TransferRequest { query, policy, intel, now, .. } = request;
        let unreadable = || TransferError::Unavailable(self.chain, Unavailable::Unreadable);
        let kept = self.kept(now);
        let fetching = Fetching { histories: Arc::clone(&self.histories), deadline };
        let (tip, reported_at) = self.newest(&fetching, now).await.ok_or_else(unreadable)?;
        let wanted = BTreeSet::from([query.txid]);
        let found = fetching.transactions(&kept, &wanted, tip.height).await;
        let mut found = found.map_err(ReadError::from)?;
        let transaction = match found.remove(&query.txid) {
            None => return Err(unreadable()),
            Some(None) => return Err(TransferError::unknown(query, tip.height, tip.time, now)),
            Some(Some(transaction)) => transaction,
        };
        let all = SideLimits { inputs: u32::MAX, outputs: u32::MAX };
        let transfer = request.select(transaction.view(all))?;
        let mut seen = Seen::default();
        seen.add([query.txid].into_iter());
        let today = now.to_zoned(TimeZone::UTC).date();
        let attribute = |owner: &ScriptOwner| intel.attribution(self.chain, owner, policy, today);
        if query.direction == TransferDirection::Deposit {
            let history = transfer.deposit();
            let mut trace =
                own_trace(request, &DEPOSIT_SUBJECT, (&history, Clusters::default()), &attribute);
            let followed = self.follow(&fetching, &kept, &mut trace, tip.height, &mut seen).await;
            followed.map_err(ReadError::from)?;
            let state = self.state(tip, reported_at, &seen);
            return Ok(TransferRead::deposit(transfer, &history, trace.finish(), state));
        }
        // The money of this transfer first: little is read for it.
        let outputs = transfer.outpoints();
        let wants = ReadRequest {
            origins: vec![],
            destinations: outputs.clone(),
            ..ReadRequest::default()
        };
        let largest = outputs_read(request, &transfer);
        let supply = self.supply(&fetching, &kept, &wants, tip.height, largest).await;
        let supply = supply.map_err(ReadError::from)?;
        let read = supply.destinations.len() == outputs.len();
        let known = supply.destinations.iter();
        let known = known.filter_map(|(output, by)| Some((*output, by.as_deref()?)));
        let history = transfer.withdrawal(known);
        let mut trace =
            own_trace(request, transfer.owner(), (&history, Clusters::default()), &attribute);
        let followed = self.follow(&fetching, &kept, &mut trace, tip.height, &mut seen).await;
        followed.map_err(ReadError::from)?;
        let mut own = trace.finish();
        own.complete &= read;
        let traced = self.trace_until(request.of_receiver(&transfer), deadline).await;
        Ok(TransferRead::withdrawal(transfer, traced.map_err(ReadError::from)?, own))
    }

    fn kept(&self, now: Timestamp) -> Kept<'_> {
        let seconds = self.chain.info().rules.longest_tip_age_seconds();
        Kept {
            store: &*self.store,
            chain: self.chain,
            now,
            longest_age: SignedDuration::from_secs(seconds),
        }
    }

    /// The newest block, and the time at which the API reported it; the last known one if the API
    /// does not answer.
    async fn newest(&self, fetching: &Fetching, now: Timestamp) -> Option<(BlockRef, Timestamp)> {
        let known = *self.tip.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, at)) = known
            && now.duration_since(at) < TIP_AGE
        {
            return known;
        }
        let Some(tip) = fetching.one(|histories| histories.tip()).await else {
            return known;
        };
        let known = Some((tip, now));
        *self.tip.lock().unwrap_or_else(PoisonError::into_inner) = known;
        known
    }

    /// The available part of the data that a trace requests, with the `largest` inputs or outputs of each
    /// transaction: stored responses, and those fetched in time.
    async fn supply(
        &self,
        fetching: &Fetching,
        kept: &Kept<'_>,
        wants: &ReadRequest,
        tip: u64,
        largest: u32,
    ) -> Result<ReadResponse, StoreError> {
        let spenders = fetching.spenders(kept, &wants.destinations).await?;
        let wanted: BTreeSet<Txid> =
            wants.origins.iter().copied().chain(spenders.values().flatten().copied()).collect();
        let transactions = fetching.transactions(kept, &wanted, tip).await?;
        // A transaction that is not there is no answer: an output was made and spent by something, so
        // that the API contradicts itself for now.
        let found =
            |txid: &Txid, limits| Some(Arc::new(transactions.get(txid)?.as_ref()?.view(limits)));
        let mut supply = ReadResponse::default();
        for txid in &wants.origins {
            if let Some(transaction) = found(txid, SideLimits { inputs: largest, outputs: 0 }) {
                supply.origins.insert(*txid, Some(transaction));
            }
        }
        let limits = SideLimits { inputs: 0, outputs: largest };
        for (output, spender) in spenders {
            match spender {
                None => {
                    supply.destinations.insert(output, None);
                }
                Some(txid) => {
                    if let Some(transaction) = found(&txid, limits) {
                        supply.destinations.insert(output, Some(transaction));
                    }
                }
            }
        }
        Ok(supply)
    }
}

#[async_trait]
impl ChainReader for OnDemand {
    /// Traces as far as the time limit of the source allows. A failing source is no error: its
    /// stored earlier responses are used.
    async fn trace(&self, request: TraceRequest<'_>) -> Result<Traced, ReadError> {
        self.trace_within(request, self.bound).await
    }

    async fn transfer(&self, request: TransferRequest<'_>) -> Result<TransferRead, TransferError> {
        let stage = stage!("ask_source", chain = self.chain.info().id);
        self.transfer_until(request, Instant::now() + self.bound).instrument(stage).await
    }

    async fn latest_block(&self) -> Result<Option<Tip>, ReadError> {
        Ok(None)
    }
}

/// Rules within the bounds of every chain that is read on demand.
fn bounded(rules: TraceRules) -> TraceRules {
    TraceRules { entries: rules.entries.min(MOST_ENTRIES), ..rules }
}

/// Transactions on which an answer rests.
#[derive(Debug, Default)]
struct Seen(BTreeSet<Txid>);

impl Seen {
    fn add(&mut self, transactions: impl Iterator<Item = Txid>) {
        self.0.extend(transactions);
    }

    /// Names them, and the block up to which they are known.
    fn name(&self, tip: &str) -> String {
        let mut hash = Sha256::new();
        hash.update(tip);
        for txid in &self.0 {
            hash.update(txid.as_bytes());
        }
        let mut name = hex::encode(hash.finalize());
        name.truncate(12);
        name
    }
}

/// By key, in one order.
type Found<T> = BTreeMap<Txid, T>;
