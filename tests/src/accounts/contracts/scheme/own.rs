//! Pools, tokens and contracts of the scheme itself.

use assay_engine::account::{AccountAddress, Asset};

use super::{
    Kind,
    actor::{Actor, Holding, MONEY, ZERO},
    kind,
    trades::swap_at,
};
use crate::accounts::{
    Pool,
    contracts::{Call, protocols::TOKEN},
};

/// Payments out of contracts of the scheme.
pub(super) const WITHDRAWAL: Kind = kind("payment out of an own contract", 3, withdraw);

pub(super) const KINDS: &[Kind] = &[
    WITHDRAWAL,
    kind("payment into an own contract", 2, deposit),
    kind("pool of an own token", 2, open_pool),
    kind("purchase of an own token", 2, buy),
    kind("a friend's pool that another buys out", 1, friends_pool),
    kind("swap at an own contract", 2, swap),
    kind("payment through an own contract in another asset", 1, pay_in_other_asset),
    kind("token of an own contract for money", 1, mint),
    kind("token bought back by an own contract", 1, buy_back),
    kind("token washed for next to nothing", 1, wash),
    kind("backing whose money leaves", 2, leave_backing),
    kind("token wrapped by an own contract", 1, wrap),
    kind("token unwrapped by an own contract", 1, unwrap),
    kind("worthless token", 1, mint_worthless),
];

/// Money in a contract of the scheme, other than of one asset.
fn money_in(
    actor: &mut Actor,
    contract: AccountAddress,
    but: Option<Asset>,
) -> Option<(Asset, u128)> {
    let held = actor.chain.holdings(contract);
    let money = held.into_iter().filter(|(asset, amount)| {
        MONEY.contains(asset) && Some(*asset) != but && actor.chain.dollars(*asset, *amount) > 0
    });
    actor.one_of(&money.collect::<Vec<_>>())
}

fn own_contract(actor: &mut Actor) -> AccountAddress {
    *actor.dice.pick(&actor.contracts)
}

fn deposit(actor: &mut Actor, Holding { account, asset, amount }: Holding) {
    let contract = own_contract(actor);
    let by_play = actor.by_play([account, account]);
    actor.execute(Call::new(account, &[(account, contract, asset, amount)]).with_moves(&by_play));
}

fn withdraw(actor: &mut Actor, _: Holding) {
    let contract = own_contract(actor);
    let Some((asset, all)) = money_in(actor, contract, None) else { return };
    let (to, sender) = (actor.any_account(), actor.any_account());
    let amount = all / *actor.dice.pick(&[1, 2, 4]);
    let by_play = actor.by_play([to, to]);
    actor.execute(Call::new(sender, &[(contract, to, asset, amount)]).with_moves(&by_play));
}

fn open_pool(actor: &mut Actor, Holding { account, asset, amount }: Holding) {
    let amount = (amount / *actor.dice.pick(&[1, 10, 10_000])).max(1);
    let pool = Pool::open_of_own_token(&mut actor.chain, account, (asset, amount));
    actor.own_pools.push(pool);
}

fn buy(actor: &mut Actor, Holding { account, asset, amount }: Holding) {
    let pools = actor.own_pools.iter().filter(|it| it.assets.contains(&asset)).copied();
    if let Some(pool) = actor.one_of(&pools.collect::<Vec<_>>()) {
        let to = actor.perhaps_other(account);
        swap_at(actor, pool, (account, to), (asset, amount));
    }
}

/// An account opens a pool with all its money of an asset, others buy, and the account pulls it.
fn friends_pool(actor: &mut Actor, Holding { account, asset, .. }: Holding) {
    let all = actor.chain.balance(account, asset);
    let pool = Pool::open_of_own_token(&mut actor.chain, account, (asset, all));
    actor.own_pools.push(pool);
    let has = |it: &AccountAddress| *it != account && actor.chain.balance(*it, asset) > 0;
    let buyers: Vec<AccountAddress> = actor.accounts.iter().copied().filter(has).collect();
    for buyer in buyers.into_iter().take(2) {
        let amount = actor.chain.balance(buyer, asset) / *actor.dice.pick(&[1, 2]);
        swap_at(actor, pool, (buyer, buyer), (asset, amount));
    }
    if actor.dice.percent(70) {
        let to = actor.perhaps_other(account);
        let shares = actor.chain.balance(account, pool.shares) / *actor.dice.pick(&[1, 1, 2]);
        let call = pool.withdraw(&actor.chain, (account, to), shares);
        actor.execute(call);
    }
}

/// A contract of the scheme gives another asset, for as much, less or more.
fn swap(actor: &mut Actor, holding: Holding) {
    let to = actor.perhaps_other(holding.account);
    pay_at_contract(actor, holding, to, &[]);
}

/// The same in a transaction in which the payer gets a worthless token.
fn pay_in_other_asset(actor: &mut Actor, holding: Holding) {
    let (to, token) = (actor.other(holding.account), actor.own_token());
    pay_at_contract(actor, holding, to, &[(ZERO, holding.account, token, TOKEN)]);
}

fn pay_at_contract(
    actor: &mut Actor,
    Holding { account, asset, amount }: Holding,
    to: AccountAddress,
    beside: &[crate::accounts::chain::Move],
) {
    let contract = own_contract(actor);
    let Some((other, all)) = money_in(actor, contract, Some(asset)) else { return };
    let percent = *actor.dice.pick(&[50, 100, 100, 150]);
    let dollars = actor.chain.dollars(asset, amount) * percent / 100;
    let paid = actor.chain.units(other, dollars).min(all);
    if paid > 0 {
        let moves = [(account, contract, asset, amount), (contract, to, other, paid)];
        actor.execute(Call::new(account, &moves).with_moves(beside));
    }
}

fn mint(actor: &mut Actor, Holding { account, asset, amount }: Holding) {
    let (contract, token) = (own_contract(actor), actor.own_token());
    let to = actor.perhaps_other(account);
    let by_play = actor.by_play([account, to]);
    let moves = [(account, contract, asset, amount), (ZERO, to, token, TOKEN)];
    actor.execute(Call::new(account, &moves).with_moves(&by_play));
}

/// A contract of the scheme pays for tokens that an account gives it.
fn buy_back(actor: &mut Actor, _: Holding) {
    let contract = own_contract(actor);
    let held = actor
        .held_tokens(|asset| actor.is_public_token(asset) || actor.own_tokens.contains(&asset));
    let Some(Holding { account, asset, amount }) = actor.one_of(&held) else { return };
    let Some((money, all)) = money_in(actor, contract, None) else { return };
    let to = actor.perhaps_other(account);
    let paid = all / *actor.dice.pick(&[1, 2, 1_000]);
    actor.send(account, &[(account, contract, asset, amount), (contract, to, money, paid)]);
}

/// A token goes into a contract of the scheme, and another account gets it for next to nothing.
fn wash(actor: &mut Actor, Holding { account, asset, amount }: Holding) {
    let contract = own_contract(actor);
    let held = actor.held_tokens(|asset| actor.is_public_token(asset));
    let Some(given) = actor.one_of(&held) else { return };
    actor.pay(given.account, contract, given.asset, given.amount);
    let paid = amount / *actor.dice.pick(&[10, 1_000]);
    actor.send(
        account,
        &[(account, contract, asset, paid), (contract, account, given.asset, given.amount)],
    );
}

/// Money is paid for a token into a contract of the scheme, which then pays it to another.
fn leave_backing(actor: &mut Actor, Holding { account, asset, amount }: Holding) {
    let contract = own_contract(actor);
    let handed = if actor.dice.one_in(2) {
        (ZERO, account, actor.own_token(), TOKEN)
    } else {
        (actor.on.provider, account, actor.on.token, TOKEN)
    };
    actor.send(account, &[(account, contract, asset, amount), handed]);
    let (to, sender) = (actor.other(account), actor.chain.account());
    let all = actor.chain.balance(contract, asset);
    actor.send(sender, &[(contract, to, asset, all)]);
}

/// A contract of the scheme takes a token and gives one that stands for it, of as many units or of a thousandth.
fn wrap(actor: &mut Actor, _: Holding) {
    let contract = own_contract(actor);
    let held = actor.held_tokens(|asset| actor.is_public_token(asset));
    let Some(Holding { account, asset, amount }) = actor.one_of(&held) else { return };
    let wrapped = match actor.wrapped.get(&(contract, asset)) {
        Some(wrapped) => *wrapped,
        None => actor.chain.token(),
    };
    actor.wrapped.insert((contract, asset), wrapped);
    let (to, units) = (actor.perhaps_other(account), amount / *actor.dice.pick(&[1, 1_000]));
    let by_play = actor.by_play([account, to]);
    let moves = [(account, contract, asset, amount), (ZERO, to, wrapped, units)];
    actor.execute(Call::new(account, &moves).with_moves(&by_play));
}

/// A contract of the scheme pays all that it holds of a token, mostly against the token that stands for it.
fn unwrap(actor: &mut Actor, _: Holding) {
    let wrapped: Vec<_> = actor.wrapped.iter().map(|(of, wrapped)| (*of, *wrapped)).collect();
    let Some(((contract, asset), wrapped)) = actor.one_of(&wrapped) else { return };
    let (to, all) = (actor.any_account(), actor.chain.balance(contract, asset));
    let mut moves = Vec::new();
    if actor.dice.percent(70) {
        let held = actor.held_tokens(|asset| asset == wrapped);
        if let Some(Holding { account, amount, .. }) = actor.one_of(&held) {
            moves.push((account, ZERO, wrapped, amount));
        }
    }
    if all > 0 {
        moves.push((contract, to, asset, all));
        actor.send(to, &moves);
    }
}

fn mint_worthless(actor: &mut Actor, Holding { account, .. }: Holding) {
    let token = actor.own_token();
    actor.send(account, &[(ZERO, account, token, TOKEN)]);
}

/// Takes all money and all tokens out of the scheme's contracts.
pub(super) fn come_home(actor: &mut Actor) {
    for contract in actor.contracts {
        for (asset, amount) in actor.chain.holdings(contract) {
            let (to, sender) = (actor.any_account(), actor.any_account());
            actor.send(sender, &[(contract, to, asset, amount)]);
        }
    }
}
