//! Required contents of a plan.

use assay_engine::utxo::{Block, BlockRef, TransactionKind};

use super::*;
use crate::backend::state::tests::empty;

fn owner(number: u8) -> ScriptOwner {
    ScriptOwner::KeyHash([number; 20])
}

fn txid(number: u8) -> Txid {
    Txid::from_bytes([number; 32])
}

fn coin(who: u8, value: u64) -> TxOut {
    TxOut { owner: owner(who), value }
}

fn spend(transaction: u8, index: u32, spent: Option<TxOut>) -> TxInput {
    TxInput::new(OutPoint { txid: txid(transaction), index }, spent)
}

fn payment(number: u8, inputs: Vec<TxInput>, outputs: Vec<TxOut>) -> Transaction {
    let kind = TransactionKind::Payment;
    Transaction { txid: txid(number), kind, inputs, outputs }
}

fn coinbase(number: u8, outputs: Vec<TxOut>) -> Transaction {
    let kind = TransactionKind::Coinbase;
    Transaction { kind, ..payment(number, Vec::new(), outputs) }
}

fn time(height: u64) -> Timestamp {
    Timestamp::from_second(i64::try_from(height).unwrap() * 600).unwrap()
}

fn block(height: u64, transactions: Vec<Transaction>) -> ResolvedBlock {
    let byte = u8::try_from(height).unwrap();
    let (hash, parent) = ([byte; 32], [byte.wrapping_sub(1); 32]);
    let reference = BlockRef { height, hash, parent, time: time(height) };
    ResolvedBlock::assume(Block { reference, work: None, transactions })
}

fn plan_of(
    state: &GraphState,
    blocks: &[ResolvedBlock],
    known: &LookupResponse,
    from: u64,
) -> WritePlan {
    plan(state, blocks, &co_spends(ChainId::BTC, blocks), known, from, time(99)).unwrap()
}

/// A pays B 70 of 100 and itself 20, and then B pays C everything.
fn scenario() -> Vec<ResolvedBlock> {
    let pays = payment(2, vec![spend(1, 0, Some(coin(1, 100)))], vec![coin(2, 70), coin(1, 20)]);
    let passes_on = payment(3, vec![spend(2, 0, Some(coin(2, 70)))], vec![coin(3, 70)]);
    vec![
        block(0, vec![coinbase(1, vec![coin(1, 100)])]),
        block(1, vec![coinbase(4, vec![coin(9, 60)]), pays]),
        block(2, vec![passes_on]),
    ]
}

#[test]
fn everything_is_numbered_in_the_order_of_the_chain() {
    let plan = plan_of(&empty(0), &scenario(), &LookupResponse::default(), 0);
    let numbers = plan.transactions.iter().map(|row| (row.number, row.height, row.txid));
    let expected = [(0, 0, txid(1)), (1, 1, txid(4)), (2, 1, txid(2)), (3, 2, txid(3))];
    assert!(numbers.eq(expected));
    let owners = plan.new_owners.iter().map(|row| (row.number, row.owner.clone()));
    assert!(owners.eq([(0, owner(1)), (1, owner(9)), (2, owner(2)), (3, owner(3))]));
    let firsts = plan.blocks.iter().map(|row| (row.first_transaction, row.first_owner));
    assert!(firsts.eq([(0, 0), (1, 1), (3, 3)]));
    assert_eq!((plan.after.next_transaction, plan.after.next_owner), (4, 4));
    assert_eq!(plan.after.tip, Some((scenario()[2].reference, time(99))));
    let spends: Vec<_> = plan.inputs.iter().map(|row| row.source).collect();
    let recorded = |transaction| InputSource::Recorded { transaction, index: 0 };
    assert_eq!(spends, [recorded(0), recorded(2)], "made by these very blocks");
}

#[test]
fn payments_to_oneself_are_neither_income_nor_expense() {
    let plan = plan_of(&empty(0), &scenario(), &LookupResponse::default(), 0);
    let figures = plan.new_owners.iter().map(|row| {
        let it = row.statistics;
        (it.transactions_in, it.received, it.transactions_out, it.sent)
    });
    // All of the 100 are A's, so that all of the 20 come back: 80 are gone, 10 of them as the fee.
    assert!(figures.eq([(1, 100, 1, 80), (1, 60, 0, 0), (1, 70, 1, 70), (1, 70, 0, 0)]));
    let seen =
        plan.new_owners.iter().map(|row| (row.statistics.first_seen, row.statistics.last_seen));
    assert!(seen.eq([(0, 1), (1, 1), (1, 2), (2, 2)].map(|(a, b)| (time(a), time(b)))));
}

#[test]
fn earlier_totals_are_continued() {
    let scenario = scenario();
    let (first, rest) = scenario.split_at(1);
    let before = plan_of(&empty(0), first, &LookupResponse::default(), 0);
    let asked = lookup_request(rest);
    let from_before = OutPoint { txid: txid(1), index: 0 };
    assert_eq!(asked.outputs, HashSet::from([from_before]), "the other is made on the way");
    assert_eq!(asked.owners.len(), 4);

    let a = &before.new_owners[0];
    let known = LookupResponse {
        transactions: HashMap::from([(txid(1), 0)]),
        owners: HashMap::from([(owner(1), (0, a.statistics))]),
        ..LookupResponse::default()
    };
    let after = plan_of(&before.after, rest, &known, 0);
    let whole = plan_of(&empty(0), &scenario, &LookupResponse::default(), 0);
    assert_eq!(after.changed_owners, whole.new_owners[..1]);
    assert_eq!(after.new_owners, whole.new_owners[1..]);
    assert_eq!(after.after, whole.after);
}

#[test]
fn a_block_is_undone_for_addresses_seen_before_it() {
    let whole = plan_of(&empty(0), &scenario(), &LookupResponse::default(), 0);
    let undo = whole.undo.iter().map(|row| (row.height, row.owner, row.before.sent));
    assert!(undo.eq([(1, 0, 0), (2, 2, 0)]), "A before it paid, B before it passed on");
    assert_eq!(whole.after.reorganisable_from, 0);
    let late = plan_of(&empty(0), &scenario(), &LookupResponse::default(), 2);
    assert_eq!(late.undo.iter().map(|row| row.height).collect::<Vec<_>>(), [2]);
    assert_eq!(late.after.reorganisable_from, 2);
}

#[test]
fn unknown_inputs_are_kept_by_their_outpoints() {
    let out_of_pool = TxInput::from_pool(txid(5), Some(coin(7, 30)));
    let told = spend(8, 3, Some(coin(2, 50)));
    let transaction = payment(5, vec![spend(9, 7, None), told, out_of_pool], vec![coin(3, 100)]);
    let blocks = [block(0, vec![transaction])];
    assert_eq!(lookup_request(&blocks).outputs.len(), 1, "whose value is told may be recorded");
    let plan = plan_of(&empty(0), &blocks, &LookupResponse::default(), 0);
    let spends: Vec<_> = plan.inputs.iter().map(|row| row.source).collect();
    let elsewhere = |number, index| InputSource::Unrecorded(OutPoint { txid: txid(number), index });
    assert_eq!(spends, [elsewhere(9, 7), elsewhere(8, 3), InputSource::Pool]);
    assert_eq!(plan.inputs[0].spent, None);
    let row = &plan.transactions[0];
    assert_eq!((row.inputs, row.input_total, row.unknown, row.output_total), (3, 100, 20, 100));
}

#[test]
fn more_than_any_chain_allows_is_refused() {
    let whole = u64::try_from(i64::MAX).unwrap();
    let refused = |transaction: Transaction| {
        let blocks = [block(0, vec![transaction])];
        let planned = plan(&empty(0), &blocks, &[], &LookupResponse::default(), 0, time(0));
        matches!(planned, Err(GraphError::Amount { .. }))
    };
    assert!(!refused(coinbase(1, vec![coin(1, whole)])));
    assert!(refused(coinbase(1, vec![coin(1, whole), coin(1, 1)])));
    let spends = |value| spend(9, 0, Some(coin(1, value)));
    assert!(refused(payment(1, vec![spends(whole), spends(1)], Vec::new())));
    let odd = Transaction { inputs: vec![spends(u64::MAX)], ..coinbase(1, Vec::new()) };
    assert!(refused(odd));
}
