//! Daily transactions of honest members.

use assay_engine::utxo::ScriptOwner;

use super::{COIN, Role, Simulation};
use crate::{wallets::WalletId, world::JointKind};

/// Days between two wages.
const MONTH: u64 = 28;

/// Number of coins from which a wallet consolidates.
const MANY_COINS: usize = 25;

impl Simulation {
    pub(super) fn honest_day(&mut self, day: u64) {
        self.pay_withdrawals();
        self.mine(day);
        self.pay_wages(day);
        self.hours(4);
        for person in self.all(Role::Person) {
            self.live(person);
        }
        self.hours(4);
        for merchant in self.all(Role::Merchant) {
            if self.wallets.balance(merchant) > COIN / 4 && self.happens(1_000) {
                let amount = self.wallets.balance(merchant) * 3 / 4;
                self.deposit(merchant, amount);
            }
        }
        if day % 7 == 3 {
            for exchange in self.all(Role::Exchange) {
                self.wallets.consolidate(exchange, 10);
            }
            self.mix_together();
        }
        self.hours(4);
    }

    /// Requests a payout from a member's exchange.
    pub(super) fn withdraw(&mut self, member: WalletId, amount: u64) {
        let (exchange, _) = self.accounts[&member];
        let address = self.wallets.address(member);
        self.withdrawals.entry(exchange).or_default().push((address, amount));
    }

    /// Pays a member's account at its exchange.
    pub(super) fn deposit(&mut self, member: WalletId, amount: u64) {
        let (_, account) = self.accounts[&member].clone();
        let _paid = self.wallets.pay(member, &[(account, amount)]);
    }

    /// Each exchange pays all withdrawals of a day in batches.
    fn pay_withdrawals(&mut self) {
        const BATCH: usize = 40;
        for (exchange, payouts) in std::mem::take(&mut self.withdrawals) {
            for batch in payouts.chunks(BATCH) {
                let paid = self.wallets.pay(exchange, batch);
                assert!(paid, "an exchange has reserves");
            }
        }
    }

    /// A miner finds a block, and sells its coins each month.
    fn mine(&mut self, day: u64) {
        let miner = self.any(Role::Miner);
        let address = self.wallets.address(miner);
        let coin = self.wallets.chain.mine_to(&address);
        self.wallets.credit(vec![coin]);
        if day % MONTH == 5 {
            for miner in self.all(Role::Miner) {
                let amount = self.wallets.balance(miner) * 9 / 10;
                self.deposit(miner, amount);
            }
        }
    }

    /// Each employer buys coins on one day of a month and pays its people two days later.
    fn pay_wages(&mut self, day: u64) {
        let (employers, people) = (self.all(Role::Employer), self.all(Role::Person));
        for (number, employer) in (0..).zip(&employers) {
            let staff: Vec<WalletId> = people
                .iter()
                .copied()
                .filter(|person| {
                    *person % (2 * employers.len()) == usize::try_from(number).expect("small")
                })
                .collect();
            match (day + number) % MONTH {
                0 => self.withdraw(*employer, COIN * (staff.len() as u64 + 1) / 4),
                2 => {
                    let wages: Vec<(WalletId, u64)> = staff
                        .into_iter()
                        .map(|person| (person, self.dice().within(COIN / 20, COIN / 5)))
                        .collect();
                    let _paid = self.wallets.pay_wallets(*employer, &wages);
                }
                _ => {}
            }
        }
    }

    /// A person's day: sometimes a purchase, a payment to somebody, a purchase or sale of coins.
    fn live(&mut self, person: WalletId) {
        if self.happens(300) {
            let shop = self.any(Role::Merchant);
            self.spend(person, shop, COIN / 2_000, COIN / 50);
        }
        if self.happens(40) {
            let friend = self.any(Role::Person);
            self.spend(person, friend, COIN / 1_000, COIN / 10);
        }
        if self.happens(60) {
            let amount = self.dice().within(COIN / 100, COIN / 2);
            self.withdraw(person, amount);
        }
        if self.happens(40) {
            let amount = self.wallets.balance(person) / 2;
            if amount > COIN / 100 {
                self.deposit(person, amount);
            }
        }
        if self.happens(20) {
            self.wallets.consolidate(person, MANY_COINS / 5);
        }
    }

    /// A payment from one member to another, if the payer has the money.
    pub(super) fn spend(&mut self, from: WalletId, to: WalletId, least: u64, most: u64) {
        let amount = self.dice().within(least, most);
        let amount = self.wallets.wallet(from).fingerprint.rounded(amount);
        if from == to || self.wallets.balance(from) < amount {
            return;
        }
        let _paid = self.wallets.pay_wallets(from, &[(to, amount)]);
    }

    /// People who want privacy make a joint transaction.
    fn mix_together(&mut self) {
        let kinds =
            [JointKind::Wasabi2, JointKind::JoinMarket, JointKind::Whirlpool, JointKind::EqualPool];
        let kind = *self.dice().pick(&kinds);
        let mut candidates = self.private.clone();
        if self.happens(3_000) {
            candidates.push(self.any(Role::Thief));
        }
        self.dice().shuffle(&mut candidates);
        let budget = self.dice().within(COIN / 2, 2 * COIN);
        for member in self.wallets.join(kind, &candidates, budget) {
            self.members[member].is_exposed_by_choice = true;
        }
    }

    /// Pays an address from a member's wallet.
    pub(super) fn pay(&mut self, from: WalletId, to: ScriptOwner, amount: u64) -> bool {
        self.wallets.pay(from, &[(to, amount)])
    }
}
