//! An address's history, put together from its transactions.

use std::{cmp::Reverse, collections::BTreeSet};

use assay_chain::histories::ConfirmedTransaction;
use assay_engine::{
    address::CanonicalAddress,
    trace::ReadLimits,
    utxo::{History, HistoryEntry, OutPoint, OwnOutput, ScriptOwner, SideLimits, Statistics, Txid},
};

/// An API's totals for an address, in base units, change included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Totals {
    pub(super) funded: u128,
    pub(super) spent: u128,
}

/// The history of an address from its transactions; `None` if the address has none. If `totals`
/// exceed the transactions, the difference counts as received and sent with unknown counterparties.
pub(super) fn history(
    subject: &CanonicalAddress,
    transactions: &[ConfirmedTransaction],
    totals: Totals,
    limits: ReadLimits,
) -> Option<History> {
    let owner = &ScriptOwner::from_address(subject)?;
    let first = transactions.iter().map(|confirmed| confirmed.time).min()?;
    let last = transactions.iter().map(|confirmed| confirmed.time).max()?;
    let spent: BTreeSet<OutPoint> = transactions
        .iter()
        .flat_map(|confirmed| &confirmed.transaction.inputs)
        .map(|input| input.outpoint)
        .collect();
    let own: Vec<Own<'_>> =
        transactions.iter().map(|confirmed| Own::of(owner, confirmed, &spent)).collect();

    let mut statistics = Statistics::new(first);
    for own in &own {
        let inputs = own.confirmed.transaction.input_total();
        statistics.count(own.confirmed.time, own.sent, own.received, inputs);
    }
    statistics.last_seen = last;
    let missing = |total: u128, seen: u128| total.saturating_sub(seen);
    statistics.received += missing(totals.funded, own.iter().map(|own| own.received).sum());
    statistics.sent += missing(totals.spent, own.iter().map(|own| own.sent).sum());
    let made = own.iter().flat_map(|own| {
        own.outputs.iter().map(|output| (output.value, own.confirmed, output.index))
    });
    let gave = own
        .iter()
        .flat_map(|own| own.inputs.iter().map(|(index, value)| (*value, own.confirmed, *index)));
    let entries = |largest: &BTreeSet<Txid>, incoming| {
        let legs = limits.entries_per_transaction(largest.len());
        let largest = own.iter().filter(|own| largest.contains(&own.confirmed.transaction.txid));
        largest.map(|own| own.entry(incoming, legs)).collect()
    };
    Some(History {
        statistics,
        incoming: entries(&largest_of(made, limits.transfers), true),
        outgoing: entries(&largest_of(gave, limits.transfers), false),
    })
}

/// The transactions of the largest inputs or outputs, by value, then by position in the chain.
fn largest_of<'a>(
    entries: impl Iterator<Item = (u64, &'a ConfirmedTransaction, u32)>,
    largest: u32,
) -> BTreeSet<Txid> {
    let mut entries: Vec<_> = entries
        .map(|(value, confirmed, index)| {
            (Reverse(value), confirmed.height, confirmed.transaction.txid, index)
        })
        .collect();
    entries.sort_unstable();
    entries.truncate(usize::try_from(largest).unwrap_or(usize::MAX));
    entries.into_iter().map(|(_, _, txid, _)| txid).collect()
}

/// A transaction with the amounts that it moved for its owner.
struct Own<'a> {
    confirmed: &'a ConfirmedTransaction,
    received: u128,
    sent: u128,
    outputs: Vec<OwnOutput>,
    inputs: Vec<(u32, u64)>,
}

impl<'a> Own<'a> {
    fn of(
        owner: &ScriptOwner,
        confirmed: &'a ConfirmedTransaction,
        spent: &BTreeSet<OutPoint>,
    ) -> Self {
        let transaction = &confirmed.transaction;
        let outputs: Vec<OwnOutput> = (0..)
            .zip(&transaction.outputs)
            .filter(|(_, output)| output.owner == *owner)
            .map(|(index, output)| {
                let outpoint = OutPoint { txid: transaction.txid, index };
                OwnOutput { index, value: output.value, spent: spent.contains(&outpoint) }
            })
            .collect();
        let inputs: Vec<(u32, u64)> = (0..)
            .zip(&transaction.inputs)
            .filter_map(|(index, input)| Some((index, input.spent.as_ref()?)))
            .filter(|(_, output)| output.owner == *owner)
            .map(|(index, output)| (index, output.value))
            .collect();
        Self {
            confirmed,
            received: outputs.iter().map(|output| u128::from(output.value)).sum(),
            sent: inputs.iter().map(|(_, value)| u128::from(*value)).sum(),
            outputs,
            inputs,
        }
    }

    fn entry(&self, incoming: bool, largest: u32) -> HistoryEntry {
        let limits = if incoming {
            SideLimits { inputs: largest, outputs: 0 }
        } else {
            SideLimits { inputs: 0, outputs: largest }
        };
        HistoryEntry {
            transaction: self.confirmed.view(limits),
            received: self.received,
            sent: self.sent,
            outputs: if incoming { self.outputs.clone() } else { vec![] },
        }
    }
}

#[cfg(test)]
mod tests {
    use assay_engine::{
        chain::ChainId,
        utxo::{Transaction, TransactionKind, TxInput, TxOut},
    };

    use super::*;

    const READ_LIMITS: ReadLimits = ReadLimits { transfers: 100, entries: 10_000 };

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
    ) -> ConfirmedTransaction {
        let output = |by: u8, value: u64| TxOut { owner: owner(by), value };
        let kind =
            if inputs.is_empty() { TransactionKind::Coinbase } else { TransactionKind::Payment };
        let inputs = inputs.iter().map(|(txid, index, by, value)| TxInput {
            outpoint: OutPoint { txid: Txid::from_bytes([*txid; 32]), index: *index },
            spent: Some(output(*by, *value)),
        });
        ConfirmedTransaction {
            transaction: Transaction {
                txid: Txid::from_bytes([number; 32]),
                kind,
                inputs: inputs.collect(),
                outputs: outputs.iter().map(|(by, value)| output(*by, *value)).collect(),
            },
            height: number.into(),
            time: jiff::Timestamp::from_second(i64::from(number) * 600).unwrap(),
        }
    }

    #[test]
    fn change_is_no_income_and_missing_inputs_are_counted() {
        // 1 mined 50 for person 1; 2: 1 pays 2 thirty and keeps 19, fee 1.
        let all = [
            transaction(1, &[], &[(1, 50)]),
            transaction(2, &[(1, 0, 1, 50)], &[(2, 30), (1, 19)]),
        ];
        let totals = Totals { funded: 69, spent: 50 };
        let history = history(&person_1(), &all, totals, READ_LIMITS).unwrap();
        let statistics = history.statistics;
        // floor(50 x 19 / 50) = 19 came back.
        assert_eq!((statistics.received, statistics.sent), (50, 31));
        assert_eq!((statistics.transactions_in, statistics.transactions_out), (1, 1));
        assert_eq!(history.incoming.len(), 2);
        assert!(history.incoming[0].outputs[0].spent && !history.incoming[1].outputs[0].spent);

        let newest = super::history(&person_1(), &all[1..], totals, READ_LIMITS).unwrap();
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
            history(&person_1(), &many, totals, ReadLimits { transfers: 2, entries: 100 }).unwrap();
        let seen: Vec<u64> =
            history.incoming.iter().map(|entry| entry.transaction.height).collect();
        assert_eq!(seen, [8, 9]);
        assert_eq!(history.statistics.received, 450);
    }
}
