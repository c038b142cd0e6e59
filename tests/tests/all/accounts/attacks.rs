//! Transactions that are hard to net, as somebody would send who wants to stop an ingest or to hide money.

use assay_engine::{
    account::{AccountAddress, TransferKind},
    score::Verdict,
    taxonomy::Category,
};
use assay_tests::{
    accounts::{AccountChain, AccountWorld, ETH, ETHER, chain::Move, move_of},
    world::Claim,
};

#[test]
fn two_thousand_forwarders_within_a_transaction_are_one_payment() {
    let mut chain = AccountChain::new();
    let thief = chain.party(Category::StolenFunds, "Some Hack");
    let accomplice = chain.account();
    chain.pay(thief, accomplice, ETH, 100 * ETHER);
    let mut holder = accomplice;
    let mut moves: Vec<Move> = Vec::new();
    for _ in 0..2_000 {
        let next = chain.account();
        moves.push((holder, next, ETH, 100 * ETHER));
        holder = next;
    }
    chain.send(accomplice, &moves);

    let world = AccountWorld::new(chain);
    let ledger = world.ledger(holder, ETH).unwrap();
    assert_eq!((ledger.balance, ledger.shares.known()[0].hops), (100 * ETHER, 2));
    assert_eq!(world.assess(holder).verdict, Verdict::Review);
}

/// Many payers, of whom a thief paid half, pay as many payees through two hubs and accounts between them, all in one
/// transaction. One payer is a listed party itself.
fn through_hubs(count: u32) -> (AccountWorld, Vec<AccountAddress>) {
    let mut chain = AccountChain::new();
    let exchange = chain.party(Category::Exchange, "Some Exchange");
    let thief = chain.party(Category::StolenFunds, "Some Hack");
    let hubs: [AccountAddress; 2] = chain.accounts();
    let amount = ETHER / 10;
    let (mut first, mut middle, mut last) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..count {
        let [payer, between, receiver] = chain.accounts();
        let source = if number % 2 == 0 { thief } else { exchange };
        chain.pay(source, payer, ETH, amount);
        first.push((payer, hubs[0], ETH, amount));
        middle.push((hubs[0], between, ETH, amount));
        middle.push((between, hubs[1], ETH, amount));
        last.push((hubs[1], receiver, ETH, amount));
    }
    let payees = last.iter().map(|(_, receiver, ..)| *receiver).collect();
    let moves = first.into_iter().chain(middle).chain(last);
    let transfers = moves.map(|it| move_of(TransferKind::Transfer, it)).collect();
    chain.record(Some(hubs[0]), transfers, Vec::new());
    (AccountWorld::new(chain), payees)
}

#[test]
fn thousands_of_payers_and_payees_within_a_transaction_are_a_mixture() {
    // Up to some pairs, each payer pays each receiver; beyond, the hubs do.
    for (count, fewest_hops) in [(40, 2), (1_000, 3)] {
        let (world, payees) = through_hubs(count);
        for receiver in [payees[0], payees[payees.len() - 1]] {
            let ledger = world.ledger(receiver, ETH).unwrap();
            assert_eq!(ledger.balance, ETHER / 10);
            let severe = ledger.shares.severe();
            assert!(severe.abs_diff(1 << 62) < 1 << 20, "{count}: {ledger:?}");
            let hops = ledger.shares.known().iter().map(|share| share.hops).max();
            assert_eq!(hops, Some(fewest_hops), "{count}: {ledger:?}");
            assert_eq!(world.assess(receiver).verdict, Verdict::Review, "{count}");
        }
    }
}

#[test]
fn nothing_stays_with_those_who_pass_all_on() {
    let (world, _) = through_hubs(1_000);
    let held = world.accounts().ledgers().all();
    let sum: u128 = held.iter().map(|(.., ledger)| ledger.balance).sum();
    assert_eq!(sum, 1_000 * (ETHER / 10));
    assert!(held.iter().all(|(.., ledger)| ledger.missing == 0));
}

#[test]
fn a_listed_party_that_pays_many_through_hubs_pays_directly() {
    let mut chain = AccountChain::new();
    let listed = chain.listed("DOE, Jane", "2025-01-01".parse().unwrap());
    let exchange = chain.party(Category::Exchange, "Some Exchange");
    let [hub, second] = chain.accounts();
    let mut moves = vec![(listed, hub, ETH, 2 * ETHER)];
    let mut payees = Vec::new();
    for _ in 0..80 {
        let [between, receiver, payer] = chain.accounts();
        chain.pay(exchange, payer, ETH, 20 * ETHER);
        moves.push((payer, hub, ETH, 2 * ETHER));
        moves.push((hub, between, ETH, 2 * ETHER));
        moves.push((between, second, ETH, 2 * ETHER));
        moves.push((second, receiver, ETH, 2 * ETHER));
        payees.push(receiver);
    }
    let transfers = moves.into_iter().map(|it| move_of(TransferKind::Transfer, it)).collect();
    chain.record(Some(hub), transfers, Vec::new());
    let world = AccountWorld::new(chain);
    let answer = world.assess(payees[7]);
    let reasons: Vec<_> = answer.reasons.iter().map(|reason| reason.code).collect();
    assert!(reasons.contains(&"direct_listed_counterparty"), "{answer:#?}");
}

/// The chain states balances: an opening balance is unknown money, and one that a token set keeps what it is made of.
#[test]
fn stated_balances_clean_nothing() {
    for stated in [1, 100 * ETHER, 100_000 * ETHER] {
        let mut chain = AccountChain::new();
        let thief = chain.party(Category::StolenFunds, "Some Hack");
        let [accomplice, payee] = chain.accounts();
        chain.pay(thief, accomplice, ETH, 100 * ETHER);
        let zero = AccountAddress::ZERO;
        let balances = [0, stated]
            .map(|amount| move_of(TransferKind::Balance, (zero, accomplice, ETH, amount)));
        chain.transact(accomplice, balances.to_vec());
        chain.pay_all(accomplice, payee, ETH);
        let world = AccountWorld::new(chain);
        let ledger = world.ledger(payee, ETH).unwrap();
        assert_eq!(ledger.shares.severe(), 1 << 63, "{stated}: {ledger:?}");
    }
}

/// The own label of an account never makes its payees' money clean.
#[test]
fn labels_of_contracts_end_no_money() {
    for category in [Category::Dex, Category::Defi, Category::Staking, Category::TokenContract] {
        let mut chain = AccountChain::new();
        let thief = chain.party(Category::StolenFunds, "Some Hack");
        let [accomplice, contract, payee] = chain.accounts();
        chain.label(contract, Claim::investigated(category, "Some Contract"));
        chain.pay(thief, accomplice, ETH, 100 * ETHER);
        chain.pay_all(accomplice, contract, ETH);
        chain.send(accomplice, &[(contract, payee, ETH, 100 * ETHER)]);
        let world = AccountWorld::new(chain);
        assert_eq!(world.assess(payee).verdict, Verdict::Review, "{category}");
    }
}
