//! Swaps, liquidity and tokens at public pools.

use assay_engine::account::{AccountAddress, Asset};

use super::{
    Kind,
    actor::{Actor, Holding},
    kind,
};
use crate::accounts::{ETHER, Pool};

pub(super) const KINDS: &[Kind] = &[
    kind("swap", 3, swap),
    kind("swap through the router", 2, swap_through),
    kind("sale above the price of the day", 1, gain),
    kind("purchase of a token", 2, buy),
    kind("sale of a token", 2, sell),
    kind("swap of tokens", 1, swap_tokens),
    kind("tokens to another", 2, send_tokens),
    kind("liquidity", 1, provide),
    kind("liquidity taken back", 1, withdraw),
    kind("shares to another", 1, send_shares),
];

/// The pools of money that take an asset.
fn pools_of(actor: &Actor, asset: Asset) -> Vec<Pool> {
    let pools = actor.on.pools_of_money().into_iter().chain(actor.on.dear);
    pools.filter(|pool| pool.assets.contains(&asset)).collect()
}

/// A swap whose proceeds go to an account, with by-play.
pub(super) fn swap_at(
    actor: &mut Actor,
    pool: Pool,
    (trader, to): (AccountAddress, AccountAddress),
    (asset, amount): (Asset, u128),
) {
    let amount = amount.min(actor.chain.balance(trader, asset));
    if amount > 0 && pool.quote(&actor.chain, asset, amount) > 0 {
        let call = pool.call(&actor.chain, (trader, to), asset, amount);
        let given = asset;
        let mut by_play = actor.by_play([trader, to]);
        by_play.retain(|(from, _, token, _)| (*from, *token) != (trader, given));
        actor.execute_swap(call.with_moves(&by_play));
    }
}

fn swap(actor: &mut Actor, Holding { account, asset, amount }: Holding) {
    if let Some(pool) = actor.one_of(&pools_of(actor, asset)) {
        let to = actor.perhaps_other(account);
        swap_at(actor, pool, (account, to), (asset, amount));
    }
}

fn swap_through(actor: &mut Actor, Holding { account, asset, amount }: Holding) {
    let Some(pool) = actor.one_of(&pools_of(actor, asset)) else { return };
    let (router, other, to) = (actor.on.router, pool.other(asset), actor.perhaps_other(account));
    let got = pool.quote(&actor.chain, asset, amount);
    if got > 0 {
        let call = pool.call(&actor.chain, (account, to), asset, amount);
        // The router is between the trader and the pool, and between the pool and the receiver.
        let [paid, _] = [call.moves[0], call.moves[1]];
        let mut through = call;
        through.moves = vec![
            (account, router, asset, paid.3),
            (router, to, other, got),
            (router, pool.contract, asset, paid.3),
            (pool.contract, router, other, got),
        ];
        // The order of a chain: the router pays what it has got.
        through.moves.swap(1, 3);
        through.moves.swap(1, 2);
        actor.execute(through);
    }
}

/// A sale above the price of the day, of which the gain goes to another.
fn gain(actor: &mut Actor, Holding { account, asset, amount }: Holding) {
    let pools: Vec<Pool> =
        actor.on.dear.into_iter().filter(|pool| pool.assets.contains(&asset)).collect();
    let Some(pool) = actor.one_of(&pools) else { return };
    let (router, other, to) = (actor.on.router, pool.other(asset), actor.other(account));
    let got = pool.quote(&actor.chain, asset, amount);
    let fair = actor.chain.units(other, actor.chain.dollars(asset, amount)).min(got);
    if got > 0 {
        let moves = [
            (account, pool.contract, asset, amount),
            (pool.contract, router, other, got),
            (router, account, other, fair),
            (router, to, other, got - fair),
        ];
        actor.execute_swap(crate::accounts::contracts::Call::new(account, &moves));
    }
}

fn buy(actor: &mut Actor, Holding { account, asset, amount }: Holding) {
    let pools = actor.on.pools_of_tokens().into_iter();
    let pools: Vec<Pool> = pools.filter(|pool| pool.assets.contains(&asset)).collect();
    if let Some(pool) = actor.one_of(&pools) {
        let to = actor.perhaps_other(account);
        swap_at(actor, pool, (account, to), (asset, amount));
    }
}

fn sell(actor: &mut Actor, _: Holding) {
    sell_some(actor, false);
}

fn swap_tokens(actor: &mut Actor, _: Holding) {
    sell_some(actor, true);
}

/// Sells a token outside the table for money or for the other token.
fn sell_some(actor: &mut Actor, is_for_token: bool) {
    let held = actor.held_tokens(|asset| actor.is_public_token(asset));
    let Some(holding) = actor.one_of(&held) else { return };
    let Holding { account, asset, amount } = actor.part_of(holding);
    let pools = if is_for_token {
        vec![actor.on.tokens]
    } else {
        let pools = actor.on.pools_of_tokens().into_iter();
        pools.filter(|pool| pool.assets.contains(&asset)).collect()
    };
    if let Some(pool) = actor.one_of(&pools) {
        let to = actor.perhaps_other(account);
        swap_at(actor, pool, (account, to), (asset, amount));
    }
}

/// Sends tokens outside the table to another account: bought ones, own ones, and those that stand for others.
fn send_tokens(actor: &mut Actor, _: Holding) {
    let held = actor.held_tokens(|asset| {
        actor.is_public_token(asset)
            || actor.own_tokens.contains(&asset)
            || actor.wrapped.values().any(|it| *it == asset)
            || actor.own_pools.iter().any(|pool| pool.assets.contains(&asset))
    });
    let held: Vec<Holding> =
        held.into_iter().filter(|it| !super::actor::MONEY.contains(&it.asset)).collect();
    if let Some(holding) = actor.one_of(&held) {
        let Holding { account, asset, amount } = actor.part_of(holding);
        let to = actor.other(account);
        actor.pay(account, to, asset, amount);
    }
}

fn provide(actor: &mut Actor, Holding { account, asset, amount }: Holding) {
    let mut pools = pools_of(actor, asset);
    pools.extend(actor.on.pools_of_tokens().iter().filter(|it| it.assets.contains(&asset)));
    let Some(pool) = actor.one_of(&pools) else { return };
    if pool.most_shares(&actor.chain, account) == 0 {
        swap_at(actor, pool, (account, account), (asset, amount / 2));
    }
    let shares = pool.most_shares(&actor.chain, account) / 100 * 99;
    if shares > 0 {
        let call = pool.provide(&actor.chain, account, shares);
        actor.execute(call);
    }
}

/// All pools of which an account of the scheme has shares, with the account.
fn shared(actor: &Actor) -> Vec<(AccountAddress, Pool)> {
    let public = actor.on.pools_of_money().into_iter().chain(actor.on.dear);
    let pools: Vec<Pool> =
        public.chain(actor.on.pools_of_tokens()).chain(actor.own_pools.iter().copied()).collect();
    let of = |account: &AccountAddress| {
        let account = *account;
        let held = move |pool: &&Pool| actor.chain.balance(account, pool.shares) > 0;
        pools.iter().filter(held).map(move |pool| (account, *pool)).collect::<Vec<_>>()
    };
    actor.accounts.iter().flat_map(of).collect()
}

fn withdraw(actor: &mut Actor, _: Holding) {
    if let Some((account, pool)) = actor.one_of(&shared(actor)) {
        let to = actor.perhaps_other(account);
        let all = actor.chain.balance(account, pool.shares);
        let shares = if actor.dice.one_in(3) { all / 2 } else { all };
        let call = pool.withdraw(&actor.chain, (account, to), shares);
        actor.execute(call);
    }
}

fn send_shares(actor: &mut Actor, _: Holding) {
    if let Some((account, pool)) = actor.one_of(&shared(actor)) {
        let to = actor.other(account);
        let all = actor.chain.balance(account, pool.shares);
        let amount = if actor.dice.one_in(2) { all / 2 } else { all };
        actor.pay(account, to, pool.shares, amount.min(ETHER));
    }
}

/// Takes all liquidity back, and sells all tokens that everybody trades.
pub(super) fn come_home(actor: &mut Actor) {
    for (account, pool) in shared(actor) {
        let call = pool.pull(&actor.chain, account);
        actor.execute(call);
    }
}

/// Sells all tokens at the pool that pays most.
pub(super) fn sell_all(actor: &mut Actor) {
    let mut pools = actor.on.pools_of_tokens().to_vec();
    pools.extend(actor.own_pools.iter());
    let is_sold = |asset: Asset| {
        !super::actor::MONEY.contains(&asset) && pools.iter().any(|it| it.assets.contains(&asset))
    };
    for Holding { account, asset, amount } in actor.held_tokens(is_sold) {
        let value = |pool: &&Pool| {
            let got = pool.quote(&actor.chain, asset, amount);
            actor.chain.dollars(pool.other(asset), got)
        };
        let best = pools.iter().filter(|it| it.assets.contains(&asset)).max_by_key(value);
        if let Some(pool) = best.copied() {
            swap_at(actor, pool, (account, account), (asset, amount));
        }
    }
}
