use std::slice;

use assay_engine::{
    ledger::BlockRef,
    utxo::{
        Block, OutPoint, Pool, ScriptOwner, Transaction, TransactionKind, TxInput, TxOut, Txid,
        coinjoin::CoinjoinKind,
    },
};
use jiff::Timestamp;

use super::*;

const LITTLE: u64 = 1_000;

fn chain(id: &str) -> ChainId {
    id.parse().unwrap()
}

fn txid(number: u8) -> Txid {
    Txid::from_bytes([number; 32])
}

fn outpoint(number: u8, index: u32) -> OutPoint {
    OutPoint { txid: txid(number), index }
}

fn output(owner: u8, value: u64) -> TxOut {
    TxOut { owner: ScriptOwner::KeyHash([owner; 20]), value }
}

fn spends(outpoints: &[OutPoint]) -> Vec<TxInput> {
    outpoints.iter().map(|outpoint| TxInput::new(*outpoint, None)).collect()
}

fn pays(number: u8, inputs: Vec<TxInput>, outputs: &[TxOut]) -> Transaction {
    let (kind, outputs) = (TransactionKind::Payment, outputs.to_vec());
    Transaction { txid: txid(number), kind, inputs, outputs }
}

fn mines(number: u8, value: u64) -> Transaction {
    let kind = TransactionKind::Coinbase;
    Transaction { kind, ..pays(number, vec![], &[output(number, value)]) }
}

fn block(transactions: Vec<Transaction>) -> Block {
    let time = Timestamp::from_second(1_700_000_000).unwrap();
    let reference = BlockRef { height: 7, hash: [7; 32], parent: [6; 32], time };
    Block { reference, work: None, transactions }
}

fn resolve(
    id: &str,
    complete: bool,
    transactions: Vec<Transaction>,
    recorded: &[(OutPoint, TxOut)],
) -> Result<Vec<Transaction>, ResolveError> {
    let recorded = |wanted: &OutPoint| {
        let found = recorded.iter().find(|(outpoint, _)| outpoint == wanted);
        found.map_or(RecordedOutput::Unknown, |(_, output)| RecordedOutput::Found(output.clone()))
    };
    let mut resolver = Resolver::new(chain(id), complete).unwrap();
    Ok(resolver.resolve(block(transactions), &recorded)?.into_block().transactions)
}

#[test]
fn spent_outputs_are_found_in_the_block_and_in_the_store() {
    let spending = pays(2, spends(&[outpoint(1, 0), outpoint(9, 3)]), &[output(5, 140)]);
    let transactions = vec![mines(1, 100), spending];
    assert_eq!(outputs_to_look_up(&[block(transactions.clone())]), [outpoint(9, 3)]);

    let resolved = resolve("btc", true, transactions, &[(outpoint(9, 3), output(9, 50))]).unwrap();
    let spent: Vec<_> = resolved[1].inputs.iter().map(|input| input.spent.clone()).collect();
    assert_eq!(spent, [Some(output(1, 100)), Some(output(9, 50))]);
    assert_eq!(resolved[1].unknown_value(), 0);
    assert_eq!(resolved[0].kind, TransactionKind::Coinbase);
    assert!(resolved[0].inputs.is_empty());
}

#[test]
fn outputs_before_the_first_known_block_stay_unknown() {
    let spending = || {
        vec![pays(2, spends(&[outpoint(8, 0), outpoint(9, 0)]), &[output(5, 70), output(6, 50)])]
    };
    let known = [(outpoint(9, 0), output(9, 40))];
    let resolved = resolve("btc", false, spending(), &known).unwrap();
    assert_eq!(resolved[0].inputs[0].spent, None);
    assert_eq!(resolved[0].unknown_value(), 80);
    // Known inputs that cover everything leave nothing for the unknown one.
    let rich = [(outpoint(9, 0), output(9, 400))];
    assert_eq!(resolve("btc", false, spending(), &rich).unwrap()[0].unknown_value(), 0);
    // In a chain that is known from its first block nothing can be missing.
    let missing = resolve("btc", true, spending(), &known).unwrap_err();
    assert!(
        matches!(missing, ResolveError::UnknownOutput(spend) if spend.output == outpoint(8, 0))
    );
}

#[test]
fn outputs_from_the_source_fill_gaps_and_must_match_records() {
    let said = |value| {
        let input = TxInput::new(outpoint(8, 0), Some(output(8, value)));
        vec![pays(2, vec![input], &[output(5, 70)])]
    };
    let resolved = resolve("btc", false, said(90), &[]).unwrap();
    assert_eq!(
        (resolved[0].inputs[0].spent.clone(), resolved[0].unknown_value()),
        (Some(output(8, 90)), 0)
    );
    assert!(resolve("btc", false, said(90), &[(outpoint(8, 0), output(8, 90))]).is_ok());
    let wrong = resolve("btc", false, said(91), &[(outpoint(8, 0), output(8, 90))]).unwrap_err();
    assert!(wrong.to_string().contains("the source says 91 base units of 1"));
}

#[test]
fn values_add_up() {
    let fee = |made| {
        resolve(
            "btc",
            true,
            vec![mines(1, 100), pays(2, spends(&[outpoint(1, 0)]), &[output(5, made)])],
            &[],
        )
    };
    assert!(fee(100).is_ok() && fee(1).is_ok());
    let more = fee(101).unwrap_err();
    assert!(matches!(more, ResolveError::OutputsExceedInputs { inputs: 100, outputs: 101, .. }));
    // Nothing makes something out of nothing but a coinbase.
    assert!(resolve("btc", true, vec![pays(2, vec![], &[output(5, 1)])], &[]).is_err());

    let most = ChainParams::for_chain(ChainId::BTC).unwrap().largest_amount;
    assert!(resolve("btc", true, vec![mines(1, most)], &[]).is_ok());
    assert!(resolve("btc", true, vec![mines(1, most + 1)], &[]).is_err());
    let mut two = mines(1, most);
    two.outputs.push(output(2, 1));
    assert!(matches!(
        resolve("btc", true, vec![two], &[]),
        Err(ResolveError::AmountTooLarge { .. })
    ));
    assert!(resolve("doge", true, vec![mines(1, most + 1)], &[]).is_ok());
}

#[test]
fn nothing_is_spent_twice() {
    let twice = pays(2, spends(&[outpoint(1, 0), outpoint(1, 0)]), &[]);
    let error = resolve("btc", true, vec![mines(1, 100), twice], &[]).unwrap_err();
    assert!(matches!(error, ResolveError::DoubleSpend(spend) if spend.output == outpoint(1, 0)));
    // The same in two blocks of a batch.
    let mut resolver = Resolver::new(ChainId::BTC, true).unwrap();
    let first = block(vec![mines(1, 100), pays(2, spends(&[outpoint(1, 0)]), &[])]);
    let second = block(vec![mines(3, 100), pays(4, spends(&[outpoint(1, 0)]), &[])]);
    assert!(outputs_to_look_up(&[first.clone(), second.clone()]).is_empty());
    assert!(resolver.resolve(first, &|_| RecordedOutput::Unknown).is_ok());
    assert!(resolver.resolve(second, &|_| RecordedOutput::Unknown).is_err());
}

#[test]
fn only_bitcoin_cash_allows_spending_a_later_output_of_the_block() {
    let transactions = || {
        let child = pays(2, spends(&[outpoint(3, 0)]), &[output(5, 90)]);
        let parent = pays(3, spends(&[outpoint(1, 0)]), &[output(6, 95)]);
        vec![mines(1, 100), child, parent]
    };
    assert!(outputs_to_look_up(slice::from_ref(&block(transactions()))).is_empty());
    let resolved = resolve("bch", true, transactions(), &[]).unwrap();
    assert_eq!(resolved[1].inputs[0].spent, Some(output(6, 95)));
    assert!(matches!(resolve("btc", true, transactions(), &[]), Err(ResolveError::LaterOutput(_))));
}

#[test]
fn a_spend_of_an_output_that_its_transaction_does_not_have_is_refused() {
    // Given a transaction of one output, in the same block or recorded before...
    let spending = |index| pays(2, spends(&[outpoint(9, 3), outpoint(1, index)]), &[]);
    let store = |wanted: &OutPoint| match wanted.txid {
        known if known == txid(8) => RecordedOutput::Missing,
        _ => RecordedOutput::Found(output(9, 50)),
    };
    for complete in [true, false] {
        let resolve = |transactions| {
            let mut resolver = Resolver::new(ChainId::BTC, complete).unwrap();
            resolver.resolve(block(transactions), &store).map(|_| ())
        };
        assert!(resolve(vec![mines(1, 100), spending(0)]).is_ok());
        // ...a spend of a second one is refused, with the block, the transaction and the input.
        let expected = Spend { height: 7, txid: txid(2), input: 1, output: outpoint(1, 1) };
        let error = resolve(vec![mines(1, 100), spending(1)]).unwrap_err();
        assert_eq!(error, ResolveError::NoSuchOutput(expected));
        let said = error.to_string();
        let named =
            format!("input 1 of transaction {} in block 7 spends {}", txid(2), outpoint(1, 1));
        assert!(said.starts_with(&named), "{said}");
        let recorded = pays(2, spends(&[outpoint(8, 5)]), &[]);
        let expected = Spend { height: 7, txid: txid(2), input: 0, output: outpoint(8, 5) };
        let error = resolve(vec![mines(1, 100), recorded]).unwrap_err();
        assert_eq!(error, ResolveError::NoSuchOutput(expected));
        // Whether or not the source describes what it spends.
        let mut described = pays(2, spends(&[outpoint(8, 5)]), &[]);
        described.inputs[0].spent = Some(output(8, 7));
        let error = resolve(vec![mines(1, 100), described]).unwrap_err();
        assert_eq!(error, ResolveError::NoSuchOutput(expected));
    }
}

#[test]
fn a_spend_of_an_own_or_later_output_is_refused() {
    let of = |spent: u8| Spend { height: 7, txid: txid(2), input: 0, output: outpoint(spent, 0) };
    for complete in [true, false] {
        for id in ["btc", "bch"] {
            let own = vec![mines(1, 100), pays(2, spends(&[outpoint(2, 0)]), &[output(5, 1)])];
            let error = resolve(id, complete, own, &[]).unwrap_err();
            assert_eq!(error, ResolveError::OwnOutput(of(2)), "{id}");
        }
        // A later transaction of the same block, and one of a later block of the batch.
        let spending = || pays(2, spends(&[outpoint(3, 0)]), &[]);
        let error = resolve("btc", complete, vec![mines(1, 5), spending(), mines(3, 5)], &[]);
        assert_eq!(error, Err(ResolveError::LaterOutput(of(3))));
        for id in ["btc", "bch"] {
            let mut resolver = Resolver::new(chain(id), complete).unwrap();
            let unknown = &|_: &OutPoint| RecordedOutput::Unknown;
            let first = resolver.resolve(block(vec![mines(1, 5), spending()]), unknown);
            let error = first.and_then(|_| resolver.resolve(block(vec![mines(3, 5)]), unknown));
            let expected = if complete {
                ResolveError::UnknownOutput(of(3))
            } else {
                ResolveError::LaterOutput(of(3))
            };
            assert_eq!(error.unwrap_err(), expected, "{id}");
        }
    }
}

#[test]
fn what_moves_into_a_pool_is_no_output_to_spend() {
    let pool = TxOut { owner: ScriptOwner::Pool(Pool::ZcashShielded), value: 90 };
    let shields = pays(2, spends(&[outpoint(1, 0)]), &[output(5, 10), pool]);
    let takes = pays(3, spends(&[outpoint(2, 1)]), &[output(6, 90)]);
    let error = resolve("zec", true, vec![mines(1, 100), shields, takes], &[]).unwrap_err();
    assert!(matches!(error, ResolveError::NoSuchOutput(spend) if spend.txid == txid(3)), "{error}");
}

#[test]
fn movements_of_pools_balance_with_the_rest() {
    let pool = |value| TxOut { owner: ScriptOwner::Pool(Pool::ZcashShielded), value };
    let zcash = |transaction: Transaction| {
        resolve("zec", true, vec![mines(1, LITTLE), transaction], &[]).map(|mut all| all.remove(1))
    };
    let out_of_pool = |spent, value| {
        zcash(pays(2, vec![TxInput::from_pool(txid(2), spent)], &[output(5, value)]))
    };
    // Nothing is looked up for what comes out of a pool, however complete the chain is.
    assert_eq!(out_of_pool(Some(pool(90)), 80).unwrap().input_total(), 90);
    assert!(out_of_pool(Some(pool(79)), 80).is_err());
    let into_pool =
        |value| zcash(pays(2, spends(&[outpoint(1, 0)]), &[output(5, 10), pool(value)]));
    assert_eq!(into_pool(990).unwrap().outputs, [output(5, 10), pool(990)]);
    assert!(into_pool(991).is_err());
    // A pool that the chain does not show: its value is unknown, not made up.
    assert_eq!(out_of_pool(None, 80).unwrap().unknown_value(), 80);
    let inputs = vec![TxInput::from_pool(txid(1), Some(pool(1)))];
    let coinbase = Transaction { inputs, ..mines(1, 5) };
    let error = resolve("zec", true, vec![coinbase], &[]).unwrap_err();
    assert!(matches!(error, ResolveError::CoinbaseSpends { .. }), "{error}");
}

#[test]
fn payments_are_classified_by_their_inputs() {
    // A Whirlpool round of 2023: five coins of a pool in, five out.
    let time = "2023-08-01T12:00:00Z".parse().unwrap();
    let segwit = |number: u8| ScriptOwner::Witness(0, vec![number; 20]);
    let coin = |number: u8| TxOut { owner: segwit(number), value: 5_000_000 };
    let fund = pays(2, spends(&[outpoint(1, 0)]), &[1, 2, 3, 4, 5].map(coin));
    let round = pays(
        3,
        spends(&[0, 1, 2, 3, 4].map(|index| outpoint(2, index))),
        &[11, 12, 13, 14, 15].map(coin),
    );
    let mut batch = block(vec![mines(1, 25_000_000), fund, round]);
    batch.reference.time = time;
    let resolved = Resolver::new(ChainId::BTC, true)
        .unwrap()
        .resolve(batch, &|_| RecordedOutput::Unknown)
        .unwrap();
    let kinds: Vec<_> = resolved.transactions.iter().map(|transaction| transaction.kind).collect();
    let coinjoin = TransactionKind::Coinjoin(CoinjoinKind::Whirlpool);
    assert_eq!(kinds, [TransactionKind::Coinbase, TransactionKind::Payment, coinjoin]);
    assert!(Resolver::new(ChainId::ETH, true).is_err());
}
