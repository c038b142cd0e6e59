//! Reader of a chain from the graph into which its blocks were ingested.

use std::{collections::BTreeMap, sync::Arc};

use assay_address::{CanonicalAddress, ChainId};
use assay_engine::{
    evidence::{
        ActivityFacts, BehaviorFacts, ChainFacts, FlowEnd, FlowFacts, IngestMode, Tip, Unavailable,
        UnresolvedReason, UsedCompositions,
    },
    facts::{Cluster, Counterparties},
    ledger::{BlockId, BlockRef, OwnHistory, OwnerNumber, ReadLimits, TransactionNumber},
    patterns::rules::SHOWN,
    policy::{PatternRules, Policy},
    reading::{ReadRequest, Waypoint},
    timeline::Timeline,
    trace::{Trace, TraceRules, TraceSubject, flows_at_most, is_bounded},
    transfer::TransferDirection,
    utxo::{ScriptOwner, SideLimits, Spending, Transfer, Txid},
};
use assay_graph::{Graph, GraphError, GraphTip, GraphView, ReadSource, ViewSource, run_query};
use assay_intel::IntelSnapshot;
use assay_telemetry::stage;
use async_trait::async_trait;
use jiff::Timestamp;
use tracing::Instrument;

use super::{
    attributed_owners::{AttributedOwners, AttributionInputs, ViewAttributions},
    behavior::{BehaviorSubject, behavior},
    changes::ChainChanges,
    clusters::{self, AttributedMembers},
    counterparties::counterparties,
    forms::TransactionWithForms,
    forms::forms_of,
    listed_dealings::{DealingSubject, ListedPayments},
    possible_owners::possible_owners,
    present_ends::{IntelOfDay, PresentEnds},
    reader::{BlockWithWork, ChainReader, NamedHistory},
    subject::{ReadError, SubjectData, TraceRequest, activity},
    transfer::{TransferError, TransferRead, TransferReadRequest, spent_by},
    unconfirmed::{UnconfirmedError, UnconfirmedReader, UnconfirmedSource},
};

/// Largest number of blocks whose work is summed up for a comparison of branches.
const MOST_SUMMED: u64 = 100_000;

/// Largest number of transfers in each direction that a timeline reads.
const TIMELINE_TRANSFERS: u32 = 2_000;

/// Reader of a chain from its graph.
#[derive(Clone, Debug)]
pub struct GraphReader {
    chain: ChainId,
    graph: Arc<dyn Graph>,
    attributed: Arc<AttributedMembers>,
    owners: Arc<AttributedOwners>,
    present_ends: Arc<PresentEnds>,
    listed: Arc<ListedPayments>,
}

/// Readers of graphs, by chain. A reader is renewed if its graph is opened again.
#[derive(Clone, Debug, Default)]
pub struct GraphReaders(BTreeMap<ChainId, Arc<GraphReader>>);

impl GraphReaders {
    /// Returns the reader of a chain.
    #[must_use]
    pub fn get(&self, chain: ChainId) -> Option<&Arc<GraphReader>> {
        self.0.get(&chain)
    }

    /// Iterates over the chains.
    pub fn chains(&self) -> impl Iterator<Item = ChainId> {
        self.0.keys().copied()
    }

    /// Removes the readers of all chains but these.
    pub fn retain(&mut self, chains: &[ChainId]) {
        self.0.retain(|chain, _| chains.contains(chain));
    }

    /// Returns the reader of a chain with this graph; `None` without a graph.
    pub fn renew_reader(
        &mut self,
        chain: ChainId,
        graph: Option<Arc<dyn Graph>>,
    ) -> Option<Arc<GraphReader>> {
        let Some(graph) = graph else {
            self.0.remove(&chain);
            return None;
        };
        let reader = match self.0.get(&chain) {
            Some(known) if Arc::ptr_eq(&known.graph, &graph) => return Some(Arc::clone(known)),
            Some(known) => known.renewed(graph),
            None => GraphReader::new(chain, graph),
        };
        let reader = Arc::new(reader);
        self.0.insert(chain, Arc::clone(&reader));
        Some(reader)
    }
}

impl GraphReader {
    /// Returns a reader of `graph`.
    #[must_use]
    pub fn new(chain: ChainId, graph: Arc<dyn Graph>) -> Self {
        let (attributed, owners, present_ends) = (Arc::default(), Arc::default(), Arc::default());
        Self { chain, graph, attributed, owners, present_ends, listed: Arc::default() }
    }

    /// Returns a reader of `graph`, which may be the present graph opened again. The index of clusters is kept, and the
    /// lookups of owners if the graph is the same: another graph may give the owners' numbers to other owners.
    #[must_use]
    pub(super) fn renewed(&self, graph: Arc<dyn Graph>) -> Self {
        let is_same = Arc::ptr_eq(&self.graph, &graph);
        let owners = if is_same { Arc::clone(&self.owners) } else { Arc::default() };
        let (chain, attributed) = (self.chain, Arc::clone(&self.attributed));
        let (present_ends, listed) = (Arc::default(), Arc::default());
        Self { chain, graph, attributed, owners, present_ends, listed }
    }

    /// Returns the newest state of the graph with its newest block; `None` without blocks.
    async fn state(&self) -> Result<Option<State<'_>>, GraphError> {
        let Some(view) = Arc::clone(&self.graph).view().await? else { return Ok(None) };
        let Some(tip) = view.tip().await? else { return Ok(None) };
        let Self { attributed, owners, present_ends, listed, .. } = self;
        Ok(Some(State { view, tip, attributed, owners, present_ends, listed }))
    }
}

/// Reads a transaction with its `largest` inputs and outputs, and its structural forms. The default policy decides
/// which outputs are dust.
///
/// # Errors
///
/// Returns an error if the store fails.
pub async fn transaction(
    graph: &dyn Graph,
    chain: ChainId,
    txid: &Txid,
    largest: u32,
) -> Result<Option<TransactionWithForms>, GraphError> {
    let Some(mut transaction) = graph.transaction(txid, u32::MAX).await? else { return Ok(None) };
    let dust = PatternRules::new(&Policy::default(), chain.info()).dust;
    let forms = forms_of(graph, &transaction, dust).await?;
    let largest = usize::try_from(largest).unwrap_or(usize::MAX);
    transaction.inputs.largest.truncate(largest);
    transaction.outputs.largest.truncate(largest);
    Ok(Some(TransactionWithForms { transaction, forms }))
}

/// State of a graph for one answer.
struct State<'r> {
    view: Arc<dyn GraphView>,
    tip: GraphTip,
    attributed: &'r AttributedMembers,
    owners: &'r AttributedOwners,
    present_ends: &'r PresentEnds,
    listed: &'r ListedPayments,
}

impl State<'_> {
    async fn trace(&self, request: TraceRequest<'_>) -> Result<SubjectData, GraphError> {
        let TraceRequest { subject, rules, intel, .. } = request;
        let (chain, view, tip) = (subject.chain(), &*self.view, &self.tip);
        let Some(script) = ScriptOwner::from_address(subject) else {
            return Ok(self.no_flows(request, None));
        };
        let of = (subject, &script);
        let mut cluster = clusters::cluster(view, self.attributed, of, intel, *tip).await?;
        let Some(owner) = view.owner_number(&script).await? else {
            return Ok(self.no_flows(request, Some(cluster)));
        };
        let limits = rules.read_limits();
        let mut history = view.history(owner, limits).await?;
        let attributions = self.attributions(chain, request).await?;
        if !view.read(|view| history.is_whole(view, limits))? {
            let listed = attributions.listed();
            view.add_dealings(owner, limits, &listed, &mut history).await?;
        }
        if cluster.size > 1 {
            let largest_dust = rules.largest_dust;
            let of = DealingSubject { chain, script: &script, owner, largest_dust };
            cluster.dealings =
                self.listed.of_cluster((view, tip), of, intel, &attributions).await?;
        }
        let own = (owner, &history);
        let flows = self.follow(&mut ViewSource(view), chain, own, rules, &attributions).await?;
        let counterparties =
            view.read(|view| counterparties(view, owner, (&history, limits), &attributions))?;
        let possible_owners =
            view.read(|view| possible_owners(view, owner, &history, (chain, intel)))?;
        let of = BehaviorSubject {
            rules: rules.patterns,
            script: &script,
            owner,
            history: &history,
            cluster_size: cluster.size,
            shown: SHOWN,
        };
        let behavior = behavior(view, of, &attributions).await?;
        let activity = Some(activity(subject, &history.statistics));
        let traced = traced(request, tip, flows, activity, (Some(cluster), counterparties));
        Ok(SubjectData { possible_owners, ..traced.with_behavior(behavior) })
    }

    /// Returns the data of an address that the chain does not have.
    fn no_flows(&self, request: TraceRequest<'_>, cluster: Option<Cluster>) -> SubjectData {
        let flows = FlowFacts { complete: true, ..FlowFacts::default() };
        let of_nobody = (cluster, Counterparties::default());
        let traced = traced(request, &self.tip, flows, None, of_nobody);
        traced.with_behavior(BehaviorFacts::without_transactions())
    }

    async fn flows_at_most(&self, of: TraceRequest<'_>) -> Result<Option<SubjectData>, GraphError> {
        let TraceRequest { subject, rules, policy, intel, now } = of;
        let view = &*self.view;
        let Some(script) = ScriptOwner::from_address(subject) else {
            return Ok(Some(self.no_flows(of, None)));
        };
        // An owner who never spent is alone in its cluster.
        let alone = Some(Cluster::alone(subject.clone()));
        let Some(owner) = view.owner_number(&script).await? else {
            return Ok(Some(self.no_flows(of, alone)));
        };
        if !is_bounded(policy) {
            return Ok(None);
        }
        let (chain, today) = (subject.chain(), intel.day(now));
        let compositions = self.compositions(chain, IntelOfDay { intel, today }).await?;
        if compositions.as_ref().is_none_or(|it| it.is_outdated) {
            return Ok(None);
        }
        let Some(history) = view.unspent_history(owner, rules.read_limits()).await? else {
            return Ok(None);
        };
        let flows = view.read(|view| {
            flows_at_most(chain, &history, policy, (today, rules.largest_dust), |number| {
                view.composition(number)
            })
        })?;
        let activity = Some(activity(subject, &history.statistics));
        Ok(flows.map(|flows| {
            let flows = FlowFacts { compositions, ..flows };
            traced(of, &self.tip, flows, activity, (alone, Counterparties::default()))
        }))
    }

    /// Compares the compositions (origin breakdowns) of this state with lists and labels of a day; `None` without
    /// compositions.
    async fn compositions(
        &self,
        chain: ChainId,
        by: IntelOfDay<'_>,
    ) -> Result<Option<UsedCompositions>, GraphError> {
        let Some(ends) = self.view.compositions() else { return Ok(None) };
        let state = (&*self.view, &self.tip);
        let agree = self.present_ends.agree_with(ends, state, chain, by).await?;
        Ok(Some(UsedCompositions { revision: ends.name(), is_outdated: !agree }))
    }

    /// Returns the attributions of the owners of this state.
    async fn attributions<'a>(
        &self,
        chain: ChainId,
        request: TraceRequest<'a>,
    ) -> Result<ViewAttributions<'a>, GraphError> {
        let TraceRequest { policy, intel, now, .. } = request;
        let today = intel.day(now);
        self.owners.for_view(&*self.view, AttributionInputs { chain, intel, policy, today }).await
    }

    /// Traces the money of an owner's history over a source that reads this state.
    async fn follow(
        &self,
        source: &mut impl ReadSource<Error = GraphError>,
        chain: ChainId,
        (owner, history): (OwnerNumber, &OwnHistory),
        rules: TraceRules,
        attributions: &ViewAttributions<'_>,
    ) -> Result<FlowFacts, GraphError> {
        let AttributionInputs { intel, today, .. } = *attributions.inputs();
        let subject = TraceSubject { chain, owner, history, rules, today };
        let mut trace = source.read_view(|view| Trace::begin(view, subject, attributions))?;
        run_query(&mut trace, source).await?;
        let flows = source.read_view(|view| trace.finish(view))?;
        let parts = || flows.ledgers.iter().flat_map(|ledger| &ledger.source.parts);
        let is_used = parts().any(|part| part.distance.further_than().is_some());
        // A composition also divides funds into ones of unknown origin, which a label would name.
        let unknown = FlowEnd::Unresolved(UnresolvedReason::UnknownOrigin);
        if !is_used && parts().all(|part| part.end != unknown) {
            return Ok(flows);
        }
        let compositions = self.compositions(chain, IntelOfDay { intel, today }).await?;
        let compositions = compositions.filter(|it| is_used || it.is_outdated);
        Ok(FlowFacts { compositions, ..flows })
    }

    async fn transfer(
        &self,
        request: TransferReadRequest<'_>,
    ) -> Result<TransferRead, TransferError> {
        let TransferReadRequest { query, now, .. } = request;
        let (view, tip) = (&*self.view, &self.tip);
        let unknown = || TransferError::unknown(query, tip.block.height, tip.block.time, now);
        // The request may select any output, so that all inputs and outputs are read.
        let Some(found) = view.transaction(&query.txid, u32::MAX).await? else {
            return self.unconfirmed_transfer(request).await;
        };
        let transfer = request.select(found)?;
        let number = view.transaction_number(&query.txid).await?.ok_or_else(unknown)?;
        let (chain, rules) = (query.chain, request.own_rules());
        let of_receiver = request.of_receiver(&transfer.receiver);
        let attributions = self.attributions(chain, of_receiver).await?;
        if query.direction == TransferDirection::Deposit {
            let asked = ReadRequest { transactions: vec![number], outputs: vec![] };
            view.fetch(&asked).await?;
            let history = transfer.deposit(number);
            let own = (OwnerNumber::NOBODY, &history);
            let source = &mut ViewSource(view);
            let flows = self.follow(source, chain, own, rules, &attributions).await?;
            let state = (assessed(tip), revision(chain, tip, &flows));
            return Ok(TransferRead::deposit(transfer, &history.statistics, flows, state));
        }
        let traced = self.trace(of_receiver).await?;
        let owner = view.owner_number(transfer.owner()).await?.ok_or_else(unknown)?;
        let spent_by = self.spent_by(&transfer, number, owner).await?;
        let history = transfer.withdrawal(spent_by);
        let own = (owner, &history);
        let flows = self.follow(&mut ViewSource(view), chain, own, rules, &attributions).await?;
        Ok(TransferRead::withdrawal(transfer, traced, flows))
    }

    /// Reads a transfer of a transaction that no recorded block holds from the mempool. The origins of a deposit's money
    /// are traced as if the next block held the transaction.
    async fn unconfirmed_transfer(
        &self,
        request: TransferReadRequest<'_>,
    ) -> Result<TransferRead, TransferError> {
        let TransferReadRequest { query, now, mempool, .. } = request;
        let (view, tip, chain) = (&*self.view, &self.tip, query.chain);
        let unknown = |reason| {
            let unknown = TransferError::unknown(query, tip.block.height, tip.block.time, now);
            unknown.with_mempool(reason)
        };
        let mempool = mempool.ok_or_else(|| unknown(None))?;
        let reader = UnconfirmedReader { chain, view, tip, mempool };
        let read = match reader.read(query.txid, now).await {
            Ok(read) => read,
            Err(UnconfirmedError::NotRead(reason)) => return Err(unknown(Some(reason))),
            Err(UnconfirmedError::Graph(error)) => return Err(error.into()),
        };
        let all = SideLimits { inputs: u32::MAX, outputs: u32::MAX };
        let transaction = read.transaction.view(tip.block.height.saturating_add(1), now, all);
        let transfer = request.select(transaction)?.with_unconfirmed(Some(read.unconfirmed));
        let of_receiver = request.of_receiver(&transfer.receiver);
        let found = if query.direction == TransferDirection::Deposit {
            let attributions = self.attributions(chain, of_receiver).await?;
            let history = transfer.deposit(read.number);
            let mut source = UnconfirmedSource { view, unconfirmed: &read.transactions };
            let own = (OwnerNumber::NOBODY, &history);
            let rules = request.own_rules();
            let mut flows = self.follow(&mut source, chain, own, rules, &attributions).await?;
            flows.complete &= read.is_whole;
            let state = (assessed(tip), revision(chain, tip, &flows));
            TransferRead::deposit(transfer, &history.statistics, flows, state)
        } else {
            // Its money went nowhere yet.
            let own = FlowFacts { complete: true, ..FlowFacts::default() };
            let traced = self.trace(of_receiver).await?;
            TransferRead::withdrawal(transfer, traced, own)
        };
        Ok(found.with_mempool(&read.revision))
    }

    /// Returns the transactions that spend the outputs of a transfer.
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
) -> SubjectData {
    let revision = revision(request.subject.chain(), tip, &flows);
    let facts = ChainFacts { tip: assessed(tip), flows, behavior: None, activity };
    SubjectData { cluster, counterparties, ..SubjectData::facts(facts, revision) }
}

#[async_trait]
impl ChainReader for GraphReader {
    async fn tip(&self) -> Result<Option<GraphTip>, ReadError> {
        Ok(self.graph.tip().await?)
    }

    async fn has(&self, block: BlockId) -> Result<bool, ReadError> {
        let found = self.graph.blocks(block.height, block.height).await?;
        Ok(found.first().is_some_and(|found| found.id() == block))
    }

    async fn branch_blocks(
        &self,
        newest: BlockId,
        heights: &[u64],
    ) -> Result<Option<Vec<BlockWithWork>>, ReadError> {
        let Some(view) = Arc::clone(&self.graph).view().await? else { return Ok(None) };
        let last = view.blocks(newest.height, newest.height).await?;
        if last.first().is_none_or(|last| last.id() != newest) {
            return Ok(None);
        }
        let mut blocks = Vec::with_capacity(heights.len());
        for height in heights.iter().copied().filter(|height| *height <= newest.height) {
            let Some(block) = view.blocks(height, height).await?.first().copied() else { continue };
            let is_near = newest.height - height <= MOST_SUMMED;
            let work = if is_near { view.work(height, newest.height).await? } else { None };
            blocks.push((block, work));
        }
        Ok(Some(blocks))
    }

    async fn transaction(
        &self,
        txid: &Txid,
        largest: u32,
    ) -> Result<Option<TransactionWithForms>, ReadError> {
        Ok(transaction(&*self.graph, self.chain, txid, largest).await?)
    }

    async fn history(
        &self,
        subject: &CanonicalAddress,
        transfers: u32,
    ) -> Result<Option<NamedHistory>, ReadError> {
        let Some(script) = ScriptOwner::from_address(subject) else { return Ok(None) };
        let Some(state) = self.state().await? else { return Ok(None) };
        let view = &*state.view;
        let Some(owner) = view.owner_number(&script).await? else { return Ok(None) };
        let limits = ReadLimits { transfers, entries: transfers };
        let history = view.history(owner, limits).await?;
        let names = view.read(|view| {
            let all = history.incoming.iter().chain(&history.outgoing);
            all.map(|own| Ok((own.number, view.txid(own.number)?))).collect()
        })?;
        Ok(Some(NamedHistory { history, names }))
    }

    /// Reads the largest transfers in each direction. The totals of the timeline tell the part that they are.
    async fn timeline(
        &self,
        subject: &CanonicalAddress,
        _intel: &IntelSnapshot,
        _now: Timestamp,
    ) -> Result<Option<Timeline>, ReadError> {
        let Some(script) = ScriptOwner::from_address(subject) else { return Ok(None) };
        let Some(State { view, .. }) = self.state().await? else { return Ok(None) };
        let Some(owner) = view.owner_number(&script).await? else { return Ok(None) };
        let limits = ReadLimits { transfers: TIMELINE_TRANSFERS, entries: TIMELINE_TRANSFERS };
        let history = view.history(owner, limits).await?;
        Ok(Some(Timeline::of_history(self.chain.info().native().code, &history)))
    }

    async fn cluster(
        &self,
        subject: &CanonicalAddress,
        intel: &IntelSnapshot,
    ) -> Result<Cluster, ReadError> {
        let alone = || Ok(Cluster::alone(subject.clone()));
        let Some(script) = ScriptOwner::from_address(subject) else { return alone() };
        let Some(state) = self.state().await? else { return alone() };
        let of = (subject, &script);
        let view = &*state.view;
        Ok(clusters::cluster(view, &self.attributed, of, intel, state.tip).await?)
    }

    async fn trace(&self, request: TraceRequest<'_>) -> Result<SubjectData, ReadError> {
        let span = stage!("read_graph", chain = request.subject.chain().info().id);
        let reading = async {
            match self.state().await? {
                Some(state) => state.trace(request).await,
                None => Ok(SubjectData::unavailable(Unavailable::NotYetRead)),
            }
        };
        Ok(reading.instrument(span).await?)
    }

    async fn flows_at_most(&self, of: TraceRequest<'_>) -> Result<Option<SubjectData>, ReadError> {
        match self.state().await? {
            Some(state) => Ok(state.flows_at_most(of).await?),
            None => Ok(None),
        }
    }

    async fn transfer(
        &self,
        request: TransferReadRequest<'_>,
    ) -> Result<TransferRead, TransferError> {
        let chain = request.query.chain;
        let span = stage!("read_transfer", chain = chain.info().id);
        let reading = async {
            let unavailable = || TransferError::Unavailable(chain, Unavailable::NotYetRead);
            let state = self.state().await?.ok_or_else(unavailable)?;
            let read = state.transfer(request).await;
            let Err(TransferError::UnknownTransaction(_)) = read else { return read };
            // A block may have arrived between the state and the mempool, and taken the transaction out of it.
            let newer = self.state().await?.ok_or_else(unavailable)?;
            if newer.tip.block == state.tip.block { read } else { newer.transfer(request).await }
        };
        reading.instrument(span).await
    }

    fn composition_revision(&self) -> Option<String> {
        Some(self.graph.newest_compositions()?.name())
    }

    async fn latest_block(&self) -> Result<Option<Tip>, ReadError> {
        Ok(self.graph.tip().await?.as_ref().map(assessed))
    }

    async fn changes(&self, since: Option<BlockRef>) -> Result<Option<ChainChanges>, ReadError> {
        Ok(ChainChanges::read(&*self.graph, self.chain, since).await?)
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

/// Returns the revision: the chain, the height and the last digits of the block's hash (hashes begin with zeros), then
/// the revision of the compositions (origin breakdowns) that the flows use.
fn revision(chain: ChainId, tip: &GraphTip, flows: &FlowFacts) -> String {
    let hash = hex::encode(tip.block.hash);
    let end = hash.get(hash.len() - 12..).unwrap_or_default();
    let compositions = flows.compositions.as_ref().map(|used| format!("+{}", used.revision));
    format!("{chain}@{}-{end}{}", tip.block.height, compositions.unwrap_or_default())
}
