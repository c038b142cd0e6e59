//! Reading a chain from the graph into which its blocks were ingested.

use std::sync::Arc;

use assay_engine::{
    address::CanonicalAddress,
    chain::ChainId,
    evidence::{ActivityFacts, ChainFacts, ChainState, FlowFacts, IngestMode, Tip, Unavailable},
    facts::{Cluster, Counterparties},
    trace::Trace,
    transfer::TransferDirection,
    utxo::{History, ScriptOwner, transfer::DEPOSIT_SUBJECT},
};
use assay_graph::{
    BATCH, ClusterRef, Graph, GraphError, GraphTip, KnownReads, TraceCache, clusters_of_history,
    follow_known,
};
use assay_telemetry::stage;
use async_trait::async_trait;
use jiff::tz::TimeZone;
use tracing::Instrument;

use super::{
    clusters::{self, AttributedMembers},
    counterparties::{self, Party},
    reader::{ChainReader, ReadError, TraceRequest, Traced, activity},
    transfer::{TransferError, TransferRead, TransferRequest, outputs_read, own_trace},
};

/// Maximum number of attempts at a trace; an attempt fails if a block is ingested during it.
const ATTEMPTS: usize = 3;

/// The strongest counterparties, of which those in the subject's own cluster are left out.
const SEARCHED_PARTIES: usize = 200;

/// A chain that is read from its graph.
#[derive(Clone, Debug)]
pub struct GraphReader {
    graph: Arc<dyn Graph>,
    attributed: Arc<AttributedMembers>,
    /// What traces read, of all chains.
    traced: Arc<TraceCache>,
}

impl GraphReader {
    /// Reads from `graph`. Traces find in `traced` what earlier ones read.
    #[must_use]
    pub fn new(graph: Arc<dyn Graph>, traced: Arc<TraceCache>) -> Self {
        Self { graph, attributed: Arc::default(), traced }
    }

    /// Reads from `graph`, which another reader read before. What that one knows of clusters is kept.
    #[must_use]
    pub(super) fn renewed(&self, graph: Arc<dyn Graph>) -> Self {
        Self { graph, attributed: Arc::clone(&self.attributed), traced: Arc::clone(&self.traced) }
    }

    /// The graph.
    #[must_use]
    pub fn graph(&self) -> &dyn Graph {
        &*self.graph
    }

    /// Traces in one state of the graph: if a block was ingested during the trace, once more. If blocks are
    /// ingested faster than that, the trace has read several states, and its flows are not complete.
    async fn trace_in_one_state(
        &self,
        request: TraceRequest<'_>,
    ) -> Result<Option<Traced>, GraphError> {
        let mut torn = None;
        for _ in 0..ATTEMPTS {
            let Some(before) = self.graph.tip().await? else {
                return Ok(None);
            };
            let mut known = self.traced.at(request.subject.chain(), &before);
            let traced = self.trace_at(before, &mut known, request).await?;
            if self.graph.tip().await?.is_some_and(|after| after.block == before.block) {
                known.keep();
                return Ok(Some(traced));
            }
            torn = Some(traced);
        }
        if let Some(Traced { state: ChainState::Followed(facts), .. }) = &mut torn {
            facts.flows.complete = false;
        }
        Ok(torn)
    }

    /// Reads a transfer in one state of the graph, as [`Self::trace_in_one_state`] traces. A transaction that
    /// a reorganisation removes meanwhile is not on the chain.
    async fn transfer_in_one_state(
        &self,
        request: TransferRequest<'_>,
    ) -> Result<TransferRead, TransferError> {
        let unavailable =
            || TransferError::Unavailable(request.query.chain, Unavailable::NotYetRead);
        let mut torn: Option<TransferRead> = None;
        for _ in 0..ATTEMPTS {
            let before = self.tip().await?.ok_or_else(unavailable)?;
            let mut known = self.traced.at(request.query.chain, &before);
            let read = self.transfer_at(before, &mut known, request).await;
            if self.tip().await?.is_some_and(|after| after.block == before.block) {
                known.keep();
                return read.map_err(|error| removed(error, torn.as_ref()));
            }
            match read {
                Ok(read) => torn = Some(read),
                // Nothing that was read of a changing chain is certain.
                Err(TransferError::UnknownTransaction(_) | TransferError::Invalid(_)) => {}
                Err(error) => return Err(error),
            }
        }
        let mut torn = torn.ok_or_else(|| {
            TransferError::Unavailable(request.query.chain, Unavailable::Unreadable)
        })?;
        torn.set_incomplete();
        Ok(torn)
    }

    async fn tip(&self) -> Result<Option<GraphTip>, ReadError> {
        Ok(self.graph.tip().await?)
    }

    async fn transfer_at(
        &self,
        tip: GraphTip,
        known: &mut KnownReads<'_>,
        request: TransferRequest<'_>,
    ) -> Result<TransferRead, TransferError> {
        let TransferRequest { query, policy, intel, now, .. } = request;
        // All inputs and outputs: the outputs may be any of them.
        let found = self.graph.transaction(&query.txid, u32::MAX).await.map_err(ReadError::from)?;
        let unknown = || TransferError::unknown(query, tip.block.height, tip.block.time, now);
        let transfer = request.select(found.ok_or_else(unknown)?)?;
        let today = now.to_zoned(TimeZone::UTC).date();
        let attribute = |owner: &ScriptOwner| intel.attribution(query.chain, owner, policy, today);
        let follow_own =
            async |known: &mut KnownReads<'_>, subject: &ScriptOwner, history: &History| {
                let clusters = clusters_of_history(&*self.graph, subject, history, BATCH).await;
                let clusters = clusters.map_err(ReadError::from)?;
                let mut trace = own_trace(request, subject, (history, clusters), &attribute);
                let followed = follow_known(&*self.graph, known, &mut trace, BATCH).await;
                followed.map_err(ReadError::from)?;
                Ok::<_, TransferError>(trace.finish())
            };
        if query.direction == TransferDirection::Deposit {
            let history = transfer.deposit();
            let flows = follow_own(known, &DEPOSIT_SUBJECT, &history).await?;
            let revision = revision(&transfer.receiver, &tip);
            return Ok(TransferRead::deposit(
                transfer,
                &history,
                flows,
                (assessed(&tip), revision),
            ));
        }
        let traced = self.trace_at(tip, known, request.of_receiver(&transfer)).await;
        let traced = traced.map_err(ReadError::from)?;
        let outputs = transfer.outpoints();
        let largest = outputs_read(request, &transfer);
        let mut spent_by = Vec::with_capacity(outputs.len());
        for some in outputs.chunks(BATCH) {
            let read = self.graph.destinations(some, largest).await.map_err(ReadError::from)?;
            spent_by.extend(some.iter().copied().zip(read));
        }
        let spent = spent_by.iter().filter_map(|(output, by)| Some((*output, by.as_ref()?)));
        let flows = follow_own(known, transfer.owner(), &transfer.withdrawal(spent)).await?;
        Ok(TransferRead::withdrawal(transfer, traced, flows))
    }

    async fn trace_at(
        &self,
        tip: GraphTip,
        known: &mut KnownReads<'_>,
        request: TraceRequest<'_>,
    ) -> Result<Traced, GraphError> {
        let TraceRequest { subject, rules, policy, intel, now } = request;
        let chain = subject.chain();
        let Some(owner) = ScriptOwner::from_address(subject) else {
            let flows = FlowFacts { complete: true, ledgers: vec![] };
            return Ok(traced(subject, &tip, flows, None, None, Counterparties::default()));
        };
        let graph = &*self.graph;
        let cluster = clusters::cluster(graph, &self.attributed, (subject, &owner), intel, tip);
        let history = graph.history(&owner, rules.read_limits());
        let (cluster, history) = tokio::try_join!(cluster, history)?;
        let Some(history) = history else {
            let flows = FlowFacts { complete: true, ledgers: vec![] };
            return Ok(traced(
                subject,
                &tip,
                flows,
                None,
                Some(cluster),
                Counterparties::default(),
            ));
        };
        let today = now.to_zoned(TimeZone::UTC).date();
        let attribute = |owner: &ScriptOwner| intel.attribution(chain, owner, policy, today);
        let clusters = clusters_of_history(graph, &owner, &history, BATCH).await?;
        let mut trace = Trace::new(chain, &owner, &history, clusters, rules, today, &attribute);
        follow_known(graph, known, &mut trace, BATCH).await?;
        let mut parties = counterparties::parties(&owner, &history);
        if cluster.size > 1 {
            let root = cluster.root.clone();
            parties = self.of_others(parties, chain, &root).await?;
        }
        let counterparties = counterparties::strongest(parties, chain, intel);
        let activity = Some(activity(subject, &history));
        Ok(traced(subject, &tip, trace.finish(), activity, Some(cluster), counterparties))
    }

    /// The parties without those in the subject's own cluster, as far as these are among the strongest.
    async fn of_others(
        &self,
        mut parties: Vec<Party>,
        chain: ChainId,
        root: &CanonicalAddress,
    ) -> Result<Vec<Party>, GraphError> {
        let others = parties.split_off(parties.len().min(SEARCHED_PARTIES));
        let owners: Vec<ScriptOwner> = parties.iter().map(|party| party.owner.clone()).collect();
        let found = self.graph.clusters(&owners).await?.into_iter();
        let is_other = |found: &Option<ClusterRef>| {
            let of = found.as_ref().and_then(|found| found.root.address(chain));
            of.as_ref() != Some(root)
        };
        let kept = parties.into_iter().zip(found).filter(|(_, found)| is_other(found));
        Ok(kept.map(|(party, _)| party).chain(others).collect())
    }
}

fn traced(
    subject: &CanonicalAddress,
    tip: &GraphTip,
    flows: FlowFacts,
    activity: Option<ActivityFacts>,
    cluster: Option<Cluster>,
    counterparties: Counterparties,
) -> Traced {
    let facts = ChainFacts { tip: assessed(tip), flows, patterns: None, activity };
    Traced { cluster, counterparties, ..Traced::facts(facts, revision(subject, tip)) }
}

#[async_trait]
impl ChainReader for GraphReader {
    async fn trace(&self, request: TraceRequest<'_>) -> Result<Traced, ReadError> {
        let stage = stage!("read_graph", chain = request.subject.chain().info().id);
        let traced = self.trace_in_one_state(request).instrument(stage).await?;
        Ok(traced.unwrap_or(Traced::unavailable(Unavailable::NotYetRead)))
    }

    async fn transfer(&self, request: TransferRequest<'_>) -> Result<TransferRead, TransferError> {
        let stage = stage!("read_transfer", chain = request.query.chain.info().id);
        self.transfer_in_one_state(request).instrument(stage).await
    }

    async fn latest_block(&self) -> Result<Option<Tip>, ReadError> {
        Ok(self.graph.tip().await?.as_ref().map(assessed))
    }
}

/// The error of a transaction that is gone although an earlier attempt read it: a reorganisation removed it.
fn removed(error: TransferError, earlier: Option<&TransferRead>) -> TransferError {
    match (error, earlier) {
        (TransferError::UnknownTransaction(mut unknown), Some(earlier)) => {
            unknown.removed_from = Some(earlier.height());
            TransferError::UnknownTransaction(unknown)
        }
        (error, _) => error,
    }
}

fn assessed(tip: &GraphTip) -> Tip {
    Tip {
        height: tip.block.height,
        hash: hex::encode(tip.block.hash),
        time: tip.block.time,
        reported_at: tip.verified_at,
        start: tip.start,
        ingest_mode: IngestMode::Ingested,
        sample: tip.sample,
    }
}

/// The chain, the height and the end of the block's hash: hashes begin with zeros.
fn revision(subject: &CanonicalAddress, tip: &GraphTip) -> String {
    let hash = hex::encode(tip.block.hash);
    let end = hash.get(hash.len() - 12..).unwrap_or_default();
    format!("{}@{}-{end}", subject.chain(), tip.block.height)
}

#[cfg(test)]
mod tests;
