//! Reading a chain from the graph into which its blocks were ingested.

use std::sync::Arc;

use assay_engine::{
    chain::ChainId,
    evidence::{ActivityFacts, ChainFacts, FlowFacts, IngestMode, Tip, Unavailable},
    facts::{Cluster, Counterparties},
    reading::{OwnHistory, OwnerNumber, ReadRequest, TransactionNumber, Waypoint},
    trace::{Trace, TraceRules, TraceSubject},
    transfer::TransferDirection,
    utxo::{ScriptOwner, Spending, Transfer},
};
use assay_graph::{Graph, GraphError, GraphTip, GraphView, ViewSource, run};
use assay_telemetry::stage;
use async_trait::async_trait;
use jiff::tz::TimeZone;
use tracing::Instrument;

use super::{
    attributed_owners::{AttributedBy, AttributedOwners, OwnersOfView},
    clusters::{self, AttributedMembers},
    counterparties::counterparties,
    reader::{ChainReader, ReadError, TraceRequest, Traced, activity},
    transfer::{TransferError, TransferRead, TransferRequest, spent_by},
};

/// A chain that is read from its graph.
#[derive(Clone, Debug)]
pub struct GraphReader {
    graph: Arc<dyn Graph>,
    attributed: Arc<AttributedMembers>,
    owners: Arc<AttributedOwners>,
}

impl GraphReader {
    /// Reads from `graph`.
    #[must_use]
    pub fn new(graph: Arc<dyn Graph>) -> Self {
        Self { graph, attributed: Arc::default(), owners: Arc::default() }
    }

    /// Reads from `graph`, which may be the one that this reader reads, opened again. What is known of clusters is
    /// kept, and of owners if the graph is the same: another one may give their numbers to others.
    #[must_use]
    pub(super) fn renewed(&self, graph: Arc<dyn Graph>) -> Self {
        let is_same = Arc::ptr_eq(&self.graph, &graph);
        let owners = if is_same { Arc::clone(&self.owners) } else { Arc::default() };
        Self { graph, attributed: Arc::clone(&self.attributed), owners }
    }

    /// The graph.
    #[must_use]
    pub fn graph(&self) -> &dyn Graph {
        &*self.graph
    }

    /// The newest state of the graph with its newest block; `None` without blocks.
    async fn state(&self) -> Result<Option<State<'_>>, GraphError> {
        let Some(view) = Arc::clone(&self.graph).view().await? else { return Ok(None) };
        let Some(tip) = view.tip().await? else { return Ok(None) };
        let Self { attributed, owners, .. } = self;
        Ok(Some(State { view, tip, attributed, owners }))
    }
}

/// One state of a graph, from which an answer is read.
struct State<'r> {
    view: Arc<dyn GraphView>,
    tip: GraphTip,
    attributed: &'r AttributedMembers,
    owners: &'r AttributedOwners,
}

impl State<'_> {
    async fn trace(&self, request: TraceRequest<'_>) -> Result<Traced, GraphError> {
        let TraceRequest { subject, rules, intel, .. } = request;
        let (chain, view, tip) = (subject.chain(), &*self.view, &self.tip);
        let nothing = |cluster| {
            let flows = FlowFacts { complete: true, ..FlowFacts::default() };
            traced(request, tip, flows, None, (cluster, Counterparties::default()))
        };
        let Some(script) = ScriptOwner::from_address(subject) else { return Ok(nothing(None)) };
        let of = (subject, &script);
        let cluster = clusters::cluster(view, self.attributed, of, intel, *tip).await?;
        let Some(owner) = view.owner_number(&script).await? else {
            return Ok(nothing(Some(cluster)));
        };
        let history = view.history(owner, rules.read_limits()).await?;
        let attributions = self.attributions(chain, request).await?;
        let flows = self.follow(chain, owner, &history, rules, &attributions).await?;
        let limits = rules.read_limits();
        let counterparties =
            view.read(|view| counterparties(view, owner, (&history, limits), &attributions))?;
        let activity = Some(activity(subject, &history.statistics));
        Ok(traced(request, tip, flows, activity, (Some(cluster), counterparties)))
    }

    /// The attributions of the owners of this state.
    async fn attributions<'a>(
        &self,
        chain: ChainId,
        request: TraceRequest<'a>,
    ) -> Result<OwnersOfView<'a>, GraphError> {
        let TraceRequest { policy, intel, now, .. } = request;
        let today = now.to_zoned(TimeZone::UTC).date();
        self.owners.of(&*self.view, AttributedBy { chain, intel, policy, today }).await
    }

    /// Follows the money of a history.
    async fn follow(
        &self,
        chain: ChainId,
        owner: OwnerNumber,
        history: &OwnHistory,
        rules: TraceRules,
        attributions: &OwnersOfView<'_>,
    ) -> Result<FlowFacts, GraphError> {
        let view = &*self.view;
        let today = attributions.by().today;
        let subject = TraceSubject { chain, owner, history, rules, today };
        let mut trace = view.read(|view| Trace::begin(view, subject, attributions))?;
        run(&mut trace, &mut ViewSource(view)).await?;
        let flows = view.read(|view| trace.finish(view))?;
        let is_used = flows.ledgers.iter().any(|ledger| {
            ledger.source.parts.iter().any(|part| part.distance.further_than().is_some())
        });
        let compositions = view.compositions().filter(|_| is_used).map(|ends| ends.name());
        Ok(FlowFacts { compositions, ..flows })
    }

    async fn transfer(&self, request: TransferRequest<'_>) -> Result<TransferRead, TransferError> {
        let TransferRequest { query, now, .. } = request;
        let (view, tip) = (&*self.view, &self.tip);
        let unknown = || TransferError::unknown(query, tip.block.height, tip.block.time, now);
        // All inputs and outputs: the outputs may be any of them.
        let found = view.transaction(&query.txid, u32::MAX).await?;
        let transfer = request.select(found.ok_or_else(unknown)?)?;
        let number = view.transaction_number(&query.txid).await?.ok_or_else(unknown)?;
        let (chain, rules) = (query.chain, request.own_rules());
        let of_receiver = request.of_receiver(&transfer);
        let attributions = self.attributions(chain, of_receiver).await?;
        if query.direction == TransferDirection::Deposit {
            let asked = ReadRequest { transactions: vec![number], outputs: vec![] };
            view.fetch(&asked).await?;
            let history = transfer.deposit(number);
            let nobody = OwnerNumber::NOBODY;
            let flows = self.follow(chain, nobody, &history, rules, &attributions).await?;
            let state = (assessed(tip), revision(chain, tip, &flows));
            return Ok(TransferRead::deposit(transfer, &history.statistics, flows, state));
        }
        let traced = self.trace(of_receiver).await?;
        let owner = view.owner_number(transfer.owner()).await?.ok_or_else(unknown)?;
        let spent_by = self.spent_by(&transfer, number, owner).await?;
        let history = transfer.withdrawal(spent_by);
        let flows = self.follow(chain, owner, &history, rules, &attributions).await?;
        Ok(TransferRead::withdrawal(transfer, traced, flows))
    }

    /// The transactions that spend the outputs of a transfer.
    async fn spent_by(
        &self,
        transfer: &Transfer,
        number: TransactionNumber,
        owner: OwnerNumber,
    ) -> Result<Vec<Spending>, GraphError> {
        let outputs = self.view.outputs_of(number).await?;
        let is_own = |index| transfer.outputs.iter().any(|output| output.index == index);
        let own = outputs.iter().filter(|entry| is_own(entry.index));
        let own: Vec<(u32, Waypoint)> =
            own.filter_map(|entry| Some((entry.index, entry.leads_to?))).collect();
        let mut request = ReadRequest::default();
        for (_, output) in &own {
            request.push(*output);
        }
        self.view.fetch(&request).await?;
        self.view.read(|view| spent_by(view, own, owner))
    }
}

fn traced(
    request: TraceRequest<'_>,
    tip: &GraphTip,
    flows: FlowFacts,
    activity: Option<ActivityFacts>,
    (cluster, counterparties): (Option<Cluster>, Counterparties),
) -> Traced {
    let revision = revision(request.subject.chain(), tip, &flows);
    let facts = ChainFacts { tip: assessed(tip), flows, patterns: None, activity };
    Traced { cluster, counterparties, ..Traced::facts(facts, revision) }
}

#[async_trait]
impl ChainReader for GraphReader {
    async fn trace(&self, request: TraceRequest<'_>) -> Result<Traced, ReadError> {
        let span = stage!("read_graph", chain = request.subject.chain().info().id);
        let reading = async {
            match self.state().await? {
                Some(state) => state.trace(request).await,
                None => Ok(Traced::unavailable(Unavailable::NotYetRead)),
            }
        };
        Ok(reading.instrument(span).await?)
    }

    async fn transfer(&self, request: TransferRequest<'_>) -> Result<TransferRead, TransferError> {
        let chain = request.query.chain;
        let span = stage!("read_transfer", chain = chain.info().id);
        let reading = async {
            let state = self.state().await?;
            let unavailable = TransferError::Unavailable(chain, Unavailable::NotYetRead);
            state.ok_or(unavailable)?.transfer(request).await
        };
        reading.instrument(span).await
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

/// The chain, the height and the end of the block's hash: hashes begin with zeros. Then what the compositions rest on
/// that the flows use.
fn revision(chain: ChainId, tip: &GraphTip, flows: &FlowFacts) -> String {
    let hash = hex::encode(tip.block.hash);
    let end = hash.get(hash.len() - 12..).unwrap_or_default();
    let compositions = flows.compositions.as_ref().map(|name| format!("+{name}"));
    format!("{chain}@{}-{end}{}", tip.block.height, compositions.unwrap_or_default())
}
