//! The transactions that money has reached and that are to be followed, in their order, and what was read of
//! them.

use std::{
    cmp::Reverse,
    collections::{BTreeSet, HashMap, HashSet, hash_map::Entry},
    sync::Arc,
};

use ruint::aliases::U256;

use super::{
    flow::{Flow, FlowKey, Flows},
    path::Paths,
};
use crate::{
    evidence::Direction,
    utxo::{OutPoint, TransactionView, Txid},
};

/// A place at which money waits to be followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Place {
    /// An output: the transaction that spends it, if any, is to be found.
    Output(OutPoint),
    /// A transaction: its inputs (source) or outputs (destination) come next.
    Transaction(Txid),
}

/// A transaction that was asked for.
#[derive(Clone, Debug)]
pub(super) enum Read {
    /// It was not read: time ran out, or the source failed.
    Missing,
    /// The chain does not have it.
    Unknown,
    Known(Arc<TransactionView>),
}

impl From<&Option<Arc<TransactionView>>> for Read {
    fn from(found: &Option<Arc<TransactionView>>) -> Self {
        found.as_ref().map_or(Self::Unknown, |transaction| Self::Known(Arc::clone(transaction)))
    }
}

/// Where a place stands in the chain, in the order in which a direction is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    /// Towards sources: the newest first.
    NewestFirst(Reverse<u64>),
    /// Towards destinations: the oldest first.
    OldestFirst(u64),
}

impl Rank {
    pub(super) const fn new(direction: Direction, height: u64) -> Self {
        match direction {
            Direction::Source => Self::NewestFirst(Reverse(height)),
            Direction::Destination => Self::OldestFirst(height),
        }
    }
}

/// The next place in order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Next {
    pub(super) place: Place,
    /// `None` as long as its transaction has not been looked at.
    pub(super) rank: Option<Rank>,
    /// The level that the place belongs to.
    pub(super) level: u32,
}

/// Money by place, in the order in which it is followed: by level, then those whose transactions are not known,
/// then by the order of the chain.
///
/// The level of a place is its magnitude, `floor(log2(whole / amount))`, or that of the places that are followed
/// now, if it is larger: money that comes to a place of many payments, one after the other, does not go on before
/// the rest has come.
#[derive(Debug)]
pub(super) struct Frontier {
    whole: u128,
    places: HashMap<Place, Waiting>,
    queue: BTreeSet<(u32, Option<Rank>, Place)>,
    read: HashMap<Place, Read>,
    /// The places of the queue that were not read, with their levels: a queue may be long, and each request
    /// names only its first unread places.
    unread: BTreeSet<(u32, Place)>,
    /// The places that were read and that no money has reached yet.
    read_in_vain: HashSet<Place>,
    /// The largest level that was followed so far.
    level: u32,
    /// All money that waits.
    pub(super) total: u128,
}

#[derive(Debug, Default)]
struct Waiting {
    flows: Flows,
    total: u128,
    level: u32,
    rank: Option<Rank>,
}

impl Frontier {
    /// An empty frontier of a direction with this whole, in the unit of a trace.
    pub(super) fn new(whole: u128) -> Self {
        Self {
            whole,
            places: HashMap::new(),
            queue: BTreeSet::new(),
            read: HashMap::new(),
            unread: BTreeSet::new(),
            read_in_vain: HashSet::new(),
            level: 0,
            total: 0,
        }
    }

    pub(super) fn add(&mut self, place: Place, key: FlowKey, flow: Flow, paths: &Paths) {
        let waiting = self.places.entry(place).or_default();
        self.queue.remove(&(waiting.level, waiting.rank, place));
        self.unread.remove(&(waiting.level, place));
        let amount = flow.mass.total();
        waiting.total = waiting.total.saturating_add(amount);
        waiting.level = magnitude(self.whole, waiting.total).max(self.level);
        waiting.flows.add(key, flow, paths);
        self.total = self.total.saturating_add(amount);
        self.queue.insert((waiting.level, waiting.rank, place));
        if self.read.contains_key(&place) {
            self.read_in_vain.remove(&place);
        } else {
            self.unread.insert((waiting.level, place));
        }
    }

    /// Takes over what was read of a place, whether money waits there or not. What was read first counts.
    pub(super) fn supply(&mut self, place: Place, read: Read) {
        let Entry::Vacant(unread) = self.read.entry(place) else { return };
        unread.insert(read);
        if let Some(waiting) = self.places.get(&place) {
            self.unread.remove(&(waiting.level, place));
        } else {
            self.read_in_vain.insert(place);
        }
    }

    /// Number of places that were read and that no money has reached yet.
    pub(super) fn read_in_vain(&self) -> u64 {
        self.read_in_vain.len() as u64
    }

    /// What was read of a place.
    pub(super) fn read(&self, place: Place) -> Option<&Read> {
        self.read.get(&place)
    }

    /// The places where money waits and of which nothing was read, in order.
    pub(super) fn unread(&self) -> impl Iterator<Item = Place> {
        self.unread.iter().map(|(_, place)| *place)
    }

    /// Places a transaction in the order of the chain.
    pub(super) fn rank(&mut self, place: Place, rank: Rank) {
        if let Some(waiting) = self.places.get_mut(&place) {
            self.queue.remove(&(waiting.level, waiting.rank, place));
            waiting.rank = Some(rank);
            self.queue.insert((waiting.level, waiting.rank, place));
        }
    }

    /// Removes the money of a place.
    pub(super) fn take(&mut self, place: Place) -> Flows {
        let waiting = self.places.remove(&place).unwrap_or_default();
        self.queue.remove(&(waiting.level, waiting.rank, place));
        self.unread.remove(&(waiting.level, place));
        self.total = self.total.saturating_sub(waiting.total);
        waiting.flows
    }

    /// The place to be followed next; from now on its level is the least.
    pub(super) fn next(&mut self) -> Option<Next> {
        let next = self.in_order().next()?;
        self.level = next.level;
        Some(next)
    }

    /// The magnitude of an amount: `floor(log2(whole / amount))`.
    pub(super) fn magnitude(&self, amount: u128) -> u32 {
        magnitude(self.whole, amount)
    }

    /// True if no money waits.
    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// The places of a level whose transactions have not been looked at.
    pub(super) fn places_without_rank(&self, level: u32) -> Vec<Place> {
        let of_level = self.in_order().take_while(|next| next.level == level);
        of_level.take_while(|next| next.rank.is_none()).map(|next| next.place).collect()
    }

    fn in_order(&self) -> impl Iterator<Item = Next> {
        let next = |(level, rank, place): &(u32, Option<Rank>, Place)| Next {
            place: *place,
            rank: *rank,
            level: *level,
        };
        self.queue.iter().map(next)
    }
}

/// `floor(log2(whole / amount))`.
fn magnitude(whole: u128, amount: u128) -> u32 {
    if amount == 0 {
        return u32::MAX;
    }
    if amount >= whole {
        return 0;
    }
    // The difference of the positions of the highest bits, or one less.
    let most = whole.ilog2() - amount.ilog2();
    if U256::from(amount) << most > U256::from(whole) { most - 1 } else { most }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_within_a_factor_of_two_have_one_magnitude() {
        assert_eq!(magnitude(100, 100), 0);
        assert_eq!(magnitude(100, 51), 0);
        assert_eq!(magnitude(100, 50), 1);
        assert_eq!(magnitude(100, 26), 1);
        assert_eq!(magnitude(100, 25), 2);
        assert_eq!(magnitude(100, 1), 6);
        assert_eq!(magnitude(u128::MAX, 1), 127);
    }
}
