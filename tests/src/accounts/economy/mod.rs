//! A simulated economy on an account chain, with the true role of each account.
//!
//! People are paid wages, shop, pay each other, use exchanges through deposit addresses, swap, provide liquidity, lend,
//! borrow, stake, wrap, fill streams, buy pictures, use smart accounts and bridge. Criminals steal, drain, extort and
//! launder: through new accounts, the same contracts, a mixer, a bridge, exchanges, shops and people. Some parties are
//! listed in the course of the time.
//!
//! - [`population`]: the members and their first money
//! - [`honest`]: the days of honest members
//! - [`crime`]: the days of criminals
//! - [`markets`]: what members do with contracts
//! - [`survey`]: the engine's answers about all members

pub mod crime;
pub mod honest;
pub mod markets;
pub mod population;
pub mod survey;

use assay_engine::account::AccountAddress;

pub use population::EconomySize;
pub use survey::Survey;

use super::{AccountWorld, ETH};
use population::Simulation;

/// An economy after its last day.
#[derive(Debug)]
pub struct Economy {
    /// The chain with its labels, listings and prices.
    pub world: AccountWorld,
    /// Number of transactions.
    pub transactions: usize,
    /// People, merchants and employers who are no victims and to whom no listed party paid anything.
    pub innocents: Vec<AccountAddress>,
    /// Those of them whom no criminal paid directly.
    pub unpaid: Vec<AccountAddress>,
    /// People and employers from whom criminals took money.
    pub victims: Vec<AccountAddress>,
    /// Accounts of criminals that hold more than 1,000 dollars.
    pub criminals: Vec<AccountAddress>,
    /// Contracts of pools.
    pub pools: Vec<AccountAddress>,
    /// All members by kind.
    pub kinds: Vec<(&'static str, Vec<AccountAddress>)>,
}

impl Economy {
    /// Simulates the economy of a seed.
    #[must_use]
    pub fn simulate(seed: u64, size: EconomySize) -> Self {
        let mut simulation = Simulation::populate(seed, size);
        for day in 0..size.days {
            simulation.begin_day();
            simulation.honest_day(day);
            simulation.criminal_day(day);
        }
        simulation.finish()
    }

    /// Percent of the ether in pools that is severe.
    #[must_use]
    pub fn stolen_percent_in_pools(&self) -> u128 {
        let ledgers = self.pools.iter().filter_map(|pool| self.world.ledger(*pool, ETH));
        let (severe, all) = ledgers.fold((0, 0), |(severe, all), ledger| {
            let share = u128::from(ledger.shares.severe() >> 43);
            (severe + (ledger.balance >> 20) * share, all + ledger.balance)
        });
        severe * 100 / all.max(1)
    }
}
