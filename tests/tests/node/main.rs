//! Assay on a real Kubernetes node: images run as containers behind Services. Tests are skipped with a message on
//! machines without such a node.
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod chains;
mod failover;
mod from_nothing;
mod loads;
mod losses;
mod metrics_adapter;
mod outside;
mod policies;
mod production;
mod screening;
mod traffic;
mod world;
