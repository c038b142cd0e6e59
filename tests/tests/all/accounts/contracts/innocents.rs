//! The cases of the model of those who trade beside thieves. A name ends with the number of the case in the model's table.

use assay_engine::{
    account::AccountAddress,
    assessment::Assessment,
    score::Verdict::{self, Allow, Review},
    taxonomy::Category,
};
use assay_tests::accounts::{
    DOLLAR, ETH, ETHER, Pool, USDC, USDT,
    contracts::{Call, Protocols, Vault, protocols::TOKEN},
};

use crate::accounts::theft::{Theft, assert_allow};

const ZERO: AccountAddress = AccountAddress::ZERO;

/// Asserts an `allow` without any stolen part.
#[track_caller]
fn assert_untouched(assessment: &Assessment) {
    assert_allow(assessment);
    let stolen = assessment.exposure.iter().find(|it| it.category == Some(Category::StolenFunds));
    assert!(stolen.is_none(), "{assessment:#?}");
}

#[test]
fn a_swap_at_a_pool_full_of_stolen_money_21() {
    let mut theft = Theft::at_protocols(600);
    let provider = theft.on.provider;
    let sides = [(USDC, 3_000_000 * DOLLAR), (ETH, 400 * ETHER)];
    let pool = Pool::open(&mut theft.chain, provider, sides);
    theft.chain.pay_all(theft.accomplice, pool.contract, ETH);
    let person = theft.clean(USDC, 30_000 * DOLLAR);
    theft.swap_all(pool, person, USDC);
    let [person] = theft.assess([person]);
    assert_untouched(&person);
}

/// A person with liquidity worth 20 ether in a pool.
fn provider_of(theft: &mut Theft<Protocols>, pool: Pool) -> AccountAddress {
    let person = theft.clean(ETH, 10 * ETHER);
    theft.withdraw(person, USDC, 30_000 * DOLLAR);
    let shares = pool.most_shares(&theft.chain, person) / 100 * 99;
    theft.chain.execute(pool.provide(&theft.chain, person, shares));
    person
}

#[test]
fn liquidity_beside_a_thief_who_swaps_22() {
    let mut theft = Theft::at_protocols(600);
    let pool = theft.on.ether_usdc;
    let person = provider_of(&mut theft, pool);
    theft.swap_all(pool, theft.accomplice, ETH);
    theft.chain.wait_days(2);
    theft.chain.execute(pool.pull(&theft.chain, person));
    theft.expect([(person, Allow)]);
}

#[test]
fn liquidity_in_a_pool_of_a_token_into_which_a_thief_pays_a_third_22b() {
    let mut theft = Theft::at_protocols(600);
    let (pool, token) = (theft.on.token_ether, theft.on.token);
    let person = theft.clean(ETH, 10 * ETHER);
    pool.swap(&mut theft.chain, person, ETH, 4 * ETHER);
    theft.chain.execute(pool.provide(&theft.chain, person, ETHER * 18 / 10_000));
    theft.swap_all(pool, theft.accomplice, ETH);
    theft.chain.wait_days(2);
    theft.chain.execute(pool.pull(&theft.chain, person));
    theft.swap_all(pool, person, token);
    theft.expect([(person, Allow)]);
}

#[test]
fn a_solver_who_swaps_for_a_person_23() {
    let mut theft = Theft::at_protocols(100);
    let (person, solver) = (theft.clean(ETH, 10 * ETHER), theft.chain.account());
    let (settlement, pool) = (theft.chain.contract(), theft.on.ether_usdc);
    let got = pool.quote(&theft.chain, ETH, 10 * ETHER);
    theft.chain.send(
        solver,
        &[
            (person, settlement, ETH, 10 * ETHER),
            (settlement, pool.contract, ETH, 10 * ETHER),
            (pool.contract, settlement, USDC, got),
            (settlement, person, USDC, got - got / 1_000),
            (settlement, solver, USDC, got / 1_000),
        ],
    );
    let [person] = theft.assess([person]);
    assert_untouched(&person);
}

/// A person buys a token, a thief buys more of it, and the person sells.
fn gain_beside_a_thief(stolen: u128) -> (Theft<Protocols>, AccountAddress) {
    let mut theft = Theft::at_protocols(stolen);
    let (pool, token) = (theft.on.token_ether, theft.on.token);
    let person = theft.clean(ETH, 20 * ETHER);
    theft.swap_all(pool, person, ETH);
    theft.swap_all(pool, theft.accomplice, ETH);
    theft.swap_all(pool, person, token);
    (theft, person)
}

#[test]
fn a_gain_that_a_thief_paid_where_most_is_stolen_is_reviewed_24() {
    let (theft, person) = gain_beside_a_thief(3_000);
    theft.expect([(person, Review)]);
}

#[test]
fn a_gain_where_a_thirteenth_is_stolen_is_allowed_24() {
    let (theft, person) = gain_beside_a_thief(300);
    theft.expect([(person, Allow)]);
}

#[test]
fn trades_in_a_pool_of_which_most_is_stolen_24c() {
    let mut theft = Theft::at_protocols(3_000);
    let (pool, token) = (theft.on.token_ether, theft.on.token);
    let person = theft.clean(ETH, 20 * ETHER);
    theft.swap_all(pool, theft.accomplice, ETH);
    for _ in 0..3 {
        pool.swap(&mut theft.chain, person, ETH, 10 * ETHER);
        theft.swap_all(pool, person, token);
    }
    theft.expect([(person, Allow)]);
}

#[test]
fn an_airdrop_sold_at_a_pool_of_which_most_is_stolen_25() {
    let mut theft = Theft::at_protocols(3_000);
    let (pool, token) = (theft.on.token_ether, theft.on.token);
    let person = theft.clean(ETH, 50 * ETHER);
    theft.swap_all(pool, theft.accomplice, ETH);
    theft.chain.pay(theft.on.provider, person, token, 200 * TOKEN);
    theft.swap_all(pool, person, token);
    theft.expect([(person, Allow)]);
}

#[test]
fn a_treasury_that_sells_its_token_35() {
    let mut theft = Theft::at_protocols(20);
    let treasury = theft.clean(ETH, 300 * ETHER);
    let pool = Pool::open_of_own_token(&mut theft.chain, treasury, (ETH, 300 * ETHER));
    let buyer = theft.clean(ETH, 100 * ETHER);
    theft.swap_all(pool, buyer, ETH);
    pool.swap(&mut theft.chain, theft.accomplice, ETH, 4 * ETHER);
    pool.swap(&mut theft.chain, treasury, pool.other(ETH), 50_000 * TOKEN);
    theft.expect([(treasury, Allow)]);
}

#[test]
fn a_lender_beside_a_thief_36() {
    let mut theft = Theft::at_protocols(3_000);
    let (thief, person) = (theft.accomplice, theft.clean(ETH, 10 * ETHER));
    theft.run(|on, _| on.lending.supply((person, person), ETH, 10 * ETHER));
    theft.run(|on, _| on.lending.supply((thief, thief), ETH, 3_000 * ETHER));
    theft.run(|on, _| on.lending.borrow((thief, thief), USDC, 6_000_000 * DOLLAR));
    theft.run(|on, _| on.lending.withdraw((person, person), ETH, 10 * ETHER));
    let [person] = theft.assess([person]);
    assert_untouched(&person);
}

#[test]
fn of_an_unknown_vault_of_which_most_is_stolen_the_last_to_leave_is_reviewed_37() {
    let mut theft = Theft::at_protocols(300);
    let vault = Vault::new(&mut theft.chain, ETH);
    let savers: Vec<AccountAddress> = (0..20).map(|_| theft.clean(ETH, 10 * ETHER)).collect();
    for saver in &savers {
        theft.chain.execute(vault.deposit(&theft.chain, *saver, 10 * ETHER));
    }
    let stolen = vault.deposit(&theft.chain, theft.accomplice, 300 * ETHER);
    theft.chain.execute(stolen);
    // Each gets three hundredths more than was paid in.
    for saver in &savers {
        theft.chain.send(
            *saver,
            &[
                (*saver, ZERO, vault.shares, 10 * ETHER),
                (vault.contract, *saver, ETH, 10 * ETHER + 3 * ETHER / 10),
            ],
        );
    }
    theft.expect([(savers[0], Allow), (savers[10], Allow), (savers[19], Review)]);
}

#[test]
fn a_pool_at_which_the_labelled_thief_swaps_21() {
    let mut theft = Theft::at_protocols(0);
    let (thief, pool) = (theft.thief, theft.on.ether_usdc);
    for _ in 0..20 {
        pool.swap(&mut theft.chain, thief, ETH, 500 * ETHER);
        theft.swap_all(pool, thief, USDC);
    }
    let trader = theft.clean(ETH, 10 * ETHER);
    theft.swap_all(pool, trader, ETH);
    let provider = theft.clean(ETH, 3 * ETHER);
    theft.withdraw(provider, USDC, 9_000 * DOLLAR);
    theft.chain.execute(pool.provide(&theft.chain, provider, ETHER * 6 / 10_000));
    theft.chain.wait_days(1);
    theft.chain.execute(pool.pull(&theft.chain, provider));
    theft.expect([(trader, Allow), (provider, Allow)]);
}

#[test]
fn a_batch_of_orders_beside_a_thief_36() {
    let mut theft = Theft::at_protocols(10);
    let thief = theft.accomplice;
    let sells_ether = theft.clean(ETH, 10 * ETHER);
    let sells_usdc = theft.clean(USDC, 30_000 * DOLLAR);
    let offers_tether = theft.clean(USDT, 15_000 * DOLLAR);
    let (solver, payee, settlement) =
        (theft.chain.account(), theft.chain.account(), theft.chain.contract());
    let (tether_pool, usdc_pool) = (theft.on.usdt_ether, theft.on.ether_usdc);
    let ether = tether_pool.quote(&theft.chain, USDT, 15_000 * DOLLAR);
    let dollars = usdc_pool.quote(&theft.chain, ETH, 10 * ETHER);
    theft.chain.send(
        solver,
        &[
            (sells_ether, settlement, ETH, 10 * ETHER),
            (sells_usdc, settlement, USDC, 30_000 * DOLLAR),
            (thief, settlement, ETH, 10 * ETHER),
            (offers_tether, settlement, USDT, 15_000 * DOLLAR),
            (settlement, tether_pool.contract, USDT, 15_000 * DOLLAR),
            (tether_pool.contract, settlement, ETH, ether),
            (settlement, offers_tether, ETH, ether),
            (settlement, sells_usdc, ETH, 10 * ETHER),
            (settlement, sells_ether, USDC, 30_000 * DOLLAR),
            (settlement, usdc_pool.contract, ETH, 10 * ETHER),
            (usdc_pool.contract, settlement, USDC, dollars),
            (settlement, thief, USDC, dollars),
        ],
    );
    theft.chain.pay_all(thief, payee, USDC);
    let people = [sells_ether, sells_usdc, offers_tether].map(|person| (person, Allow));
    let [first, second, third] = people;
    theft.expect([first, second, third, (payee, Review)]);
}

#[test]
fn a_bundle_that_carries_a_thiefs_operation_30() {
    let mut theft = Theft::at_protocols(10);
    let (thief, person) = (theft.accomplice, theft.clean(USDC, 30_000 * DOLLAR));
    let [bundler, shop, payee] = theft.chain.accounts();
    let entry_point = theft.on.entry_point.contract;
    theft.chain.send(
        bundler,
        &[
            (person, entry_point, ETH, 0),
            (thief, entry_point, ETH, ETHER / 100),
            (entry_point, bundler, ETH, ETHER / 100),
            (thief, payee, ETH, 99 * ETHER / 10),
            (person, shop, USDC, 100 * DOLLAR),
        ],
    );
    theft.expect([(person, Allow), (shop, Allow), (payee, Review), (bundler, Review)]);
}

/// The thief's bid and a person's bid wait at a market; the person gets the picture of a seller.
fn sale_beside_a_thief(is_completed_by_buyer: bool) -> (Theft<Protocols>, AccountAddress) {
    let mut theft = Theft::at_protocols(50);
    let (market, picture) = (theft.chain.contract(), theft.chain.token());
    let (seller, buyer) = (theft.clean(ETH, ETHER), theft.clean(ETH, 10 * ETHER));
    theft.chain.mint(picture, seller, 1);
    theft.chain.pay_all(theft.accomplice, market, ETH);
    theft.chain.pay_all(buyer, market, ETH);
    let sender = if is_completed_by_buyer { buyer } else { seller };
    let sale = Call::new(sender, &[(seller, buyer, picture, 1), (market, seller, ETH, 10 * ETHER)]);
    theft.chain.execute(sale);
    (theft, seller)
}

#[test]
fn a_sale_whose_price_waited_beside_a_thiefs_n8() {
    let (theft, seller) = sale_beside_a_thief(true);
    theft.expect([(seller, Allow)]);
}

/// Nothing shows whose bid the contract pays out if the seller takes it.
#[test]
fn a_sale_that_the_seller_completes_beside_a_thief_is_reviewed_n9() {
    let (theft, seller) = sale_beside_a_thief(false);
    let expected: Verdict = Review;
    theft.expect([(seller, expected)]);
}
