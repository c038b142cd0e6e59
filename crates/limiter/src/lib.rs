//! How often a tenant may ask.
//!
//! [`Counters`] is the state machine: pure, with time as an argument. [`InProcess`] keeps one for each
//! tenant of one process. Limits are exact: in no window are more admitted than the limit allows.

mod counters;
mod in_process;

pub use counters::{Ask, Charge, Counters, Decision, Standing, Taken};
pub use in_process::InProcess;
