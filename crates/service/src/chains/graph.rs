//! Reading a chain from the graph into which its blocks were ingested.

use std::sync::Arc;

use assay_engine::{
    address::CanonicalAddress,
    evidence::{ChainFacts, ChainState, FlowFacts, IngestMode, Tip, Unavailable},
    trace::Trace,
    transfer::TransferDirection,
    utxo::{History, ScriptOwner, transfer::DEPOSIT_SUBJECT},
};
use assay_graph::{BATCH, Graph, GraphError, GraphTip, follow};
use assay_telemetry::stage;
use async_trait::async_trait;
use jiff::tz::TimeZone;
use tracing::Instrument;

use super::{
    reader::{ChainReader, ReadError, TraceRequest, Traced, activity},
    transfer::{TransferError, TransferRead, TransferRequest, outputs_read, own_trace},
};

/// Maximum number of attempts at a trace; an attempt fails if a block is ingested during it.
const ATTEMPTS: usize = 3;

/// A chain that is read from its graph.
#[derive(Clone, Debug)]
pub struct GraphReader(Arc<dyn Graph>);

impl GraphReader {
    /// Reads from `graph`.
    #[must_use]
    pub fn new(graph: Arc<dyn Graph>) -> Self {
        Self(graph)
    }

    /// The graph.
    #[must_use]
    pub fn graph(&self) -> &dyn Graph {
        &*self.0
    }

    /// Traces in one state of the graph: if a block was ingested during the trace, once more. If blocks are
    /// ingested faster than that, the trace has read several states, and its flows are not complete.
    async fn trace_in_one_state(
        &self,
        request: TraceRequest<'_>,
    ) -> Result<Option<Traced>, GraphError> {
        let mut torn = None;
        for _ in 0..ATTEMPTS {
            let Some(before) = self.0.tip().await? else {
                return Ok(None);
            };
            let traced = self.trace_at(before, request).await?;
            if self.0.tip().await?.is_some_and(|after| after.block == before.block) {
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
            let read = self.transfer_at(before, request).await;
            if self.tip().await?.is_some_and(|after| after.block == before.block) {
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
        Ok(self.0.tip().await?)
    }

    async fn transfer_at(
        &self,
        tip: GraphTip,
        request: TransferRequest<'_>,
    ) -> Result<TransferRead, TransferError> {
        let TransferRequest { query, policy, intel, now, .. } = request;
        // All inputs and outputs: the outputs may be any of them.
        let found = self.0.transaction(&query.txid, u32::MAX).await.map_err(ReadError::from)?;
        let unknown = || TransferError::unknown(query, tip.block.height, tip.block.time, now);
        let transfer = request.select(found.ok_or_else(unknown)?)?;
        let today = now.to_zoned(TimeZone::UTC).date();
        let attribute = |owner: &ScriptOwner| intel.attribution(query.chain, owner, policy, today);
        let follow_own = async |subject: &ScriptOwner, history: &History| {
            let mut trace = own_trace(request, subject, history, &attribute);
            follow(&*self.0, &mut trace, BATCH).await.map_err(ReadError::from)?;
            Ok::<_, TransferError>(trace.finish())
        };
        if query.direction == TransferDirection::Deposit {
            let history = transfer.deposit();
            let flows = follow_own(&DEPOSIT_SUBJECT, &history).await?;
            let revision = revision(&transfer.receiver, &tip);
            return Ok(TransferRead::deposit(
                transfer,
                &history,
                flows,
                (assessed(&tip), revision),
            ));
        }
        let traced = self.trace_at(tip, request.of_receiver(&transfer)).await;
        let traced = traced.map_err(ReadError::from)?;
        let outputs = transfer.outpoints();
        let largest = outputs_read(request, &transfer);
        let mut spent_by = Vec::with_capacity(outputs.len());
        for some in outputs.chunks(BATCH) {
            let read = self.0.destinations(some, largest).await.map_err(ReadError::from)?;
            spent_by.extend(some.iter().copied().zip(read));
        }
        let known = spent_by.iter().filter_map(|(output, by)| Some((*output, by.as_ref()?)));
        let flows = follow_own(transfer.owner(), &transfer.withdrawal(known)).await?;
        Ok(TransferRead::withdrawal(transfer, traced, flows))
    }

    async fn trace_at(
        &self,
        tip: GraphTip,
        request: TraceRequest<'_>,
    ) -> Result<Traced, GraphError> {
        let TraceRequest { subject, rules, policy, intel, now } = request;
        let chain = subject.chain();
        let history = match ScriptOwner::from_address(subject) {
            Some(owner) => {
                let history = self.0.history(&owner, rules.read_limits()).await?;
                history.map(|history| (owner, history))
            }
            None => None,
        };
        let (flows, activity) = match history {
            None => (FlowFacts { complete: true, ledgers: vec![] }, None),
            Some((owner, history)) => {
                let today = now.to_zoned(TimeZone::UTC).date();
                let attribute =
                    |owner: &ScriptOwner| intel.attribution(chain, owner, policy, today);
                let mut trace = Trace::new(chain, &owner, &history, rules, today, &attribute);
                follow(&*self.0, &mut trace, BATCH).await?;
                (trace.finish(), Some(activity(subject, &history)))
            }
        };
        let facts = ChainFacts { tip: assessed(&tip), flows, patterns: None, activity };
        Ok(Traced::facts(facts, revision(subject, &tip)))
    }
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
        Ok(self.0.tip().await?.as_ref().map(assessed))
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
