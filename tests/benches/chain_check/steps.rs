//! Traces along one way: money that goes from address to address, and money that is peeled off on the way.

use std::time::Instant;

use assay_database::postgres::PostgresDatabase;
use assay_engine::{
    chain::ChainId,
    evidence::FlowEnd,
    policy::Policy,
    taxonomy::Category,
    trace::TraceRules,
    utxo::{
        Block, BlockRef, OutPoint, ResolvedBlock, ScriptOwner, Transaction, TransactionKind,
        TxInput, TxOut, Txid,
    },
};
use assay_graph::{GraphStore, KnownReads, PostgresGraphs, WriterOptions};
use assay_tests::{Figures, Postgres};
use jiff::Timestamp;

use super::{flows, load::Known};

const BEGUN: i64 = 1_735_689_600;
const COIN: u64 = 100_000_000;
/// Traces of each way.
const TIMES: usize = 9;

/// A way of so many payments, of which each leaves a part of the money with somebody else.
struct Way {
    name: &'static str,
    payments: u64,
    part_left: u64,
}

const WAYS: [Way; 2] = [
    Way { name: "600 payments to oneself", payments: 600, part_left: 0 },
    Way { name: "a peel chain of 40 payments", payments: 40, part_left: 50 },
];

pub(super) async fn trace(database: &Postgres) {
    // A graph of its own beside the large one.
    let chain: ChainId = "ltc".parse().expect("a chain");
    let connected = PostgresDatabase::connect((&database.url()).into()).await;
    let graphs = PostgresGraphs::new(connected.expect("a database"));
    let options = WriterOptions { start: 0, sample: false, backfill: false };
    let mut writer = graphs.writer(chain, options).await.expect("a writer");
    let mut blocks: Vec<ResolvedBlock> = Vec::new();
    for (way, nth) in WAYS.iter().zip(0..) {
        for transaction in payments(way, nth) {
            let parent = blocks.last().map_or([0; 32], |block| block.reference.hash);
            blocks.push(block(blocks.len() as u64, parent, transaction));
        }
    }
    let at = Timestamp::from_second(BEGUN).expect("a time");
    writer.append(&blocks, 0, at).await.expect("blocks that follow");
    let graph = graphs.graph(chain).await.expect("a graph").expect("a graph");
    let known = Known::one(owner(0, 0), Category::StolenFunds);
    let rules = TraceRules::new(&Policy::default(), chain.info());
    for (way, nth) in WAYS.iter().zip(0..) {
        // The second way's money is nobody's that is known: it ends where it was mined.
        let end =
            if nth == 0 { FlowEnd::Attributed(Category::StolenFunds) } else { FlowEnd::Mining };
        let mut times = Vec::new();
        for _ in 0..TIMES {
            let begun = Instant::now();
            let found = flows(
                &*graph,
                &mut KnownReads::nothing(),
                &owner(nth, way.payments),
                rules,
                &known,
            )
            .await;
            times.push(begun.elapsed());
            let source = &found.ledgers.first().expect("a ledger").source;
            assert_eq!(source.parts.iter().map(|part| part.end).collect::<Vec<_>>(), [end]);
        }
        println!("trace of {}, in ms: {}", way.name, Figures::of_times(times));
    }
}

fn owner(way: u8, payment: u64) -> ScriptOwner {
    let mut hash = [way; 20];
    hash[..8].copy_from_slice(&payment.to_be_bytes());
    ScriptOwner::KeyHash(hash)
}

fn payments(way: &Way, nth: u8) -> Vec<Transaction> {
    let txid = |payment: u64| {
        let mut bytes = [nth + 1; 32];
        bytes[..8].copy_from_slice(&payment.to_be_bytes());
        Txid::from_bytes(bytes)
    };
    let mut money = TxOut { owner: owner(nth, 0), value: COIN };
    let mut transactions = vec![Transaction {
        txid: txid(0),
        kind: TransactionKind::Coinbase,
        inputs: vec![],
        outputs: vec![money.clone()],
    }];
    for payment in 1..=way.payments {
        let outpoint = OutPoint { txid: txid(payment - 1), index: 0 };
        let left = money.value.checked_div(way.part_left).unwrap_or(0);
        let kept = TxOut { owner: owner(nth, payment), value: money.value - left };
        let leaves = TxOut { owner: owner(nth + 100, payment), value: left };
        let input = TxInput { outpoint, spent: Some(std::mem::replace(&mut money, kept.clone())) };
        let outputs = if left > 0 { vec![kept, leaves] } else { vec![kept] };
        transactions.push(Transaction {
            txid: txid(payment),
            kind: TransactionKind::Payment,
            inputs: vec![input],
            outputs,
        });
    }
    transactions
}

fn block(height: u64, parent: [u8; 32], transaction: Transaction) -> ResolvedBlock {
    let seconds = i64::try_from(height).unwrap_or(0) * 600;
    let mut hash = [9; 32];
    hash[..8].copy_from_slice(&height.to_be_bytes());
    let reference = BlockRef {
        height,
        hash,
        parent,
        time: Timestamp::from_second(BEGUN + seconds).expect("a time"),
    };
    ResolvedBlock::assume(Block { reference, transactions: vec![transaction] })
}
