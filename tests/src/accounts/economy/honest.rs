//! The days of honest members.

use assay_engine::account::Asset;

use super::{
    markets::Visitor,
    population::{Person, Simulation},
};
use crate::accounts::{ETH, USDC, USDT, WBTC};

impl Simulation {
    pub(super) fn honest_day(&mut self, day: u64) {
        if day.is_multiple_of(30) {
            self.pay_wages(day);
        }
        for person in self.people.clone() {
            if person.since <= day && self.dice.percent(33) {
                self.live(day, person);
            }
        }
        if day.is_multiple_of(7) {
            self.settle_merchants();
        }
        let (due, later) = std::mem::take(&mut self.due).into_iter().partition(|it| it.0 <= day);
        self.due = later;
        for (_, payer, receiver, asset, amount) in Vec::from_iter::<Vec<_>>(due) {
            self.chain.pay(payer, receiver, asset, amount);
        }
    }

    fn pay_wages(&mut self, day: u64) {
        for (index, employer) in self.employers.clone().into_iter().enumerate() {
            let staff: Vec<Person> = self
                .people
                .iter()
                .copied()
                .filter(|person| person.employer == index && person.since <= day)
                .collect();
            let need: u64 = staff.iter().map(|person| person.wages).sum();
            let has = self.chain.dollars(USDT, self.chain.balance(employer.account, USDT));
            if has < need {
                self.withdraw(employer.account, employer.exchange, USDT, need - has + 10);
            }
            let amount = |person: &Person| u128::from(person.wages) * 1_000_000;
            let all: u128 = staff.iter().map(amount).sum();
            if staff.is_empty() || self.chain.balance(employer.account, USDT) < all {
                continue;
            }
            if self.dice.one_in(2) {
                let mut moves = vec![(employer.account, self.on.multisend, USDT, all)];
                moves.extend(
                    staff.iter().map(|it| (self.on.multisend, it.account, USDT, amount(it))),
                );
                self.chain.send(employer.account, &moves);
            } else {
                for person in staff {
                    self.pay(employer.account, person.account, USDT, amount(&person));
                }
            }
        }
    }

    fn settle_merchants(&mut self) {
        for merchant in self.merchants.clone() {
            for asset in [USDT, USDC, ETH] {
                let balance = self.chain.balance(merchant.account, asset);
                if self.chain.dollars(asset, balance) <= 50 {
                    continue;
                }
                if self.dice.percent(60) {
                    self.deposit(merchant.account, merchant.exchange, asset, balance * 4 / 5);
                } else {
                    let employers: Vec<_> = self.employers.iter().map(|it| it.account).collect();
                    let employer = *self.dice.pick(&employers);
                    self.pay(merchant.account, employer, asset, balance / 2);
                }
            }
        }
    }

    /// One thing that a person does.
    fn live(&mut self, day: u64, person: Person) {
        let me = person.account;
        let has = |simulation: &Self, asset| simulation.chain.balance(me, asset);
        let stable = [USDT, USDC].into_iter().find(|it| has(self, *it) > 30_000_000);
        let asset = stable.unwrap_or(ETH);
        let balance = has(self, asset);
        let dollars = self.chain.dollars(asset, balance);
        match self.dice.below(100) {
            0..28 if dollars > 5 => {
                let price = 5 << self.dice.rather_small(9);
                let amount = self.chain.units(asset, price).min(balance / 2);
                let merchants: Vec<_> = self.merchants.iter().map(|it| it.account).collect();
                let merchant = *self.dice.pick(&merchants);
                self.pay(me, merchant, asset, amount);
            }
            28..34 if dollars > 20 => {
                let people: Vec<_> = self.people.iter().map(|it| it.account).collect();
                let friend = *self.dice.pick(&people);
                let percent = u128::from(self.dice.below(30));
                self.pay(me, friend, asset, balance * percent / 100);
            }
            34..46 => {
                let own = self.dice.percent(70);
                let exchange = if own { person.exchange } else { self.dice.index(3) };
                let asset = *self.dice.pick(&[ETH, USDT, USDC]);
                let dollars = 50 << self.dice.rather_small(8);
                self.withdraw(me, exchange, asset, dollars);
            }
            46..52 => {
                let amount = balance * u128::from(*self.dice.pick(&[30_u64, 100])) / 100;
                self.deposit(me, person.exchange, asset, amount);
            }
            52..66 => {
                let held: Vec<Asset> = [ETH, USDT, USDC, WBTC]
                    .into_iter()
                    .filter(|it| self.chain.dollars(*it, has(self, *it)) > 20)
                    .collect();
                if let Some(asset) = held.first().map(|_| *self.dice.pick(&held)) {
                    let other = *self.dice.pick(&[ETH, USDT, USDC, WBTC]);
                    let amount = has(self, asset) * u128::from(self.dice.below(100)) / 100;
                    if other != asset {
                        self.change((me, me), (asset, amount), other);
                    }
                }
            }
            66..76 if person.habits < 50 => self.gamble(&Visitor::honest(me)),
            76..80 if person.habits < 30 => self.use_lender(&Visitor::honest(me)),
            80..85 => self.stake_or_wrap(me),
            85..87 if dollars > 100 => {
                self.pay(me, self.bridge, asset, balance * 3 / 10);
                let until = day + self.dice.below(20);
                self.due.push((until, self.bridge, me, asset, balance * 3 / 10 * 99 / 100));
            }
            87..93 if person.habits > 80 && dollars > 50 => {
                let merchants: Vec<_> = self.merchants.iter().map(|it| it.account).collect();
                let merchant = *self.dice.pick(&merchants);
                let fee = self.chain.units(asset, 1) / 2;
                let (bundler, entry) = (self.bundler, self.on.entry_point.contract);
                self.chain.send(
                    bundler,
                    &[
                        (me, entry, asset, fee),
                        (entry, bundler, asset, fee),
                        (me, merchant, asset, balance / 10),
                    ],
                );
            }
            93..100 if person.habits < 60 => self.use_contracts(&Visitor::honest(me)),
            _ => {}
        }
    }
}
