//! Payments between accounts.

use assay_tests::{
    evm::{
        Address, EvmNodeKind, NewBlock, NewTransaction,
        abi::{self, Argument},
        contracts::{ENTRY_POINT, SPLITTER_AT, USDT, VALIDATOR_DEPOSITS, parts},
        genesis::ETHER,
    },
    is_full,
};

use super::{Case, LOOT, Outcome, STOLEN, allow, indeterminate, review, untouched};
use crate::evm_contracts::economy::{DOLLAR, Economy, FOR_FEES, payment, transfer, transfer_from};

pub(super) const WITHOUT_PRICES: &[Case] = &[unpriced];

pub(super) const UNSEEN: &[Case] = &[unseen];

pub(super) const CASES: &[Case] = &[
    circles,
    dust_of_many,
    listed_among_much,
    unasked,
    validator,
    priority_fees,
    forwarders,
    fake_deposit_address,
    dust_of_a_thief,
    bridge,
    mixer,
    hacked_protocol,
    poisoned,
    drained,
    gas_of_a_listed_party,
    token_to_a_listed_party,
    wages_and_bundle,
    small_parts,
    frozen,
];

/// Stolen ether on a day without a price.
fn unpriced(world: &mut Economy) -> Vec<Outcome> {
    let (thief, payee) = (world.stolen(LOOT), world.account());
    world.pay(thief, payee, LOOT);
    vec![review("19", payee)]
}

/// A clean ether goes round over an own account, over the exchange and over two accounts, and then 0.9 stolen ether come.
fn circles(world: &mut Economy) -> Vec<Outcome> {
    let exchange = world.exchange;
    let others = [1, 0, 2, 2].map(|own| (0..own).map(|_| world.clean(0)).collect::<Vec<_>>());
    let mut rings = others.map(|others| [vec![world.clean(ETHER)], others].concat());
    rings[1].push(exchange);
    let paid = |ring: &Vec<Address>, step: usize| {
        let [from, to] = [step, step + 1].map(|at| ring[at % ring.len()]);
        (from, NewTransaction::payment(to, ETHER))
    };
    // Sixty circles of two, and forty of three.
    for step in 0..120 {
        let _ = world.send(&rings.each_ref().map(|ring| paid(ring, step)));
    }
    let [own, exchanged, held, emptied] = rings.map(|ring| ring[0]);
    for account in [own, exchanged, held, emptied] {
        world.pay(world.thief, account, 9 * ETHER / 10);
    }
    let payee = world.account();
    world.pay_all(emptied, payee);
    let reviewed = [own, exchanged, held].map(|account| review("8", account));
    reviewed.into_iter().chain([allow("8d", emptied), review("8d", payee)]).collect()
}

/// Dust of many accounts before a thief pays.
fn dust_of_many(world: &mut Economy) -> Vec<Outcome> {
    let (thief, payee) = (world.stolen(LOOT), world.account());
    let dust = NewTransaction::payment(thief, ETHER / 10_000);
    let crowd = world.crowd(if is_full() { 3_000 } else { 200 });
    let paid: Vec<_> = crowd.into_iter().map(|account| (account, dust.clone())).collect();
    world.send_many(&paid);
    world.pay(thief, payee, LOOT);
    vec![review("9", payee)]
}

/// Five dollars of a listed party among two million.
fn listed_among_much(world: &mut Economy) -> Vec<Outcome> {
    let account = world.account();
    for _ in 0..20 {
        world.dollars(account, 100_000 * DOLLAR);
    }
    world.dollars(world.listed, 1_000 * DOLLAR);
    world.transfer(world.listed, USDT, account, 5 * DOLLAR);
    vec![review("10", account).of("sanctions")]
}

/// A thief and a listed party pay somebody who did not ask for it.
fn unasked(world: &mut Economy) -> Vec<Outcome> {
    let [shown, reviewed] = [world.thief, world.listed].map(|payer| {
        let account = world.account();
        world.dollars(payer, 300 * DOLLAR);
        world.dollars(account, 40_000 * DOLLAR);
        // A transfer of nothing in the account's name.
        let nothing = [account.into(), payer.into(), 0.into()];
        world.call(payer, USDT, "transferFrom(address,address,uint256)", &nothing);
        world.transfer(payer, USDT, account, 300 * DOLLAR);
        account
    });
    vec![allow("12", shown).of(STOLEN), review("12", reviewed).of("sanctions")]
}

/// A thief's deposit for the validator of another, to whom it is paid back.
fn validator(world: &mut Economy) -> Vec<Outcome> {
    if world.node.kind == EvmNodeKind::Anvil {
        // It makes no withdrawals.
        return Vec::new();
    }
    let (thief, staker) = (world.stolen(LOOT), world.account());
    let mut credentials = vec![0; 32];
    credentials[0] = 1;
    credentials[12..].copy_from_slice(&staker);
    let arguments: [Argument; 3] = [vec![7; 48].into(), credentials.into(), vec![9; 96].into()];
    world.pay_call(thief, VALIDATOR_DEPOSITS, 32 * ETHER, "deposit(bytes,bytes,bytes)", &arguments);
    let withdrawals = vec![(staker, 32_100_000_000)];
    world.node.make(&NewBlock { withdrawals, ..NewBlock::of(Vec::new()) });
    vec![review("13", staker)]
}

/// Who makes a block gets priority fees: all of a thief's money, and a twentieth of what is clean.
fn priority_fees(world: &mut Economy) -> Vec<Outcome> {
    let builder = world.account();
    tip(world, LOOT, builder);
    let validator = world.clean(38 * ETHER);
    tip(world, 2 * ETHER, validator);
    vec![review("14", builder), allow("32", validator)]
}

/// Stolen ether that becomes the priority fee of a transaction.
fn tip(world: &mut Economy, amount: u128, producer: Address) {
    let thief = world.stolen(amount);
    let tip = u64::try_from(amount / 21_000).unwrap();
    let tipping = NewTransaction { tip, ..NewTransaction::payment(thief, 0) };
    let _ = world.send_to(Some(producer), &[(thief, tipping)]);
}

/// Ether that contracts forwarded so many times.
fn forwarded(world: &mut Economy, times: usize) -> Address {
    let mut holder = world.stolen(LOOT);
    for _ in 0..times {
        let next = world.clean(0);
        world.call_with(holder, SPLITTER_AT, LOOT, parts(&[(next, LOOT)]));
        holder = next;
    }
    holder
}

fn forwarders(world: &mut Economy) -> Vec<Outcome> {
    vec![review("15", forwarded(world, 7))]
}

/// Who paid over a contract is not seen without traces.
fn unseen(world: &mut Economy) -> Vec<Outcome> {
    let (payee, next) = (forwarded(world, 1), world.account());
    world.pay(payee, next, LOOT);
    vec![indeterminate("17", payee)]
}

/// An account that looks like the deposit address of an exchange.
fn fake_deposit_address(world: &mut Economy) -> Vec<Outcome> {
    let (thief, fake, payee) = (world.stolen(LOOT), world.account(), world.account());
    for _ in 0..3 {
        world.pay(world.exchange, fake, 5 * ETHER / 1_000);
        world.pay_all(fake, world.exchange);
    }
    world.pay(thief, fake, LOOT);
    world.pay_all(fake, payee);
    vec![review("16", fake), review("16", payee)]
}

/// Amounts of less than a dollar from many accounts of a thief.
fn dust_of_a_thief(world: &mut Economy) -> Vec<Outcome> {
    let account = world.account();
    let crowd = world.crowd(if is_full() { 300 } else { 30 });
    world.dollars(world.thief, 10_000 * DOLLAR);
    let transfer = |to: Address, amount: u128| {
        let input = abi::call("transfer(address,uint256)", &[to.into(), amount.into()]);
        NewTransaction::call(USDT, 0, input)
    };
    let funded = crowd.iter().map(|payer| (world.thief, transfer(*payer, 20 * DOLLAR)));
    let funded: Vec<_> = funded.collect();
    let paid = (0..20).flat_map(|_| &crowd);
    let paid: Vec<_> = paid.map(|payer| (*payer, transfer(account, 9 * DOLLAR / 10))).collect();
    world.send_many(&funded);
    world.send_many(&paid);
    vec![review("18", account)]
}

/// Clean money goes into a bridge, and what it pays out came from a thief.
fn bridge(world: &mut Economy) -> Vec<Outcome> {
    let bridge = world.party("carol", "bridge");
    let (thief, clean, payee) = (world.stolen(LOOT), world.clean(LOOT), world.account());
    world.pay(clean, bridge, LOOT);
    world.pay(thief, bridge, LOOT);
    world.pay(bridge, payee, LOOT);
    vec![allow("19b", payee).of("bridge")]
}

/// A relayer has a mixer pay.
fn mixer(world: &mut Economy) -> Vec<Outcome> {
    let (thief, relayer, payee) = (world.stolen(LOOT), world.clean(0), world.account());
    let mixer = world.puppet();
    world.labels.push((mixer, "mixer"));
    world.pay(thief, mixer, LOOT);
    let half = ETHER / 2;
    world.act(relayer, mixer, 0, &[payment(payee, LOOT - half), payment(relayer, half)]);
    vec![review("20", payee).of("mixer")]
}

/// A protocol that was hacked paid a person.
fn hacked_protocol(world: &mut Economy) -> Vec<Outcome> {
    let (protocol, person) = (world.clean_dollars(1_000_000 * DOLLAR), world.account());
    world.labels.push((protocol, "defi"));
    world.transfer(protocol, USDT, world.thief, 500_000 * DOLLAR);
    world.transfer(protocol, USDT, person, 2_000 * DOLLAR);
    vec![untouched("26", person)]
}

/// Transfers of nothing in somebody's name, and of a token that is worth nothing.
fn poisoned(world: &mut Economy) -> Vec<Outcome> {
    let (person, lookalike) = (world.clean(ETHER), world.clean(0));
    let fake = world.deploy(lookalike, "Token", &[]);
    for (from, to) in [(world.thief, person), (person, lookalike)] {
        let nothing = [from.into(), to.into(), 0.into()];
        world.call(world.thief, USDT, "transferFrom(address,address,uint256)", &nothing);
    }
    world.mint(lookalike, fake, lookalike, 100_000);
    world.transfer_all(lookalike, fake, person);
    vec![untouched("27", person)]
}

/// A drainer takes what a person permitted.
fn drained(world: &mut Economy) -> Vec<Outcome> {
    let person = world.clean_dollars(9_000 * DOLLAR);
    world.approve(person, USDT, world.thief);
    let taken = [person.into(), world.thief.into(), (9_000 * DOLLAR).into()];
    world.call(world.thief, USDT, "transferFrom(address,address,uint256)", &taken);
    vec![review("28", person)]
}

fn gas_of_a_listed_party(world: &mut Economy) -> Vec<Outcome> {
    let person = world.account();
    world.dollars(person, 1_000 * DOLLAR);
    world.pay(world.listed, person, 15 * ETHER / 100_000);
    vec![allow("29", person)]
}

/// A person sends a listed party a token whose money is not followed.
fn token_to_a_listed_party(world: &mut Economy) -> Vec<Outcome> {
    let (person, token) = (world.clean(10 * ETHER), world.on.token);
    world.buy(person, world.on.token_ether, ETHER);
    world.transfer_all(person, token, world.listed);
    vec![Outcome { verdict: "review", ..untouched("P9", person) }]
}

/// Wages that one transaction pays to all, and a bundle with a purchase and with a thief's payment.
fn wages_and_bundle(world: &mut Economy) -> Vec<Outcome> {
    let (employer, multisend) = (world.clean_dollars(90_000 * DOLLAR), world.puppet());
    let people: Vec<_> = (0..10).map(|_| world.account()).collect();
    world.approve(employer, USDT, multisend);
    let mut paid = vec![transfer_from(USDT, (employer, multisend), 30_000 * DOLLAR)];
    paid.extend(people.iter().map(|person| transfer(USDT, *person, 3_000 * DOLLAR)));
    world.act(employer, multisend, 0, &paid);
    let (owner, thief, bundler) = (world.clean(0), world.stolen(LOOT), world.clean(0));
    let [buyer, helper] = [owner, thief].map(|owner| world.smart_account(owner));
    let (shop, payee) = (world.account(), world.account());
    world.dollars(buyer, 3_000 * DOLLAR);
    world.pay(thief, helper, 9 * ETHER);
    let deposit = [buyer, helper].map(|account| [Argument::from(account)]);
    for (from, account) in [owner, thief].into_iter().zip(deposit) {
        world.pay_call(from, ENTRY_POINT, FOR_FEES / 2, "depositTo(address)", &account);
    }
    let purchase = transfer(USDT, shop, 100 * DOLLAR);
    world.handle(bundler, &[(helper, payment(payee, 9 * ETHER)), (buyer, purchase)]);
    let mut outcomes: Vec<_> =
        people.into_iter().step_by(5).map(|it| untouched("30", it)).collect();
    outcomes.extend([untouched("30", buyer), untouched("30", shop), review("30", payee)]);
    outcomes
}

/// A hundredth of what an employer, and of what a wallet without a label has, is stolen.
fn small_parts(world: &mut Economy) -> Vec<Outcome> {
    ["31", "34"]
        .map(|case| {
            let (payer, thief, person) =
                (world.clean(99 * ETHER), world.stolen(ETHER), world.account());
            world.pay(thief, payer, ETHER);
            world.pay(payer, person, 10 * ETHER);
            allow(case, person).of(STOLEN)
        })
        .into()
}

/// An issuer of dollars freezes an account, which pays afterwards.
fn frozen(world: &mut Economy) -> Vec<Outcome> {
    let (frozen, payee) = (world.clean_dollars(5_000 * DOLLAR), world.account());
    world.call(world.exchange, USDT, "addBlackList(address)", &[frozen.into()]);
    world.transfer(frozen, USDT, payee, 1_000 * DOLLAR);
    vec![review("33", payee).of("issuer_frozen")]
}
