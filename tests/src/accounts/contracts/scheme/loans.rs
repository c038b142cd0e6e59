//! Loans, wrappers and deposits for others.

use assay_engine::account::AccountAddress;

use super::{
    Kind,
    actor::{Actor, Holding, ZERO},
    kind,
};
use crate::accounts::{
    ETH, STETH, USDC, WETH,
    contracts::{
        Deposits, Lending,
        protocols::TOKEN,
        wrapper::{self, unwrap},
    },
};

pub(super) const KINDS: &[Kind] = &[
    kind("deposit at a lender", 2, supply),
    kind("loan", 3, borrow),
    kind("repayment", 1, repay),
    kind("withdrawal from a lender", 2, withdraw),
    kind("receipt to another", 1, send_receipt),
    kind("wrapping", 1, wrap),
    kind("unwrapping", 1, unwrap_some),
    kind("deposit for a named account", 2, deposit_named),
    kind("payment of what is kept for a named account", 2, withdraw_named),
];

/// Chooses one of the lending protocols.
fn lender(actor: &mut Actor) -> fn(&mut Actor) -> &mut Lending {
    if actor.dice.one_in(2) { |it| &mut it.on.lending } else { |it| &mut it.on.reserves }
}

/// Chooses one of the contracts that keep money for named accounts.
fn keeper(actor: &mut Actor) -> fn(&mut Actor) -> &mut Deposits {
    if actor.dice.one_in(2) { |it| &mut it.on.entry_point } else { |it| &mut it.on.streams }
}

fn supply(actor: &mut Actor, Holding { account, asset, amount }: Holding) {
    let lender = lender(actor);
    if lender(actor).has(asset) {
        let to = actor.perhaps_other(account);
        let call = lender(actor).supply((account, to), asset, amount);
        let by_play = actor.by_play([account, to]);
        actor.execute(call.with_moves(&by_play));
    }
}

fn borrow(actor: &mut Actor, _: Holding) {
    let lender = lender(actor);
    let protocol = lender(actor).clone();
    let can = |it: &AccountAddress| protocol.room(&actor.chain, *it) > 10;
    let debtors: Vec<AccountAddress> = actor.accounts.iter().copied().filter(can).collect();
    let Some(debtor) = actor.one_of(&debtors) else { return };
    let asset = *actor.dice.pick(&[ETH, USDC]);
    let room = protocol.room(&actor.chain, debtor) / *actor.dice.pick(&[1, 2]);
    let most = actor.chain.balance(protocol.reserve(asset).contract, asset) / 10 * 9;
    let amount = actor.chain.units(asset, room).min(most);
    let to = actor.perhaps_other(debtor);
    let mut call = lender(actor).borrow((debtor, to), asset, amount);
    if actor.dice.one_in(2) {
        call = call.with_moves(&[(ZERO, debtor, actor.chain.token(), TOKEN)]);
    }
    let by_play = actor.by_play([debtor, to]);
    actor.execute(call.with_moves(&by_play));
}

fn repay(actor: &mut Actor, Holding { account, asset, amount }: Holding) {
    let lender = lender(actor);
    let protocol = lender(actor).clone();
    let debtors = actor.accounts.iter().copied().filter(|it| protocol.debt(*it, asset) > 0);
    let Some(debtor) = actor.one_of(&debtors.collect::<Vec<_>>()) else { return };
    let amount = amount.min(protocol.debt(debtor, asset));
    let call = lender(actor).repay((account, debtor), asset, amount);
    let by_play = actor.by_play([account, debtor]);
    actor.execute(call.with_moves(&by_play));
}

/// The deposits that accounts of the scheme may withdraw from a lending protocol.
fn deposits_at(actor: &Actor, protocol: &Lending) -> Vec<Holding> {
    let of = |account: &AccountAddress| {
        let account = *account;
        let reserves = protocol.reserves.iter().map(move |reserve| Holding {
            account,
            asset: reserve.asset,
            amount: protocol.most_withdrawn(&actor.chain, account, reserve.asset),
        });
        reserves.filter(|it| it.amount > 0).collect::<Vec<_>>()
    };
    actor.accounts.iter().flat_map(of).collect()
}

fn withdraw(actor: &mut Actor, _: Holding) {
    let lender = lender(actor);
    let protocol = lender(actor).clone();
    let Some(holding) = actor.one_of(&deposits_at(actor, &protocol)) else { return };
    let Holding { account, asset, amount } = actor.part_of(holding);
    let to = actor.perhaps_other(account);
    let by_play = actor.by_play([account, to]);
    actor.execute(protocol.withdraw((account, to), asset, amount).with_moves(&by_play));
}

fn send_receipt(actor: &mut Actor, _: Holding) {
    let lender = lender(actor);
    let protocol = lender(actor).clone();
    let Some(holding) = actor.one_of(&deposits_at(actor, &protocol)) else { return };
    let Holding { account, asset, amount } = actor.part_of(holding);
    let to = actor.other(account);
    actor.pay(account, to, protocol.reserve(asset).receipt, amount);
}

fn wrap(actor: &mut Actor, Holding { account, asset, amount }: Holding) {
    if asset == ETH {
        let token = *actor.dice.pick(&[WETH, STETH]);
        actor.execute(wrapper::wrap(account, token, amount));
    }
}

fn unwrap_some(actor: &mut Actor, _: Holding) {
    let held = actor.held_tokens(|asset| asset == WETH);
    if let Some(Holding { account, asset, amount }) = actor.one_of(&held) {
        let to = actor.perhaps_other(account);
        actor.execute(unwrap((account, to), asset, amount));
    }
}

fn deposit_named(actor: &mut Actor, Holding { account, asset, amount }: Holding) {
    if asset == ETH {
        let (keeper, beneficiary) = (keeper(actor), actor.any_account());
        let call = keeper(actor).deposit((account, beneficiary), asset, amount);
        let by_play = actor.by_play([account, account]);
        actor.execute(call.with_moves(&by_play));
    }
}

fn withdraw_named(actor: &mut Actor, _: Holding) {
    let keeper = keeper(actor);
    let kept = keeper(actor).balances();
    if let Some((owner, asset, amount)) = actor.one_of(&kept) {
        let to = actor.perhaps_other(owner);
        let call = keeper(actor).withdraw((owner, to), asset, amount);
        let by_play = actor.by_play([owner, to]);
        actor.execute(call.with_moves(&by_play));
    }
}

/// Withdraws all deposits of accounts without debts, and all that is kept for named accounts.
pub(super) fn come_home(actor: &mut Actor) {
    for protocol in [actor.on.lending.clone(), actor.on.reserves.clone()] {
        for Holding { account, asset, amount } in deposits_at(actor, &protocol) {
            actor.execute(protocol.withdraw((account, account), asset, amount));
        }
    }
    let keepers: [fn(&mut Actor) -> &mut Deposits; 2] =
        [|it| &mut it.on.entry_point, |it| &mut it.on.streams];
    for keeper in keepers {
        for (owner, asset, amount) in keeper(actor).balances() {
            let call = keeper(actor).withdraw((owner, owner), asset, amount);
            actor.execute(call);
        }
    }
}
