//! The members of an economy and their first money.

use std::collections::{BTreeMap, BTreeSet};

use assay_engine::{
    account::{AccountAddress, Asset},
    taxonomy::Category,
};
use assay_test_random::Random;

use super::{Economy, crime::Gang};
use crate::accounts::{
    AccountChain, AccountWorld, DOLLAR, ETH, ETHER, Pool, STETH, USDC, USDT, WBTC, WETH,
    contracts::Protocols,
};

/// Size of an economy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EconomySize {
    /// Number of people; the numbers of other members are in proportion.
    pub people: u64,
    /// Days of the simulation.
    pub days: u64,
    /// Times as much crime as in a calm year; at 4, about a third of the money in pools is stolen.
    pub heat: u64,
}

impl EconomySize {
    /// A calm year of more than a thousand innocents.
    pub const YEAR: Self = Self { people: 1_100, days: 365, heat: 1 };
}

/// A person with their habits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Person {
    pub(super) account: AccountAddress,
    pub(super) employer: usize,
    pub(super) exchange: usize,
    /// Wages a month in dollars.
    pub(super) wages: u64,
    /// Habits, 0 to 99: the lower, the more a person does with contracts.
    pub(super) habits: u64,
    /// Day from which on the person takes part.
    pub(super) since: u64,
}

/// A merchant or employer, with its exchange.
#[derive(Clone, Copy, Debug)]
pub(super) struct Company {
    pub(super) account: AccountAddress,
    pub(super) exchange: usize,
}

/// An economy in progress.
#[derive(Debug)]
pub(super) struct Simulation {
    pub(super) dice: Random,
    pub(super) chain: AccountChain,
    pub(super) people: Vec<Person>,
    pub(super) merchants: Vec<Company>,
    pub(super) employers: Vec<Company>,
    /// Two labelled exchanges, and one that nobody labelled.
    pub(super) exchanges: [AccountAddress; 3],
    pub(super) deposit_addresses: BTreeMap<(AccountAddress, usize), AccountAddress>,
    /// The contracts that everybody uses.
    pub(super) on: Protocols,
    /// Pools of tokens that nobody knows.
    pub(super) pools: Vec<Pool>,
    /// A market of pictures, and who gets its fees.
    pub(super) market: AccountAddress,
    pub(super) market_owner: AccountAddress,
    /// A contract that pays small rewards.
    pub(super) rewards: AccountAddress,
    /// A trader who keeps pools at the prices of the day.
    pub(super) trader: AccountAddress,
    /// Smart accounts by their owners.
    pub(super) smart_accounts: BTreeMap<AccountAddress, AccountAddress>,
    pub(super) mixer: AccountAddress,
    pub(super) bridge: AccountAddress,
    pub(super) bundler: AccountAddress,
    pub(super) gangs: Vec<Gang>,
    pub(super) listed: Vec<AccountAddress>,
    pub(super) drainer: AccountAddress,
    pub(super) victims: BTreeSet<AccountAddress>,
    pub(super) paid_by_listed: BTreeSet<AccountAddress>,
    pub(super) paid_by_criminals: BTreeSet<AccountAddress>,
    pub(super) heat: u64,
    /// Money that a bridge or mixer pays on a day: payer, receiver, asset, amount.
    pub(super) due: Vec<(u64, AccountAddress, AccountAddress, Asset, u128)>,
    ether_dollars: u64,
}

/// The assets that people hold.
pub(super) const HELD: [Asset; 6] = [ETH, USDT, USDC, WBTC, WETH, STETH];

impl Simulation {
    pub(super) fn populate(seed: u64, size: EconomySize) -> Self {
        let mut dice = Random::new(seed ^ 0xec0);
        let mut chain = AccountChain::new();
        let outsider = chain.outsider();
        let third = chain.account();
        let exchanges = [
            chain.party(Category::Exchange, "First Exchange"),
            chain.party(Category::Exchange, "Second Exchange"),
            third,
        ];
        let on = Protocols::open(&mut chain);
        let [market, rewards] = chain.contracts();
        let [builder, provider, market_owner, trader] = chain.accounts();
        let amounts = [
            (ETH, 60_000 * ETHER),
            (USDT, 150_000_000 * DOLLAR),
            (USDC, 100_000_000 * DOLLAR),
            (WBTC, 800 * 100_000_000),
        ];
        for (asset, amount) in amounts {
            for account in [third, provider] {
                chain.pay(outsider, account, asset, amount);
            }
        }
        let mut pools = Vec::new();
        for _ in 0..5 {
            let token = chain.token();
            chain.mint(token, provider, 1_000_000_000);
            let ether = *dice.pick(&[60, 150, 400]) * ETHER;
            pools.push(Pool::open(&mut chain, provider, [(token, 500_000_000), (ETH, ether)]));
        }
        chain.pay(exchanges[1], rewards, ETH, 100 * ETHER);
        let mixer = chain.party(Category::Mixer, "Some Mixer");
        let bridge = chain.party(Category::Bridge, "Some Bridge");
        for contract in [mixer, bridge] {
            chain.deploy(contract);
        }
        let drainer = chain.party(Category::StolenFunds, "Some Drainer");
        let company = |dice: &mut Random, chain: &mut AccountChain| Company {
            account: chain.account(),
            exchange: dice.index(3),
        };
        let counts = [(size.people / 17).max(12), (size.people / 28).max(8)];
        let [merchants, employers] = counts
            .map(|count| (0..count).map(|_| company(&mut dice, &mut chain)).collect::<Vec<_>>());
        let people = (0..size.people).map(|_| Person {
            account: chain.account(),
            employer: dice.index(employers.len()),
            exchange: dice.index(3),
            wages: 1_500 + 500 * dice.rather_small(20),
            habits: dice.below(100),
            since: if dice.one_in(4) { dice.below(size.days * 4 / 5 + 1) } else { 0 },
        });
        let people = people.collect();
        let bundler = chain.outsider();
        chain.charge_fees(builder);
        let mut simulation = Self {
            ether_dollars: crate::accounts::ETHER_DOLLARS,
            gangs: vec![Gang::of(drainer)],
            listed: Vec::new(),
            victims: BTreeSet::new(),
            paid_by_listed: BTreeSet::new(),
            paid_by_criminals: BTreeSet::new(),
            heat: size.heat,
            due: Vec::new(),
            deposit_addresses: BTreeMap::new(),
            dice,
            chain,
            people,
            merchants,
            employers,
            exchanges,
            on,
            pools,
            market,
            market_owner,
            rewards,
            trader,
            smart_accounts: BTreeMap::new(),
            mixer,
            bridge,
            bundler,
            drainer,
        };
        simulation.list_parties(size.days);
        simulation
    }

    pub(super) fn begin_day(&mut self) {
        self.ether_dollars = self.ether_dollars * self.dice.within(98, 102) / 100;
        for asset in [ETH, WETH, STETH] {
            self.chain.set_price(asset, self.ether_dollars);
        }
        self.chain.set_price(WBTC, 20 * self.ether_dollars);
        self.chain.wait_days(1);
        self.trade_between_markets();
    }

    /// Pays so much as the payer has.
    pub(super) fn pay(
        &mut self,
        from: AccountAddress,
        to: AccountAddress,
        asset: Asset,
        amount: u128,
    ) {
        let amount = amount.min(self.chain.balance(from, asset));
        if amount > 0 && from != to {
            self.chain.pay(from, to, asset, amount);
        }
    }

    /// An exchange pays a customer.
    pub(super) fn withdraw(
        &mut self,
        to: AccountAddress,
        exchange: usize,
        asset: Asset,
        dollars: u64,
    ) {
        let amount = self.chain.units(asset, dollars);
        let exchange = self.exchanges[exchange];
        if self.chain.balance(exchange, asset) >= amount || exchange != self.exchanges[2] {
            self.chain.pay(exchange, to, asset, amount);
        }
    }

    /// Pays money into an exchange, through the customer's deposit address.
    pub(super) fn deposit(
        &mut self,
        from: AccountAddress,
        exchange: usize,
        asset: Asset,
        amount: u128,
    ) {
        let chain = &mut self.chain;
        let of_customer = self.deposit_addresses.entry((from, exchange));
        let address = *of_customer.or_insert_with(|| chain.account());
        self.pay(from, address, asset, amount);
        let hot = self.exchanges[exchange];
        if asset != ETH && self.dice.one_in(2) {
            self.pay(hot, address, ETH, ETHER / 2_000);
            self.chain.pay(hot, address, ETH, 0);
        }
        self.pay(address, hot, asset, self.chain.balance(address, asset));
    }

    pub(super) fn finish(mut self) -> Economy {
        self.chain.wait_days(1);
        let transactions = self.chain.len();
        let members = self.people.iter().map(|person| person.account);
        let companies = self.merchants.iter().chain(&self.employers).map(|company| company.account);
        let innocents = members.chain(companies).filter(|account| {
            !self.victims.contains(account) && !self.paid_by_listed.contains(account)
        });
        let innocents: Vec<AccountAddress> = innocents.collect();
        let is_unpaid = |account: &&AccountAddress| !self.paid_by_criminals.contains(*account);
        let unpaid = innocents.iter().filter(is_unpaid).copied().collect();
        let pools = self.pool_contracts();
        let of_gangs: Vec<AccountAddress> =
            self.gangs.iter().flat_map(|gang| gang.accounts.iter().copied()).collect();
        let criminals = of_gangs.into_iter().filter(|account| {
            let held =
                HELD.map(|asset| self.chain.dollars(asset, self.chain.balance(*account, asset)));
            held.into_iter().sum::<u64>() > 1_000
        });
        let criminals = criminals.collect();
        let victims = self.victims.iter().copied().collect();
        let kinds = self.kinds();
        let world = AccountWorld::new(self.chain);
        Economy { world, transactions, innocents, unpaid, victims, criminals, pools, kinds }
    }

    fn kinds(&self) -> Vec<(&'static str, Vec<AccountAddress>)> {
        let companies = |of: &[Company]| of.iter().map(|company| company.account).collect();
        let of_gangs = self.gangs.iter().flat_map(|gang| gang.accounts.iter().copied());
        let people = self.people.iter().map(|person| person.account);
        let (swappers, savers): (Vec<_>, Vec<_>) =
            self.people.iter().partition(|person| person.habits < 30);
        let accounts = |of: Vec<&Person>| of.into_iter().map(|it| it.account).collect();
        let is_victim = |account: &AccountAddress| self.victims.contains(account);
        vec![
            ("people who use contracts", accounts(swappers)),
            ("people who rarely do", accounts(savers)),
            ("merchants", companies(&self.merchants)),
            ("employers", companies(&self.employers)),
            ("deposit addresses", self.deposit_addresses.values().copied().collect()),
            ("smart accounts", self.smart_accounts.keys().copied().collect()),
            ("victims", people.filter(is_victim).collect()),
            ("criminals", of_gangs.collect()),
            ("traders", vec![self.trader, self.market_owner]),
            ("unlabelled exchanges", vec![self.exchanges[2]]),
        ]
    }
}
