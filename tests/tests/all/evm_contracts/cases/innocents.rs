//! People who trade beside thieves.

use assay_tests::evm::{
    Address,
    contracts::{USDT, WETH},
    genesis::ETHER,
};

use super::{Case, Outcome, allow, review, untouched};
use crate::evm_contracts::economy::{DOLLAR, Economy, payment, transfer, transfer_from};

pub(super) const CASES: &[Case] = &[
    trade,
    liquidity,
    liquidity_of_a_token,
    solver,
    gain_where_most_is_stolen,
    gain_where_little_is_stolen,
    treasury,
    lender,
    batch,
    vault,
    borrower,
    sale_in_escrow,
];

/// A market of whose ether most is stolen, at the price of the day.
fn stained_market(world: &mut Economy) -> Address {
    let (provider, thief) = (world.on.provider, world.stolen(600 * ETHER));
    let dollars = (USDT, 3_000_000 * DOLLAR);
    let market = world.pair(provider, (WETH, 400 * ETHER), dollars);
    world.wrap(thief, 600 * ETHER);
    world.transfer_all(thief, WETH, market);
    // The pair notes what it has.
    let nothing = [0.into(), 0.into(), provider.into()];
    world.call(provider, market, "swap(uint256,uint256,address)", &nothing);
    market
}

fn trade(world: &mut Economy) -> Vec<Outcome> {
    let (market, trader) = (stained_market(world), world.clean_dollars(30_000 * DOLLAR));
    world.swap(trader, market, USDT);
    vec![untouched("21", trader)]
}

fn liquidity(world: &mut Economy) -> Vec<Outcome> {
    let (market, thief) = (world.market(4_000 * ETHER, 3_000), world.stolen(600 * ETHER));
    let person = world.clean(10 * ETHER);
    world.dollars(person, 30_000 * DOLLAR);
    world.wrap(person, 10 * ETHER);
    for token in [WETH, USDT] {
        world.approve(person, token, world.on.router);
    }
    world.add_to(person, market, 99 * ETHER / 10, 29_700 * DOLLAR);
    world.buy(thief, market, 600 * ETHER);
    world.pull(person, market);
    vec![allow("22", person)]
}

/// Liquidity in a pair of a token, of whose ether a thief then pays nearly a third.
fn liquidity_of_a_token(world: &mut Economy) -> Vec<Outcome> {
    let ((token, pair), thief) = (world.token_market(2_000 * ETHER), world.stolen(600 * ETHER));
    let person = world.clean(10 * ETHER);
    world.buy(person, pair, 4 * ETHER);
    world.wrap(person, 4 * ETHER);
    for token in [WETH, token] {
        world.approve(person, token, world.on.router);
    }
    let units = world.units(token, person);
    world.add_to(person, pair, units * 99 / 100, 4 * ETHER);
    world.buy(thief, pair, 600 * ETHER);
    world.pull(person, pair);
    world.swap(person, pair, token);
    vec![allow("22b", person)]
}

/// A solver swaps for a person.
fn solver(world: &mut Economy) -> Vec<Outcome> {
    let (seller, solver) = (world.clean_dollars(30_000 * DOLLAR), world.clean(0));
    let (market, settlement, amount) = (stained_market(world), world.puppet(), 30_000 * DOLLAR);
    world.approve(seller, USDT, settlement);
    let [permit, swap] = world.routed(market, USDT, amount, settlement);
    let got = world.quote(market, USDT, amount);
    let drawn = transfer_from(USDT, (seller, settlement), amount);
    let (to_seller, to_solver) =
        (transfer(WETH, seller, got - got / 1_000), transfer(WETH, solver, got / 1_000));
    world.act(solver, settlement, 0, &[drawn, permit, swap, to_seller, to_solver]);
    vec![untouched("23", seller)]
}

/// A person buys a token, a thief more of it, and the person sells.
fn gain_beside_a_thief(world: &mut Economy, stolen: u128) -> (Address, Address, Address) {
    let ((token, pair), thief) = (world.token_market(2_000 * ETHER), world.stolen(stolen));
    let person = world.clean(20 * ETHER);
    world.buy(person, pair, 20 * ETHER);
    world.buy(thief, pair, stolen);
    world.sell(person, pair, token);
    (person, token, pair)
}

/// Gains, trades and the sale of an airdrop at a pair of whose ether most is stolen.
fn gain_where_most_is_stolen(world: &mut Economy) -> Vec<Outcome> {
    let (gainer, token, pair) = gain_beside_a_thief(world, 3_000 * ETHER);
    let trader = world.clean(20 * ETHER);
    for _ in 0..3 {
        world.buy(trader, pair, 10 * ETHER);
        world.sell(trader, pair, token);
    }
    let other = world.clean(50 * ETHER);
    world.mint(world.on.provider, token, other, 200 * ETHER);
    world.sell(other, pair, token);
    vec![review("24", gainer), allow("24c", trader), allow("25", other)]
}

fn gain_where_little_is_stolen(world: &mut Economy) -> Vec<Outcome> {
    let (gainer, ..) = gain_beside_a_thief(world, 300 * ETHER);
    vec![allow("24", gainer)]
}

/// A treasury sells its own token, to a thief too.
fn treasury(world: &mut Economy) -> Vec<Outcome> {
    let (treasury, buyer, thief) =
        (world.clean(300 * ETHER), world.clean(100 * ETHER), world.stolen(4 * ETHER));
    let (token, pair) = world.own_market(treasury, 300 * ETHER);
    world.buy(buyer, pair, 100 * ETHER);
    world.buy(thief, pair, 4 * ETHER);
    world.sell(treasury, pair, token);
    vec![allow("35", treasury)]
}

fn lender(world: &mut Economy) -> Vec<Outcome> {
    let (person, thief) = (world.clean(10 * ETHER), world.stolen(2_000 * ETHER));
    world.supply_ether(person, 10 * ETHER);
    world.supply_ether(thief, 2_000 * ETHER);
    world.borrow(thief, USDT, 4_000_000 * DOLLAR, thief);
    world.withdraw(person, WETH, 10 * ETHER, person);
    vec![untouched("36", person)]
}

/// Orders of two people and of a thief that one transaction settles.
fn batch(world: &mut Economy) -> Vec<Outcome> {
    let (seller, buyer) = (world.clean(10 * ETHER), world.clean_dollars(30_000 * DOLLAR));
    let (thief, payee, solver) = (world.stolen(10 * ETHER), world.account(), world.clean(0));
    let (settlement, ether, dollars) = (world.puppet(), 10 * ETHER, 30_000 * DOLLAR);
    for (account, token) in [(seller, WETH), (thief, WETH), (buyer, USDT)] {
        world.approve(account, token, settlement);
    }
    for account in [seller, thief] {
        world.wrap(account, ether);
    }
    let [permit, swap] = world.routed(world.on.market, WETH, ether, thief);
    let settled = [
        transfer_from(WETH, (seller, settlement), ether),
        transfer_from(USDT, (buyer, settlement), dollars),
        transfer_from(WETH, (thief, settlement), ether),
        transfer(WETH, buyer, ether),
        transfer(USDT, seller, dollars),
        permit,
        swap,
    ];
    world.act(solver, settlement, 0, &settled);
    world.transfer_all(thief, USDT, payee);
    vec![untouched("36", seller), untouched("36", buyer), review("36", payee)]
}

/// A vault of which nothing is known, with more stolen ether than clean. Each who leaves gets some more than was paid in.
fn vault(world: &mut Economy) -> Vec<Outcome> {
    let vault = world.puppet();
    let shares = world.deploy(world.exchange, "Token", &[]);
    world.mint(world.exchange, shares, vault, 500 * ETHER);
    let savers: Vec<_> = (0..20).map(|_| world.clean(10 * ETHER)).collect();
    let thief = world.stolen(300 * ETHER);
    let deposits = savers.iter().map(|saver| (*saver, 10 * ETHER));
    for (account, ether) in deposits.chain([(thief, 300 * ETHER)]) {
        world.act(account, vault, ether, &[transfer(shares, account, ether)]);
    }
    for saver in &savers {
        world.approve(*saver, shares, vault);
        let given = transfer_from(shares, (*saver, vault), 10 * ETHER);
        world.act(*saver, vault, 0, &[given, payment(*saver, 103 * ETHER / 10)]);
    }
    vec![allow("37", savers[0]), allow("37", savers[10]), review("37", savers[19])]
}

/// A loan beside one of a thief.
fn borrower(world: &mut Economy) -> Vec<Outcome> {
    let (person, thief) = (world.clean(10 * ETHER), world.stolen(1_000 * ETHER));
    world.buy(thief, world.on.market, 1_000 * ETHER);
    let dollars = world.units(USDT, thief);
    world.supply(thief, USDT, dollars, thief);
    world.supply_ether(person, 10 * ETHER);
    world.borrow(person, USDT, 20_000 * DOLLAR, person);
    vec![allow("N8", person)]
}

/// The bids of a thief and of a person lie at a contract, and the person gets what a seller offers.
fn sale_in_escrow(world: &mut Economy) -> Vec<Outcome> {
    let (seller, buyer, thief) =
        (world.clean(ETHER), world.clean(10 * ETHER), world.stolen(50 * ETHER));
    let (picture, escrow) = (world.deploy(world.exchange, "Token", &[]), world.puppet());
    world.mint(world.exchange, picture, seller, 1);
    world.pay(thief, escrow, 50 * ETHER);
    world.pay(buyer, escrow, 10 * ETHER);
    world.approve(seller, picture, escrow);
    let sold = transfer_from(picture, (seller, buyer), 1);
    world.act(buyer, escrow, 0, &[sold, payment(seller, 10 * ETHER)]);
    vec![allow("N8", seller)]
}
