//! Traces of money: the origins and destinations of a subject's coins.
//!
//! The trace is a pure state machine. [`Trace::read_request`] returns the data to read, the caller
//! reads it in batches of any size and passes it to [`Trace::resume`]; when no data is requested
//! any more, [`Trace::finish`] returns the flows. The same decisions are therefore made over every
//! store, and no answer depends on the batches of reads.
//!
//! Money goes from transaction to transaction, those with the most of it first, of nearly equal ones in the
//! order of the chain, so that what flows together is followed together. A step to another owner is a hop
//! and decays it; a step within an owner's cluster is none. It ends at attributed parties; what remains when
//! the budget is used up, or too little to be followed, is unresolved. Amounts are split in integers by
//! largest remainder, so that all parts always sum to the whole.
//!
//! - [`attribution`]: attribution of an address on a path
//! - [`mass`]: exact amounts and their division
//! - [`clusters`]: owners of scripts
//! - `subject`: the subject's own transactions, change taken out
//! - `flow`, `path`: money on its way
//! - `frontier`: the transactions that are to be followed, in their order
//! - `direction`: the order, the budget, the cut
//! - `side`, `pass`: the passage of money through a transaction
//! - `ends`: amounts by endpoint, with the largest paths

pub mod attribution;
pub mod clusters;
mod direction;
mod ends;
mod flow;
mod frontier;
pub mod mass;
mod pass;
mod path;
mod rules;
mod side;
mod subject;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, sync::Arc};

use jiff::civil::Date;

pub use attribution::{AttributedEnd, Attribution};
pub use clusters::Clusters;
pub use flow::Distance;
pub use rules::{ENTRIES_PER_TRANSACTION, ReadLimits, TraceRules};

use crate::{
    chain::ChainId,
    evidence::{DirectionFlows, FlowFacts, Ledger},
    utxo::{History, OutPoint, ScriptOwner, TransactionView, Txid},
};
use direction::DirectionalTrace;

/// Looks up the attribution of an owner: a listing or label that ends a trace, and weaker labels.
pub type Attribute<'a> = dyn Fn(&ScriptOwner) -> Attribution + Send + Sync + 'a;

/// The transactions that a trace needs next, in the order in which it needs them, without duplicates. What a
/// response leaves out counts as not read: it is never requested again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadRequest {
    /// Transactions to be read with their inputs.
    pub origins: Vec<Txid>,
    /// Number of transactions that may be read beyond these, because the trace is likely to need them later.
    pub origins_ahead: u32,
    /// Outputs whose spending transactions are to be read with their outputs.
    pub destinations: Vec<OutPoint>,
    /// Number of outputs that may be looked at beyond these.
    pub destinations_ahead: u32,
}

impl ReadRequest {
    /// True if the request names nothing.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.origins.is_empty() && self.destinations.is_empty()
    }
}

/// Transactions with their inputs; `None` for those that the chain does not have.
pub type Origins = BTreeMap<Txid, Option<Arc<TransactionView>>>;
/// Spending transactions with their outputs, by the outputs that they spend; `None` for unspent ones.
pub type Destinations = BTreeMap<OutPoint, Option<Arc<TransactionView>>>;

/// The transactions of a [`ReadRequest`], and perhaps some beyond. A missing entry was not read, because time
/// ran out or the source failed.
#[derive(Clone, Debug, Default)]
pub struct ReadResponse {
    /// Transactions of origins.
    pub origins: Origins,
    /// Transactions of destinations.
    pub destinations: Destinations,
    /// The clusters of the owners of these inputs and outputs, as far as they are not known from before.
    pub clusters: Vec<(ScriptOwner, ScriptOwner)>,
}

impl ReadResponse {
    /// The owners of all inputs and outputs that were read.
    pub fn owners(&self) -> impl Iterator<Item = &ScriptOwner> {
        let origins = self.origins.values().flatten().flat_map(|read| &read.inputs.largest);
        let destinations =
            self.destinations.values().flatten().flat_map(|read| &read.outputs.largest);
        origins.chain(destinations).map(|entry| &entry.output.owner)
    }
}

/// A trace in progress.
#[expect(missing_debug_implementations, reason = "a closure has nothing to show")]
pub struct Trace<'a> {
    chain: ChainId,
    clusters: Clusters,
    source: DirectionalTrace<'a>,
    destination: DirectionalTrace<'a>,
    request: ReadRequest,
}

impl<'a> Trace<'a> {
    /// Begins a trace of `subject`, whose history was read within [`TraceRules::read_limits`]. `today`
    /// decides what the last 90 days are; `clusters` has those of the subject and of all owners in the
    /// history.
    #[must_use]
    pub fn new(
        chain: ChainId,
        subject: &ScriptOwner,
        history: &History,
        clusters: Clusters,
        rules: TraceRules,
        today: Date,
        attribute: &'a Attribute<'a>,
    ) -> Self {
        let begin = subject::Subject { owner: subject, history, clusters: &clusters, rules, today };
        let (source, destination) = (begin.source(attribute), begin.destination(attribute));
        let request = ReadRequest::default();
        let mut trace = Self { chain, clusters, source, destination, request };
        trace.advance();
        trace
    }

    /// The transactions to be read next; none when the trace is complete.
    #[must_use]
    pub const fn read_request(&self) -> &ReadRequest {
        &self.request
    }

    /// The owners among those of a response whose clusters the trace does not know yet.
    #[must_use]
    pub fn owners_to_look_up(&self, response: &ReadResponse) -> Vec<ScriptOwner> {
        let mut owners: Vec<ScriptOwner> =
            response.owners().filter(|owner| !self.clusters.has(owner)).cloned().collect();
        owners.sort();
        owners.dedup();
        owners
    }

    /// Follows the money further, over the transactions of the last request.
    pub fn resume(&mut self, response: &ReadResponse) {
        self.clusters.extend(response.clusters.iter().cloned());
        let request = std::mem::take(&mut self.request);
        for direction in [&mut self.source, &mut self.destination] {
            direction.supply(&request, response);
        }
        self.advance();
    }

    fn advance(&mut self) {
        for direction in [&mut self.source, &mut self.destination] {
            direction.advance(&self.clusters);
            direction.request(&mut self.request);
        }
    }

    /// The flows. Flows that are still open count as unresolved: time ran out.
    #[must_use]
    pub fn finish(self) -> FlowFacts {
        let info = self.chain.info();
        let mut complete = true;
        let mut flows = |directional: DirectionalTrace<'_>| {
            let (ends, paths, whole, is_complete) = directional.finish();
            complete &= is_complete;
            DirectionFlows { parts: ends.into_parts(whole, &paths, self.chain) }
        };
        let (source, destination) = (flows(self.source), flows(self.destination));
        let unit = info.asset.to_owned();
        let ledgers = vec![Ledger { unit, decimals: info.decimals, source, destination }];
        FlowFacts { complete, ledgers }
    }
}
