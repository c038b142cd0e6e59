//! Tests of several servers that share PostgreSQL and Redis.

#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test stops at the first surprise"
)]
#![expect(clippy::print_stderr, reason = "figures that no test asserts are shown")]

mod all_at_once;
mod chain_servers;
mod clock_jump;
mod cut_network;
mod disaster;
mod disk_full;
mod explorers;
mod idempotency;
mod least_rights;
mod limits;
mod node_away;
mod reaching_redis;
mod replicas;
mod restart;
mod sessions;
mod soak;
mod spread;
mod support;
mod thrift;
mod usage;
