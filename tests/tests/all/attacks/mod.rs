//! Attacks on the model, as thieves and accused people would try them, each on a whole chain or a real server.
//!
//! - [`weakening`]: labels, steps and entries that weaken a verdict
//! - [`properties`]: properties of verdicts over random schemes
//! - [`told`]: compositions (origin breakdowns) of earlier lists and labels
//! - [`owner`]: dealings of other addresses of the same owner
//! - [`unsolicited`]: money that nobody asked for, that a thief gave back, or that goes round

mod owner;
mod properties;
mod told;
mod unsolicited;
mod weakening;
