//! Handlers of the operations, one module each.

pub mod account;
pub mod check;
pub mod checks;
pub mod health;
pub mod screen;
pub mod signals;
pub mod sources;
pub mod usage;
