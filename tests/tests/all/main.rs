//! Tests across programs: each module tests one promise to users.
//!
//! The tests run the built programs: run `cargo build` first.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]
#![expect(clippy::print_stderr, reason = "figures that no test asserts are shown")]

mod access;
mod account;
mod account_answers;
mod accounts;
mod addresses;
mod answers;
mod associates;
mod attacks;
mod broken_fetches;
mod bulk;
mod chain_backups;
mod chain_branches;
mod chain_robust;
mod chain_scenario;
mod chain_servers;
mod chain_sources;
mod chain_tools;
mod check_addresses;
mod clients;
mod clusters;
mod command_line;
mod compositions;
mod console;
mod contract_answers;
mod description;
mod direct_checks;
mod documents;
mod edge;
mod egress;
mod evasion;
mod evm_contracts;
mod evm_nodes;
mod explorers;
mod exposures;
mod feeds;
mod flows;
mod formats;
mod generated;

mod hostile;
mod idempotency;
mod imports;
mod labels;
mod large_chain;
mod limits;
mod listed;
mod memory;
mod never_fetched;
mod ofac;
mod patterns;
mod postgres;
mod prices;
mod reading;
mod ready_lists;
mod replay;
mod sample_chain;
mod sandbox;
mod screening;
mod shrinking_feeds;
mod shutdown;
mod source_access;
mod source_credentials;
mod stored_manifests;
mod support;
mod telemetry;
mod transfers;
mod tron;
mod unconfirmed;
mod unowned;
mod upper_bound;
mod wire;
mod withdrawals;
mod worked_example;
