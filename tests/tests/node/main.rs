//! Assay on a real node of Kubernetes: its images run as containers, and Services lead to them. Tests say
//! that they skip where such a node cannot be.
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod chains;
mod from_nothing;
mod loads;
mod losses;
mod traffic;
mod world;
