//! Ways to hide stolen money behind what others get, and what they do to others.

use assay_tests::evm::{
    Address, abi,
    contracts::{USDT, WETH},
    genesis::ETHER,
};

use super::{Case, LOOT, Outcome, STOLEN, allow, block, review};
use crate::evm_contracts::economy::{
    DOLLAR, ETHER_DOLLARS, Economy, payment, transfer, transfer_from,
};

pub(super) const CASES: &[Case] = &[
    sale_for_another,
    borrowed_for_another,
    smart_account,
    parked_money,
    above_the_price,
    wrapped_token,
    minted_to_strangers,
    named_by_logs,
    named_by_no_log,
];

/// A thief with a token that was bought with stolen ether, and its units.
fn thief_with_token(world: &mut Economy) -> (Address, u128) {
    let thief = world.stolen(LOOT);
    world.buy(thief, world.on.token_ether, LOOT);
    (thief, world.units(world.on.token, thief))
}

/// A swap whose proceeds are another's, with a crumb for the giver.
fn sale_for_another(world: &mut Economy) -> Vec<Outcome> {
    let ((thief, units), taker, puppet) =
        (thief_with_token(world), world.account(), world.puppet());
    let (token, pair) = (world.on.token, world.on.token_dollars);
    world.approve(thief, token, puppet);
    let [permit, swap] = world.routed(pair, token, units, taker);
    let drawn = transfer_from(token, (thief, puppet), units);
    world.act(thief, puppet, 1, &[drawn, permit, swap, payment(thief, 1)]);
    vec![review("N1", taker)]
}

/// A loan on the collateral of another, and one on a receipt that another sent.
fn borrowed_for_another(world: &mut Economy) -> Vec<Outcome> {
    let (thief, friend, payee) = (world.stolen(LOOT), world.clean(0), world.account());
    let loan = 200_000 * DOLLAR;
    world.supply_ether(thief, LOOT);
    world.call(thief, world.on.lending, "allow(address)", &[friend.into()]);
    world.borrow(friend, USDT, loan, thief);
    world.transfer_all(friend, USDT, payee);
    let (other, taker) = (world.stolen(LOOT), world.clean(0));
    world.supply_ether(other, LOOT);
    world.transfer(other, world.receipt_for(WETH), taker, LOOT);
    world.borrow(taker, USDT, loan, taker);
    vec![review("N2", payee), review("N2", taker)]
}

/// A smart account of a thief swaps, and buys for another.
fn smart_account(world: &mut Economy) -> Vec<Outcome> {
    let (owner, taker) = (world.clean(0), world.clean(0));
    let account = world.smart_account(owner);
    world.pay(world.thief, account, 2 * LOOT);
    for to in [account, taker] {
        let input =
            abi::call("swapEther(address,address)", &[world.on.token_ether.into(), to.into()]);
        world.execute(owner, account, (world.on.router, LOOT, input));
    }
    world.sell(taker, world.on.token_ether, world.on.token);
    vec![review("N3", taker), block("N3", account)]
}

/// The clean money of a seller lies in an own contract for a unit of the token, and leaves it again.
fn parked_money(world: &mut Economy) -> Vec<Outcome> {
    let (seller, second) = (world.clean(LOOT), world.clean(0));
    let (puppet, token) = (world.puppet(), world.on.token);
    world.transfer(world.on.provider, token, puppet, ETHER);
    world.act(seller, puppet, LOOT, &[transfer(token, seller, ETHER)]);
    world.act(second, puppet, 0, &[payment(second, LOOT)]);
    let (thief, _) = thief_with_token(world);
    world.transfer_all(thief, token, seller);
    world.sell(seller, world.on.token_ether, token);
    vec![review("N4", seller)]
}

/// Sales at a tenth above the price of the day, with the gain paid to another.
fn above_the_price(world: &mut Economy) -> Vec<Outcome> {
    let [dear, other] =
        [ETHER_DOLLARS * 11 / 10, ETHER_DOLLARS].map(|price| world.market(2_000 * ETHER, price));
    let (thief, payee, puppet) = (world.stolen(30 * ETHER), world.account(), world.puppet());
    world.approve(thief, WETH, puppet);
    world.wrap(thief, 30 * ETHER);
    for _ in 0..8 {
        let units = world.units(WETH, thief);
        let [permit, swap] = world.routed(dear, WETH, units, puppet);
        let fair = units * ETHER_DOLLARS / (ETHER / DOLLAR);
        let got = world.quote(dear, WETH, units);
        let drawn = transfer_from(WETH, (thief, puppet), units);
        let paid = transfer(USDT, thief, fair.min(got));
        let gain = transfer(USDT, payee, got.saturating_sub(fair));
        world.act(thief, puppet, 0, &[drawn, permit, swap, paid, gain]);
        world.swap(thief, other, USDT);
    }
    vec![review("N5", payee), block("N5", thief)]
}

/// A token that is handed on and wrapped before it is sold.
fn wrapped_token(world: &mut Economy) -> Vec<Outcome> {
    let ((thief, units), seller, token) = (thief_with_token(world), world.clean(0), world.on.token);
    let vault = world.deploy(seller, "Vault", &[token.into()]);
    world.transfer_all(thief, token, seller);
    world.approve(seller, token, vault);
    let deposit = [units.into(), seller.into()];
    world.call(seller, vault, "deposit(uint256,address)", &deposit);
    let redeem = [units.into(), seller.into(), seller.into()];
    world.call(seller, vault, "redeem(uint256,address,address)", &redeem);
    world.swap(seller, world.on.token_dollars, token);
    vec![review("N6", seller)]
}

/// A thief's token that strangers get for nothing, and sell for clean ether.
fn minted_to_strangers(world: &mut Economy) -> Vec<Outcome> {
    let (thief, puppet) = (world.stolen(20 * ETHER), world.puppet());
    let strangers: Vec<_> = (0..4).map(|_| world.clean(ETHER)).collect();
    let maker = world.clean(50 * ETHER);
    let token = world.deploy(thief, "Token", &[]);
    world.mint(thief, token, puppet, 10_000 * ETHER);
    let mut given = vec![transfer(token, maker, 5_000 * ETHER)];
    given.extend(strangers.iter().map(|stranger| transfer(token, *stranger, 100 * ETHER)));
    world.act(thief, puppet, ETHER, &given);
    world.wrap(maker, 50 * ETHER);
    let pair = world.pair(maker, (token, 5_000 * ETHER), (WETH, 50 * ETHER));
    for stranger in &strangers {
        world.sell(*stranger, pair, token);
    }
    vec![allow("N7", strangers[0]), allow("N7", strangers[3])]
}

/// An innocent whom the log of a thief's contract names, and a receiver whom it names and pays.
fn named_by_logs(world: &mut Economy) -> Vec<Outcome> {
    let (thief, innocent, taker) = (world.stolen(LOOT), world.clean(10 * ETHER), world.clean(0));
    let escrow = world.deploy(thief, "Escrow", &[]);
    let half = LOOT / 2;
    for payee in [innocent, taker] {
        world.pay_call(thief, escrow, half, "open(address)", &[payee.into()]);
    }
    world.call(taker, escrow, "take(uint256,address)", &[half.into(), taker.into()]);
    vec![allow("N7", innocent), review("N7", taker)]
}

/// A contract with money of many pays to another what a thief paid in, and no log names anybody: open, and told.
fn named_by_no_log(world: &mut Economy) -> Vec<Outcome> {
    let (thief, payee, desk) = (world.stolen(LOOT), world.clean(0), world.puppet());
    for saver in [(); 3].map(|()| world.clean(1_300 * ETHER)) {
        world.pay(saver, desk, 1_300 * ETHER);
    }
    world.pay(thief, desk, LOOT);
    world.act(payee, desk, 0, &[payment(payee, LOOT)]);
    vec![allow("N9", payee).of(STOLEN)]
}
