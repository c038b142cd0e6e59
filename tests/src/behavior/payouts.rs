//! People who pay many others, or one other again and again, sums just below a threshold: nobody of them splits a sum.

use assay_address::ChainId;
use assay_engine::utxo::ScriptOwner;
use jiff::Timestamp;

use super::crowd::{COIN, Crowd, FEE};
use crate::world::{ChainBuilder, Claims, Utxo, World};

/// A kind of payouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Payouts {
    /// An employer pays 60 people monthly by one transaction.
    Payroll,
    /// An employer pays 60 people monthly, each by a transaction.
    SinglePayments,
    /// An employer pays its first wages: 60 people, once.
    FirstPayroll,
    /// An employer pays seven people weekly, each by a transaction.
    WeeklyPay,
    /// A fund pays 30 pensions monthly by three transactions.
    Pensions,
    /// A firm pays six rents monthly, each by a transaction.
    Rents,
    /// A person puts the same sum by each week.
    SavingsPlan,
    /// A merchant collects a fee from 20 subscribers monthly.
    Subscriptions,
    /// A mining pool pays its 15 members three times a day.
    PoolPayouts,
    /// A service pays 25 withdrawals of one size on one day.
    Withdrawals,
}

impl Payouts {
    /// Every kind.
    pub const ALL: [Self; 10] = [
        Self::Payroll,
        Self::SinglePayments,
        Self::FirstPayroll,
        Self::WeeklyPay,
        Self::Pensions,
        Self::Rents,
        Self::SavingsPlan,
        Self::Subscriptions,
        Self::PoolPayouts,
        Self::Withdrawals,
    ];
}

const DAY: u64 = 24 * 60;
/// A payment just below the largest threshold.
const PAY: u64 = COIN / 1_000 * 95;

/// A world with payouts of one kind; returns the owners on both sides.
///
/// # Panics
///
/// Panics if the generator pays more than somebody has.
#[must_use]
pub fn paid_out(kind: Payouts, seed: u64) -> (World, Vec<ScriptOwner>) {
    let mut crowd = new_crowd(seed);
    let owners = match kind {
        Payouts::Payroll => pay_regularly(&mut crowd, 60, 60, 4, 30 * DAY),
        Payouts::SinglePayments => pay_regularly(&mut crowd, 60, 1, 3, 30 * DAY),
        Payouts::FirstPayroll => pay_regularly(&mut crowd, 60, 1, 1, DAY),
        Payouts::WeeklyPay => pay_regularly(&mut crowd, 7, 1, 6, 7 * DAY),
        Payouts::Pensions => pay_regularly(&mut crowd, 30, 10, 3, 30 * DAY),
        Payouts::Rents => pay_regularly(&mut crowd, 6, 1, 5, 30 * DAY),
        Payouts::SavingsPlan => pay_regularly(&mut crowd, 1, 1, 12, 7 * DAY),
        Payouts::Subscriptions => subscriptions(&mut crowd),
        Payouts::PoolPayouts => pay_regularly(&mut crowd, 15, 15, 9, DAY / 3),
        Payouts::Withdrawals => pay_regularly(&mut crowd, 25, 1, 1, DAY),
    };
    (World::new(crowd.chain, Claims::default()), owners)
}

fn new_crowd(seed: u64) -> Crowd {
    let begin: Timestamp = "2024-01-01T00:00:00Z".parse().expect("a moment");
    Crowd::new(ChainBuilder::new(ChainId::BTC, seed, begin), 40)
}

/// An owner pays each of its payees in every period, `at_once` of them by one transaction, within some hours.
fn pay_regularly(
    crowd: &mut Crowd,
    payees: usize,
    at_once: usize,
    periods: usize,
    period: u64,
) -> Vec<ScriptOwner> {
    let owner = crowd.address();
    let everybody: Vec<ScriptOwner> = (0..payees).map(|_| crowd.address()).collect();
    for _ in 0..periods {
        let begun = crowd.chain.now();
        let each = PAY + 2 * FEE;
        let wages = crowd.coin_of(&owner, each * u64::try_from(payees).expect("a number"));
        pay(crowd, &owner, wages, &everybody, at_once);
        let passed = crowd.chain.now().duration_since(begun).as_mins().unsigned_abs();
        crowd.minutes(period.saturating_sub(passed).max(1));
    }
    let first = everybody.into_iter().next().expect("a payee");
    vec![owner, first]
}

fn pay(
    crowd: &mut Crowd,
    owner: &ScriptOwner,
    mut coin: Utxo,
    payees: &[ScriptOwner],
    at_once: usize,
) {
    for some in payees.chunks(at_once) {
        let named: Vec<(ScriptOwner, u64)> = some.iter().map(|to| (to.clone(), PAY)).collect();
        let made = crowd.pay(&[coin], &named, Some(owner));
        coin = made.last().cloned().expect("change");
        crowd.pause(5, 12);
    }
}

fn subscriptions(crowd: &mut Crowd) -> Vec<ScriptOwner> {
    let merchant = crowd.address();
    let subscribers: Vec<ScriptOwner> = (0..20).map(|_| crowd.address()).collect();
    for _ in 0..4 {
        for subscriber in &subscribers {
            let coin = crowd.coin_of(subscriber, PAY + FEE);
            let _paid = crowd.pay(&[coin], &[], Some(&merchant));
            crowd.pause(5, 12);
        }
        crowd.minutes(30 * DAY);
    }
    let first = subscribers.into_iter().next().expect("a subscriber");
    vec![merchant, first]
}

/// A way to split a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Split {
    /// Six payments to one owner, on the day of a payroll.
    AmongPayouts,
    /// Six payments to an owner each, once.
    OverOthers,
    /// Eight payments to two owners, again after two weeks.
    Repeated,
}

impl Split {
    /// Every way.
    pub const ALL: [Self; 3] = [Self::AmongPayouts, Self::OverOthers, Self::Repeated];
}

/// A world in which an owner splits a sum; returns the owner.
///
/// # Panics
///
/// Panics if the generator pays more than somebody has.
#[must_use]
pub fn split_up(kind: Split, seed: u64) -> (World, ScriptOwner) {
    let mut crowd = new_crowd(seed);
    let owner = crowd.address();
    let sum = |payments: u64| payments * (PAY + 2 * FEE);
    let (one, other) = (crowd.address(), crowd.address());
    match kind {
        Split::AmongPayouts => {
            let everybody: Vec<ScriptOwner> = (0..12).map(|_| crowd.address()).collect();
            let wages = crowd.coin_of(&owner, sum(12));
            pay(&mut crowd, &owner, wages, &everybody, 12);
            let split = crowd.coin_of(&owner, sum(12));
            pay(&mut crowd, &owner, split, &vec![one; 12], 1);
        }
        Split::OverOthers => {
            let payees: Vec<ScriptOwner> = (0..6).map(|_| crowd.address()).collect();
            let coin = crowd.coin_of(&owner, sum(6));
            pay(&mut crowd, &owner, coin, &payees, 1);
        }
        Split::Repeated => {
            for _ in 0..2 {
                let payees: Vec<ScriptOwner> =
                    (0..8).map(|nth| if nth % 2 == 0 { &one } else { &other }.clone()).collect();
                let coin = crowd.coin_of(&owner, sum(8));
                pay(&mut crowd, &owner, coin, &payees, 1);
                crowd.minutes(14 * DAY);
            }
        }
    }
    (World::new(crowd.chain, Claims::default()), owner)
}
