//! What tests across programs share: the `assay` program, servers, callers and the real data.
//!
//! Everything is run as its users run it: as a process, over HTTP, from files.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

pub mod big_chain;
mod cache;
mod caller;
mod cluster;
mod data;
pub mod esplora;
pub mod maker;
pub mod nodes;
mod operator;
pub mod oracle;
pub mod platform;
mod postgres;
mod process;
pub mod raw_node;
pub mod redis;
mod server;
pub mod story;
mod times;
mod wait;

pub use caller::{Answer, Caller};
pub use cluster::Cluster;
pub use data::TestData;
pub use operator::Operator;
pub use postgres::Postgres;
pub use process::{
    Finished, assay, binary, measure, measure_assay, release_program, start_assay, to_megabytes,
};
pub use server::{Server, production, sample};
pub use times::Times;
pub use wait::{wait_at_most, wait_until};
