//! Innocent accounts that move a lot of money: none of them launders it.

use assay_engine::account::AccountAddress;

use super::town::{Town, units};
use crate::accounts::{AccountWorld, ETH, USDC, USDT};

/// A kind of innocent account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AccountProfile {
    /// A bot that swaps at pools all day and brings profits to its exchange.
    Bot,
    /// A market maker who moves money from one exchange to the other within the hour, day after day.
    MarketMaker,
    /// The treasury of a project, which investors fund and which pays grants monthly.
    Treasury,
    /// A person who uses many contracts from several own accounts, to get new tokens for free.
    AirdropHunter,
    /// An employer who pays wages monthly.
    Payroll,
}

impl AccountProfile {
    /// Every kind.
    pub const ALL: [Self; 5] =
        [Self::Bot, Self::MarketMaker, Self::Treasury, Self::AirdropHunter, Self::Payroll];
}

/// A world with `each` innocent accounts of every kind, and contracts: a pool and a router.
#[must_use]
pub fn innocents(
    seed: u64,
    each: usize,
) -> (AccountWorld, Vec<(AccountProfile, AccountAddress)>, Vec<AccountAddress>) {
    let mut town = Town::new(seed, 20);
    let router = town.contract();
    let mut members: Vec<Member> = Vec::new();
    for _ in 0..each {
        for profile in AccountProfile::ALL {
            members.push(Member::new(profile, &mut town));
        }
    }
    for day in 0..DAYS {
        for member in &mut members {
            member.live(day, router, &mut town);
        }
        town.pause(600, 900);
    }
    let all = members.iter().map(|member| (member.profile, member.account)).collect();
    let contracts = vec![town.pool.contract, router];
    (AccountWorld::new(town.chain), all, contracts)
}

/// Days of the simulation: a year of wages.
const DAYS: u64 = 500;

/// An innocent account with the accounts that it pays.
struct Member {
    profile: AccountProfile,
    account: AccountAddress,
    others: Vec<AccountAddress>,
    /// Day of the month on which it pays.
    payday: u64,
}

impl Member {
    fn new(profile: AccountProfile, town: &mut Town) -> Self {
        let account = town.account();
        let others = match profile {
            AccountProfile::Bot | AccountProfile::MarketMaker => 0,
            AccountProfile::Treasury => town.between(3, 9),
            AccountProfile::AirdropHunter => town.between(5, 20),
            AccountProfile::Payroll => town.between(5, 40),
        };
        let others = (0..others).map(|_| town.account()).collect();
        let payday = town.between(0, 29);
        let exchange = town.exchanges[0];
        let paid = [USDT, USDC, ETH].map(|it| (exchange, account, it, units(it, 5_000_000)));
        town.chain.send(exchange, &paid);
        Self { profile, account, others, payday }
    }

    fn live(&mut self, day: u64, router: AccountAddress, town: &mut Town) {
        match self.profile {
            AccountProfile::Bot => self.trade(day, router, town),
            AccountProfile::MarketMaker => self.make_market(town),
            AccountProfile::Treasury => self.pay_grants(day, town),
            AccountProfile::AirdropHunter => self.hunt(day, router, town),
            AccountProfile::Payroll => self.pay_wages(day, town),
        }
    }

    /// Swaps to and fro, and takes profits to an exchange on Sundays.
    fn trade(&self, day: u64, router: AccountAddress, town: &mut Town) {
        if town.dice.percent(50) {
            return;
        }
        let me = self.account;
        let amount = units(USDC, town.between(10_000, 400_000));
        if town.chain.balance(me, USDC) < amount {
            town.pay((town.exchanges[0], me), USDC, 1_000_000);
        }
        let pool = town.pool;
        let got = pool.swap_through(&mut town.chain, (me, router, me), USDC, amount);
        town.pause(1, 20);
        let _back = pool.swap(&mut town.chain, me, ETH, got);
        if day.is_multiple_of(7) && town.chain.balance(me, USDT) > units(USDT, 20_000) {
            town.pay((me, town.exchanges[1]), USDT, 10_000);
        }
    }

    /// Withdraws from one exchange and deposits most of it at the other one.
    fn make_market(&self, town: &mut Town) {
        if town.dice.percent(70) {
            return;
        }
        let (asset, cents) = (town.asset(), town.between(500_000, 5_000_000));
        let [north, south] = town.exchanges;
        town.pay((north, self.account), asset, cents);
        town.pause(5, 40);
        let percent = town.between(93, 99);
        town.pay((self.account, south), asset, cents / 100 * percent);
    }

    /// Pays grants on one day of each month; an investor pays each quarter.
    fn pay_grants(&self, day: u64, town: &mut Town) {
        if day % 90 == self.payday {
            let dollars = town.between(60_000, 400_000);
            town.receive(self.account, USDC, dollars * 100);
        }
        if day % 30 == self.payday {
            for other in self.others.clone() {
                let cents = town.between(100_000, 600_000);
                if town.chain.balance(self.account, USDC) > units(USDC, cents) {
                    town.pay((self.account, other), USDC, cents);
                }
            }
        }
    }

    /// Funds one of the own accounts now and then, which swaps and later pays back what it has.
    fn hunt(&self, day: u64, router: AccountAddress, town: &mut Town) {
        let turn = usize::try_from(day / 3).unwrap_or(0) % self.others.len();
        let Some(own) = self.others.get(turn).copied() else { return };
        match day % 3 {
            0 => {
                let cents = town.between(5_000, 60_000);
                if town.chain.balance(self.account, ETH) > 2 * units(ETH, cents) {
                    town.pay((self.account, own), ETH, cents);
                }
            }
            1 => {
                let (pool, amount) = (town.pool, town.chain.balance(own, ETH) / 3);
                if amount > 0 {
                    let got = pool.swap_through(&mut town.chain, (own, router, own), ETH, amount);
                    let _back = pool.swap(&mut town.chain, own, USDC, got / 2);
                }
                let airdrop = town.chain.token();
                town.chain.mint(airdrop, own, 1_000);
            }
            _ => {
                let rest = town.chain.balance(own, ETH) / 10 * 9;
                if rest > units(ETH, 200) {
                    town.chain.pay(own, self.account, ETH, rest);
                }
            }
        }
    }

    /// Pays everybody on one day of each month, from money that an exchange paid out.
    fn pay_wages(&self, day: u64, town: &mut Town) {
        if day % 30 != self.payday {
            return;
        }
        let wages: Vec<u64> = self.others.iter().map(|_| town.between(150_000, 900_000)).collect();
        let all: u64 = wages.iter().sum();
        town.pay((town.exchanges[0], self.account), USDT, all);
        town.pause(70, 400);
        for (other, cents) in self.others.clone().into_iter().zip(wages) {
            town.pay((self.account, other), USDT, cents);
        }
    }
}
