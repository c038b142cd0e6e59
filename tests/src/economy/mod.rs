//! A simulated year of an economy on Bitcoin, with the true role of each owner.
//!
//! People with change buy at merchants and at exchanges, labelled and unlabelled; employers pay wages in batches;
//! miners sell; thieves launder; a mixer, a darknet market and its vendors, a sender of dust and listed parties act by
//! their roles. Some people make joint transactions.
//!
//! - [`population`]: the members and their first coins
//! - [`year`]: the days of honest people
//! - [`crime`]: the days of criminals
//! - [`survey`]: the engine's answers about all members

pub mod crime;
pub mod population;
pub mod survey;
pub mod year;

use std::collections::BTreeMap;

use assay_engine::utxo::ScriptOwner;
use assay_test_random::Random;
use jiff::{SignedDuration, Timestamp};

use crate::{
    wallets::{WalletId, Wallets},
    world::{ChainBuilder, Claims, World},
};

pub use survey::{AssessedGroup, Survey};

/// One bitcoin in satoshi.
const COIN: u64 = 100_000_000;

/// Role of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// A person.
    Person,
    /// A merchant.
    Merchant,
    /// An employer.
    Employer,
    /// A miner.
    Miner,
    /// An exchange.
    Exchange,
    /// A thief.
    Thief,
    /// A mixing service.
    Mixer,
    /// A darknet market.
    Market,
    /// A vendor at the market.
    Vendor,
    /// A party that is listed in the course of the year.
    Listed,
    /// A sender of dust.
    Duster,
}

/// A member of the economy. The member's wallet has the same index.
#[derive(Clone, Copy, Debug)]
pub struct Member {
    /// Role of the member.
    pub role: Role,
    /// True if the member took part in a joint transaction, used the mixer or bought at the market.
    pub is_exposed_by_choice: bool,
}

impl Member {
    /// True for a member who committed no crime and is not exposed by choice.
    #[must_use]
    pub const fn is_innocent(self) -> bool {
        matches!(self.role, Role::Person | Role::Merchant | Role::Employer | Role::Miner)
            && !self.is_exposed_by_choice
    }
}

/// Size of an economy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EconomySize {
    /// Number of people; the numbers of other members are in proportion.
    pub people: u64,
    /// Days of the simulation, at most 359, after which the simulated kinds of joint transaction no longer existed.
    pub days: u64,
}

impl EconomySize {
    /// A year of more than a thousand innocent people.
    pub const YEAR: Self = Self { people: 1_200, days: 359 };
}

/// An economy after its last day.
#[derive(Debug)]
pub struct Economy {
    /// The chain with its labels and listings.
    pub world: World,
    /// The members.
    pub members: Vec<Member>,
    /// The addresses at which each member was paid.
    pub addresses: Vec<Vec<ScriptOwner>>,
    /// Addresses of others at which criminals were paid: their accounts at exchanges.
    pub accounts: Vec<ScriptOwner>,
}

impl Economy {
    /// Simulates the economy of a seed, with the chain in memory.
    #[must_use]
    pub fn simulate(seed: u64, size: EconomySize) -> Self {
        Self::simulate_in(seed, size, World::new)
    }

    /// Simulates the economy of a seed without any crime, with the chain in memory.
    #[must_use]
    pub fn simulate_honest(seed: u64, size: EconomySize) -> Self {
        Self::simulate_days(seed, size, World::new, Simulation::honest_day)
    }

    /// Simulates the economy of a seed; `world` builds the world from the chain.
    #[must_use]
    pub fn simulate_in(
        seed: u64,
        size: EconomySize,
        world: impl FnOnce(ChainBuilder, Claims) -> World,
    ) -> Self {
        Self::simulate_days(seed, size, world, |simulation, day| {
            simulation.honest_day(day);
            simulation.criminal_day(day);
        })
    }

    fn simulate_days(
        seed: u64,
        size: EconomySize,
        world: impl FnOnce(ChainBuilder, Claims) -> World,
        day_of: impl Fn(&mut Simulation, u64),
    ) -> Self {
        let mut simulation = Simulation::populate(seed, size);
        let begun = simulation.wallets.chain.now();
        for day in 0..size.days {
            let hours = i64::try_from(24 * day).expect("few days");
            simulation.wallets.chain.wait_until(begun + SignedDuration::from_hours(hours));
            day_of(&mut simulation, day);
        }
        simulation.finish(world)
    }

    /// A random address of each innocent member that was ever paid.
    #[must_use]
    pub fn innocents(&self, seed: u64) -> Vec<&ScriptOwner> {
        let mut dice = Random::new(seed);
        let paid = self.members.iter().zip(&self.addresses);
        let paid = paid.filter(|(member, addresses)| member.is_innocent() && !addresses.is_empty());
        paid.map(|(_, addresses)| dice.pick(addresses)).collect()
    }
}

/// State of a running simulation.
#[derive(Debug)]
struct Simulation {
    size: EconomySize,
    wallets: Wallets,
    claims: Claims,
    members: Vec<Member>,
    /// Members by role.
    by_role: BTreeMap<Role, Vec<WalletId>>,
    /// The exchange of each member that has one, and its account at the exchange.
    accounts: BTreeMap<WalletId, (WalletId, ScriptOwner)>,
    /// People who make joint transactions and use the mixer.
    private: Vec<WalletId>,
    /// Withdrawals that the exchanges pay on the same day.
    withdrawals: BTreeMap<WalletId, Vec<(ScriptOwner, u64)>>,
    /// Number of moves that each criminal makes before cashing out.
    moves_left: BTreeMap<WalletId, u64>,
}

impl Simulation {
    const fn dice(&mut self) -> &mut Random {
        self.wallets.chain.dice()
    }

    /// True with a probability of `of_10_000` in 10,000.
    fn happens(&mut self, of_10_000: u64) -> bool {
        self.dice().below(10_000) < of_10_000
    }

    /// Members of a role.
    fn all(&self, role: Role) -> Vec<WalletId> {
        self.by_role.get(&role).cloned().unwrap_or_default()
    }

    /// A member of a role.
    fn any(&mut self, role: Role) -> WalletId {
        let members = self.all(role);
        *self.dice().pick(&members)
    }

    /// Lets some hours pass.
    fn hours(&mut self, hours: i64) {
        self.wallets.chain.wait(SignedDuration::from_hours(hours));
    }

    fn finish(mut self, world: impl FnOnce(ChainBuilder, Claims) -> World) -> Economy {
        self.hours(20);
        let is_criminal = |wallet: &WalletId| {
            let role = self.members[*wallet].role;
            matches!(role, Role::Thief | Role::Vendor | Role::Listed)
        };
        let accounts = self.accounts.iter().filter(|(wallet, _)| is_criminal(wallet));
        let accounts: Vec<ScriptOwner> =
            accounts.map(|(_, (_, account))| account.clone()).collect();
        let exchanges = self.all(Role::Exchange);
        let paid: Vec<&ScriptOwner> =
            exchanges.iter().flat_map(|id| &self.wallets.wallet(*id).addresses).collect();
        let accounts = accounts.into_iter().filter(|account| paid.contains(&account)).collect();
        let addresses = self.wallets.all().iter().map(|wallet| wallet.addresses.clone()).collect();
        let chain = self.wallets.chain;
        Economy { world: world(chain, self.claims), members: self.members, addresses, accounts }
    }
}

/// Noon of the first day.
fn first_day() -> Timestamp {
    Timestamp::from_second(1_654_084_800).expect("2022-06-01")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_economy_follows_from_its_seed_and_has_everybody() {
        let size = EconomySize { people: 100, days: 120 };
        let economy = Economy::simulate(7, size);
        let again = Economy::simulate(7, size);
        assert_eq!(economy.addresses, again.addresses);
        assert_eq!(Survey::assess(&economy, 7), Survey::assess(&again, 7));
        let paid = |role| {
            let members = economy.members.iter().zip(&economy.addresses);
            members.filter(|(member, _)| member.role == role).any(|(_, paid)| !paid.is_empty())
        };
        let roles: std::collections::BTreeSet<Role> =
            economy.members.iter().map(|member| member.role).collect();
        assert_eq!(roles.len(), 11);
        assert!(roles.into_iter().all(paid));
        let exposed = economy.members.iter().filter(|member| member.is_exposed_by_choice);
        assert!(exposed.count() >= 3, "some made joint transactions or bought at the market");
        assert!(economy.innocents(7).len() > 80);
        assert!(!economy.accounts.is_empty());
    }
}
