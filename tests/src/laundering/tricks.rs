//! Schemes with parameters, one for each known evasion of the rules.

use std::sync::Arc;

use assay_address::ChainId;
use assay_engine::{taxonomy::Category, utxo::ScriptOwner};
use jiff::{SignedDuration, Timestamp, civil::date};

use super::{
    Example,
    launderer::{Launderer, Move, Origin},
};
use crate::world::{ChainBuilder, Claim, Claims, Form, JointKind, Utxo, World, total};

/// One coin in base units, on chains with eight decimals.
pub const COIN: u64 = 100_000_000;

/// A chain for schemes, which begins when every kind of joint transaction existed.
#[must_use]
pub fn chain(id: ChainId, seed: u64) -> ChainBuilder {
    let chain_on = Timestamp::from_second(1_672_574_400).expect("2023-01-01, noon");
    ChainBuilder::new(id, seed, chain_on)
}

/// A payee who gets money from `origin` through `launder`, which receives the payee's address.
fn scheme(
    title: String,
    id: ChainId,
    origin: Origin,
    amount: u64,
    launder: impl FnOnce(&mut Launderer<'_>, &ScriptOwner),
) -> Example {
    let (mut builder, mut claims) = (chain(id, 1), Claims::default());
    let subject = builder.fresh_address(Form::WitnessKey);
    launder(&mut Launderer::new(&mut builder, &mut claims, origin, amount), &subject);
    builder.wait(SignedDuration::from_hours(48));
    Example { title, world: Arc::new(World::new(builder, claims)), subject, before: None }
}

/// Makes moves, then pays all coins to the payee in one payment.
fn after(launderer: &mut Launderer<'_>, moves: &[Move], payee: &ScriptOwner) {
    for step in moves {
        launderer.make_move(*step);
    }
    let coins = std::mem::take(&mut launderer.coins);
    let _paid = launderer.send(&coins, payee);
}

/// Stolen money paid directly to the payee, for comparison.
#[must_use]
pub fn direct(id: ChainId, amount: u64) -> Example {
    let title = format!("nothing: {} straight from the thief", coins(id, amount));
    scheme(title, id, Origin::Stolen, amount, |thief, payee| after(thief, &[], payee))
}

/// Stolen money through `hops` fresh addresses.
#[must_use]
pub fn forwarded(id: ChainId, amount: u64, hops: u32) -> Example {
    let title = format!("{} forward through {hops} fresh addresses", coins(id, amount));
    scheme(title, id, Origin::Stolen, amount, |thief, payee| {
        after(thief, &[Move::Forward(hops)], payee);
    })
}

/// Stolen money at the end of a peel chain of `depth`.
#[must_use]
pub fn peeled(id: ChainId, amount: u64, depth: u32) -> Example {
    let title = format!("{} along a peel chain of {depth}", coins(id, amount));
    scheme(title, id, Origin::Stolen, amount, |thief, payee| {
        thief.make_move(Move::Peel(depth));
        // The last coin is the rest.
        let rest = thief.coins.pop().expect("a coin");
        let _paid = thief.send(&[rest], payee);
    })
}

/// Stolen money from an address that paid itself `times` before.
#[must_use]
pub fn paid_to_oneself(id: ChainId, amount: u64, times: u32) -> Example {
    let title = format!("{} paid to oneself on one address {times} times", coins(id, amount));
    scheme(title, id, Origin::Stolen, amount, |thief, payee| {
        after(thief, &[Move::Forward(1), Move::PaySelf(times)], payee);
    })
}

/// Stolen money in `count` instalments from one address, with change to itself.
#[must_use]
pub fn instalments(id: ChainId, amount: u64, count: u32) -> Example {
    let title = format!("{} in {count} instalments from one address", coins(id, amount));
    scheme(title, id, Origin::Stolen, amount, |thief, payee| {
        thief.make_move(Move::Forward(1));
        let mut coin = thief.take_largest();
        let part = (coin.value - u64::from(count) * thief.fee(1, 2)) / u64::from(count);
        for _ in 1..count {
            let rest = coin.value - part - thief.fee(1, 2);
            let back = coin.owner.clone();
            coin = thief.pay(&[coin], &[(payee.clone(), part), (back, rest)]).remove(1);
        }
        let _paid = thief.send(&[coin], payee);
    })
}

/// Stolen money over `addresses` fresh addresses, merged at the payee.
#[must_use]
pub fn fanned_out(id: ChainId, amount: u64, addresses: u32) -> Example {
    let title = format!("{} over {addresses} addresses, merged", coins(id, amount));
    scheme(title, id, Origin::Stolen, amount, |thief, payee| {
        after(thief, &[Move::Forward(1), Move::Split(addresses)], payee);
    })
}

/// Stolen money out of a joint transaction that the thief made alone: at the address of one of its outputs,
/// or all of them merged at a payee.
#[must_use]
pub fn joint_alone(amount: u64, kind: JointKind, merged: bool) -> Example {
    let id = ChainId::BTC;
    let all = if merged { ", merged" } else { "" };
    let title = format!("{} by a joint transaction alone ({kind:?}{all})", coins(id, amount));
    let (mut builder, mut claims) = (chain(id, 1), Claims::default());
    let payee = builder.fresh_address(Form::WitnessKey);
    let mut thief = Launderer::new(&mut builder, &mut claims, Origin::Stolen, amount);
    thief.make_move(Move::Joint(kind));
    // The first coin is what the preparation left.
    let mixed = thief.coins.split_off(1);
    let subject = if merged { thief.send(&mixed, &payee).owner } else { mixed[0].owner.clone() };
    builder.wait(SignedDuration::from_hours(48));
    Example { title, world: Arc::new(World::new(builder, claims)), subject, before: None }
}

/// A small unspent amount directly from a listed party at a fresh address.
#[must_use]
pub fn small_and_unspent(id: ChainId, amount: u64) -> Example {
    let title = format!("{} straight from a listed party, unspent", coins(id, amount));
    scheme(title, id, Origin::Listed, amount + 1_200, |listed, payee| after(listed, &[], payee))
}

/// Stolen money at an address that `reports` anonymous reports at `percent` call an exchange.
#[must_use]
pub fn called_an_exchange(id: ChainId, amount: u64, percent: u8) -> Example {
    let title = format!("{} stolen; two reports at {percent} % say exchange", coins(id, amount));
    let (mut builder, mut claims) = (chain(id, 1), Claims::default());
    let subject = builder.fresh_address(Form::WitnessKey);
    let mut thief = Launderer::new(&mut builder, &mut claims, Origin::Stolen, amount);
    after(&mut thief, &[], &subject);
    for source in ["reports", "more-reports"] {
        claims.label(&subject, Claim::reported(Category::Exchange, percent, source));
    }
    Example { title, world: Arc::new(World::new(builder, claims)), subject, before: None }
}

/// A small amount directly from a listed party, and `larger` larger outputs of the same address.
#[must_use]
pub fn below_larger_outputs(id: ChainId, amount: u64, larger: u32) -> Example {
    let title = format!(
        "{} straight from a listed party below {larger} larger own outputs",
        coins(id, amount)
    );
    scheme(title, id, Origin::Listed, amount + 1_200, |listed, payee| {
        let value = amount + 100_000;
        let clean = clean(listed.chain, (value + 1_000) * u64::from(larger));
        let outputs: Vec<_> = (0..larger).map(|_| (payee.clone(), value)).collect();
        let _own = listed.pay(&clean, &outputs);
        after(listed, &[], payee);
    })
}

/// Money of a listed party over `hops` hops, mixed with `times` as much clean money.
#[must_use]
pub fn mixed(id: ChainId, amount: u64, hops: u32, times: u64) -> Example {
    let title =
        format!("{} from a listed party over {hops} hops, mixed 1:{times}", coins(id, amount));
    scheme(title, id, Origin::Listed, amount, |listed, payee| {
        listed.make_move(Move::Forward(hops - 1));
        let clean = clean(listed.chain, amount * times);
        listed.coins.extend(clean);
        after(listed, &[], payee);
    })
}

/// Coins of a person whom an exchange paid.
pub fn clean(chain: &mut ChainBuilder, amount: u64) -> Vec<Utxo> {
    let (exchange, person) =
        (chain.fresh_address(Form::ScriptHash), chain.fresh_address(Form::WitnessKey));
    let coins = chain.mine(&[(exchange, amount + 10_000)]);
    chain.wait(SignedDuration::from_hours(1));
    let coins = chain.pay(&coins, &[(person, amount)]);
    chain.wait(SignedDuration::from_hours(1));
    coins
}

/// Stolen money as fees of `payments` transactions of one block. The miner is checked, or the payee of the miner.
#[must_use]
pub fn paid_as_fees(id: ChainId, amount: u64, payments: u32, paid_on: bool) -> Example {
    let whom = if paid_on { "somebody whom a miner pays" } else { "a miner" };
    let title = format!("{} as {payments} fees to {whom}", coins(id, amount));
    let (mut builder, mut claims) = (chain(id, 1), Claims::default());
    let miner = builder.fresh_address(Form::WitnessKey);
    let payee = builder.fresh_address(Form::WitnessKey);
    let mut thief = Launderer::new(&mut builder, &mut claims, Origin::Stolen, amount);
    if payments > 1 {
        thief.make_move(Move::Split(payments));
    }
    for coin in thief.coins {
        let _rest = builder.pay(&[coin], &[(miner.clone(), 10_000)]);
    }
    let coin = builder.mine_to(&miner);
    builder.wait(SignedDuration::from_hours(24));
    let value = total(std::slice::from_ref(&coin)) - 1_200;
    let _paid = builder.pay(&[coin], &[(payee.clone(), value)]);
    builder.wait(SignedDuration::from_hours(24));
    let subject = if paid_on { payee } else { miner };
    Example { title, world: Arc::new(World::new(builder, claims)), subject, before: None }
}

/// Stolen money at an address that two crafted payments connect with a labelled shop: the shop adds a coin of its own
/// to each, as in a `PayJoin`.
#[must_use]
pub fn inherited_shop(id: ChainId, amount: u64) -> Example {
    let title = format!("{} stolen; two PayJoins with a labelled shop", coins(id, amount));
    let (mut builder, mut claims) = (chain(id, 1), Claims::default());
    let (subject, shop) =
        (builder.fresh_address(Form::WitnessKey), builder.fresh_address(Form::WitnessKey));
    claims.label(&shop, Claim::investigated(Category::Merchant, "Corner Shop"));
    pay_join(&mut builder, &subject, &shop, 5_000_000);
    let mut thief = Launderer::new(&mut builder, &mut claims, Origin::Stolen, amount);
    after(&mut thief, &[Move::Forward(1)], &subject);
    builder.wait(SignedDuration::from_hours(48));
    Example { title, world: Arc::new(World::new(builder, claims)), subject, before: None }
}

/// Stolen money at an address that, like an exchange's wallet, spends an output of a script without a signature.
#[must_use]
pub fn spent_by_anybody(id: ChainId, amount: u64) -> Example {
    let title =
        format!("{} stolen; an exchange spends the same script unsigned", coins(id, amount));
    let (mut builder, mut claims) = (chain(id, 1), Claims::default());
    let (subject, exchange) =
        (builder.fresh_address(Form::WitnessKey), builder.fresh_address(Form::WitnessKey));
    claims.label(&exchange, Claim::investigated(Category::Exchange, "North Exchange"));
    spend_unsigned(&mut builder, &[exchange, subject.clone()]);
    let mut thief = Launderer::new(&mut builder, &mut claims, Origin::Stolen, amount);
    after(&mut thief, &[Move::Forward(1)], &subject);
    builder.wait(SignedDuration::from_hours(48));
    Example { title, world: Arc::new(World::new(builder, claims)), subject, before: None }
}

/// Each spender twice spends an output of one script that anybody can spend, together with a coin of its own.
pub fn spend_unsigned(chain: &mut ChainBuilder, spenders: &[ScriptOwner]) {
    let anybody = chain.fresh_unsigned_script();
    for spender in spenders.iter().chain(spenders) {
        let coins = chain.mine(&[(anybody.clone(), 30_000), (spender.clone(), 40_000)]);
        chain.wait(SignedDuration::from_hours(24));
        let _merged = chain.pay(&coins, &[(spender.clone(), 69_000)]);
        chain.wait(SignedDuration::from_hours(24));
    }
}

/// Two payments of a customer to a shop that spend coins of both, each of which is needed: they connect the addresses,
/// the second payment beyond doubt. The customer's coins have `coin` base units each.
pub fn pay_join(chain: &mut ChainBuilder, customer: &ScriptOwner, shop: &ScriptOwner, coin: u64) {
    for _ in 0..2 {
        let coins = chain.mine(&[(customer.clone(), coin), (shop.clone(), coin / 5 * 6)]);
        chain.wait(SignedDuration::from_hours(24));
        let (paid, change) = ((shop.clone(), 2 * coin), (customer.clone(), coin / 10));
        let _paid = chain.pay(&coins, &[paid, change]);
        chain.wait(SignedDuration::from_hours(24));
    }
}

/// Sends a coin in circles `times` times: to a second address of its owner, and back. Each payment has a fee of 200.
pub fn circle(chain: &mut ChainBuilder, mut coin: Utxo, times: u32) -> Utxo {
    let second = chain.fresh_address(Form::WitnessKey);
    for _ in 0..times {
        let first = coin.owner.clone();
        for to in [&second, &first] {
            let value = coin.value - 200;
            coin = chain.pay(&[coin], &[(to.clone(), value)]).remove(0);
            chain.wait(SignedDuration::from_mins(20));
        }
    }
    coin
}

/// Clean money that the payee sends in circles `times` times, and stolen money over `hops` hops.
#[must_use]
pub fn circled(id: ChainId, clean_amount: u64, times: u32, amount: u64, hops: u32) -> Example {
    let title = format!(
        "{} circled {times} times, then {} stolen over {hops} hops",
        coins(id, clean_amount),
        coins(id, amount)
    );
    scheme(title, id, Origin::Stolen, amount, |thief, payee| {
        let clean = clean(thief.chain, clean_amount);
        let coin = thief.send(&clean, payee);
        let _coin = circle(thief.chain, coin, times);
        after(thief, &[Move::Forward(hops - 1)], payee);
    })
}

/// Clean money of a payer, who sends a coin in circles `times` times, and pays the rest to a listed party over `hops`
/// hops.
#[must_use]
pub fn circled_by_payer(id: ChainId, circled: u64, times: u32, amount: u64, hops: u32) -> Example {
    let title = format!(
        "{} circled {times} times, then {} to a listed party over {hops} hops",
        coins(id, circled),
        coins(id, amount)
    );
    let (mut builder, mut claims) = (chain(id, 1), Claims::default());
    let (subject, listed) =
        (builder.fresh_address(Form::WitnessKey), builder.fresh_address(Form::WitnessKey));
    claims.list(&listed, "DOE, Jane", date(2018, 11, 28));
    let clean = clean(&mut builder, circled + amount);
    let parts = [(subject.clone(), circled), (subject.clone(), amount - 1_000)];
    let mut coins = builder.pay(&clean, &parts);
    builder.wait(SignedDuration::from_hours(1));
    let mut paid = coins.remove(1);
    let _coin = circle(&mut builder, coins.remove(0), times);
    for hop in 1..=hops {
        let to = if hop == hops { listed.clone() } else { builder.fresh_address(Form::WitnessKey) };
        let value = paid.value - 1_000;
        paid = builder.pay(&[paid], &[(to, value)]).remove(0);
        builder.wait(SignedDuration::from_hours(1));
    }
    Example { title, world: Arc::new(World::new(builder, claims)), subject, before: None }
}

/// Stolen money as dust: `senders` fresh addresses of the thief each send `dust` base units to the payee.
#[must_use]
pub fn as_dust(id: ChainId, senders: u32, dust: u64) -> Example {
    let title =
        format!("{} as dust from {senders} addresses", coins(id, dust * u64::from(senders)));
    let fee = 200;
    let amount = u64::from(senders) * (dust + fee) + 100_000;
    scheme(title, id, Origin::Stolen, amount, |thief, payee| {
        let coin = thief.take_largest();
        let parts: Vec<_> = (0..senders).map(|_| (thief.fresh_address(), dust + fee)).collect();
        for coin in thief.pay(&[coin], &parts) {
            let _paid = thief.chain.pay(&[coin], &[(payee.clone(), dust)]);
        }
        thief.next_block();
    })
}

/// Stolen money in `inputs` inputs of one payment, to an address that the thief first flooded with `flood` payments of
/// 600 base units.
#[must_use]
pub fn after_a_flood(id: ChainId, amount: u64, flood: u32, inputs: u32) -> Example {
    let title = format!("{} in {inputs} inputs, after {flood} payments of 600", coins(id, amount));
    scheme(title, id, Origin::Stolen, amount, |thief, payee| {
        let other = thief.fresh_address();
        let clean = clean(thief.chain, u64::from(flood) * 1_000 + 100_000);
        let coins: Vec<_> = (0..flood).map(|_| (other.clone(), 800)).collect();
        for coin in thief.pay(&clean, &coins) {
            let _paid = thief.chain.pay(&[coin], &[(payee.clone(), 600)]);
        }
        thief.next_block();
        thief.make_move(Move::Split(inputs));
        after(thief, &[], payee);
    })
}

/// Stolen money and as much clean money, merged and split over two fresh addresses `times` times, then paid together.
#[must_use]
pub fn braided(id: ChainId, amount: u64, times: u32) -> Example {
    let title = format!("{} braided {times} times with as much clean money", coins(id, amount));
    scheme(title, id, Origin::Stolen, amount, |thief, payee| {
        let clean = clean(thief.chain, amount);
        thief.coins.extend(clean);
        for _ in 0..times {
            let coins = std::mem::take(&mut thief.coins);
            let half = (total(&coins) - 2_000) / 2;
            let outputs = [(thief.fresh_address(), half), (thief.fresh_address(), half)];
            thief.coins = thief.pay(&coins, &outputs);
        }
        after(thief, &[], payee);
    })
}

/// Stolen money over an address that two crafted payments connect with a labelled exchange.
#[must_use]
pub fn over_an_inherited_exchange(id: ChainId, amount: u64) -> Example {
    let title = format!("{} over an address with two PayJoins of an exchange", coins(id, amount));
    let (mut builder, mut claims) = (chain(id, 1), Claims::default());
    let subject = builder.fresh_address(Form::WitnessKey);
    let (between, exchange) =
        (builder.fresh_address(Form::WitnessKey), builder.fresh_address(Form::WitnessKey));
    claims.label(&exchange, Claim::investigated(Category::Exchange, "North Exchange"));
    pay_join(&mut builder, &between, &exchange, 5_000_000);
    let mut thief = Launderer::new(&mut builder, &mut claims, Origin::Stolen, amount);
    let all = std::mem::take(&mut thief.coins);
    let coin = thief.send(&all, &between);
    let _paid = thief.send(&[coin], &subject);
    builder.wait(SignedDuration::from_hours(48));
    Example { title, world: Arc::new(World::new(builder, claims)), subject, before: None }
}

/// Clean money in `times` circles between addresses that are spent together, and stolen money to one of them.
#[must_use]
pub fn circled_by_cluster(id: ChainId, clean_amount: u64, times: u32, amount: u64) -> Example {
    let title = format!(
        "{} circled {times} times over a cluster, then {} stolen",
        coins(id, clean_amount),
        coins(id, amount)
    );
    scheme(title, id, Origin::Stolen, amount, |thief, payee| {
        let other = thief.fresh_address();
        let clean = clean(thief.chain, clean_amount);
        let half = clean_amount / 2 - 1_000;
        let mut round = thief.pay(&clean, &[(payee.clone(), half), (other.clone(), half)]);
        for _ in 0..times {
            // Over a stranger's address, so that it seems to leave and to come back.
            let away = thief.fresh_address();
            let coin = thief.send(&round, &away);
            let half = (coin.value - 2_000) / 2;
            round = thief.pay(&[coin], &[(payee.clone(), half), (other.clone(), half)]);
        }
        after(thief, &[Move::Forward(1)], payee);
    })
}

/// Stolen money in equal monthly parts over fresh addresses, with a clean income of the same amount.
#[must_use]
pub fn little_by_little(id: ChainId, amount: u64, months: u32) -> Example {
    let title = format!("{} over {months} months beside as much clean money", coins(id, amount));
    scheme(title, id, Origin::Stolen, amount, |thief, payee| {
        let parts = thief.take_largest();
        let clean = clean(thief.chain, amount);
        let each = amount / u64::from(months) - 4_000;
        let salaries: Vec<_> = (0..months).map(|_| (thief.fresh_address(), each)).collect();
        let salaries = thief.pay(&clean, &salaries);
        for (stolen, salary) in thief.split(parts, months).into_iter().zip(salaries) {
            thief.chain.wait(SignedDuration::from_hours(24 * 30));
            let between = thief.fresh_address();
            let coin = thief.send(&[stolen], &between);
            let _paid = thief.send(&[coin], payee);
            let _paid = thief.send(&[salary], payee);
        }
    })
}

/// An amount in words.
pub(super) fn coins(id: ChainId, amount: u64) -> String {
    let (whole, rest) = (amount / COIN, amount % COIN);
    let decimals = format!("{rest:08}");
    let decimals = decimals.trim_end_matches('0');
    let point = if decimals.is_empty() { "" } else { "." };
    format!("{whole}{point}{decimals} {}", id.info().native().code)
}

/// Every known evasion, with the parameters with which it was found, and further ones.
#[must_use]
pub fn tricks() -> Vec<Example> {
    let (btc, ltc) = (ChainId::BTC, "ltc".parse().expect("a chain"));
    let mut tricks = vec![
        direct(btc, 10 * COIN),
        forwarded(btc, 10 * COIN, 7),
        forwarded(btc, 10 * COIN, 40),
        forwarded(ltc, 1_000 * COIN, 7),
        peeled(btc, 10 * COIN, 7),
        peeled(btc, 100 * COIN, 60),
        paid_to_oneself(btc, 10 * COIN, 5),
        instalments(btc, 10 * COIN, 51),
        instalments(ltc, 1_000 * COIN, 51),
        fanned_out(btc, 9 * COIN, 1_001),
        fanned_out(btc, 300 * COIN, 3_000),
        fanned_out(ltc, 9_000 * COIN, 1_001),
    ];
    for kind in JointKind::ALL {
        tricks.push(joint_alone(10 * COIN, kind, false));
        tricks.push(joint_alone(10 * COIN, kind, true));
    }
    tricks.extend([
        small_and_unspent(btc, 990_000),
        small_and_unspent(ltc, 9 * COIN),
        called_an_exchange(btc, 10 * COIN, 10),
        mixed(btc, 5 * COIN, 2, 9),
        fanned_out(btc, 90 * COIN, 10_000),
        braided(btc, 10 * COIN, 60),
        braided(ltc, 1_000 * COIN, 12),
        over_an_inherited_exchange(btc, 10 * COIN),
        over_an_inherited_exchange(ltc, 1_000 * COIN),
        circled_by_cluster(btc, COIN, 80, 3 * COIN),
        circled_by_cluster(ltc, 100 * COIN, 30, 300 * COIN),
        little_by_little(btc, 3 * COIN, 60),
        little_by_little(ltc, 300 * COIN, 60),
    ]);
    tricks.extend([
        below_larger_outputs(ltc, 190_000_000, 2_010),
        as_dust(btc, 300, 600),
        as_dust(ltc, 300, 100_000),
        after_a_flood(ltc, 600 * COIN, 2_000, 1_400),
        paid_as_fees(btc, 10 * COIN, 1, false),
        paid_as_fees(btc, 10 * COIN, 1, true),
        paid_as_fees(btc, 300 * COIN, 150, false),
        paid_as_fees(ltc, 1_000 * COIN, 20, true),
        paid_as_fees(ltc, 30 * COIN, 1_000, true),
        inherited_shop(ltc, 1_000 * COIN),
        spent_by_anybody(ltc, 1_000 * COIN),
        circled(btc, COIN, 500, 3 * COIN, 9),
        circled(ltc, 100 * COIN, 160, 300 * COIN, 2),
        circled_by_payer(ltc, 100 * COIN, 160, 300 * COIN, 4),
    ]);
    // As they were reported.
    let before = [
        below_larger_outputs(btc, 1_900_000, 2_010),
        as_dust(btc, 300, 1_000),
        after_a_flood(btc, 3 * COIN, 2_000, 1_400),
        paid_as_fees(btc, 3 * COIN, 1_000, false),
        inherited_shop(btc, 10 * COIN),
        spent_by_anybody(btc, 10 * COIN),
        circled(btc, COIN, 40, 90_000_000, 1),
        circled(btc, COIN, 160, 3 * COIN, 2),
        circled_by_payer(btc, COIN, 160, 3 * COIN, 2),
    ];
    tricks.extend(before.map(|trick| trick.with_earlier_verdict("allow")));
    tricks
}
