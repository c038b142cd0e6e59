//! The operations, one module each.

pub mod check;
pub mod health;
pub mod signals;
pub mod sources;
