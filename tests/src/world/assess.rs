//! The engine's answer about an address of a world.

use std::{
    pin::pin,
    sync::{Arc, LazyLock},
};

use assay_address::{CanonicalAddress, ChainId};
use assay_engine::{
    assess,
    assessment::Assessment,
    evidence::{BehaviorFacts, ChainFacts, ChainState, FlowFacts, IngestMode, Tip},
    facts::{CO_SPEND_CONFIDENCE, Cluster, ClusterMember, CoSpend, ListedDealings},
    patterns::rules::SHOWN,
    policy::Policy,
    trace::{AttributionsByScript, Trace, TraceRules, TraceSubject},
    utxo::ScriptOwner,
};
use assay_graph::{
    EmbeddedGraphs, Graph, GraphTip, GraphView, ViewSource, WriterOptions, memory::MemoryGraph,
    run_query,
};
use assay_intel::IntelSnapshot;
use assay_service::chains::{
    behavior::{BehaviorSubject, behavior},
    ends::ends,
    listed_dealings::{DealingSubject, ListedPayments},
};
use futures_util::FutureExt;
use jiff::{Timestamp, tz::TimeZone};
use tempfile::TempDir;

use super::{ChainBuilder, Claims};
use crate::append;

/// The default policy, compiled once.
static POLICY: LazyLock<Arc<Policy>> = LazyLock::new(Arc::default);

/// Largest number of members of a cluster, and of co-spends between two members, that are looked up.
const MOST: u32 = 1_000;

/// A chain with lists and labels, at a point in time.
#[derive(Debug)]
pub struct World {
    chain: ChainId,
    now: Timestamp,
    view: Arc<dyn GraphView>,
    tip: GraphTip,
    intel: IntelSnapshot,
    listed: ListedPayments,
    policy: Arc<Policy>,
    /// The folder of a recorded chain.
    _folder: Option<TempDir>,
}

/// Completes a future of a store that never waits for I/O, only yields.
fn complete_at_once<T>(reading: impl Future<Output = T>) -> T {
    let mut reading = pin!(reading);
    loop {
        if let Some(read) = reading.as_mut().now_or_never() {
            return read;
        }
    }
}

impl World {
    /// The world after the chain of `builder`, with a graph in memory.
    #[must_use]
    pub fn new(builder: ChainBuilder, claims: Claims) -> Self {
        let (chain, now) = (builder.id(), builder.now());
        let graph = MemoryGraph::new(chain, 0, false, builder.finish(), now);
        Self::with_graph(Arc::new(graph), (chain, now), claims.snapshot(chain, now), None)
    }

    /// The world with a recorded graph and compositions of all transactions.
    ///
    /// # Panics
    ///
    /// Panics if the store fails.
    #[must_use]
    pub fn recorded(builder: ChainBuilder, claims: Claims) -> Self {
        let (chain, now) = (builder.id(), builder.now());
        let intel = claims.snapshot(chain, now);
        let folder = tempfile::tempdir().expect("a folder");
        let graphs = EmbeddedGraphs::new(folder.path());
        let options = WriterOptions { start: 0, sample: false, backfill: false };
        let mut writer = graphs.writer(chain, options).expect("a writer");
        append(&mut writer, &builder.finish(), u64::MAX, now).expect("a recorded chain");
        let graph = graphs.open(chain).expect("a graph").expect("a recorded chain");
        let today = TimeZone::UTC.to_datetime(now).date();
        let view = complete_at_once(Arc::clone(&graph).view()).expect("a view").expect("blocks");
        let ends = complete_at_once(ends(&*view, chain, &intel, today)).expect("the ends");
        let snapshot = graph.snapshot().expect("a state");
        let compositions = graphs.composition_writer(chain).expect("compositions");
        while !compositions.advance(&snapshot, &ends, u64::MAX).expect("a slice").is_complete {}
        Self::with_graph(graph, (chain, now), intel, Some(folder))
    }

    fn with_graph(
        graph: Arc<dyn Graph>,
        (chain, now): (ChainId, Timestamp),
        intel: IntelSnapshot,
        folder: Option<TempDir>,
    ) -> Self {
        let tip = complete_at_once(graph.tip()).ok().flatten().expect("a chain with blocks");
        let view = complete_at_once(graph.view()).expect("a view").expect("a chain with blocks");
        let (policy, listed) = (Arc::clone(&POLICY), ListedPayments::default());
        Self { chain, now, view, tip, intel, listed, policy, _folder: folder }
    }

    /// The world under another policy.
    #[must_use]
    pub fn under(self, policy: Arc<Policy>) -> Self {
        Self { policy, ..self }
    }

    /// The assessment of an owner's address, under the default policy if no other is set, computed like the server's.
    ///
    /// # Panics
    ///
    /// Panics if the owner has no address or never appeared on the chain.
    #[must_use]
    pub fn assess(&self, owner: &ScriptOwner) -> Assessment {
        self.assess_with(owner, Some(self.behavior(owner)))
    }

    /// The assessment of an owner's address without the search for patterns.
    ///
    /// # Panics
    ///
    /// Panics if the owner has no address or never appeared on the chain.
    #[must_use]
    pub fn assess_without_behavior(&self, owner: &ScriptOwner) -> Assessment {
        self.assess_with(owner, None)
    }

    fn assess_with(&self, owner: &ScriptOwner, behavior: Option<BehaviorFacts>) -> Assessment {
        let subject = owner.address(self.chain).expect("an owner with an address");
        let mut facts = self.intel.facts(&subject);
        let flows = complete_at_once(self.flows(owner));
        facts.chain = ChainState::Followed(Box::new(ChainFacts {
            // Nothing happened since the last payment.
            tip: tip(self.tip.block.height, hex::encode(self.tip.block.hash), self.now),
            flows,
            behavior,
            activity: None,
        }));
        facts.cluster = complete_at_once(self.cluster(&subject, owner));
        assess(&subject, &facts, &self.policy, self.now)
    }

    /// The behavior of an owner, searched as the server does.
    ///
    /// # Panics
    ///
    /// Panics if the owner never appeared on the chain.
    #[must_use]
    pub fn behavior(&self, owner: &ScriptOwner) -> BehaviorFacts {
        complete_at_once(self.search(owner))
    }

    async fn search(&self, script: &ScriptOwner) -> BehaviorFacts {
        let (view, rules) = (&*self.view, TraceRules::new(&self.policy, self.chain.info()));
        let number = view.owner_number(script).await.expect("a store that answers");
        let owner = number.expect("the owner appears on the chain");
        let history = view.history(owner, rules.read_limits()).await.expect("a history");
        let cluster = view.clusters(std::slice::from_ref(script)).await.expect("a cluster");
        let cluster_size = cluster.into_iter().flatten().next().map_or(1, |cluster| cluster.size);
        let today = TimeZone::UTC.to_datetime(self.now).date();
        let attribute =
            |owner: &ScriptOwner| self.intel.attribution(self.chain, owner, &self.policy, today);
        let attributions = AttributionsByScript::new(attribute);
        let (rules, history) = (rules.patterns, &history);
        let of = BehaviorSubject { rules, script, owner, history, cluster_size, shown: SHOWN };
        behavior(view, of, &attributions).await.expect("a store that answers")
    }

    /// The cluster of an owner, with the claims about its other members and the co-spends that connect them.
    async fn cluster(&self, subject: &CanonicalAddress, owner: &ScriptOwner) -> Option<Cluster> {
        let graph = &*self.view;
        let found = graph.clusters(std::slice::from_ref(owner)).await.expect("a cluster");
        let found = found.into_iter().flatten().find(|found| found.size > 1)?;
        let read = graph.cluster(owner, MOST).await.expect("a cluster")?;
        let others = read.members.into_iter().map(|member| member.owner);
        let others: Vec<ScriptOwner> = others.filter(|other| other != owner).collect();
        let connections = graph.connections(owner, &others, MOST).await.expect("connections");
        let members = others.iter().zip(connections).filter_map(|(other, connection)| {
            let address = other.address(self.chain)?;
            let facts = self.intel.facts(&address);
            let co_spends = connection.map(|found| found.iter().map(CoSpend::from).collect());
            let (labels, listings) = (facts.labels, facts.listings);
            Some(ClusterMember { address, labels, listings, co_spends })
        });
        let members: Vec<ClusterMember> = members.collect();
        let is_attributed =
            |member: &&ClusterMember| !(member.labels.is_empty() && member.listings.is_empty());
        let attributed = members.iter().filter(is_attributed).count() as u64;
        let address = |owner: &ScriptOwner| owner.address(self.chain).unwrap_or(subject.clone());
        Some(Cluster {
            id: address(&found.id),
            root: address(&found.root),
            size: found.size,
            confidence: CO_SPEND_CONFIDENCE,
            members,
            attributed,
            examined: attributed,
            dealings: self.dealings(owner).await,
        })
    }

    /// The dealings of other members of an owner's cluster with listed parties, found as the server finds them.
    async fn dealings(&self, script: &ScriptOwner) -> ListedDealings {
        let (chain, rules) = (self.chain, TraceRules::new(&self.policy, self.chain.info()));
        let view = &*self.view;
        let number = view.owner_number(script).await.expect("a store that answers");
        let owner = number.expect("the owner appears on the chain");
        let today = TimeZone::UTC.to_datetime(self.now).date();
        let attribute =
            |owner: &ScriptOwner| self.intel.attribution(chain, owner, &self.policy, today);
        let attributions = AttributionsByScript::new(attribute);
        let of = DealingSubject { chain, script, owner, largest_dust: rules.largest_dust };
        let found = self.listed.of_cluster((view, &self.tip), of, &self.intel, &attributions).await;
        found.expect("a store that answers")
    }

    async fn flows(&self, owner: &ScriptOwner) -> FlowFacts {
        let (chain, rules) = (self.chain, TraceRules::new(&self.policy, self.chain.info()));
        let view = &*self.view;
        let number = view.owner_number(owner).await.expect("a store that answers");
        let owner = number.expect("the owner appears on the chain");
        let limits = rules.read_limits();
        let mut history = view.history(owner, limits).await.expect("a history");
        let today = TimeZone::UTC.to_datetime(self.now).date();
        let attribute =
            |owner: &ScriptOwner| self.intel.attribution(self.chain, owner, &self.policy, today);
        if !view.read(|view| history.is_whole(view, limits)).expect("a history") {
            let is_listed = |owner: &ScriptOwner| attribute(owner).end.is_some_and(|it| it.listed);
            let listed: Vec<ScriptOwner> =
                self.intel.listed_owners(self.chain).filter(is_listed).collect();
            let added = view.add_dealings(owner, limits, &listed, &mut history).await;
            added.expect("a history");
        }
        let attributions = AttributionsByScript::new(attribute);
        let subject = TraceSubject { chain, owner, history: &history, rules, today };
        let trace = view.read(|view| Trace::begin(view, subject, &attributions));
        let mut trace = trace.expect("a trace");
        run_query(&mut trace, &mut ViewSource(view)).await.expect("a store that answers");
        view.read(|view| trace.finish(view)).expect("a store that answers")
    }
}

/// The newest block of a followed chain, with the time `now`.
#[must_use]
pub fn tip(height: u64, hash: String, now: Timestamp) -> Tip {
    let (time, reported_at, ingest_mode) = (now, now, IngestMode::Ingested);
    Tip { height, hash, time, reported_at, start: 0, ingest_mode, sample: false }
}
