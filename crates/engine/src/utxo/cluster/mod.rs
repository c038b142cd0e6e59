//! Clusters: addresses of one owner, as far as the chain shows it.
//!
//! Inputs that are spent together belong to one owner, who signed them all (co-spend). Exceptions are
//! transactions that several parties make together; a wrong link merges wallets that have nothing in
//! common, and stays. So whatever has the shape of a joint transaction links nothing, and other
//! transactions that may have two parties, such as a `PayJoin`, link, but not conclusively. See
//! [`co_spend`].
//!
//! A payment also shows likelihoods that two addresses are one owner's: its change, and inputs of what may be a
//! `PayJoin`. They are [`links`] between two addresses, and join no clusters.
//!
//! Graphs keep the clusters (`assay_graph::utxo`): they are a function of the chain.

mod change;
mod co_spend;
mod links;

pub use change::{Change, Doubts, Signs, change};
pub use co_spend::{CoSpend, co_spend};
pub use links::{LinkKind, Links, UNCONFIRMED_CONFIDENCE, links};
