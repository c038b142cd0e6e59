//! Chains: where blocks come from, and what they show of an address.
//!
//! - [`reader`]: the chains that can be read now, ingested or on demand
//! - [`trace`]: a subject's flows, over whichever reader its chain has
//! - [`on_demand`]: histories of single addresses, fetched when they are asked for
//! - [`follower`]: following chains while the server runs

pub mod follower;
pub mod on_demand;
pub mod reader;
pub mod trace;

use assay_engine::{address::CanonicalAddress, facts::Facts, policy::Policy};
use assay_intel::IntelSnapshot;
use jiff::Timestamp;

use reader::Chains;
use trace::TraceView;

/// What is known of a subject from lists, labels and its chain.
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
    if let Some(revision) = traced.revision {
        facts.data_revision = format!("{}+{revision}", facts.data_revision);
    }
    facts
}
