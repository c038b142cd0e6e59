use std::slice;

use assay_engine::coinjoin::CoinjoinKind;
use jiff::Timestamp;

use super::*;
use crate::ChainInput;

const LITTLE: u64 = 1_000;

fn chain(id: &str) -> ChainId {
    id.parse().unwrap()
}

fn txid(number: u8) -> Txid {
    Txid::from_bytes([number; 32])
}

fn place(number: u8, index: u32) -> OutPoint {
    OutPoint { txid: txid(number), index }
}

fn coin(owner: u8, value: u64) -> Coin {
    Coin { owner: ScriptOwner::KeyHash([owner; 20]), value }
}

fn spends(outputs: &[OutPoint]) -> Vec<ChainInput> {
    outputs.iter().map(|output| ChainInput { output: *output, coin: None }).collect()
}

fn pays(number: u8, inputs: Vec<ChainInput>, outputs: &[Coin]) -> ChainTransaction {
    ChainTransaction {
        txid: txid(number),
        coinbase: false,
        inputs,
        outputs: outputs.to_vec(),
        hidden: Hidden::None,
    }
}

fn mines(number: u8, value: u64) -> ChainTransaction {
    ChainTransaction { coinbase: true, ..pays(number, vec![], &[coin(number, value)]) }
}

fn block(transactions: Vec<ChainTransaction>) -> ChainBlock {
    let time = Timestamp::from_second(1_700_000_000).unwrap();
    let head = BlockHead { height: 7, hash: [7; 32], parent: [6; 32], time };
    ChainBlock { head, transactions }
}

fn payment(_: &ResolvedTransaction) -> TransactionKind {
    TransactionKind::Payment
}

fn resolve(
    id: &str,
    complete: bool,
    transactions: Vec<ChainTransaction>,
    recorded: &[(OutPoint, Coin)],
) -> Result<Vec<ResolvedTransaction>, ResolveError> {
    let recorded = |output: &OutPoint| {
        let found = recorded.iter().find(|(place, _)| place == output);
        found.map(|(_, coin)| coin.clone())
    };
    let mut resolver = Resolver::new(chain(id), complete).unwrap();
    Ok(resolver.resolve(block(transactions), &recorded, &payment)?.transactions)
}

#[test]
fn what_is_spent_is_found_in_the_block_and_in_the_store() {
    let spending = pays(2, spends(&[place(1, 0), place(9, 3)]), &[coin(5, 140)]);
    let transactions = vec![mines(1, 100), spending];
    assert_eq!(wanted(&[block(transactions.clone())]), [place(9, 3)]);

    let resolved = resolve("btc", true, transactions, &[(place(9, 3), coin(9, 50))]).unwrap();
    let coins: Vec<_> = resolved[1].inputs.iter().map(|input| input.coin.clone()).collect();
    assert_eq!(coins, [Some(coin(1, 100)), Some(coin(9, 50))]);
    assert_eq!(resolved[1].unknown, 0);
    assert_eq!(resolved[0].kind, TransactionKind::Coinbase);
    assert!(resolved[0].inputs.is_empty());
}

#[test]
fn what_was_made_before_the_first_known_block_stays_unknown() {
    let spending =
        || vec![pays(2, spends(&[place(8, 0), place(9, 0)]), &[coin(5, 70), coin(6, 50)])];
    let known = [(place(9, 0), coin(9, 40))];
    let resolved = resolve("btc", false, spending(), &known).unwrap();
    assert_eq!(resolved[0].inputs[0].coin, None);
    assert_eq!(resolved[0].unknown, 80);
    // Known inputs that cover everything leave nothing for the unknown one.
    let rich = [(place(9, 0), coin(9, 400))];
    assert_eq!(resolve("btc", false, spending(), &rich).unwrap()[0].unknown, 0);
    // In a chain that is known from its first block nothing can be missing.
    let missing = resolve("btc", true, spending(), &known).unwrap_err();
    assert!(matches!(missing, ResolveError::Missing { output, .. } if output == place(8, 0)));
}

#[test]
fn what_the_source_says_of_an_output_fills_gaps_and_is_checked_against_what_is_recorded() {
    let said = |value| {
        let input = ChainInput { output: place(8, 0), coin: Some(coin(8, value)) };
        vec![pays(2, vec![input], &[coin(5, 70)])]
    };
    let resolved = resolve("btc", false, said(90), &[]).unwrap();
    assert_eq!((resolved[0].inputs[0].coin.clone(), resolved[0].unknown), (Some(coin(8, 90)), 0));
    assert!(resolve("btc", false, said(90), &[(place(8, 0), coin(8, 90))]).is_ok());
    let wrong = resolve("btc", false, said(91), &[(place(8, 0), coin(8, 90))]).unwrap_err();
    assert!(wrong.to_string().contains("the source says 91 base units of 1"));
}

#[test]
fn values_add_up() {
    let fee = |made| {
        resolve(
            "btc",
            true,
            vec![mines(1, 100), pays(2, spends(&[place(1, 0)]), &[coin(5, made)])],
            &[],
        )
    };
    assert!(fee(100).is_ok() && fee(1).is_ok());
    let more = fee(101).unwrap_err();
    assert!(matches!(more, ResolveError::AddsUpToLess { inputs: 100, outputs: 101, .. }));
    // Nothing makes something out of nothing but a coinbase.
    assert!(resolve("btc", true, vec![pays(2, vec![], &[coin(5, 1)])], &[]).is_err());

    let most = ChainParams::of(ChainId::BTC).unwrap().largest_amount;
    assert!(resolve("btc", true, vec![mines(1, most)], &[]).is_ok());
    assert!(resolve("btc", true, vec![mines(1, most + 1)], &[]).is_err());
    let mut two = mines(1, most);
    two.outputs.push(coin(2, 1));
    assert!(matches!(resolve("btc", true, vec![two], &[]), Err(ResolveError::TooMuch { .. })));
    assert!(resolve("doge", true, vec![mines(1, most + 1)], &[]).is_ok());
}

#[test]
fn nothing_is_spent_twice() {
    let twice = pays(2, spends(&[place(1, 0), place(1, 0)]), &[]);
    let error = resolve("btc", true, vec![mines(1, 100), twice], &[]).unwrap_err();
    assert!(matches!(error, ResolveError::Twice { output, .. } if output == place(1, 0)));
    // Nor in two blocks of a batch.
    let mut resolver = Resolver::new(ChainId::BTC, true).unwrap();
    let first = block(vec![mines(1, 100), pays(2, spends(&[place(1, 0)]), &[])]);
    let second = block(vec![mines(3, 100), pays(4, spends(&[place(1, 0)]), &[])]);
    assert!(wanted(&[first.clone(), second.clone()]).is_empty());
    assert!(resolver.resolve(first, &|_| None, &payment).is_ok());
    assert!(resolver.resolve(second, &|_| None, &payment).is_err());
}

#[test]
fn only_bitcoin_cash_lets_a_transaction_spend_what_comes_later() {
    let transactions = || {
        let child = pays(2, spends(&[place(3, 0)]), &[coin(5, 90)]);
        let parent = pays(3, spends(&[place(1, 0)]), &[coin(6, 95)]);
        vec![mines(1, 100), child, parent]
    };
    assert!(wanted(slice::from_ref(&block(transactions()))).is_empty());
    let resolved = resolve("bch", true, transactions(), &[]).unwrap();
    assert_eq!(resolved[1].inputs[0].coin, Some(coin(6, 95)));
    assert!(matches!(resolve("btc", true, transactions(), &[]), Err(ResolveError::Missing { .. })));
}

#[test]
fn pools_are_inputs_and_outputs_of_their_own() {
    let pool = |value| Coin { owner: ScriptOwner::Pool(Pool::ZcashShielded), value };
    let hidden = |hidden, inputs, outputs: &[Coin]| {
        let transaction = ChainTransaction { hidden, ..pays(2, inputs, outputs) };
        resolve("zec", true, vec![mines(1, LITTLE), transaction], &[]).map(|mut all| all.remove(1))
    };
    let out = hidden(Hidden::FromPool(90), vec![], &[coin(5, 80)]).unwrap();
    assert_eq!(out.inputs, [ResolvedInput { output: place(2, NO_PLACE), coin: Some(pool(90)) }]);
    let into = hidden(Hidden::IntoPool(990), spends(&[place(1, 0)]), &[coin(5, 10)]).unwrap();
    assert_eq!(into.outputs, [coin(5, 10), pool(990)]);
    assert!(hidden(Hidden::IntoPool(991), spends(&[place(1, 0)]), &[coin(5, 10)]).is_err());
    assert!(hidden(Hidden::FromPool(79), vec![], &[coin(5, 80)]).is_err());
    // A place that the chain does not show: its value is unknown, not made up.
    let nowhere = hidden(Hidden::FromNowhere, vec![], &[coin(5, 80)]).unwrap();
    assert_eq!((nowhere.inputs[0].coin.clone(), nowhere.unknown), (None, 80));
    let coinbase = ChainTransaction { hidden: Hidden::FromPool(1), ..mines(1, 5) };
    assert!(resolve("zec", true, vec![coinbase], &[]).is_err());
}

#[test]
fn the_caller_says_what_a_payment_is() {
    let kind = TransactionKind::Coinjoin(CoinjoinKind::Generic);
    let mut batch = Resolver::new(ChainId::BTC, true).unwrap();
    let transactions = vec![mines(1, 100), pays(2, spends(&[place(1, 0)]), &[])];
    let resolved = batch.resolve(block(transactions), &|_| None, &|_| kind).unwrap();
    let kinds: Vec<_> = resolved.transactions.iter().map(|transaction| transaction.kind).collect();
    assert_eq!(kinds, [TransactionKind::Coinbase, kind]);
    assert!(Resolver::new(ChainId::ETH, true).is_err());
}
