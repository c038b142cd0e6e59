//! Handlers of the operations, one module each.

pub mod account;
pub mod chains;
pub mod check;
pub mod check_addresses;
pub mod check_list;
pub mod checks;
pub mod entities;
pub mod health;
pub mod sandbox;
pub mod screen;
pub mod signals;
pub mod sources;
pub mod usage;
