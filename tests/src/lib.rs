//! Shared parts of tests across programs: the `assay` program, servers, callers and the real data.
//!
//! The tests run programs as users run them: as a process, over HTTP, from files.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

pub mod account_api;
pub mod accounts;
mod append;
pub mod behavior;
pub mod big_chain;
pub mod block_builder;
mod caller;
mod cluster;
mod collector;
mod connection;
pub mod cut;
mod data;
mod database;
pub mod economy;
pub mod esplora;
pub mod evm;
mod figures;
mod full;
mod generators;
mod helm;
mod http_request;
pub mod laundering;
mod linters;
mod manifest;
mod many_flows;
mod metrics;
pub mod nodes;
mod operator;
pub mod oracle;
mod own_clients;
pub mod platform;
mod process;
mod queries;
pub mod raw_node;
pub mod scenario;
pub mod security;
mod server;
mod small_disk;
mod tools;
mod wall_clock;
pub mod wallets;
pub mod world;

pub use append::append;
pub use assay_test_servers::{
    Authority, CertificateWithKey, Listener, Postgres, StartOptions, eventually, free_port,
    holds_within, redis, repeat, tron, wait_at_most, wait_every, wait_until,
};
pub use caller::{Answer, Caller};
pub use cluster::{Cluster, ContainerProcess};
pub use collector::Collector;
pub use connection::Connection;
pub use data::TestData;
pub use database::migrated_database;
pub use figures::{Figures, cpu_time, own_memory};
pub use full::is_full;
pub use generators::{Generators, run};
pub use helm::Helm;
pub use linters::Linters;
pub use manifest::{plan_with_tenant, tenant};
pub use many_flows::ManyFlows;
pub use operator::Operator;
pub use own_clients::OwnClients;
pub use process::{
    Finished, assay, binary, measure, measure_assay, release_operator, release_program,
    start_assay, to_megabytes,
};
pub use queries::Exporter;
pub use server::{CHAIN_TOKEN, Server, production, production_with, sample};
pub use small_disk::SmallDisk;
pub use wall_clock::WallClock;
