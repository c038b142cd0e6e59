//! Chains: sources of blocks, and readers of the chain data of an address.
//!
//! - [`reader`]: the contract of chain readers
//! - [`attributed_owners`]: the owners that lists and labels attribute
//! - [`ends()`](ends::ends): the parties at which traces end
//! - `clusters`, `counterparties`: the addresses that are associated with a subject
//! - [`compositions`]: keeping the compositions of transactions up to date while the server runs
//! - [`graph`]: a reader of ingested blocks
//! - [`on_demand`]: a reader of histories that are fetched address by address
//! - [`registry`]: the chains that can be read now, with their readers
//! - [`trace`]: tracing a subject with any reader
//! - [`transfer`]: reading one transfer with any reader
//! - [`follower`]: following chains while the server runs
//!
//! Each builds on those above it.

pub mod attributed_owners;
mod clusters;
pub mod compositions;
mod counterparties;
pub mod ends;
pub mod follower;
pub mod graph;
pub mod on_demand;
pub mod reader;
pub mod registry;
pub mod trace;
pub mod transfer;

use assay_engine::{
    address::CanonicalAddress, facts::Facts, policy::Policy, taxonomy::Category, trace::TraceRules,
};
use assay_intel::IntelSnapshot;
use jiff::Timestamp;

use reader::{TraceRequest, Traced};
pub(crate) use registry::Chains;
use trace::TraceView;

/// The facts about a subject from lists, labels and its chain.
pub async fn facts(
    chains: &Chains,
    intel: &IntelSnapshot,
    policy: &Policy,
    subject: &CanonicalAddress,
    now: Timestamp,
) -> Facts {
    let traced = trace::trace(chains, intel, policy, subject, TraceView::default(), now).await;
    with_flows(intel.facts(subject), traced)
}

/// The facts about a subject with its flows at their largest weight, if these are known without a trace. Only lists and
/// labels that the default policy hears as well are known so.
pub async fn facts_at_most(
    chains: &Chains,
    intel: &IntelSnapshot,
    policy: &Policy,
    subject: &CanonicalAddress,
    now: Timestamp,
) -> Option<Facts> {
    let reader = chains.reader(subject.chain())?;
    if !is_heard_as_by_default(policy) {
        return None;
    }
    let rules = TraceRules::new(policy, subject.chain().info());
    let request = TraceRequest { subject, rules, policy, intel, now };
    // A chain that cannot be read is told by the trace.
    let traced = reader.flows_at_most(request).await.ok()??;
    Some(with_flows(intel.facts(subject), traced))
}

/// True if a policy attributes every owner as the default policy does, by which compositions are computed, and does not
/// ask how much of the money was traced.
fn is_heard_as_by_default(policy: &Policy) -> bool {
    let default = Policy::default();
    let is_same = |category: &Category| policy.severity(*category) == default.severity(*category);
    policy.spec().minimum_traced.is_none() && Category::ALL.iter().all(is_same)
}

fn with_flows(mut facts: Facts, traced: Traced) -> Facts {
    facts.chain = traced.state;
    facts.cluster = traced.cluster;
    facts.counterparties = traced.counterparties;
    if let Some(revision) = traced.revision {
        facts.data_revision = format!("{}+{revision}", facts.data_revision);
    }
    facts
}
