//! Behavior patterns: shapes of transfers between owners that are typical of certain behavior, found exactly.

pub mod transfers;
