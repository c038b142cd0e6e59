//! Money that goes through contracts, case by case.
//!
//! - [`answers`]: answers about such money
//! - [`thieves`]: the cases of the model in which stolen money comes out elsewhere
//! - [`innocents`]: the cases of the model of those who trade beside thieves
//! - [`schemes`]: random laundering schemes
//! - [`oracle`]: ledgers against exact fractions
//! - [`tricks`]: further tricks with contracts
//! - [`harmless`]: further people whom a trick or a thief nearby might accuse

mod answers;
mod harmless;
mod innocents;
mod oracle;
mod schemes;
mod thieves;
mod tricks;
