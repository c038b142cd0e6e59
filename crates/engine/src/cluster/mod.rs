//! Clusters: addresses of one owner, as far as the chain shows it.
//!
//! Inputs that are spent together belong to one owner, who signed them all (co-spend). Exceptions are
//! transactions that several parties make together; a wrong link merges wallets that have nothing in
//! common, and stays. So whatever has the shape of a joint transaction links nothing, and other
//! transactions that may have two parties, such as a `PayJoin`, link, but not conclusively. See
//! [`co_spend`].
//!
//! Graphs keep the clusters (`assay_graph::backend::cluster`): they are a function of the chain.

mod co_spend;

pub use co_spend::{CoSpend, co_spend};
