//! A simulated economy on an account chain, with the true role of each account.
//!
//! People are paid wages, shop, pay each other, use exchanges through deposit addresses, swap, lend, stake, wrap and
//! bridge. Criminals steal, drain, extort and launder: through new accounts, swaps, a mixer, a bridge, exchanges, shops
//! and people. Some parties are listed in the course of the time.
//!
//! - [`population`]: the members and their first money
//! - [`honest`]: the days of honest members
//! - [`crime`]: the days of criminals
//! - [`survey`]: the engine's answers about all members

pub mod crime;
pub mod honest;
pub mod population;
pub mod survey;

use assay_engine::account::AccountAddress;

pub use population::EconomySize;
pub use survey::Survey;

use super::AccountWorld;
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
    /// People and employers from whom criminals took money.
    pub victims: Vec<AccountAddress>,
    /// Accounts of criminals that hold more than 1,000 dollars.
    pub criminals: Vec<AccountAddress>,
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
}
