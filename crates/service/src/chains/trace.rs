//! A subject's flows, over whichever reader its chain has.

use std::collections::BTreeSet;

use assay_engine::{
    address::CanonicalAddress,
    chain::ChainId,
    evidence::{
        ActivityFacts, AssetActivity, ChainFacts, ChainReading, ChainState, FlowFacts, Tip,
        Unavailable,
    },
    policy::Policy,
    trace::{Trace, TraceRules},
    utxo::{History, ScriptOwner, Statistics},
};
use assay_graph::{BATCH, Graph, GraphError, GraphTip, follow};
use assay_intel::IntelSnapshot;
use assay_telemetry::stage;
use jiff::{Timestamp, tz::TimeZone};
use tracing::Instrument;

use super::reader::{ChainReader, Chains, ReadError};

/// How often a trace begins anew because a block came in while it was read.
const ATTEMPTS: usize = 3;

/// What a chain shows of a subject.
#[derive(Clone, Debug)]
pub struct Traced {
    /// For the assessment.
    pub state: ChainState,
    /// Names the state of the chain; `None` where it was not looked at.
    pub revision: Option<String>,
    /// Everybody whom the trace looked at: where one of them is listed or labelled, the answer changes.
    pub read: BTreeSet<ScriptOwner>,
}

impl Traced {
    /// Of a chain that was not looked at.
    #[must_use]
    pub const fn nothing(state: ChainState) -> Self {
        Self { state, revision: None, read: BTreeSet::new() }
    }
}

/// What somebody wants to see beyond what an assessment needs.
#[derive(Clone, Copy, Debug, Default)]
pub struct TraceView {
    /// Hops to follow instead of the policy's.
    pub hops: Option<u8>,
    /// Paths to keep of each part.
    pub paths: Option<usize>,
}

impl TraceView {
    fn rules(self, policy: &Policy, subject: &CanonicalAddress) -> TraceRules {
        let mut rules = TraceRules::new(policy, subject.chain().info());
        rules.hops = self.hops.unwrap_or(rules.hops);
        rules.paths_per_part = self.paths.unwrap_or(rules.paths_per_part);
        rules
    }
}

/// What the subject's chain shows of it. A chain that cannot be read is no error: the answer says so.
pub async fn trace(
    chains: &Chains,
    intel: &IntelSnapshot,
    policy: &Policy,
    subject: &CanonicalAddress,
    view: TraceView,
    now: Timestamp,
) -> Traced {
    let rules = view.rules(policy, subject);
    let Some(reader) = chains.reader(subject.chain()) else {
        return Traced::nothing(if chains.is_followed(subject.chain()) {
            ChainState::Unavailable(Unavailable::NotYetRead)
        } else {
            ChainState::NotFollowed
        });
    };
    let traced = match reader {
        ChainReader::Graph(graph) => {
            let reading = over_graph(&**graph, intel, (policy, rules), subject, now);
            let stage = stage!("read_graph", chain = subject.chain().info().id);
            reading.instrument(stage).await.map_err(ReadError::from)
        }
        ChainReader::OnDemand(source) => {
            let asking = source.trace(intel, policy, rules, subject, now);
            let stage = stage!("ask_source", chain = subject.chain().info().id);
            asking.instrument(stage).await.map(Some).map_err(ReadError::from)
        }
    };
    match traced {
        Ok(Some(traced)) => traced,
        Ok(None) => Traced::nothing(ChainState::Unavailable(Unavailable::NotYetRead)),
        Err(error) => {
            tracing::error!(%error, chain = %subject.chain(), "failed to read a chain");
            Traced::nothing(ChainState::Unavailable(Unavailable::Unreadable))
        }
    }
}

/// Reads a graph in one state: where a block comes in meanwhile, once more. Where blocks come in faster
/// than it can be read, what was read is of several states, and says that it is not the whole.
async fn over_graph(
    graph: &dyn Graph,
    intel: &IntelSnapshot,
    (policy, rules): (&Policy, TraceRules),
    subject: &CanonicalAddress,
    now: Timestamp,
) -> Result<Option<Traced>, GraphError> {
    let mut torn = None;
    for _ in 0..ATTEMPTS {
        let Some(before) = graph.tip().await? else {
            return Ok(None);
        };
        let traced = at_tip(graph, before, intel, (policy, rules), subject, now).await?;
        if graph.tip().await?.is_some_and(|after| after.block == before.block) {
            return Ok(Some(traced));
        }
        torn = Some(traced);
    }
    if let Some(Traced { state: ChainState::Followed(facts), .. }) = &mut torn {
        facts.flows.complete = false;
    }
    Ok(torn)
}

async fn at_tip(
    graph: &dyn Graph,
    tip: GraphTip,
    intel: &IntelSnapshot,
    (policy, rules): (&Policy, TraceRules),
    subject: &CanonicalAddress,
    now: Timestamp,
) -> Result<Traced, GraphError> {
    let chain = subject.chain();
    let mut read = BTreeSet::new();
    let history = match ScriptOwner::from_address(subject) {
        Some(owner) => {
            let history = graph.history(&owner, rules.reading()).await?;
            history.map(|history| (owner, history))
        }
        None => None,
    };
    let (flows, activity) = match history {
        None => (FlowFacts { complete: true, ledgers: vec![] }, None),
        Some((owner, history)) => {
            let today = now.to_zoned(TimeZone::UTC).date();
            let attribute = |owner: &ScriptOwner| intel.attribution(chain, owner, policy, today);
            let mut trace = Trace::new(chain, &owner, &history, rules, today, &attribute);
            follow(graph, &mut trace, BATCH).await?;
            read.clone_from(trace.read());
            (trace.finish(), Some(activity(subject, &history)))
        }
    };
    let facts = ChainFacts { tip: assessed(&tip), flows, patterns: None, activity };
    Ok(Traced {
        state: ChainState::Followed(Box::new(facts)),
        revision: Some(revision(subject, &tip)),
        read,
    })
}

/// The newest block of every chain that was ingested.
///
/// # Errors
///
/// Where the store fails.
pub async fn tips(chains: &Chains) -> Result<Vec<(ChainId, Tip)>, GraphError> {
    let mut tips = Vec::new();
    for (chain, graph) in chains.graphs() {
        tips.extend(graph.tip().await?.map(|tip| (chain, assessed(&tip))));
    }
    Ok(tips)
}

fn assessed(tip: &GraphTip) -> Tip {
    Tip {
        height: tip.block.height,
        hash: hex::encode(tip.block.hash),
        time: tip.block.time,
        reported_at: tip.verified_at,
        start: tip.start,
        reading: ChainReading::Ingested,
        sample: tip.sample,
    }
}

/// The chain, the height and the beginning of the block's hash that tells: the end, because hashes begin
/// with zeros.
fn revision(subject: &CanonicalAddress, tip: &GraphTip) -> String {
    let hash = hex::encode(tip.block.hash);
    let end = hash.get(hash.len() - 12..).unwrap_or_default();
    format!("{}@{}-{end}", subject.chain(), tip.block.height)
}

pub(super) fn activity(subject: &CanonicalAddress, history: &History) -> ActivityFacts {
    let Statistics { first_seen, last_seen, transactions_in, transactions_out, received, sent } =
        history.statistics;
    ActivityFacts {
        first_seen,
        last_seen,
        transfers_in: transactions_in,
        transfers_out: transactions_out,
        amounts: vec![AssetActivity {
            asset: subject.chain().info().asset.to_owned(),
            received,
            sent,
            balance: received.saturating_sub(sent),
        }],
    }
}
