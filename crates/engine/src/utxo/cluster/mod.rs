//! Clusters: addresses that belong to one owner by the evidence of the chain.
//!
//! Inputs that are spent together belong to one owner, who signed all inputs (co-spend). Exceptions are transactions
//! that several parties make together; a wrong link permanently merges unrelated wallets. Transactions with the shape
//! of a joint transaction therefore link no addresses, and other transactions that may have two parties, such as a
//! `PayJoin`, link addresses but not conclusively. See [`co_spend`].
//!
//! A payment also gives likelihoods that two addresses have one owner: by its change, and by the inputs of a possible
//! `PayJoin`. These likelihoods are [`links`] between two addresses, and do not join clusters.
//!
//! Graphs store the clusters (`assay_graph::utxo`), which are a function of the chain.

mod change;
mod co_spend;
mod links;

pub use change::{Change, Doubts, Signs, change};
pub use co_spend::{CoSpend, co_spend};
pub use links::{LinkKind, Links, UNCONFIRMED_CONFIDENCE, links};
