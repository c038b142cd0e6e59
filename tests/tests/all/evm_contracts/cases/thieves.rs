//! Stolen money that goes through contracts.

use assay_tests::evm::{
    abi,
    contracts::{ENTRY_POINT, USDT, WETH},
    genesis::ETHER,
};

use super::{Case, LOOT, Outcome, allow, block, review};
use crate::evm_contracts::economy::{
    DOLLAR, ETHER_DOLLARS, Economy, acts, payment, transfer, transfer_from,
};

pub(super) const CASES: &[Case] = &[
    flash_loan,
    swaps_there_and_back,
    own_tokens,
    token_sold_elsewhere,
    loans,
    loans_of_unknown_contracts,
    friend_who_trades,
    wrapped,
    forged_token,
    deposit_for_another,
    pulled_liquidity,
    worthless_token,
    washed_token,
    repaid_debt,
];

fn flash_loan(world: &mut Economy) -> Vec<Outcome> {
    let loan = 4_000 * ETHER;
    let lender = world.deploy(world.exchange, "FlashLender", &[]);
    world.pay(world.exchange, lender, loan);
    let (thief, puppet, payee) = (world.stolen(LOOT), world.puppet(), world.account());
    let inner = acts(&[payment(payee, LOOT), payment(lender, loan)]);
    let arguments = [loan.into(), puppet.into(), inner.into()];
    let lend = abi::call("lend(uint256,address,bytes)", &arguments);
    world.act(thief, puppet, LOOT, &[(lender, 0, lend)]);
    vec![review("1", payee)]
}

fn swaps_there_and_back(world: &mut Economy) -> Vec<Outcome> {
    let (thief, market) = (world.stolen(LOOT), world.on.market);
    for _ in 0..10 {
        world.buy(thief, market, world.ether(thief));
        world.sell(thief, market, USDT);
    }
    vec![block("2", thief)]
}

/// A pair of an own token that is pulled, and a contract that sells its own token.
fn own_tokens(world: &mut Economy) -> Vec<Outcome> {
    let (owner, thief) = (world.clean(ETHER / 1_000), world.stolen(LOOT));
    let (_, pair) = world.own_market(owner, ETHER / 1_000);
    world.buy(thief, pair, LOOT);
    world.pull(owner, pair);
    let (other, thief) = (world.clean(0), world.stolen(LOOT));
    let rug = world.deploy(other, "Rug", &[]);
    world.pay_call(thief, rug, LOOT, "buy()", &[]);
    world.call(other, rug, "pull(address)", &[other.into()]);
    vec![review("3", owner), review("3", other)]
}

fn token_sold_elsewhere(world: &mut Economy) -> Vec<Outcome> {
    let (thief, seller, token) = (world.stolen(LOOT), world.clean(0), world.on.token);
    world.buy(thief, world.on.token_ether, LOOT);
    world.transfer_all(thief, token, seller);
    world.swap(seller, world.on.token_dollars, token);
    vec![review("4", seller)]
}

/// A loan that is paid on, and a receipt that is sent.
fn loans(world: &mut Economy) -> Vec<Outcome> {
    let (thief, payee) = (world.stolen(LOOT), world.account());
    world.supply_ether(thief, LOOT);
    world.borrow(thief, USDT, 225_000 * DOLLAR, thief);
    world.transfer_all(thief, USDT, payee);
    let (other, taker) = (world.stolen(LOOT), world.clean(0));
    world.supply_ether(other, LOOT);
    world.transfer(other, world.receipt_for(WETH), taker, LOOT);
    world.withdraw(taker, WETH, LOOT, taker);
    vec![block("5", thief), review("5", payee), review("5", taker)]
}

/// A contract with dollars that lends them for stolen ether, without a receipt and for one that is sent.
fn loans_of_unknown_contracts(world: &mut Economy) -> Vec<Outcome> {
    let loan = 240_000 * DOLLAR;
    let lender = |world: &mut Economy| {
        let lender = world.puppet();
        world.transfer(world.on.provider, USDT, lender, 300_000 * DOLLAR);
        lender
    };
    let (thief, payee, puppet) = (world.stolen(LOOT), world.account(), lender(world));
    world.pay(thief, puppet, LOOT);
    world.act(thief, puppet, 0, &[transfer(USDT, thief, loan)]);
    world.transfer_all(thief, USDT, payee);
    let (other, borrower, puppet) = (world.stolen(LOOT), world.clean(0), lender(world));
    let receipt = world.deploy(world.exchange, "Token", &[]);
    world.mint(world.exchange, receipt, puppet, ETHER);
    world.act(other, puppet, LOOT, &[transfer(receipt, other, 100)]);
    world.transfer_all(other, receipt, borrower);
    world.act(borrower, puppet, 0, &[transfer(USDT, borrower, loan)]);
    vec![block("5", thief), review("5", payee), review("5", borrower)]
}

fn friend_who_trades(world: &mut Economy) -> Vec<Outcome> {
    let (owner, friend, thief) =
        (world.clean(ETHER / 1_000), world.clean(300 * ETHER), world.stolen(LOOT));
    let (token, pair) = world.own_market(owner, ETHER / 1_000);
    world.buy(thief, pair, LOOT);
    for _ in 0..5 {
        world.buy(friend, pair, world.ether(friend));
        world.sell(friend, pair, token);
    }
    world.pull(owner, pair);
    vec![review("6", owner), allow("6", friend)]
}

fn wrapped(world: &mut Economy) -> Vec<Outcome> {
    let (thief, taker) = (world.stolen(LOOT), world.clean(0));
    world.wrap(thief, LOOT);
    world.transfer(thief, WETH, taker, LOOT);
    world.call(taker, WETH, "withdraw(uint256)", &[LOOT.into()]);
    vec![review("7", taker)]
}

/// A token that its creator moves as he likes, out of the exchange too.
fn forged_token(world: &mut Economy) -> Vec<Outcome> {
    let (thief, trader) = (world.stolen(LOOT), world.clean(0));
    let units = 50_000 * ETHER;
    let token = world.deploy(thief, "Forgery", &[]);
    for (to, amount) in [(thief, 20 * units), (world.exchange, units)] {
        world.mint(thief, token, to, amount);
    }
    world.wrap(thief, 50 * ETHER);
    let pair = world.pair(thief, (token, 18 * units), (WETH, 50 * ETHER));
    let moved = [world.exchange.into(), trader.into(), units.into()];
    world.call(thief, token, "move(address,address,uint256)", &moved);
    world.sell(trader, pair, token);
    vec![review("11", trader)]
}

/// A deposit at an entry point for the smart account of another, who has it paid out.
fn deposit_for_another(world: &mut Economy) -> Vec<Outcome> {
    let (owner, thief, taker) = (world.clean(0), world.stolen(LOOT), world.account());
    let account = world.smart_account(owner);
    world.pay_call(thief, ENTRY_POINT, LOOT, "depositTo(address)", &[account.into()]);
    let amount = 99 * ETHER;
    let withdraw = abi::call("withdrawTo(address,uint256)", &[taker.into(), amount.into()]);
    world.execute(owner, account, (ENTRY_POINT, 0, withdraw));
    vec![review("19c", taker)]
}

/// Clean liquidity of a friend in an own pair, where a thief buys.
fn pulled_liquidity(world: &mut Economy) -> Vec<Outcome> {
    let (friend, thief) = (world.clean(300 * ETHER), world.stolen(LOOT));
    let (_, pair) = world.own_market(friend, 300 * ETHER);
    world.buy(thief, pair, LOOT);
    world.pull(friend, pair);
    vec![review("A1", friend)]
}

/// A worthless token, for which a friend paid clean ether, is sold for stolen ether.
fn worthless_token(world: &mut Economy) -> Vec<Outcome> {
    let (owner, friend, thief) = (world.clean(0), world.clean(LOOT), world.stolen(LOOT));
    let rug = world.deploy(owner, "Rug", &[]);
    world.pay_call(friend, rug, LOOT, "buy()", &[]);
    world.call(owner, rug, "pull(address)", &[owner.into()]);
    let puppet = world.puppet();
    world.approve(friend, rug, puppet);
    let sold = transfer_from(rug, (friend, thief), LOOT);
    world.act(thief, puppet, LOOT, &[sold, payment(friend, LOOT)]);
    vec![allow("A2", owner), review("A2", friend)]
}

/// A token that was bought with stolen ether is got from an own contract for a thousandth of an ether.
fn washed_token(world: &mut Economy) -> Vec<Outcome> {
    let (thief, payee, puppet, token) =
        (world.stolen(LOOT), world.clean(0), world.puppet(), world.on.token);
    world.buy(thief, world.on.token_ether, LOOT);
    let units = world.units(token, thief);
    world.transfer(thief, token, puppet, units);
    world.act(payee, puppet, ETHER / 1_000, &[transfer(token, payee, units)]);
    world.swap(payee, world.on.token_dollars, token);
    vec![review("A3", payee)]
}

/// A thief repays the debt of a friend, who takes a part of the collateral and sends another.
fn repaid_debt(world: &mut Economy) -> Vec<Outcome> {
    let (friend, thief, taker) = (world.clean(150 * ETHER), world.stolen(LOOT), world.clean(0));
    let debt = 250_000 * DOLLAR;
    world.supply_ether(friend, 150 * ETHER);
    world.borrow(friend, USDT, debt, friend);
    world.buy(thief, world.on.market, LOOT);
    let repaid = world.units(USDT, thief).min(debt);
    world.repay(thief, USDT, repaid, friend);
    let free = 150 * ETHER - collateral_of(debt - repaid);
    world.transfer(friend, world.receipt_for(WETH), taker, free);
    world.withdraw(taker, WETH, free, taker);
    vec![review("A4", taker)]
}

/// The ether that a debt of dollars needs, and one more.
const fn collateral_of(debt: u128) -> u128 {
    debt * ETHER / DOLLAR / ETHER_DOLLARS * 4 / 3 + ETHER
}
