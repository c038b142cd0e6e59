//! The model of account chains (`docs/model/accounts.md`), from transfers to verdicts.
//!
//! - [`cases`]: the cases of the model, of thieves and of the innocent
//! - [`contracts`]: the cases of the model that concern contracts, and tricks with contracts
//! - [`ledgers`]: ledgers against exact fractions
//! - [`patterns`]: patterns of behavior, planted and of the innocent
//! - [`people`]: simulated people
//! - [`reads`]: reads of a chain by checks, and their budgets
//! - [`schemes`]: random laundering schemes
//! - [`store`]: graphs in a store against those in memory
//! - [`store_faults`]: such graphs under kills, full disks, damaged files and concurrent readers
//! - [`theft`]: a chain with a thief and an exchange, on which cases happen

mod attacks;
mod cases;
mod contracts;
mod ledgers;
mod on_demand;
mod patterns;
mod people;
mod reads;
mod schemes;
mod store;
mod store_faults;
mod theft;
