//! Daily transactions of thieves, a mixer, a market, a sender of dust and listed parties.

use assay_engine::taxonomy::Category;

use super::{COIN, Role, Simulation};
use crate::{
    laundering::{Launderer, Move},
    wallets::WalletId,
    world::{Claim, Form, JointKind},
};

/// Range of amounts of dust: above the nodes' minimum, at most 1,000 satoshi.
const DUST: (u64, u64) = (546, 1_000);

/// Number of payments between each listed party and people before the listing, in either direction.
const DEALINGS: u64 = 8;

/// Largest number of transactions of one move.
const MOST_TRANSACTIONS: u32 = 40;

impl Simulation {
    pub(super) fn criminal_day(&mut self, day: u64) {
        for (number, thief) in (0..).zip(self.all(Role::Thief)) {
            // The first theft is in the first fifth of the year, the last one in the fourth.
            let thieves = self.all(Role::Thief).len() as u64;
            if day == self.size.days * (1 + 3 * number / thieves) / 5 {
                self.steal(thief);
            }
            self.launder(thief);
        }
        self.trade_at_market(day);
        self.mix_for_private_people();
        self.meet_listed_parties(day);
        self.dust(day);
    }

    /// A theft from an exchange or from a person.
    fn steal(&mut self, thief: WalletId) {
        let from_person = self.happens(3_000);
        let victim = self.any(if from_person { Role::Person } else { Role::Exchange });
        let amount = if from_person {
            self.wallets.balance(victim) * 9 / 10
        } else {
            self.dice().within(3 * COIN, 40 * COIN)
        };
        let loot = self.wallets.fresh_address(thief);
        if amount > COIN / 10 && self.pay(victim, loot.clone(), amount) {
            self.claims.label(&loot, Claim::investigated(Category::StolenFunds, "Theft"));
            let moves = self.dice().within(1, 8);
            self.moves_left.insert(thief, moves);
        }
    }

    /// A thief's day: sometimes a laundering move, and after the last one, cashing out.
    fn launder(&mut self, thief: WalletId) {
        let Some(left) = self.moves_left.get(&thief).copied() else { return };
        if !self.happens(1_500) || self.wallets.balance(thief) < COIN / 10 {
            return;
        }
        if left > 0 {
            self.moves_left.insert(thief, left - 1);
            self.make_move(thief);
            return;
        }
        let balance = self.wallets.balance(thief);
        match self.dice().below(10) {
            0..4 => self.deposit(thief, balance / 2),
            4 | 5 => {
                let shop = self.any(Role::Merchant);
                self.spend(thief, shop, COIN / 100, COIN / 20);
            }
            6 | 7 => {
                // Sold to somebody for cash.
                let buyer = self.any(Role::Person);
                self.spend(thief, buyer, COIN / 50, COIN / 5);
            }
            _ => self.use_mixer(thief, balance / 3),
        }
    }

    fn make_move(&mut self, thief: WalletId) {
        let count = u32::try_from(self.dice().within(1, 12)).expect("small");
        let step = match self.dice().below(8) {
            0 | 1 => Move::Forward(count),
            2 => Move::Peel(count),
            3 => Move::Split(count + 1),
            4 => Move::Merge,
            5 => Move::PaySelf(count),
            6 => Move::Instalments(count),
            _ => Move::Joint(JointKind::EqualPool),
        };
        let coins = self.wallets.take(thief);
        let mut launderer = Launderer {
            chain: &mut self.wallets.chain,
            coins,
            form: Form::WitnessKey,
            transactions_left: MOST_TRANSACTIONS,
        };
        launderer.make_move(step);
        let coins = launderer.coins;
        for coin in &coins {
            self.wallets.adopt(thief, &coin.owner);
        }
        self.wallets.credit(coins);
    }

    /// Pays the mixer, and gets other coins of nearly the same value from it.
    fn use_mixer(&mut self, customer: WalletId, amount: u64) {
        let mixer = self.any(Role::Mixer);
        let payout = self.wallets.fresh_address(customer);
        // The coins that it pays out are not those that it just got.
        if amount > COIN / 100
            && self.wallets.balance(customer) > amount + COIN / 1_000
            && self.pay(mixer, payout, amount * 98 / 100)
        {
            let deposit = self.wallets.fresh_address(mixer);
            let _paid = self.pay(customer, deposit, amount);
            self.members[customer].is_exposed_by_choice = true;
        }
    }

    fn mix_for_private_people(&mut self) {
        if self.private.is_empty() || !self.happens(1_000) {
            return;
        }
        let customer = *self.wallets.chain.dice().pick(&self.private);
        let amount = self.wallets.balance(customer) / 3;
        self.use_mixer(customer, amount);
    }

    /// People buy at the market, which pays its vendors every week; the vendors cash out.
    fn trade_at_market(&mut self, day: u64) {
        let market = self.any(Role::Market);
        for _ in 0..=self.size.people / 500 {
            if self.happens(3_000) {
                // One person in ten buys there.
                let people = self.all(Role::Person);
                let buyer = *self.dice().pick(&people[..=people.len() / 10]);
                let (shop, amount) =
                    (self.wallets.fresh_address(market), self.dice().within(COIN / 500, COIN / 30));
                if self.pay(buyer, shop, amount) {
                    self.members[buyer].is_exposed_by_choice = true;
                }
            }
        }
        if day % 7 != 6 {
            return;
        }
        let vendors = self.all(Role::Vendor);
        let share = self.wallets.balance(market) / 2 / vendors.len() as u64;
        if share > COIN / 1_000 {
            let shares: Vec<(WalletId, u64)> =
                vendors.iter().map(|vendor| (*vendor, share)).collect();
            let _paid = self.wallets.pay_wallets(market, &shares);
        }
        for vendor in vendors {
            match self.dice().below(6) {
                0 => self.deposit(vendor, self.wallets.balance(vendor) / 2),
                1 => {
                    let shop = self.any(Role::Merchant);
                    self.spend(vendor, shop, COIN / 1_000, COIN / 100);
                }
                2 if self.happens(1_000) => {
                    let friend = self.any(Role::Person);
                    self.spend(vendor, friend, COIN / 1_000, COIN / 50);
                }
                _ => {}
            }
        }
    }

    /// Listed parties deal with people before they are listed, and cash out afterwards.
    fn meet_listed_parties(&mut self, day: u64) {
        for (number, listed) in (0..).zip(self.all(Role::Listed)) {
            let since = self.size.days * (3 + number) / 8;
            let person = self.any(Role::Person);
            if day < since && self.happens(10_000 * DEALINGS / since) {
                self.spend(listed, person, COIN / 200, COIN / 20);
            }
            if day < since && self.happens(10_000 * DEALINGS / since) {
                let home = self.wallets.wallet(listed).home.clone().expect("a home");
                let amount = self.dice().within(COIN / 1_000, COIN / 50);
                let _paid = self.pay(person, home, amount);
            }
            if day > since && self.happens(300) {
                let amount = self.wallets.balance(listed) / 3;
                self.make_move(listed);
                self.deposit(listed, amount);
            }
        }
    }

    /// Every quarter, a listed party and another sender send dust to people.
    fn dust(&mut self, day: u64) {
        let quarter = (self.size.days / 4).max(1);
        if day % quarter != quarter - 1 {
            return;
        }
        let listed = self.all(Role::Listed).first().copied();
        for sender in self.all(Role::Duster).into_iter().chain(listed) {
            let mut payments = Vec::new();
            for _ in 0..self.size.people / 8 {
                let person = self.any(Role::Person);
                let value = self.dice().within(DUST.0, DUST.1);
                let address = self.wallets.wallet(person).addresses.last().cloned();
                payments.extend(address.map(|address| (address, value)));
            }
            let _sent = self.wallets.pay(sender, &payments);
        }
    }
}
