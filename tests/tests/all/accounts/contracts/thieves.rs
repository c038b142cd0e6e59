//! The cases of the model in which stolen money goes through contracts. A name ends with the number of the case in the
//! model's table.

use assay_engine::{
    account::{AccountAddress, TransferKind},
    score::Verdict::{Allow, Block, Review},
};
use assay_tests::accounts::{
    DOLLAR, ETH, ETHER, Pool, USDC, WETH,
    contracts::{
        Call, Protocols, named_depositor,
        pool::OWN_TOKENS,
        protocols::TOKEN,
        wrapper::{unwrap, wrap},
    },
    move_of,
};

use crate::accounts::theft::Theft;

const ZERO: AccountAddress = AccountAddress::ZERO;
/// The contract into which validators of Ethereum deposit.
const VALIDATORS: AccountAddress = AccountAddress([
    0, 0, 0, 0, 0x21, 0x9a, 0xb5, 0x40, 0x35, 0x6c, 0xbb, 0x83, 0x9c, 0xbe, 0x05, 0x30, 0x3d, 0x77,
    0x05, 0xfa,
]);

/// An account that opens a pool of its own token with next to no ether, and the pool.
fn own_pool(theft: &mut Theft<Protocols>) -> (AccountAddress, Pool) {
    let owner = theft.clean(ETH, ETHER / 1_000);
    let pool = Pool::open_of_own_token(&mut theft.chain, owner, (ETH, ETHER / 1_000));
    (owner, pool)
}

/// A friend with clean ether, all of it liquidity in a pool of the friend's own token.
fn friends_pool(theft: &mut Theft<Protocols>, ether: u128) -> (AccountAddress, Pool) {
    let friend = theft.clean(ETH, ether * ETHER);
    let pool = Pool::open_of_own_token(&mut theft.chain, friend, (ETH, ether * ETHER));
    (friend, pool)
}

#[test]
fn ten_swaps_there_and_back_clean_nothing_2() {
    let mut theft = Theft::at_protocols(100);
    let (thief, pool) = (theft.accomplice, theft.on.ether_usdc);
    for _ in 0..10 {
        theft.swap_all(pool, thief, ETH);
        theft.swap_all(pool, thief, USDC);
    }
    theft.expect([(thief, Block)]);
}

#[test]
fn who_pulls_a_pool_of_an_own_token_has_the_buyers_money_3() {
    let mut theft = Theft::at_protocols(100);
    let (owner, pool) = own_pool(&mut theft);
    theft.swap_all(pool, theft.accomplice, ETH);
    theft.chain.execute(pool.pull(&theft.chain, owner));
    theft.expect([(owner, Review)]);
}

#[test]
fn a_bought_token_that_is_sent_and_sold_elsewhere_is_the_money_4() {
    let mut theft = Theft::at_protocols(100);
    let (thief, token) = (theft.accomplice, theft.on.token);
    let payee = theft.chain.account();
    theft.swap_all(theft.on.token_ether, thief, ETH);
    theft.chain.pay_all(thief, payee, token);
    theft.swap_all(theft.on.token_usdc, payee, token);
    theft.expect([(payee, Review)]);
}

#[test]
fn a_loan_against_stolen_money_is_the_money_5() {
    let mut theft = Theft::at_protocols(100);
    let (thief, payee) = (theft.accomplice, theft.chain.account());
    theft.run(|on, _| on.lending.supply((thief, thief), ETH, 100 * ETHER));
    theft.run(|on, _| on.lending.borrow((thief, thief), USDC, 225_000 * DOLLAR));
    theft.chain.pay_all(thief, payee, USDC);
    theft.expect([(thief, Block), (payee, Review)]);
}

#[test]
fn the_receipt_of_a_deposit_is_the_money_5() {
    let mut theft = Theft::at_protocols(100);
    let (thief, payee) = (theft.accomplice, theft.chain.account());
    theft.run(|on, _| on.lending.supply((thief, thief), ETH, 100 * ETHER));
    theft.chain.pay_all(thief, payee, theft.on.lending.reserve(ETH).receipt);
    theft.run(|on, _| on.lending.withdraw((payee, payee), ETH, 100 * ETHER));
    theft.expect([(payee, Review)]);
}

/// A lender of which nothing is known holds dollars and gets the stolen ether.
fn deposit_at_unknown_lender(
    receipt: Option<AccountAddress>,
) -> (Theft<Protocols>, AccountAddress) {
    let mut theft = Theft::at_protocols(100);
    let (thief, [lender, _]) = (theft.accomplice, theft.on.unknown);
    theft.chain.pay(theft.on.provider, lender, USDC, 3_000_000 * DOLLAR);
    let token =
        receipt.map(|contract| (ZERO, thief, assay_engine::account::Asset::Token(contract), 100));
    let deposit = Call::new(thief, &[(thief, lender, ETH, 100 * ETHER)]);
    theft.chain.execute(deposit.with_moves(token.as_slice()));
    (theft, lender)
}

#[test]
fn a_loan_by_an_unknown_contract_is_the_money_5() {
    let (mut theft, lender) = deposit_at_unknown_lender(None);
    let (thief, payee) = (theft.accomplice, theft.chain.account());
    theft.chain.send(thief, &[(lender, thief, USDC, 240_000 * DOLLAR)]);
    theft.chain.pay_all(thief, payee, USDC);
    theft.expect([(thief, Block), (payee, Review)]);
}

#[test]
fn a_loan_against_a_receipt_of_an_unknown_contract_is_the_money_5() {
    let receipt = AccountAddress([0x7e; 20]);
    let (mut theft, lender) = deposit_at_unknown_lender(Some(receipt));
    let (thief, payee) = (theft.accomplice, theft.chain.account());
    theft.chain.pay_all(thief, payee, assay_engine::account::Asset::Token(receipt));
    theft.chain.send(payee, &[(lender, payee, USDC, 240_000 * DOLLAR)]);
    theft.expect([(payee, Review)]);
}

#[test]
fn a_friend_who_trades_in_the_pool_takes_nothing_6() {
    let mut theft = Theft::at_protocols(100);
    let (owner, pool) = own_pool(&mut theft);
    let friend = theft.clean(ETH, 300 * ETHER);
    let token = pool.other(ETH);
    theft.swap_all(pool, theft.accomplice, ETH);
    for _ in 0..5 {
        theft.swap_all(pool, friend, ETH);
        theft.swap_all(pool, friend, token);
    }
    theft.chain.execute(pool.pull(&theft.chain, owner));
    theft.expect([(owner, Review), (friend, Allow)]);
}

#[test]
fn wrapped_stolen_ether_is_stolen_ether_7() {
    let mut theft = Theft::at_protocols(100);
    let (thief, payee) = (theft.accomplice, theft.chain.account());
    theft.chain.execute(wrap(thief, WETH, 100 * ETHER));
    theft.chain.pay_all(thief, payee, WETH);
    theft.chain.execute(unwrap((payee, payee), WETH, 100 * ETHER));
    theft.expect([(payee, Review)]);
}

#[test]
fn a_token_whose_log_names_an_exchange_is_sold_for_stolen_money_11() {
    let mut theft = Theft::at_protocols(100);
    let (thief, trader) = (theft.accomplice, theft.chain.account());
    let pool = Pool::open_of_own_token(&mut theft.chain, thief, (ETH, 50 * ETHER));
    let token = pool.other(ETH);
    // The token's own contract logs that the exchange pays it.
    theft.chain.mint(token, theft.exchange, 50_000 * TOKEN);
    theft.chain.send(thief, &[(theft.exchange, trader, token, 50_000 * TOKEN)]);
    theft.swap_all(pool, trader, token);
    theft.expect([(trader, Review)]);
}

#[test]
fn a_validator_that_a_thief_funds_pays_stolen_money_13() {
    let mut theft = Theft::at_protocols(100);
    let (thief, staker) = (theft.accomplice, theft.chain.account());
    theft.chain.deploy(VALIDATORS);
    theft.chain.execute(
        Call::new(thief, &[(thief, VALIDATORS, ETH, 32 * ETHER)])
            .naming(named_depositor(VALIDATORS, staker)),
    );
    let withdrawn = move_of(TransferKind::Withdrawal, (ZERO, staker, ETH, 32 * ETHER + ETHER / 10));
    theft.chain.record(None, vec![withdrawn], Vec::new());
    theft.expect([(staker, Review)]);
}

#[test]
fn a_deposit_at_the_entry_point_for_another_is_stolen_money_19c() {
    let mut theft = Theft::at_protocols(100);
    let (thief, [owner, bundler]) = (theft.accomplice, theft.chain.accounts());
    theft.run(|on, _| on.entry_point.deposit((thief, owner), ETH, 100 * ETHER));
    theft.run(|on, _| on.entry_point.withdraw((owner, owner), ETH, 100 * ETHER).sent_by(bundler));
    theft.expect([(owner, Review)]);
}

#[test]
fn a_friends_liquidity_that_a_thief_buys_out_is_stolen_a1() {
    let mut theft = Theft::at_protocols(100);
    let (friend, pool) = friends_pool(&mut theft, 300);
    theft.swap_all(pool, theft.accomplice, ETH);
    theft.chain.execute(pool.pull(&theft.chain, friend));
    theft.expect([(friend, Review)]);
}

#[test]
fn liquidity_that_is_pulled_in_parts_is_no_other_a1() {
    let mut theft = Theft::at_protocols(100);
    let (friend, pool) = friends_pool(&mut theft, 300);
    theft.swap_all(pool, theft.accomplice, ETH);
    for _ in 0..6 {
        let half = theft.balance(friend, pool.shares) / 2;
        theft.chain.execute(pool.withdraw(&theft.chain, (friend, friend), half));
    }
    theft.chain.execute(pool.pull(&theft.chain, friend));
    theft.expect([(friend, Review)]);
}

#[test]
fn five_pools_of_a_friend_are_no_other_a1() {
    let mut theft = Theft::at_protocols(100);
    let (friend, thief) = (theft.clean(ETH, 300 * ETHER), theft.accomplice);
    for _ in 0..5 {
        let pool = Pool::open_of_own_token(&mut theft.chain, friend, (ETH, 300 * ETHER));
        pool.swap(&mut theft.chain, thief, ETH, 20 * ETHER);
        theft.chain.execute(pool.pull(&theft.chain, friend));
    }
    theft.expect([(friend, Review)]);
}

#[test]
fn liquidity_that_is_pulled_to_another_is_no_other_a1() {
    let mut theft = Theft::at_protocols(100);
    let (friend, pool) = friends_pool(&mut theft, 300);
    let (contract, token, other) = (pool.contract, pool.other(ETH), theft.chain.account());
    theft.swap_all(pool, theft.accomplice, ETH);
    let (ether, tokens) = (theft.balance(contract, ETH), theft.balance(contract, token));
    theft.chain.send(
        friend,
        &[
            (friend, contract, pool.shares, ETHER),
            (contract, ZERO, pool.shares, ETHER),
            (contract, other, ETH, ether),
            (contract, friend, token, tokens),
        ],
    );
    theft.expect([(other, Review)]);
}

#[test]
fn liquidity_that_is_shared_with_another_is_no_other_a1() {
    let mut theft = Theft::at_protocols(100);
    let (friend, pool) = friends_pool(&mut theft, 300);
    let other = theft.chain.account();
    theft.chain.pay(friend, other, pool.shares, ETHER * 3 / 4);
    theft.swap_all(pool, theft.accomplice, ETH);
    for owner in [other, friend] {
        theft.chain.execute(pool.pull(&theft.chain, owner));
    }
    theft.expect([(friend, Review), (other, Review)]);
}

#[test]
fn a_worthless_token_with_clean_backing_sold_for_stolen_ether_is_stolen_a2() {
    let mut theft = Theft::at_protocols(100);
    let (owner, pool) = own_pool(&mut theft);
    let friend = theft.clean(ETH, 100 * ETHER);
    theft.swap_all(pool, friend, ETH);
    // The owner takes the friend's clean ether, and the thief's comes in its place.
    let nearly_all = ETHER / 1_000_000 * 999_999;
    theft.chain.execute(pool.withdraw(&theft.chain, (owner, owner), nearly_all));
    theft.swap_all(pool, theft.accomplice, ETH);
    theft.swap_all(pool, friend, pool.other(ETH));
    theft.chain.execute(pool.pull(&theft.chain, owner));
    theft.expect([(owner, Allow), (friend, Review)]);
}

#[test]
fn a_token_washed_for_a_thousandth_of_an_ether_is_stolen_money_a3() {
    let mut theft = Theft::at_protocols(100);
    let (thief, payee) = (theft.accomplice, theft.clean(ETH, ETHER / 100));
    let ([contract, _], token) = (theft.on.unknown, theft.on.token);
    theft.swap_all(theft.on.token_ether, thief, ETH);
    let amount = theft.balance(thief, token);
    theft.chain.pay(thief, contract, token, amount);
    theft
        .chain
        .send(payee, &[(payee, contract, ETH, ETHER / 1_000), (contract, payee, token, amount)]);
    theft.swap_all(theft.on.token_usdc, payee, token);
    theft.expect([(payee, Review)]);
}

/// A friend's debt against 150 clean ether, which the thief repays.
fn repaid_debt_of_a_friend() -> (Theft<Protocols>, AccountAddress) {
    let mut theft = Theft::at_protocols(100);
    let (thief, friend) = (theft.accomplice, theft.clean(ETH, 150 * ETHER));
    theft.run(|on, _| on.lending.supply((friend, friend), ETH, 150 * ETHER));
    theft.run(|on, _| on.lending.borrow((friend, friend), USDC, 300_000 * DOLLAR));
    theft.swap_all(theft.on.ether_usdc, thief, ETH);
    let repaid = theft.balance(thief, USDC);
    theft.run(|on, _| on.lending.repay((thief, friend), USDC, repaid));
    (theft, friend)
}

#[test]
fn collateral_of_a_debt_that_a_thief_repaid_is_stolen_a4() {
    let (mut theft, friend) = repaid_debt_of_a_friend();
    theft.run(|on, _| on.lending.withdraw((friend, friend), ETH, 150 * ETHER));
    theft.expect([(friend, Review)]);
}

#[test]
fn who_gets_the_collateral_of_a_debt_that_a_thief_repaid_is_reviewed_a4() {
    let (mut theft, friend) = repaid_debt_of_a_friend();
    let other = theft.chain.account();
    theft.chain.pay_all(friend, other, theft.on.lending.reserve(ETH).receipt);
    theft.run(|on, _| on.lending.withdraw((other, other), ETH, 150 * ETHER));
    theft.expect([(other, Review)]);
}

#[test]
fn an_own_contract_that_hands_out_three_tokens_hides_nothing() {
    let mut theft = Theft::at_protocols(100);
    let (thief, payee) = (theft.accomplice, theft.chain.account());
    let ([contract, _], token) = (theft.on.unknown, theft.on.token);
    let pool = theft.on.token_ether;
    let bought = pool.quote(&theft.chain, ETH, 100 * ETHER);
    let junk = [(); 3].map(|()| theft.chain.token());
    let bought = [
        (thief, contract, ETH, 100 * ETHER),
        (contract, pool.contract, ETH, 100 * ETHER),
        (pool.contract, contract, token, bought),
        (contract, thief, token, bought),
    ];
    theft.chain.execute(
        Call::new(thief, &bought).with_moves(&junk.map(|token| (ZERO, thief, token, TOKEN))),
    );
    theft.chain.pay_all(thief, payee, token);
    theft.swap_all(theft.on.token_usdc, payee, token);
    theft.expect([(payee, Review)]);
}

#[test]
fn of_an_own_vault_each_gets_his_own_history() {
    let mut theft = Theft::at_protocols(100);
    let (thief, friend) = (theft.accomplice, theft.clean(ETH, 300 * ETHER));
    let (payee, [vault, _]) = (theft.chain.account(), theft.on.unknown);
    theft.chain.pay_all(friend, vault, ETH);
    theft.chain.pay_all(thief, vault, ETH);
    theft.chain.send(thief, &[(vault, payee, ETH, 100 * ETHER)]);
    theft.chain.send(friend, &[(vault, friend, ETH, 300 * ETHER)]);
    theft.expect([(payee, Review), (friend, Allow)]);
}

#[test]
fn a_pool_that_pays_the_same_asset_to_another_passes_it_on() {
    let mut theft = Theft::at_protocols(100);
    let (thief, payee) = (theft.accomplice, theft.chain.account());
    let pool = Pool::open_of_own_token(&mut theft.chain, thief, (ETH, ETHER / 1_000));
    theft.chain.send(
        thief,
        &[(thief, pool.contract, ETH, 90 * ETHER), (pool.contract, payee, ETH, 90 * ETHER)],
    );
    theft.expect([(payee, Review)]);
}

#[test]
fn a_friends_dollars_in_an_own_contract_are_bought_by_the_thief() {
    let mut theft = Theft::at_protocols(100);
    let (thief, friend) = (theft.accomplice, theft.clean(USDC, 100_000 * DOLLAR));
    let (payee, [contract, _]) = (theft.chain.account(), theft.on.unknown);
    theft.chain.pay_all(friend, contract, USDC);
    theft.chain.send(
        thief,
        &[(thief, contract, ETH, 30 * ETHER), (contract, payee, USDC, 90_000 * DOLLAR)],
    );
    theft.chain.send(friend, &[(contract, friend, ETH, 30 * ETHER)]);
    theft.expect([(payee, Review), (friend, Allow)]);
}

#[test]
fn who_lost_what_backed_a_token_does_not_clean_the_pool() {
    let mut theft = Theft::at_protocols(100);
    let (friend, pool) = friends_pool(&mut theft, 100);
    let ([first, second], burnt) = (theft.chain.accounts(), theft.chain.account());
    theft.swap_all(pool, theft.accomplice, ETH);
    theft.chain.pay_all(theft.accomplice, burnt, pool.other(ETH));
    theft.chain.execute(pool.pull(&theft.chain, friend));
    theft.chain.pay(friend, first, ETH, 100 * ETHER);
    theft.chain.pay_all(friend, second, ETH);
    theft.expect([(friend, Review), (first, Review), (second, Review)]);
}

#[test]
fn deposits_of_a_friend_pump_no_claims_n4() {
    let mut theft = Theft::at_protocols(100);
    let (thief, friend) = (theft.accomplice, theft.clean(ETH, 300 * ETHER));
    let (payee, [contract, _]) = (theft.chain.account(), theft.on.unknown);
    for _ in 0..6 {
        theft.chain.pay_all(friend, contract, ETH);
        theft.chain.pay(thief, contract, ETH, 16 * ETHER);
        theft.chain.send(friend, &[(contract, friend, ETH, 300 * ETHER)]);
    }
    let rest = theft.balance(contract, ETH);
    theft.chain.send(friend, &[(contract, payee, ETH, rest)]);
    theft.expect([(friend, Allow), (payee, Review)]);
}

#[test]
fn own_tokens_are_nine_tenths_of_the_pool() {
    let mut theft = Theft::at_protocols(0);
    let (owner, pool) = own_pool(&mut theft);
    let token = pool.other(ETH);
    assert_eq!(theft.balance(pool.contract, token), OWN_TOKENS / 10 * 9);
    assert_eq!(theft.balance(owner, token), OWN_TOKENS / 10);
}
