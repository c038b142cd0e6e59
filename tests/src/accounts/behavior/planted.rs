//! Accounts each of which shows one pattern, by the definitions of `docs/model/patterns.md`, amid payments of a town.
//!
//! The generator follows the definitions only: it draws numbers, amounts, assets and times from ranges that satisfy the
//! planted pattern and no other.

use std::collections::BTreeMap;

use assay_engine::{
    account::AccountAddress,
    evidence::{Pattern, PatternRole},
};

use super::town::Town;
use crate::{
    accounts::{AccountWorld, ETH, USDT},
    behavior::planted::DetectionCount,
};

/// An account, with the patterns that a search should find.
#[derive(Clone, Debug)]
pub struct PlantedAccount {
    /// The account.
    pub account: AccountAddress,
    /// The patterns, in the account's role; none for an account of the town.
    pub shows: Vec<(Pattern, PatternRole)>,
}

/// The patterns that are planted.
pub const PATTERNS: [Pattern; 14] = [
    Pattern::FanIn,
    Pattern::FanOut,
    Pattern::GatherScatter,
    Pattern::ScatterGather,
    Pattern::Structuring,
    Pattern::RapidPassThrough,
    Pattern::Layering,
    Pattern::Cycle,
    Pattern::DormantReactivation,
    Pattern::MixerUse,
    Pattern::MixerFunding,
    Pattern::DepositForwarding,
    Pattern::Dusting,
    Pattern::AddressPoisoning,
];

/// Days for which the dormant accounts sleep.
const DORMANT_DAYS: u32 = 400;

/// A world with `each` accounts of every pattern, and as many of the town.
#[must_use]
pub fn planted(seed: u64, each: usize) -> (AccountWorld, Vec<PlantedAccount>) {
    let people = each * PATTERNS.len() * 2;
    let mut town = Town::new(seed, people);
    let mut dormant = Vec::new();
    for _ in 0..each {
        dormant.push(saver(&mut town));
    }
    town.chain.wait_days(DORMANT_DAYS);
    let mut all = Vec::new();
    for account in dormant {
        for pattern in PATTERNS {
            let planted = match pattern {
                Pattern::DormantReactivation => vec![awaken(&mut town, account)],
                _ => plant(pattern, &mut town),
            };
            all.extend(planted);
            town.pause(60, 240);
        }
    }
    let wanted = all.len();
    let others = town.people().iter().take(wanted).copied();
    all.extend(others.map(|account| PlantedAccount { account, shows: Vec::new() }));
    (AccountWorld::new(town.chain), all)
}

fn shows(account: AccountAddress, pattern: Pattern, role: PatternRole) -> PlantedAccount {
    PlantedAccount { account, shows: vec![(pattern, role)] }
}

/// Plants one pattern.
fn plant(pattern: Pattern, town: &mut Town) -> Vec<PlantedAccount> {
    let one = |role, account| vec![shows(account, pattern, role)];
    match pattern {
        Pattern::FanIn => one(PatternRole::Recipient, fan_in(town)),
        Pattern::FanOut => one(PatternRole::Actor, fan_out(town)),
        Pattern::GatherScatter => one(PatternRole::Actor, gather_scatter(town)),
        Pattern::Structuring => one(PatternRole::Actor, structuring(town)),
        Pattern::RapidPassThrough => one(PatternRole::Actor, pass_through(town)),
        Pattern::Layering => one(PatternRole::Recipient, layering(town)),
        Pattern::Cycle => one(PatternRole::Actor, cycle(town)),
        Pattern::ScatterGather => scatter_gather(town),
        Pattern::MixerUse => mixer_use(town),
        Pattern::MixerFunding => mixer_funding(town),
        Pattern::DepositForwarding => one(PatternRole::Actor, deposit_forwarding(town)),
        Pattern::Dusting => dusting(town),
        _ => poisoning(town),
    }
}

/// Ten to thirty owners pay within 20 hours, and somebody else a month earlier.
fn fan_in(town: &mut Town) -> AccountAddress {
    let account = town.account();
    town.grant(account, 1_000);
    town.pause(2_000, 40_000);
    let payers = town.between(10, 30);
    for _ in 0..payers {
        let (asset, cents) = (town.asset(), town.between(5_000, 600_000));
        town.receive(account, asset, cents);
        town.pause(1, 1_200 / payers);
    }
    account
}

/// Ten to thirty owners are paid within 20 hours.
fn fan_out(town: &mut Town) -> AccountAddress {
    let account = town.account();
    town.grant(account, 400_000);
    town.pause(2_000, 5_000);
    let payees = town.between(10, 30);
    for _ in 0..payees {
        // Above all thresholds, so that nothing is structured by chance.
        let (asset, cents, payee) =
            (town.asset(), town.between(1_010_000, 1_300_000), town.account());
        town.pay((account, payee), asset, cents);
        town.pause(1, 1_200 / payees);
    }
    account
}

/// Five to nine owners pay within 20 hours, and 85 to 99 % of the money goes to five to nine others within 40 hours.
fn gather_scatter(town: &mut Town) -> AccountAddress {
    let (account, asset) = (town.account(), town.asset());
    let payers = town.between(5, 9);
    let mut gathered = 0;
    for _ in 0..payers {
        let cents = town.between(2_000_000, 4_000_000);
        town.receive(account, asset, cents);
        gathered += cents;
        town.pause(1, 1_200 / payers);
    }
    // Not within an hour: it is no pass-through.
    town.pause(70, 600);
    let (percent, others) = (town.between(85, 98), town.between(5, 9));
    for _ in 0..others {
        let payee = town.account();
        town.pay((account, payee), asset, gathered / 100 * percent / others);
        town.pause(1, 60);
    }
    account
}

/// Five to eight payments within 20 hours just below one threshold, and a payment of another size.
fn structuring(town: &mut Town) -> AccountAddress {
    let (account, payee) = (town.account(), town.account());
    town.grant(account, 100_000);
    town.pause(2_000, 5_000);
    let threshold = *town.dice.pick(&[100_000, 300_000, 1_000_000]);
    let payments = town.between(5, 8);
    for nth in 0..payments {
        let (asset, cents) = (town.asset(), threshold / 1_000 * town.between(905, 998));
        let to = if nth % 2 == 0 { payee } else { town.account() };
        town.pay((account, to), asset, cents);
        town.pause(1, 1_200 / payments);
    }
    let to = town.account();
    town.pay((account, to), USDT, threshold / 3);
    account
}

/// Three to six payments, ten hours or more apart, each passed on within 50 minutes, but for at most 7 %.
fn pass_through(town: &mut Town) -> AccountAddress {
    let account = town.account();
    for _ in 0..town.between(3, 6) {
        let (asset, cents, kept) =
            (town.asset(), town.between(500_000, 3_000_000), town.between(1, 7));
        town.receive(account, asset, cents);
        town.pause(5, 50);
        let to = town.account();
        town.pay((account, to), asset, cents / 100 * (100 - kept));
        town.pause(600, 3_000);
    }
    account
}

/// Four to eight owners who pass on what they were paid, within 2 days each. The account is paid by the last of them.
fn layering(town: &mut Town) -> AccountAddress {
    let asset = town.asset();
    let mut payer = town.account();
    town.grant(payer, 300_000);
    town.pause(2_000, 3_000);
    let mut cents = town.between(1_000_000, 9_000_000);
    for _ in 0..=town.between(4, 8) {
        let next = town.account();
        if asset != ETH && town.dice.one_in(2) {
            // Coins for fees.
            town.receive(next, ETH, 500);
        }
        town.pay((payer, next), asset, cents);
        town.pause(70, 2_800);
        cents = cents / 1_000 * town.between(980, 999);
        payer = next;
    }
    payer
}

/// Three to six owners in a circle, each of whom keeps 15 to 30 % of what it is paid.
fn cycle(town: &mut Town) -> AccountAddress {
    let asset = town.asset();
    let account = town.account();
    town.grant(account, 90_000);
    town.pause(2_000, 3_000);
    let length = town.between(3, 6);
    let (mut payer, mut cents) = (account, town.between(2_000_000, 8_000_000));
    for nth in 1..=length {
        let to = if nth == length { account } else { town.account() };
        town.pay((payer, to), asset, cents);
        cents = cents / 100 * town.between(70, 85);
        payer = to;
        // Longer than an hour, and together less than 7 days.
        town.pause(70, 1_300);
    }
    account
}

/// An owner pays five to nine others, each of whom pays most of it to the same further owner.
fn scatter_gather(town: &mut Town) -> Vec<PlantedAccount> {
    let (first, last, asset) = (town.account(), town.account(), town.asset());
    town.grant(first, 400_000);
    town.pause(2_000, 3_000);
    let others = town.between(5, 9);
    let mut paid = Vec::new();
    for _ in 0..others {
        let (other, cents) = (town.account(), town.between(1_100_000, 3_000_000));
        town.pay((first, other), asset, cents);
        paid.push((other, cents));
    }
    for (other, cents) in paid {
        town.pause(70, 8_000 / others);
        let percent = town.between(82, 95);
        town.pay((other, last), asset, cents / 100 * percent);
    }
    vec![
        shows(first, Pattern::ScatterGather, PatternRole::Actor),
        shows(last, Pattern::ScatterGather, PatternRole::Recipient),
    ]
}

/// An account that is paid a few times and then sleeps.
fn saver(town: &mut Town) -> AccountAddress {
    let account = town.account();
    for _ in 0..town.between(1, 4) {
        let (asset, dollars) = (town.asset(), town.between(2_000, 20_000));
        town.receive(account, asset, dollars * 100);
        town.pause(300, 3_000);
    }
    account
}

/// A saver moves 60 to 95 % of each asset.
fn awaken(town: &mut Town, account: AccountAddress) -> PlantedAccount {
    if town.dice.one_in(2) {
        // Little money is no activity.
        town.receive(account, USDT, 500);
        town.pause(300, 3_000);
    }
    let to = town.account();
    for (asset, amount) in town.chain.holdings(account) {
        let percent = u128::from(town.between(60, 95));
        town.chain.pay(account, to, asset, amount / 100 * percent);
        town.pause(10, 300);
    }
    shows(account, Pattern::DormantReactivation, PatternRole::Actor)
}

/// One account pays a mixing service, and another one with money of its own is paid by it.
fn mixer_use(town: &mut Town) -> Vec<PlantedAccount> {
    let (payer, paid, mixer) = (town.account(), town.account(), town.mixer);
    for account in [payer, paid] {
        town.grant(account, 20_000);
    }
    town.pause(2_000, 3_000);
    for _ in 0..town.between(1, 3) {
        let (asset, dollars) = (town.asset(), town.between(100, 5_000));
        town.pay((payer, mixer), asset, dollars * 100);
        town.pay((mixer, paid), asset, dollars * 100);
        town.pause(70, 900);
    }
    vec![
        shows(payer, Pattern::MixerUse, PatternRole::Actor),
        shows(paid, Pattern::MixerUse, PatternRole::Recipient),
    ]
}

/// A mixing service pays a new account, which later is paid by others, too.
fn mixer_funding(town: &mut Town) -> Vec<PlantedAccount> {
    let (account, mixer) = (town.account(), town.mixer);
    let dollars = town.between(100, 9_000);
    town.pay((mixer, account), ETH, dollars * 100);
    town.pause(70, 900);
    town.receive(account, USDT, 50_000);
    let role = PatternRole::Recipient;
    let shows = vec![(Pattern::MixerUse, role), (Pattern::MixerFunding, role)];
    vec![PlantedAccount { account, shows }]
}

/// Two to five owners pay an account, which passes all of it on to an exchange some hours later.
fn deposit_forwarding(town: &mut Town) -> AccountAddress {
    let account = town.account();
    let exchange = *town.dice.pick(&town.exchanges);
    for _ in 0..town.between(2, 5) {
        let (asset, cents) = (town.asset(), town.between(5_000, 900_000));
        town.receive(account, asset, cents);
        town.pause(90, 600);
        let balance = town.chain.balance(account, asset);
        // Fees are paid of the rest.
        town.chain.pay(account, exchange, asset, balance / 100 * 99);
        town.pause(90, 3_000);
    }
    account
}

/// An owner sends dust to 12 to 40 owners within 20 hours, one of whom has money.
fn dusting(town: &mut Town) -> Vec<PlantedAccount> {
    let (duster, victim) = (town.account(), town.account());
    town.grant(duster, 5_000);
    town.grant(victim, 3_000);
    town.pause(2_000, 3_000);
    let (others, asset) = (town.between(12, 40), town.asset());
    let nth_of_victim = town.between(0, others - 1);
    for nth in 0..others {
        let to = if nth == nth_of_victim { victim } else { town.account() };
        let cents = town.between(1, 90);
        town.pay((duster, to), asset, cents);
        town.pause(1, 1_200 / others);
    }
    vec![
        shows(duster, Pattern::Dusting, PatternRole::Actor),
        shows(victim, Pattern::Dusting, PatternRole::Victim),
    ]
}

/// A victim pays somebody, and an account with alike first and last digits sends it dust, or a contract logs a transfer of
/// nothing to that account.
fn poisoning(town: &mut Town) -> Vec<PlantedAccount> {
    let (victim, friend) = (town.account(), town.account());
    town.grant(victim, 9_000);
    town.pause(2_000, 3_000);
    town.pay((victim, friend), USDT, 120_000);
    town.pause(5, 60);
    let mut alike = town.account();
    alike.0[..2].copy_from_slice(&friend.0[..2]);
    alike.0[18..].copy_from_slice(&friend.0[18..]);
    if town.dice.one_in(2) {
        town.receive(alike, USDT, 300);
        town.receive(alike, ETH, 300);
        let cents = town.between(1, 30);
        town.pay((alike, victim), USDT, cents);
    } else {
        let attacker = town.chain.outsider();
        town.chain.send(attacker, &[(victim, alike, USDT, 0)]);
    }
    vec![
        shows(alike, Pattern::AddressPoisoning, PatternRole::Actor),
        shows(victim, Pattern::AddressPoisoning, PatternRole::Victim),
    ]
}

/// Searches the patterns of all accounts.
#[must_use]
pub fn count(world: &AccountWorld, all: &[PlantedAccount]) -> BTreeMap<Pattern, DetectionCount> {
    let mut counts: BTreeMap<Pattern, DetectionCount> = BTreeMap::new();
    for PlantedAccount { account, shows } in all {
        let found: Vec<(Pattern, PatternRole)> = world
            .behavior(*account)
            .patterns
            .iter()
            .map(|fact| (fact.pattern, fact.role))
            .collect();
        for shown in shows {
            let count = counts.entry(shown.0).or_default();
            if found.contains(shown) { count.right += 1 } else { count.missed += 1 }
        }
        for wrong in found.iter().filter(|found| !shows.contains(found)) {
            counts.entry(wrong.0).or_default().wrong += 1;
        }
    }
    counts
}
