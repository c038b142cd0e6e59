//! The transactions whose compositions (origin breakdowns) an update computes next, in the order of the chain.

use std::collections::BTreeSet;

use assay_columns::bytes::{ByteReader, put_varint};

/// An item that an update computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NextComputation {
    /// A payment.
    Payment(u64),
    /// The coinbases of the block whose last transaction is given: coinbases follow the block's payments, whose fees
    /// they receive.
    Coinbases(u64),
}

/// Transactions whose sources changed, each once, in the order of computation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Frontier(BTreeSet<u64>);

impl Frontier {
    /// Adds an item.
    pub(super) fn add(&mut self, next: NextComputation) {
        self.0.insert(match next {
            NextComputation::Payment(transaction) => transaction << 1,
            NextComputation::Coinbases(last) => last << 1 | 1,
        });
    }

    /// Removes and returns the first item.
    pub(super) fn pop(&mut self) -> Option<NextComputation> {
        let first = self.0.pop_first()?;
        Some(if first & 1 == 0 {
            NextComputation::Payment(first >> 1)
        } else {
            NextComputation::Coinbases(first >> 1)
        })
    }

    pub(super) fn len(&self) -> u64 {
        self.0.len() as u64
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn put_bytes(&self, into: &mut Vec<u8>) {
        let mut before = 0;
        for place in &self.0 {
            put_varint(into, place - before);
            before = *place;
        }
    }

    /// Parses a frontier from all remaining bytes; `None` if the bytes are damaged.
    pub(super) fn read(mut reading: ByteReader<'_>) -> Option<Self> {
        let (mut places, mut before) = (Vec::new(), 0_u64);
        while !reading.0.is_empty() {
            before = before.checked_add(reading.varint()?)?;
            places.push(before);
        }
        Some(Self(places.into_iter().collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_added_comes_once_and_in_order() {
        let mut frontier = Frontier::default();
        let in_order = [
            NextComputation::Payment(0),
            NextComputation::Payment(7),
            NextComputation::Coinbases(7),
            NextComputation::Payment(300),
        ];
        for next in in_order.into_iter().rev().chain(in_order) {
            frontier.add(next);
        }
        let mut bytes = Vec::new();
        frontier.put_bytes(&mut bytes);
        assert_eq!(Frontier::read(ByteReader(&bytes)), Some(frontier.clone()));
        let popped: Vec<NextComputation> = std::iter::from_fn(|| frontier.pop()).collect();
        assert_eq!(popped, in_order);
    }
}
