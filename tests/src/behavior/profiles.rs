//! Ordinary people and businesses, without labels, over some weeks: none of them launders money.

use assay_address::ChainId;
use assay_engine::utxo::ScriptOwner;
use jiff::Timestamp;

use super::crowd::{COIN, Crowd, FEE};
use crate::world::{ChainBuilder, Claims, Utxo, World};

/// A kind of innocent owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Profile {
    /// A person who is paid monthly and spends the wage, with change to new addresses.
    Salary,
    /// A person who makes a small purchase each day, with change to new addresses; checked at a change address.
    Commuter,
    /// A person who saves each week, and moves the savings once.
    Savings,
    /// A merchant whom customers pay all day, and who consolidates in the evening.
    Merchant,
    /// A service that takes deposits and pays withdrawals all day.
    HotWallet,
    /// A mining pool that pays its members daily.
    MiningPool,
    /// A faucet that pays small amounts to many, daily.
    Faucet,
}

impl Profile {
    /// Every kind.
    pub const ALL: [Self; 7] = [
        Self::Salary,
        Self::Commuter,
        Self::Savings,
        Self::Merchant,
        Self::HotWallet,
        Self::MiningPool,
        Self::Faucet,
    ];
}

/// Days of a business.
const DAYS: u64 = 36;

/// Lets the rest of a day pass that began at `begun`.
fn end_day(crowd: &mut Crowd, begun: Timestamp) {
    let elapsed = crowd.chain.now().duration_since(begun).as_mins();
    let left = (24 * 60 - elapsed).max(1);
    crowd.minutes(left.unsigned_abs());
}

/// A world with an innocent owner of every kind, simulated one after the other.
///
/// # Panics
///
/// Panics if the generator pays more than somebody has.
#[must_use]
pub fn innocents(seed: u64) -> (World, Vec<(Profile, ScriptOwner)>) {
    let begin: Timestamp = "2024-01-01T00:00:00Z".parse().expect("a moment");
    let mut crowd = Crowd::new(ChainBuilder::new(ChainId::BTC, seed, begin), 100);
    let mut all = Vec::new();
    for profile in Profile::ALL {
        let owner = match profile {
            Profile::Salary => salary(&mut crowd),
            Profile::Commuter => commuter(&mut crowd),
            Profile::Savings => savings(&mut crowd),
            Profile::Merchant => merchant(&mut crowd),
            Profile::HotWallet => hot_wallet(&mut crowd),
            Profile::MiningPool => mining_pool(&mut crowd),
            Profile::Faucet => faucet(&mut crowd),
        };
        all.push((profile, owner));
    }
    (World::new(crowd.chain, Claims::default()), all)
}

fn salary(crowd: &mut Crowd) -> ScriptOwner {
    let owner = crowd.address();
    for _ in 0..4 {
        // The employer pays some people at once.
        let employer = crowd.coin(COIN);
        let mut paid = vec![(owner.clone(), crowd.between(COIN / 40, COIN / 30))];
        for _ in 0..crowd.between(3, 12) {
            paid.push((crowd.address(), COIN / 30));
        }
        let back = employer.owner.clone();
        let mut coin = crowd.pay(&[employer], &paid, Some(&back)).remove(0);
        for _ in 0..crowd.between(3, 8) {
            crowd.pause(300, 9_000);
            let percent = crowd.between(2, 40);
            let (shop, change) = (crowd.address(), crowd.address());
            let made =
                crowd.pay(&[coin.clone()], &[(shop, coin.value / 100 * percent)], Some(&change));
            coin = made.last().cloned().expect("change");
        }
    }
    owner
}

fn commuter(crowd: &mut Crowd) -> ScriptOwner {
    let mut coin = crowd.coin(COIN / 4);
    let mut owner = coin.owner.clone();
    for day in 0..20 {
        let begun = crowd.chain.now();
        // Between breakfast and lunch.
        crowd.pause(1, 240);
        let percent = crowd.between(1, 5);
        let (shop, change) = (crowd.address(), crowd.address());
        let made = crowd.pay(&[coin.clone()], &[(shop, coin.value / 100 * percent)], Some(&change));
        coin = made.last().cloned().expect("change");
        if day == 10 {
            owner = coin.owner.clone();
        }
        end_day(crowd, begun);
    }
    owner
}

fn savings(crowd: &mut Crowd) -> ScriptOwner {
    let owner = crowd.address();
    let mut coins = Vec::new();
    for _ in 0..crowd.between(6, 14) {
        let amount = crowd.between(COIN / 200, COIN / 50);
        let exchange = crowd.coin(COIN);
        let back = exchange.owner.clone();
        let made = crowd.pay(&[exchange], &[(owner.clone(), amount)], Some(&back));
        coins.extend(made.into_iter().next());
        crowd.minutes(7 * 24 * 60);
    }
    if crowd.between(0, 1) == 1 {
        let cold = crowd.address();
        let _made = crowd.pay(&coins, &[], Some(&cold));
    }
    owner
}

fn merchant(crowd: &mut Crowd) -> ScriptOwner {
    let (owner, cold) = (crowd.address(), crowd.address());
    let usual = crowd.between(9, 16);
    for _ in 0..DAYS {
        let begun = crowd.chain.now();
        let mut coins = customers(crowd, &owner, usual, COIN / 500, COIN / 50);
        crowd.pause(60, 120);
        let _made = crowd.pay(&std::mem::take(&mut coins), &[], Some(&cold));
        end_day(crowd, begun);
    }
    owner
}

/// About `usual` customers pay within some hours.
fn customers(
    crowd: &mut Crowd,
    owner: &ScriptOwner,
    usual: u64,
    least: u64,
    most: u64,
) -> Vec<Utxo> {
    let mut coins = Vec::new();
    for _ in 0..crowd.between(usual - 2, usual + 2) {
        let amount = crowd.between(least, most);
        let coin = crowd.coin(most * 2 + FEE);
        let back = coin.owner.clone();
        let made = crowd.pay(&[coin], &[(owner.clone(), amount)], Some(&back));
        coins.extend(made.into_iter().next());
        crowd.pause(5, 40);
    }
    coins
}

fn hot_wallet(crowd: &mut Crowd) -> ScriptOwner {
    let owner = crowd.address();
    let mut held = vec![crowd.coin_of(&owner, 5 * COIN)];
    for _ in 0..DAYS {
        let begun = crowd.chain.now();
        held.extend(customers(crowd, &owner, 8, COIN / 100, COIN / 3));
        for _ in 0..2 {
            let mut paid = Vec::new();
            for _ in 0..crowd.between(3, 9) {
                let amount = crowd.between(COIN / 100, COIN / 8);
                paid.push((crowd.address(), amount));
            }
            let made = crowd.pay(&std::mem::take(&mut held), &paid, Some(&owner));
            held.extend(made.last().cloned());
            crowd.pause(60, 240);
        }
        end_day(crowd, begun);
    }
    owner
}

fn mining_pool(crowd: &mut Crowd) -> ScriptOwner {
    let owner = crowd.address();
    let mut members = Vec::new();
    for _ in 0..crowd.between(12, 30) {
        members.push(crowd.address());
    }
    for _ in 0..DAYS {
        let begun = crowd.chain.now();
        let coin = crowd.coin_of(&owner, 6 * COIN);
        crowd.pause(200, 600);
        let paid: Vec<(ScriptOwner, u64)> = members
            .iter()
            .map(|member| (member.clone(), 5 * COIN / members.len() as u64))
            .collect();
        let _made = crowd.pay(&[coin], &paid, Some(&owner));
        end_day(crowd, begun);
    }
    owner
}

fn faucet(crowd: &mut Crowd) -> ScriptOwner {
    let owner = crowd.address();
    let mut coin = crowd.coin_of(&owner, COIN);
    crowd.pause(600, 1_000);
    for _ in 0..DAYS {
        let begun = crowd.chain.now();
        let mut paid = Vec::new();
        for _ in 0..crowd.between(10, 40) {
            paid.push((crowd.address(), 20_000));
        }
        let made = crowd.pay(&[coin], &paid, Some(&owner));
        coin = made.last().cloned().expect("change");
        end_day(crowd, begun);
    }
    owner
}
