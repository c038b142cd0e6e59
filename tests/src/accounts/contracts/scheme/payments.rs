//! Moves without contracts that keep money.

use super::{
    Kind,
    actor::{Actor, Holding},
    kind,
};

pub(super) const KINDS: &[Kind] = &[
    kind("payment", 2, pay),
    kind("payment to a new account", 1, pay_fresh),
    kind("payments of many parts", 1, pay_many),
    kind("forwarder", 1, forward),
    kind("flash loan", 1, flash),
    kind("circles", 1, circle),
    kind("small payments", 1, pay_in_parts),
    kind("dust", 1, dust),
];

fn pay(actor: &mut Actor, Holding { account, asset, amount }: Holding) {
    let to = actor.other(account);
    actor.pay(account, to, asset, amount);
}

fn pay_fresh(actor: &mut Actor, Holding { account, asset, amount }: Holding) {
    let to = actor.fresh();
    if to != account {
        actor.pay(account, to, asset, amount);
    }
}

fn pay_many(actor: &mut Actor, Holding { account, asset, amount }: Holding) {
    let count = *actor.dice.pick(&[2_u32, 3, 5]);
    let (router, part) = (actor.on.multisend, amount / u128::from(count));
    let mut moves = vec![(account, router, asset, part * u128::from(count))];
    for _ in 0..count {
        moves.push((router, actor.fresh(), asset, part));
    }
    actor.send(account, &moves);
}

fn forward(actor: &mut Actor, Holding { account, asset, amount }: Holding) {
    let (forwarder, to) = (actor.chain.contract(), actor.other(account));
    actor.send(account, &[(account, forwarder, asset, amount), (forwarder, to, asset, amount)]);
}

fn flash(actor: &mut Actor, Holding { account, asset, amount }: Holding) {
    if actor.on.lending.has(asset) {
        let to = actor.other(account);
        let lender = actor.on.lending.reserve(asset).contract;
        let big = (amount * 20).min(actor.chain.balance(lender, asset) / 10 * 9);
        let between = [(account, to, asset, amount)];
        let call = actor.on.lending.flash(account, (asset, big), &between);
        actor.execute(call);
    }
}

fn circle(actor: &mut Actor, Holding { account, asset, amount }: Holding) {
    let to = actor.other(account);
    for _ in 0..*actor.dice.pick(&[3, 10]) {
        actor.pay(account, to, asset, amount);
        actor.pay(to, account, asset, amount - amount / 1_000);
    }
}

fn pay_in_parts(actor: &mut Actor, Holding { account, asset, amount }: Holding) {
    let to = actor.other(account);
    for _ in 0..20 {
        actor.pay(account, to, asset, amount / 20);
    }
}

fn dust(actor: &mut Actor, Holding { account, asset, .. }: Holding) {
    let to = actor.other(account);
    let dust = actor.chain.units(asset, 9) / 10;
    for _ in 0..20 {
        actor.pay(account, to, asset, dust);
    }
}
