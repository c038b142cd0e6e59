//! An address's history, put together from its transactions.

use std::{cmp::Reverse, collections::BTreeSet};

use assay_chain::histories::FullTransaction;
use assay_engine::{
    address::CanonicalAddress,
    chain::ChainId,
    trace::Reading,
    utxo::{
        History, HistoryEntry, OutPoint, OwnOutput, ScriptOwner, Statistics, Txid,
        transaction::returned,
    },
};

/// What an API says of an address in all, in base units, change included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Totals {
    pub(super) funded: u128,
    pub(super) spent: u128,
}

/// The history of an address from its transactions; `None` where there is none. Where transactions are
/// missing (`totals` says more than they do), what is missing counts as received and sent without
/// anybody knowing from and to whom.
pub(super) fn history(
    subject: &CanonicalAddress,
    transactions: &[FullTransaction],
    totals: Totals,
    reading: Reading,
) -> Option<History> {
    let (chain, owner) = (subject.chain(), &ScriptOwner::from_address(subject)?);
    let first = transactions.iter().map(|transaction| transaction.time).min()?;
    let last = transactions.iter().map(|transaction| transaction.time).max()?;
    let spent: BTreeSet<OutPoint> = transactions
        .iter()
        .flat_map(|transaction| &transaction.inputs)
        .map(|(output, _, _)| *output)
        .collect();
    let own: Vec<Own<'_>> =
        transactions.iter().map(|transaction| Own::of(owner, transaction, &spent)).collect();

    let mut statistics = Statistics {
        first_seen: first,
        last_seen: last,
        transactions_in: 0,
        transactions_out: 0,
        received: totals.funded.saturating_sub(own.iter().map(|own| own.received).sum()),
        sent: totals.spent.saturating_sub(own.iter().map(|own| own.sent).sum()),
    };
    for own in &own {
        let returned = own.returned();
        let (income, spending) = (own.received - returned, own.sent - returned);
        statistics.transactions_in += u64::from(income > 0);
        statistics.transactions_out += u64::from(spending > 0);
        statistics.received += income;
        statistics.sent += spending;
    }
    let made = own.iter().flat_map(|own| {
        own.outputs.iter().map(|output| (output.value, own.transaction, output.index))
    });
    let gave = own
        .iter()
        .flat_map(|own| own.inputs.iter().map(|(place, value)| (*value, own.transaction, *place)));
    let entries = |largest: &BTreeSet<Txid>, incoming| {
        let legs = reading.legs_of_each(largest.len());
        let largest = own.iter().filter(|own| largest.contains(&own.transaction.txid));
        largest.map(|own| own.entry(chain, incoming, legs)).collect()
    };
    Some(History {
        statistics,
        incoming: entries(&largest_of(made, reading.transfers), true),
        outgoing: entries(&largest_of(gave, reading.transfers), false),
    })
}

/// The transactions of the largest legs, by value, then by place in the chain.
fn largest_of<'a>(
    legs: impl Iterator<Item = (u64, &'a FullTransaction, u32)>,
    largest: u32,
) -> BTreeSet<Txid> {
    let mut legs: Vec<_> = legs
        .map(|(value, transaction, place)| {
            (Reverse(value), transaction.height, transaction.txid, place)
        })
        .collect();
    legs.sort_unstable();
    legs.truncate(usize::try_from(largest).unwrap_or(usize::MAX));
    legs.into_iter().map(|(_, _, txid, _)| txid).collect()
}

/// A transaction from the owner's point of view.
struct Own<'a> {
    transaction: &'a FullTransaction,
    received: u128,
    sent: u128,
    outputs: Vec<OwnOutput>,
    inputs: Vec<(u32, u64)>,
}

impl<'a> Own<'a> {
    fn of(
        owner: &ScriptOwner,
        transaction: &'a FullTransaction,
        spent: &BTreeSet<OutPoint>,
    ) -> Self {
        let outputs: Vec<OwnOutput> = (0..)
            .zip(&transaction.outputs)
            .filter(|(_, (by, _))| by == owner)
            .map(|(index, (_, value))| {
                let output = OutPoint { txid: transaction.txid, index };
                OwnOutput { index, value: *value, spent: spent.contains(&output) }
            })
            .collect();
        let inputs: Vec<(u32, u64)> = (0..)
            .zip(&transaction.inputs)
            .filter(|(_, (_, by, _))| by == owner)
            .map(|(place, (_, _, value))| (place, *value))
            .collect();
        Self {
            transaction,
            received: outputs.iter().map(|output| u128::from(output.value)).sum(),
            sent: inputs.iter().map(|(_, value)| u128::from(*value)).sum(),
            outputs,
            inputs,
        }
    }

    fn returned(&self) -> u128 {
        let inputs = self.transaction.inputs.iter().map(|(_, _, value)| u128::from(*value)).sum();
        returned(self.sent, self.received, inputs)
    }

    fn entry(&self, chain: ChainId, incoming: bool, largest: u32) -> HistoryEntry {
        HistoryEntry {
            transaction: self.transaction.for_trace(chain, (incoming, !incoming), largest),
            received: self.received,
            sent: self.sent,
            outputs: if incoming { self.outputs.clone() } else { vec![] },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const READING: Reading = Reading { transfers: 100, legs: 10_000 };

    fn owner(number: u8) -> ScriptOwner {
        ScriptOwner::KeyHash([number; 20])
    }

    fn person_1() -> CanonicalAddress {
        owner(1).address(ChainId::BTC).unwrap()
    }

    fn transaction(
        number: u8,
        inputs: &[(u8, u32, u8, u64)],
        outputs: &[(u8, u64)],
    ) -> FullTransaction {
        FullTransaction {
            txid: Txid::from_bytes([number; 32]),
            height: number.into(),
            time: jiff::Timestamp::from_second(i64::from(number) * 600).unwrap(),
            coinbase: inputs.is_empty(),
            inputs: inputs
                .iter()
                .map(|(txid, index, by, value)| {
                    let txid = Txid::from_bytes([*txid; 32]);
                    (OutPoint { txid, index: *index }, owner(*by), *value)
                })
                .collect(),
            outputs: outputs.iter().map(|(by, value)| (owner(*by), *value)).collect(),
        }
    }

    #[test]
    fn change_is_no_income_and_what_is_missing_is_counted() {
        // 1 mined 50 for person 1; 2: 1 pays 2 thirty and keeps 19, fee 1.
        let all = [
            transaction(1, &[], &[(1, 50)]),
            transaction(2, &[(1, 0, 1, 50)], &[(2, 30), (1, 19)]),
        ];
        let totals = Totals { funded: 69, spent: 50 };
        let history = history(&person_1(), &all, totals, READING).unwrap();
        let statistics = history.statistics;
        // floor(50 x 19 / 50) = 19 came back.
        assert_eq!((statistics.received, statistics.sent), (50, 31));
        assert_eq!((statistics.transactions_in, statistics.transactions_out), (1, 1));
        assert_eq!(history.incoming.len(), 2);
        assert!(history.incoming[0].outputs[0].spent && !history.incoming[1].outputs[0].spent);

        let newest = super::history(&person_1(), &all[1..], totals, READING).unwrap();
        // Of the 69 received 19 are seen, of the 50 spent all.
        assert_eq!((newest.statistics.received, newest.statistics.sent), (50, 31));
        assert_eq!(newest.statistics.transactions_in, 0);
    }

    #[test]
    fn only_the_largest_are_handed_on() {
        let many: Vec<_> = (1..=9_u8)
            .map(|number| transaction(number, &[], &[(1, u64::from(number) * 10)]))
            .collect();
        let totals = Totals { funded: 450, spent: 0 };
        let history =
            history(&person_1(), &many, totals, Reading { transfers: 2, legs: 100 }).unwrap();
        let seen: Vec<u64> =
            history.incoming.iter().map(|entry| entry.transaction.height).collect();
        assert_eq!(seen, [8, 9]);
        assert_eq!(history.statistics.received, 450);
    }
}
