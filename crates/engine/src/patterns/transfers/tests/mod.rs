//! Tests of patterns against an exhaustive search through all sequences of transfers.

mod cycles;
mod fans;
mod scatter_gathers;

use jiff::Timestamp;
use proptest::prelude::*;

use super::{Transfer, TransferGraph, adjacency::Adjacency};
use crate::ledger::{OwnerNumber, TransactionNumber};

/// Payer, payee, position, time in seconds, amount.
pub(super) type Row = (u64, u64, u64, i64, u128);

pub(super) fn graph(rows: &[Row]) -> TransferGraph {
    TransferGraph::new(rows.iter().map(transfer).collect())
}

fn transfer(row: &Row) -> Transfer {
    let (from, to, position, seconds, amount) = *row;
    Transfer {
        transaction: TransactionNumber(position),
        position,
        time: Timestamp::from_second(seconds).unwrap(),
        payer: OwnerNumber(from),
        payee: OwnerNumber(to),
        amount,
    }
}

/// Transfers among few owners: positions and times are often equal, and times are out of order by up to `jitter`.
pub(super) fn rows(owners: u64, most: usize) -> impl Strategy<Value = Vec<Row>> {
    (2..=owners, 1..40_u64, 0..4_i64).prop_flat_map(move |(owners, positions, jitter)| {
        let row = (0..owners, 0..owners, 0..positions, 0..=jitter, 1..200_u128);
        let row = row.prop_map(|(payer, payee, position, early, amount)| {
            (payer, payee, position, position.cast_signed() - early, amount)
        });
        prop::collection::vec(row, 0..=most)
    })
}

#[test]
fn transfers_are_sorted_by_position_then_as_given() {
    let graph = graph(&[(1, 2, 5, 0, 10), (2, 2, 1, 0, 11), (3, 1, 4, 0, 12), (1, 3, 5, 0, 13)]);
    let amounts: Vec<u128> = graph.transfers().iter().map(|transfer| transfer.amount).collect();
    assert_eq!(amounts, [12, 10, 13]);
    assert_eq!(graph.owners(), [OwnerNumber(3), OwnerNumber(1), OwnerNumber(2)]);
    let of = |steps: &Adjacency, owner| {
        let steps = graph.id(OwnerNumber(owner)).map_or(&[][..], |id| steps.of(id));
        steps.iter().map(|step| step.transfer).collect::<Vec<_>>()
    };
    assert_eq!(of(&graph.by_payer, 1), [1, 2]);
    assert_eq!(of(&graph.by_payee, 1), [0]);
    assert_eq!(of(&graph.by_payee, 9), [] as [u32; 0]);
}
