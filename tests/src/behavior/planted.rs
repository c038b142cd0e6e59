//! Owners each of whom shows one pattern, by the definitions of `docs/model/patterns.md`, amid payments of a crowd.
//!
//! The generator follows the definitions only: it draws numbers, amounts and times from ranges that satisfy the planted
//! pattern and no other.

use std::collections::BTreeMap;

use assay_address::ChainId;
use assay_engine::{
    evidence::{Pattern, PatternRole},
    utxo::ScriptOwner,
};
use jiff::Timestamp;

use super::crowd::{COIN, Crowd, FEE};
use crate::world::{ChainBuilder, Claims, Utxo, World};

/// An owner, with the pattern that a search should find.
#[derive(Clone, Debug)]
pub struct PlantedPattern {
    /// The owner.
    pub owner: ScriptOwner,
    /// The pattern, in the owner's role; `None` for an owner of the crowd.
    pub shows: Option<(Pattern, PatternRole)>,
}

/// The patterns that are planted.
pub const PATTERNS: [Pattern; 9] = [
    Pattern::FanIn,
    Pattern::FanOut,
    Pattern::GatherScatter,
    Pattern::ScatterGather,
    Pattern::Structuring,
    Pattern::RapidPassThrough,
    Pattern::PeelChain,
    Pattern::Layering,
    Pattern::Cycle,
];

/// A world with `each` owners of every pattern, and the same total number of owners of the crowd.
///
/// # Panics
///
/// Panics if the generator pays more than somebody has.
#[must_use]
pub fn planted(seed: u64, each: usize) -> (World, Vec<PlantedPattern>) {
    let begin: Timestamp = "2024-01-01T00:00:00Z".parse().expect("a moment");
    let people = each * PATTERNS.len() * 2;
    let mut crowd = Crowd::new(ChainBuilder::new(ChainId::BTC, seed, begin), people);
    let mut all = Vec::new();
    for _ in 0..each {
        for pattern in PATTERNS {
            all.extend(plant(pattern, &mut crowd));
            crowd.pause(60, 240);
        }
    }
    let wanted = all.len();
    let others = crowd.people().take(wanted).cloned();
    all.extend(others.map(|owner| PlantedPattern { owner, shows: None }));
    (World::new(crowd.chain, Claims::default()), all)
}

/// Plants one pattern.
fn plant(pattern: Pattern, crowd: &mut Crowd) -> Vec<PlantedPattern> {
    let (role, owners) = match pattern {
        Pattern::FanIn => (PatternRole::Recipient, vec![fan_in(crowd)]),
        Pattern::FanOut => (PatternRole::Actor, vec![fan_out(crowd)]),
        Pattern::GatherScatter => (PatternRole::Actor, vec![gather_scatter(crowd)]),
        Pattern::Structuring => (PatternRole::Actor, vec![structuring(crowd)]),
        Pattern::RapidPassThrough => (PatternRole::Actor, vec![pass_through(crowd)]),
        Pattern::PeelChain => (PatternRole::Actor, vec![peel_chain(crowd)]),
        Pattern::Layering => (PatternRole::Recipient, vec![layering(crowd)]),
        Pattern::Cycle => (PatternRole::Actor, vec![cycle(crowd)]),
        _ => return scatter_gather(crowd),
    };
    let shows = Some((pattern, role));
    owners.into_iter().map(|owner| PlantedPattern { owner, shows }).collect()
}

/// Ten to thirty owners pay within 20 hours, and somebody else a month earlier.
fn fan_in(crowd: &mut Crowd) -> ScriptOwner {
    let owner = crowd.address();
    let earlier = crowd.coin(COIN / 10);
    let _paid = crowd.pay(&[earlier], &[], Some(&owner));
    crowd.pause(2_000, 40_000);
    let payers = crowd.between(10, 30);
    for _ in 0..payers {
        // From 0.011: none is just below a threshold together with four others of one payer.
        let amount = crowd.between(COIN / 90, COIN);
        let coin = crowd.coin(amount + FEE);
        let _paid = crowd.pay(&[coin], &[], Some(&owner));
        crowd.pause(1, 1_200 / payers);
    }
    owner
}

/// Ten to thirty owners are paid within 20 hours, by payments to one to five of them, with change to the same address.
fn fan_out(crowd: &mut Crowd) -> ScriptOwner {
    let owner = crowd.address();
    let mut coin = crowd.coin_of(&owner, 60 * COIN);
    crowd.pause(2_000, 5_000);
    let payees = crowd.between(10, 30);
    let mut left = payees;
    while left > 0 {
        let count = crowd.between(1, 5).min(left);
        let mut paid = Vec::new();
        for _ in 0..count {
            // Above all thresholds, so that nothing is structured by chance.
            let amount = crowd.between(COIN / 9, COIN);
            paid.push((crowd.address(), amount));
        }
        let made = crowd.pay(&[coin], &paid, Some(&owner));
        coin = made.last().cloned().expect("change");
        left -= count;
        crowd.pause(1, 1_200 / payees);
    }
    owner
}

/// Five to nine owners pay within 20 hours, and 85 to 99 % of the money goes to five to nine others within 40 hours.
fn gather_scatter(crowd: &mut Crowd) -> ScriptOwner {
    let owner = crowd.address();
    let payers = crowd.between(5, 9);
    let mut coins = Vec::new();
    for _ in 0..payers {
        let amount = crowd.between(COIN / 2, COIN);
        let coin = crowd.coin(amount + FEE);
        coins.extend(crowd.pay(&[coin], &[], Some(&owner)));
        crowd.pause(1, 1_200 / payers);
    }
    // Not within an hour: it is no pass-through.
    crowd.pause(70, 600);
    let all: u64 = coins.iter().map(|coin| coin.value).sum();
    let percent = crowd.between(85, 99);
    let others = crowd.between(5, 9);
    let amount = (all - FEE) / 100 * percent / others;
    let mut paid = Vec::new();
    for _ in 0..others {
        paid.push((crowd.address(), amount));
    }
    let _made = crowd.pay(&coins, &paid, Some(&owner));
    owner
}

/// Five to eight payments within 20 hours just below one threshold, and a payment of another size.
fn structuring(crowd: &mut Crowd) -> ScriptOwner {
    let owner = crowd.address();
    let thresholds = [COIN / 100, 3 * COIN / 100, COIN / 10];
    let which = usize::try_from(crowd.between(0, 2)).expect("an index");
    let threshold = thresholds.get(which).copied().unwrap_or(COIN / 10);
    let mut coin = crowd.coin_of(&owner, 2 * COIN);
    crowd.pause(2_000, 5_000);
    let payee = crowd.address();
    let payments = crowd.between(5, 8);
    for nth in 0..payments {
        let amount = threshold / 1_000 * crowd.between(905, 998);
        let to = if nth % 2 == 0 { payee.clone() } else { crowd.address() };
        let made = crowd.pay(&[coin], &[(to, amount)], Some(&owner));
        coin = made.last().cloned().expect("change");
        crowd.pause(1, 1_200 / payments);
    }
    let to = crowd.address();
    let _made = crowd.pay(&[coin], &[(to, threshold / 3)], Some(&owner));
    owner
}

/// Three to six payments, ten hours or more apart, each passed on within 50 minutes, but for at most 7 %.
fn pass_through(crowd: &mut Crowd) -> ScriptOwner {
    let owner = crowd.address();
    for _ in 0..crowd.between(3, 6) {
        let amount = crowd.between(COIN / 5, COIN);
        let coin = crowd.coin(amount + FEE);
        let paid = crowd.pay(&[coin], &[], Some(&owner));
        crowd.pause(5, 50);
        let kept = crowd.between(0, 7);
        let (to, all) = (crowd.address(), total(&paid));
        if kept == 0 {
            let _made = crowd.pay(&paid, &[], Some(&to));
        } else {
            let amount = all / 100 * (100 - kept) - FEE;
            let _made = crowd.pay(&paid, &[(to, amount)], Some(&owner));
        }
        crowd.pause(600, 3_000);
    }
    owner
}

/// Six to twenty steps, up to 11 hours apart. The owner is that of one of the addresses on the way.
fn peel_chain(crowd: &mut Crowd) -> ScriptOwner {
    let steps = crowd.between(6, 20);
    let at = crowd.between(1, steps - 1);
    let mut owner = None;
    let amount = crowd.between(COIN, 10 * COIN);
    let mut coin = crowd.coin(amount);
    crowd.pause(1_500, 3_000);
    for nth in 0..steps {
        if nth == at {
            owner = Some(coin.owner.clone());
        }
        let percent = crowd.between(1, 25);
        let (peel, rest) = (crowd.address(), crowd.address());
        let made = crowd.pay(&[coin.clone()], &[(peel, coin.value / 100 * percent)], Some(&rest));
        coin = made.last().cloned().expect("what is left");
        crowd.pause(5, 660);
    }
    owner.expect("an address on the way")
}

/// Four to eight owners who pass on all that they were paid, within 2 days each. The owner is paid by the last of these
/// owners.
fn layering(crowd: &mut Crowd) -> ScriptOwner {
    let amount = crowd.between(COIN, 5 * COIN);
    let payer = crowd.coin(amount);
    let first = crowd.address();
    let half = payer.value / 2;
    let change = payer.owner.clone();
    let mut coin = crowd.pay(&[payer], &[(first, half)], Some(&change)).remove(0);
    for _ in 0..crowd.between(4, 8) {
        crowd.pause(10, 2_800);
        let next = crowd.address();
        coin = crowd.pay(&[coin], &[], Some(&next)).remove(0);
    }
    coin.owner
}

/// Three to six owners in a circle, each of whom keeps 15 to 30 % of what it is paid.
fn cycle(crowd: &mut Crowd) -> ScriptOwner {
    let owner = crowd.address();
    let length = crowd.between(3, 6);
    let mut coin = crowd.coin_of(&owner, 3 * COIN);
    crowd.pause(1_500, 3_000);
    for nth in 1..=length {
        let payer = coin.owner.clone();
        let to = if nth == length { owner.clone() } else { crowd.address() };
        let percent = crowd.between(70, 85);
        let amount = coin.value / 100 * percent;
        coin = crowd.pay(&[coin], &[(to, amount)], Some(&payer)).remove(0);
        // Longer than an hour, and together less than 7 days.
        crowd.pause(70, 1_300);
    }
    owner
}

/// An owner pays five to nine others in one transaction, each of whom pays most of it to the same further owner.
fn scatter_gather(crowd: &mut Crowd) -> Vec<PlantedPattern> {
    let (first, last) = (crowd.address(), crowd.address());
    let coin = crowd.coin_of(&first, 10 * COIN);
    crowd.pause(1_500, 3_000);
    let others = crowd.between(5, 9);
    let mut paid = Vec::new();
    for _ in 0..others {
        let amount = crowd.between(COIN / 2, COIN);
        paid.push((crowd.address(), amount));
    }
    let made = crowd.pay(&[coin], &paid, Some(&first));
    for coin in made.iter().filter(|coin| coin.owner != first) {
        crowd.pause(70, 8_000 / others);
        let amount = coin.value / 100 * crowd.between(80, 95);
        let _made =
            crowd.pay(std::slice::from_ref(coin), &[(last.clone(), amount)], Some(&coin.owner));
    }
    let shows = |role| Some((Pattern::ScatterGather, role));
    vec![
        PlantedPattern { owner: first, shows: shows(PatternRole::Actor) },
        PlantedPattern { owner: last, shows: shows(PatternRole::Recipient) },
    ]
}

fn total(coins: &[Utxo]) -> u64 {
    coins.iter().map(|coin| coin.value).sum()
}

/// Numbers of correct, missed and wrong detections of a pattern.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DetectionCount {
    /// Detections of planted patterns.
    pub right: u32,
    /// Planted patterns that the search missed.
    pub missed: u32,
    /// Detections of patterns that were not planted.
    pub wrong: u32,
}

impl DetectionCount {
    /// Adds another count.
    pub const fn add(&mut self, other: Self) {
        self.right += other.right;
        self.missed += other.missed;
        self.wrong += other.wrong;
    }

    /// Part of the planted patterns that was detected, in percent, rounded down; 100 if none was planted.
    #[must_use]
    pub fn recall(self) -> u32 {
        (100 * self.right).checked_div(self.right + self.missed).unwrap_or(100)
    }

    /// Part of the detected patterns that was planted, in percent, rounded down; 100 if none was detected.
    #[must_use]
    pub fn precision(self) -> u32 {
        (100 * self.right).checked_div(self.right + self.wrong).unwrap_or(100)
    }
}

/// Searches the patterns of all owners. Forms of transactions (P2 in `docs/model/patterns.md`) do not count.
#[must_use]
pub fn count(world: &World, all: &[PlantedPattern]) -> BTreeMap<Pattern, DetectionCount> {
    let mut counts: BTreeMap<Pattern, DetectionCount> = BTreeMap::new();
    for PlantedPattern { owner, shows } in all {
        let found = world.behavior(owner).patterns;
        let found: Vec<(Pattern, PatternRole)> = found
            .iter()
            .filter(|fact| !fact.pattern.is_form_of_transaction())
            .map(|fact| (fact.pattern, fact.role))
            .collect();
        if let Some(shows) = shows {
            let count = counts.entry(shows.0).or_default();
            if found.contains(shows) { count.right += 1 } else { count.missed += 1 }
        }
        for wrong in found.iter().filter(|found| Some(**found) != *shows) {
            counts.entry(wrong.0).or_default().wrong += 1;
        }
    }
    counts
}
