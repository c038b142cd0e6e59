//! The days of criminals.

use assay_engine::{account::AccountAddress, taxonomy::Category};
use jiff::ToSpan;

use super::{
    markets::Visitor,
    population::{HELD, Simulation},
};
use crate::accounts::{DOLLAR, ETH, ETHER, USDC, USDT};

/// The accounts of one crime, the labelled or listed one first.
#[derive(Clone, Debug)]
pub(super) struct Gang {
    pub(super) accounts: Vec<AccountAddress>,
}

impl Gang {
    pub(super) fn of(root: AccountAddress) -> Self {
        Self { accounts: vec![root] }
    }
}

impl Simulation {
    /// Adds parties that lists name in the course of the time.
    pub(super) fn list_parties(&mut self, days: u64) {
        for (name, third) in [("DOE, Jane", 1), ("ROE, Richard", 2)] {
            let day = i64::try_from(days * third / 3).expect("few days");
            let since = self.chain.today().checked_add(day.days()).expect("a day");
            let party = self.chain.listed(name, since);
            self.listed.push(party);
            self.gangs.push(Gang::of(party));
        }
    }

    pub(super) fn criminal_day(&mut self, day: u64) {
        if self.dice.below(30) < self.heat {
            self.steal();
        }
        if self.dice.one_in(15) {
            self.drain();
        }
        if self.dice.one_in(60) {
            self.extort();
        }
        if day % 40 == 20 {
            let listed = *self.dice.pick(&self.listed.clone());
            let person = self.any_person();
            let cents = *self.dice.pick(&[50, 200, 30_000]);
            self.chain.pay(listed, person, USDT, cents * DOLLAR / 100);
            self.paid_by_listed.insert(person);
        }
        for gang in 0..self.gangs.len() {
            if self.dice.percent(40 * self.heat.min(2)) {
                for _ in 0..2 {
                    self.launder(day, gang);
                }
            }
        }
    }

    pub(super) fn any_person(&mut self) -> AccountAddress {
        let person = self.dice.index(self.people.len());
        self.people[person].account
    }

    fn steal(&mut self) {
        let thief = self.chain.party(Category::StolenFunds, "Some Hack");
        let asset = *self.dice.pick(&[ETH, USDT, USDC]);
        let lender = self.on.lending.reserve(asset).contract;
        let sources = [self.exchanges[0], self.exchanges[2], lender];
        let source = *self.dice.pick(&sources);
        let dollars = 20_000 << self.dice.rather_small(7);
        let amount = self.chain.units(asset, dollars);
        if source == sources[0] || self.chain.balance(source, asset) > 5 * amount {
            self.chain.send(thief, &[(source, thief, asset, amount)]);
            self.gangs.push(Gang::of(thief));
        }
    }

    fn drain(&mut self) {
        let (person, drainer) = (self.any_person(), self.drainer);
        let asset = *self.dice.pick(&[USDT, USDC]);
        let amount = self.chain.balance(person, asset);
        if amount > 50 * DOLLAR {
            self.chain.send(drainer, &[(person, drainer, asset, amount)]);
            self.victims.insert(person);
        }
    }

    fn extort(&mut self) {
        let gang = self.chain.party(Category::Ransomware, "Some Extortion");
        let employer = self.dice.index(self.employers.len());
        let employer = self.employers[employer];
        self.withdraw(employer.account, employer.exchange, ETH, 120_000);
        let ransom = self.chain.units(ETH, 100_000);
        self.pay(employer.account, gang, ETH, ransom);
        self.victims.insert(employer.account);
        self.gangs.push(Gang::of(gang));
    }

    fn accomplice(&mut self, gang: usize) -> AccountAddress {
        let account = self.chain.account();
        self.gangs[gang].accounts.push(account);
        account
    }

    fn visitor(&self, gang: usize, account: AccountAddress) -> Visitor {
        Visitor { account, accomplices: self.gangs[gang].accounts.clone() }
    }

    /// One move of a gang.
    fn launder(&mut self, day: u64, gang: usize) {
        let holders: Vec<_> = self.gangs[gang]
            .accounts
            .iter()
            .copied()
            .filter(|it| {
                HELD.iter().any(|of| self.chain.dollars(*of, self.chain.balance(*it, *of)) > 50)
            })
            .collect();
        let Some(from) = holders.first().map(|_| *self.dice.pick(&holders)) else { return };
        let worth = |asset: &_| self.chain.dollars(*asset, self.chain.balance(from, *asset));
        let asset = HELD.into_iter().max_by_key(worth).expect("an asset");
        let all = self.chain.balance(from, asset);
        let amount = all * u128::from(*self.dice.pick(&[10_u64, 30, 60, 100])) / 100;
        let is_root = self.gangs[gang].accounts[0] == from;
        match self.dice.below(1_000) {
            0..250 => {
                let to = self.accomplice(gang);
                self.pay(from, to, asset, amount);
            }
            250..500 if is_root => {
                let to = self.accomplice(gang);
                self.pay(from, to, asset, amount);
            }
            250..530 => {
                let other = *self.dice.pick(&[ETH, USDT, USDC]);
                let accomplices = self.gangs[gang].accounts.clone();
                let accomplice = *self.dice.pick(&accomplices);
                let to = *self.dice.pick(&[from, from, accomplice]);
                self.change((from, to), (asset, amount), other);
            }
            530..570 => self.gamble(&self.visitor(gang, from)),
            570..700 => self.use_contracts(&self.visitor(gang, from)),
            700..740 if asset == ETH => {
                for _ in 0..(amount / (10 * ETHER)).min(5) {
                    self.pay(from, self.mixer, ETH, 10 * ETHER);
                    let (until, to) = (day + 5 + self.dice.below(40), self.accomplice(gang));
                    self.due.push((until, self.mixer, to, ETH, 99 * ETHER / 10));
                }
            }
            740..780 => {
                self.pay(from, self.bridge, asset, amount);
                let (until, to) = (day + self.dice.below(20), self.accomplice(gang));
                self.due.push((until, self.bridge, to, asset, amount * 99 / 100));
            }
            780..840 => {
                let exchange = self.dice.index(3);
                let most = self.chain.units(asset, 200_000);
                self.deposit(from, exchange, asset, amount.min(most));
            }
            840..848 => {
                let merchant = self.dice.index(self.merchants.len());
                let dollars = 20 << self.dice.rather_small(7);
                let price = self.chain.units(asset, dollars);
                let merchant = self.merchants[merchant].account;
                self.paid_by_criminals.insert(merchant);
                self.pay(from, merchant, asset, amount.min(price));
            }
            848..855 => {
                let person = self.any_person();
                let dollars = 10 << self.dice.rather_small(7);
                let price = self.chain.units(asset, dollars);
                self.paid_by_criminals.insert(person);
                self.pay(from, person, asset, amount.min(price));
            }
            855..940 => {
                let count = *self.dice.pick(&[3_usize, 8]);
                let part = amount / count as u128;
                let mut moves = vec![(from, self.on.multisend, asset, part * count as u128)];
                for _ in 0..count {
                    let to = self.accomplice(gang);
                    moves.push((self.on.multisend, to, asset, part));
                }
                self.chain.send(from, &moves);
            }
            _ => {
                // Dust and transfers of nothing poison people's histories.
                for _ in 0..5 {
                    let person = self.any_person();
                    let dust = self.chain.units(asset, 1) / 100;
                    if self.chain.balance(from, asset) > dust {
                        let fake = self.chain.account();
                        self.chain
                            .send(from, &[(from, person, asset, dust), (person, fake, USDT, 0)]);
                    }
                }
            }
        }
    }
}
