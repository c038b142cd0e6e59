//! Chains: sources of blocks, and readers of the chain data of an address.
//!
//! - [`subject`]: the request for the data of a subject, and the data
//! - `unreadable`: log lines about chains that checks cannot read
//! - [`mempool`]: the sources of unconfirmed transactions
//! - [`unconfirmed`]: an unconfirmed transaction with the outputs that it spends
//! - [`transfer`]: the request for one transfer, and its data
//! - [`booked`]: one transaction of an account chain with its payments
//! - [`reader`]: the contract of chain readers
//! - [`attributed_owners`]: the owners that lists and labels attribute
//! - [`ends()`](ends::ends): the parties at which traces end
//! - `present_ends`: compares the parties of compositions (origin breakdowns) with the present lists and labels
//! - `clusters`, [`listed_dealings`], [`possible_owners`], `counterparties`: the addresses that are associated with a subject
//! - [`compositions`]: updates the compositions (origin breakdowns) of transactions while the server runs
//! - [`changes`]: the addresses in new blocks
//! - [`graph`]: a reader of ingested blocks
//! - [`accounts`]: a reader of account chains
//! - [`accounts_on_demand`]: a reader of account chains whose histories are fetched account by account
//! - [`on_demand`]: a reader of histories that are fetched address by address
//! - `messages`, [`remote`]: a reader that asks chain servers
//! - [`host`]: the chain server, which answers questions
//! - [`registry`]: the chains that can be read now, with their readers
//! - [`trace`]: traces a subject or a transfer with any reader
//! - [`follower`]: follows chains while the server runs
//!
//! Each module uses only modules above it.

pub mod accounts;
pub mod accounts_on_demand;
pub mod attributed_owners;
pub mod behavior;
pub mod booked;
pub mod changes;
mod clusters;
pub mod compositions;
mod counterparties;
pub mod ends;
pub mod follower;
pub mod forms;
pub mod graph;
pub mod host;
pub mod listed_dealings;
pub mod mempool;
mod messages;
pub mod on_demand;
pub mod possible_owners;
mod present_ends;
pub mod reader;
pub mod registry;
pub mod remote;
pub mod subject;
pub mod trace;
pub mod transfer;
pub mod unconfirmed;
mod unreadable;

use std::sync::Arc;

use assay_address::CanonicalAddress;
use assay_engine::{
    evidence::{ChainState, Unavailable},
    facts::Facts,
    policy::Policy,
    trace::TraceRules,
};
use assay_intel::IntelSnapshot;
use jiff::Timestamp;

use compositions::GraphOwner;
pub(crate) use registry::ChainReaders;
use subject::{ReadError, SubjectData, TraceRequest};
use trace::TraceView;

use crate::large::beside_others_if;

/// Keeps the compositions (origin breakdowns) of all graphs in the data directory, and the ledgers of account chains, up to
/// date until the task is aborted.
pub async fn keep_breakdowns(owner: Arc<dyn GraphOwner>) {
    tokio::join!(compositions::run(Arc::clone(&owner)), accounts::keep_ledgers(owner));
}

/// Returns the facts about a subject from lists, labels and its chain.
pub async fn facts(
    chains: &ChainReaders,
    intel: &IntelSnapshot,
    policy: &Policy,
    subject: &CanonicalAddress,
    now: Timestamp,
) -> Facts {
    let traced = subject_data(chains, intel, policy, subject, now).await;
    let differing_branches = chains.differing_branches(subject.chain());
    Facts { differing_branches, ..traced.added_to(listed_facts(intel, subject)) }
}

/// Returns the facts about a subject at the end of a past day: lists and labels of that day, and the freezes by issuers of
/// tokens until then. Flows of past days are not read.
///
/// # Errors
///
/// Returns an error if the chain cannot be read.
pub async fn facts_as_of(
    chains: &ChainReaders,
    intel: &IntelSnapshot,
    subject: &CanonicalAddress,
    past: Timestamp,
) -> Result<Facts, ReadError> {
    let mut facts = intel.facts(subject).as_of(past);
    if chains.is_followed(subject.chain()) {
        facts.chain = ChainState::Unavailable(Unavailable::PastDay);
    }
    if let Some(reader) = chains.reader(subject.chain()) {
        let freezes = reader.freezes(subject).await?.into_iter();
        let known = freezes.filter_map(|freeze| freeze.as_of(past));
        facts.labels = facts.labels.and(known.filter_map(|freeze| freeze.label()));
    }
    Ok(facts)
}

/// Returns the facts about a subject from lists and labels. Copying many listings does not delay other callers.
pub(crate) fn listed_facts(intel: &IntelSnapshot, subject: &CanonicalAddress) -> Facts {
    let is_large = intel.number_of_listings(subject) >= Facts::LARGE;
    beside_others_if(is_large, || intel.facts(subject))
}

/// Returns a chain's data about a subject.
pub(crate) async fn subject_data(
    chains: &ChainReaders,
    intel: &IntelSnapshot,
    policy: &Policy,
    subject: &CanonicalAddress,
    now: Timestamp,
) -> SubjectData {
    trace::trace(chains, intel, policy, subject, TraceView::default(), now).await
}

/// Returns a chain's data about a subject with an upper bound of its flows, if compositions (origin breakdowns) provide
/// the bound without a trace. The policy must attribute owners as the default policy does, for which compositions are
/// computed.
pub(crate) async fn subject_data_at_most(
    chains: &ChainReaders,
    intel: &IntelSnapshot,
    policy: &Policy,
    subject: &CanonicalAddress,
    now: Timestamp,
) -> Option<SubjectData> {
    let reader = chains.reader(subject.chain())?;
    let rules = TraceRules::new(policy, subject.chain().info());
    let request = TraceRequest { subject, rules, policy, intel, now };
    // The trace reports a chain that cannot be read.
    reader.flows_at_most(request).await.ok()?
}
