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

use assay_engine::{address::CanonicalAddress, facts::Facts, policy::Policy};
use assay_intel::IntelSnapshot;
use jiff::Timestamp;

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
    let mut facts = intel.facts(subject);
    let traced = trace::trace(chains, intel, policy, subject, TraceView::default(), now).await;
    facts.chain = traced.state;
    facts.cluster = traced.cluster;
    facts.counterparties = traced.counterparties;
    if let Some(revision) = traced.revision {
        facts.data_revision = format!("{}+{revision}", facts.data_revision);
    }
    facts
}
