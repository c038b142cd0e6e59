//! An address's history, computed from its transactions.

use std::{cmp::Reverse, collections::BTreeSet};

use assay_chain::histories::ConfirmedTransaction;
use assay_engine::{
    ledger::{OwnHistory, OwnerNumber, ReadLimits, Statistics, TransactionNumber},
    reading::{BlockPosition, GatheredChain},
    utxo::{ScriptOwner, TxOut, Txid},
};

/// An API's totals for an address, in base units, change included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Totals {
    pub(super) funded: u128,
    pub(super) spent: u128,
}

/// Returns the history of an owner from its gathered transactions; `None` without transactions. If `totals` exceed the
/// transactions, the difference counts as received and sent with unknown counterparties.
pub(super) fn history(
    gathered: &mut GatheredChain,
    owner: &ScriptOwner,
    transactions: &[ConfirmedTransaction],
    totals: Totals,
    limits: ReadLimits,
) -> Option<(OwnerNumber, OwnHistory)> {
    let first = transactions.iter().map(|confirmed| confirmed.time).min()?;
    let last = transactions.iter().map(|confirmed| confirmed.time).max()?;
    let mut statistics = Statistics::new(first);
    let (mut used, mut made, mut gave) = (Totals::default(), Vec::new(), Vec::new());
    for confirmed in transactions {
        let transaction = &confirmed.transaction;
        let number = gathered.add(transaction, in_block(confirmed));
        for input in &transaction.inputs {
            let output = gathered.output_number(input.outpoint);
            gathered.set_spender(output, Some(transaction.txid));
        }
        let own = |side: &mut dyn Iterator<Item = (u32, &TxOut)>| -> Vec<(u32, u64)> {
            let own = side.filter(|(_, output)| output.owner == *owner);
            own.map(|(index, output)| (index, output.value)).collect()
        };
        let inputs = (0..).zip(&transaction.inputs);
        let inputs = own(&mut inputs.filter_map(|(index, it)| Some((index, it.spent.as_ref()?))));
        let outputs = own(&mut (0..).zip(&transaction.outputs));
        let total = |side: &[(u32, u64)]| side.iter().map(|(_, value)| u128::from(*value)).sum();
        let (sent, received): (u128, u128) = (total(&inputs), total(&outputs));
        statistics.count(confirmed.time, sent, received, transaction.input_total());
        used.funded += received;
        used.spent += sent;
        let position = gathered.position(number).unwrap_or(u64::MAX);
        let place = |(index, value)| (Reverse(value), position, index, number);
        made.extend(outputs.into_iter().map(place));
        gave.extend(inputs.into_iter().map(place));
    }
    statistics.last_seen = last;
    statistics.received += totals.funded.saturating_sub(used.funded);
    statistics.sent += totals.spent.saturating_sub(used.spent);
    let owner = gathered.owner_number(owner);
    let mut history = gathered.history(owner, statistics);
    let (made, gave) = (largest(made, limits.transfers), largest(gave, limits.transfers));
    history.incoming.retain(|own| made.contains(&own.number));
    history.outgoing.retain(|own| gave.contains(&own.number));
    Some((owner, history))
}

/// Returns the position of a transaction in the chain while its index in the block is unknown.
pub(super) fn in_block(confirmed: &ConfirmedTransaction) -> BlockPosition {
    let index = index_by_identifier(&confirmed.transaction.txid);
    BlockPosition { height: confirmed.height, time: confirmed.time, index }
}

/// Returns a substitute for the unknown index of a transaction in its block: it orders the transactions of a block by
/// identifier.
pub(super) fn index_by_identifier(txid: &Txid) -> u64 {
    let [first, second, third, ..] = *txid.as_bytes();
    u64::from_be_bytes([0, 0, 0, 0, 0, first, second, third])
}

/// Returns the transactions of the largest inputs or outputs, by value, then by position in the chain.
fn largest(
    mut entries: Vec<(Reverse<u64>, u64, u32, TransactionNumber)>,
    largest: u32,
) -> BTreeSet<TransactionNumber> {
    entries.sort_unstable();
    entries.truncate(usize::try_from(largest).unwrap_or(usize::MAX));
    entries.into_iter().map(|(.., number)| number).collect()
}

#[cfg(test)]
mod tests {
    use assay_engine::{
        reading::ChainView,
        utxo::{OutPoint, Transaction, TransactionKind, TxInput, TxOut, Txid},
    };

    use super::*;

    const READ_LIMITS: ReadLimits = ReadLimits { transfers: 100, entries: 10_000 };

    fn owner(number: u8) -> ScriptOwner {
        ScriptOwner::KeyHash([number; 20])
    }

    fn transaction(
        number: u8,
        inputs: &[(u8, u32, u8, u64)],
        outputs: &[(u8, u64)],
    ) -> ConfirmedTransaction {
        let output = |by: u8, value: u64| TxOut { owner: owner(by), value };
        let kind =
            if inputs.is_empty() { TransactionKind::Coinbase } else { TransactionKind::Payment };
        let inputs = inputs.iter().map(|(txid, index, by, value)| {
            TxInput::new(
                OutPoint { txid: Txid::from_bytes([*txid; 32]), index: *index },
                Some(output(*by, *value)),
            )
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
        let mut gathered = GatheredChain::default();
        let found = history(&mut gathered, &owner(1), &all, totals, READ_LIMITS);
        let (_, history) = found.unwrap();
        let statistics = history.statistics;
        // floor(50 x 19 / 50) = 19 came back.
        assert_eq!((statistics.received, statistics.sent), (50, 31));
        assert_eq!((statistics.transactions_in, statistics.transactions_out), (1, 1));
        assert_eq!(history.incoming.len(), 2);
        assert!(history.incoming[0].is_passed_on && !history.incoming[1].is_passed_on);

        let mut gathered = GatheredChain::default();
        let found = super::history(&mut gathered, &owner(1), &all[1..], totals, READ_LIMITS);
        let (_, newest) = found.unwrap();
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
        let (mut gathered, limits) =
            (GatheredChain::default(), ReadLimits { transfers: 2, entries: 100 });
        let (_, history) = history(&mut gathered, &owner(1), &many, totals, limits).unwrap();
        let used: Vec<Txid> =
            history.incoming.iter().map(|own| gathered.txid(own.number).unwrap()).collect();
        assert_eq!(used, [Txid::from_bytes([8; 32]), Txid::from_bytes([9; 32])]);
        assert_eq!(history.statistics.received, 450);
    }
}
