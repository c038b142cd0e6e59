//! Transfers between owners as a graph in the order of the chain, and the patterns in that graph.
//!
//! - [`cycle`]: funds that return to their payer via other owners
//! - [`scatter_gather`]: funds that pass from one owner to another via several intermediaries
//! - [`fan`]: windows of time with many distinct parties
//! - `adjacency`: the transfers of each owner, sorted

mod adjacency;
pub mod cycle;
pub mod fan;
pub mod scatter_gather;

#[cfg(test)]
mod tests;

use jiff::Timestamp;
use rustc_hash::FxHashMap;

use self::adjacency::{Adjacency, Step, index_of};
use crate::ledger::{OwnerNumber, TransactionNumber};

/// A transfer: funds that one transaction moves from one owner to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// The transaction.
    pub transaction: TransactionNumber,
    /// Position in the order of the chain; later transactions have larger positions, transfers of one transaction the
    /// same position.
    pub position: u64,
    /// Time of the transaction's block. The times of successive blocks may decrease.
    pub time: Timestamp,
    /// Owner that pays.
    pub payer: OwnerNumber,
    /// Owner that is paid.
    pub payee: OwnerNumber,
    /// Amount in base units.
    pub amount: u128,
}

/// A graph of transfers: owners are nodes, transfers are edges. The graph is built once and then only read.
///
/// The index of a transfer counts from 0 in the order of the chain: by position, and among equal positions in the
/// order in which the transfers were given.
#[derive(Clone, Debug)]
pub struct TransferGraph {
    transfers: Vec<Transfer>,
    owners: Vec<OwnerNumber>,
    ids: FxHashMap<OwnerNumber, u32>,
    by_payer: Adjacency,
    by_payee: Adjacency,
    /// Transfers by payer, sorted by payee, then index.
    by_pair: Adjacency,
    order: Order,
}

/// The order of the transfers, by index.
#[derive(Clone, Debug, Default)]
struct Order {
    /// Index of the first transfer of the same position.
    first: Vec<u32>,
    /// Index of the first transfer of a larger position; the number of transfers if there is none.
    after: Vec<u32>,
    /// The latest time of this transfer and all transfers before it in the chain.
    latest_until: Vec<Timestamp>,
    /// The earliest time of this transfer and all transfers after it in the chain.
    earliest_from: Vec<Timestamp>,
}

impl TransferGraph {
    /// Builds the graph. Transfers of an owner to itself are dropped, and transfers beyond the first 2^32 - 2.
    #[must_use]
    pub fn new(mut transfers: Vec<Transfer>) -> Self {
        transfers.retain(|transfer| transfer.payer != transfer.payee);
        transfers.truncate(usize::try_from(u32::MAX - 1).unwrap_or(usize::MAX));
        if !transfers.is_sorted_by_key(|transfer| transfer.position) {
            transfers.sort_by_key(|transfer| transfer.position);
        }
        let mut owners = Vec::new();
        let mut ids = FxHashMap::default();
        let mut id_of = |owner: OwnerNumber| {
            *ids.entry(owner).or_insert_with(|| {
                owners.push(owner);
                index_of(owners.len() - 1)
            })
        };
        let parties: Vec<(u32, u32)> = transfers
            .iter()
            .map(|transfer| (id_of(transfer.payer), id_of(transfer.payee)))
            .collect();
        let nodes = owners.len();
        let steps = || (0..).zip(parties.iter().copied());
        let by_payer = Adjacency::new(nodes, || {
            steps().map(|(transfer, (from, party))| (from, Step { transfer, party }))
        });
        let paid_to = Adjacency::new(nodes, || {
            steps().map(|(transfer, (party, to))| (to, Step { transfer, party }))
        });
        let by_pair = Adjacency::new(nodes, || {
            let each = paid_to.each();
            each.map(|(party, step)| (step.party, Step { transfer: step.transfer, party }))
        });
        let order = Order::new(&transfers);
        Self { transfers, owners, ids, by_payer, by_payee: paid_to, by_pair, order }
    }

    /// The transfers in the order of the chain, by index.
    #[must_use]
    pub fn transfers(&self) -> &[Transfer] {
        &self.transfers
    }

    /// The transfer of an index.
    #[must_use]
    pub fn transfer(&self, index: u32) -> Option<&Transfer> {
        self.transfers.get(index as usize)
    }

    /// The owners that pay or are paid, each once, in the order of their first transfers.
    #[must_use]
    pub fn owners(&self) -> &[OwnerNumber] {
        &self.owners
    }

    /// Index of an owner into the owners.
    fn id(&self, owner: OwnerNumber) -> Option<u32> {
        self.ids.get(&owner).copied()
    }

    /// The owner of an index into the owners.
    fn owner(&self, id: u32) -> OwnerNumber {
        self.owners.get(id as usize).copied().unwrap_or(OwnerNumber::NOBODY)
    }

    /// The time of the transfer of an index.
    fn time(&self, index: u32) -> Option<Timestamp> {
        self.transfer(index).map(|transfer| transfer.time)
    }

    /// Transfers from one owner to another that have these indexes.
    fn between(&self, owner: u32, payee: u32, indexes: std::ops::Range<u32>) -> &[Step] {
        let all = self.by_pair.of(owner);
        let key = |step: &Step| (step.party, step.transfer);
        let begin = all.partition_point(|step| key(step) < (payee, indexes.start));
        let rest = all.get(begin..).unwrap_or_default();
        // Mostly few: a search from the begin takes fewer steps than one from the middle.
        let is_inside = |step: &&Step| step.party == payee && step.transfer < indexes.end;
        let count = rest.iter().take_while(is_inside).count();
        rest.get(..count).unwrap_or_default()
    }

    /// Index of the first transfer of the same position as this transfer.
    fn first_of_position(&self, index: u32) -> u32 {
        self.order.first.get(index as usize).copied().unwrap_or(0)
    }

    /// Index of the first transfer of a larger position than this transfer.
    fn after(&self, index: u32) -> u32 {
        self.order.after.get(index as usize).copied().unwrap_or(u32::MAX)
    }

    /// The index from which on no transfer can be within a duration after this transfer or an earlier transfer. The
    /// returned index does not decrease with the index of the transfer.
    fn end_of_window(&self, index: u32, within: std::time::Duration) -> u32 {
        let Some(time) = self.order.latest_until.get(index as usize) else { return 0 };
        let end = later(*time, within);
        index_of(self.order.earliest_from.partition_point(|time| *time <= end))
    }

    /// The index before which no transfer can be within a duration before this transfer or a later transfer. The
    /// returned index does not decrease with the index of the transfer.
    fn start_of_window(&self, index: u32, within: std::time::Duration) -> u32 {
        let Some(end) = self.order.earliest_from.get(index as usize) else { return u32::MAX };
        index_of(self.order.latest_until.partition_point(|time| later(*time, within) < *end))
    }

    /// True if the time of one transfer is at most a duration after that of another, or earlier.
    fn is_within(&self, first: u32, last: u32, within: std::time::Duration) -> bool {
        match (self.transfer(first), self.transfer(last)) {
            (Some(first), Some(last)) => last.time <= later(first.time, within),
            _ => false,
        }
    }
}

impl Order {
    /// The order of transfers that are sorted by position.
    fn new(transfers: &[Transfer]) -> Self {
        let mut order = Self::default();
        for same in transfers.chunk_by(|one, other| one.position == other.position) {
            let begin = order.first.len();
            order.first.resize(begin + same.len(), index_of(begin));
            order.after.resize(begin + same.len(), index_of(begin + same.len()));
        }
        let times = || transfers.iter().map(|transfer| transfer.time);
        let latest = |latest: &mut Timestamp, time: Timestamp| {
            *latest = time.max(*latest);
            Some(*latest)
        };
        let earliest = |earliest: &mut Timestamp, time: Timestamp| {
            *earliest = time.min(*earliest);
            Some(*earliest)
        };
        order.latest_until = times().scan(Timestamp::MIN, latest).collect();
        order.earliest_from = times().rev().scan(Timestamp::MAX, earliest).collect();
        order.earliest_from.reverse();
        order
    }
}

/// A time plus a duration, at most the latest representable time.
fn later(time: Timestamp, within: std::time::Duration) -> Timestamp {
    time.checked_add(within).unwrap_or(Timestamp::MAX)
}
