//! Reading a chain from the graph into which its blocks were ingested.

use std::sync::Arc;

use assay_engine::{
    address::CanonicalAddress,
    chain::ChainId,
    evidence::{ActivityFacts, ChainFacts, ChainState, FlowFacts, IngestMode, Tip, Unavailable},
    facts::{Cluster, Counterparties},
    trace::Trace,
    utxo::ScriptOwner,
};
use assay_graph::{BATCH, ClusterRef, Graph, GraphError, GraphTip, follow};
use assay_telemetry::stage;
use async_trait::async_trait;
use jiff::tz::TimeZone;
use tracing::Instrument;

use super::{
    clusters::{self, AttributedMembers},
    counterparties::{self, Party},
    reader::{ChainReader, ReadError, TraceRequest, Traced, activity},
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
}

impl GraphReader {
    /// Reads from `graph`.
    #[must_use]
    pub fn new(graph: Arc<dyn Graph>) -> Self {
        Self { graph, attributed: Arc::default() }
    }

    /// Reads from `graph`, which another reader read before. What that one knows of clusters is kept.
    #[must_use]
    pub(super) fn renewed(&self, graph: Arc<dyn Graph>) -> Self {
        Self { graph, attributed: Arc::clone(&self.attributed) }
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
            let traced = self.trace_at(before, request).await?;
            if self.graph.tip().await?.is_some_and(|after| after.block == before.block) {
                return Ok(Some(traced));
            }
            torn = Some(traced);
        }
        if let Some(Traced { state: ChainState::Followed(facts), .. }) = &mut torn {
            facts.flows.complete = false;
        }
        Ok(torn)
    }

    async fn trace_at(
        &self,
        tip: GraphTip,
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
        let mut trace = Trace::new(chain, &owner, &history, rules, today, &attribute);
        follow(graph, &mut trace, BATCH).await?;
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

    async fn latest_block(&self) -> Result<Option<Tip>, ReadError> {
        Ok(self.graph.tip().await?.as_ref().map(assessed))
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
