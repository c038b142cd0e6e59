//! Blocks of the chains with Ethereum's accounts, from a node over JSON-RPC.
//!
//! A block is made of a node's answers about it: the block with its transactions, their receipts, and traces of their calls.
//! The parts that a header commits to are recomputed and compared with the block's hash: transactions with their
//! senders, receipts with their logs, withdrawals. Traces, which no header commits to, are compared with transactions and receipts.
//!
//! - [`params`]: the parameters of each chain
//! - `hex`, `answer`: a node's JSON
//! - `rlp`, `header`, `envelope`, `receipt`: what hashes and roots commit to
//! - `trace`: calls, from either form of traces
//! - `events`: event logs
//! - `freeze_events`: events by which issuers of tokens freeze accounts
//! - `beneficiaries`: accounts that event logs name as those whose money it is
//! - `verify`: comparison of the answers with the block's hash and with one another
//! - `block`: transactions with their transfers
//! - `contracts`: which of their accounts are contracts
//! - [`genesis`], `dao`: coins that no transaction moved
//! - `reward`: new coins for producers of blocks
//! - `node`: the source of blocks

pub(crate) mod answer;
mod balance_changes;
pub(crate) mod beneficiaries;
mod block;
pub(crate) mod bridge_messages;
pub(crate) mod contracts;
mod dao;
mod envelope;
pub(crate) mod events;
pub(crate) mod freeze_events;
pub mod genesis;
mod header;
mod hex;
mod node;
pub mod params;
mod receipt;
mod reward;
mod rlp;
#[cfg(test)]
mod tests;
mod trace;
mod verify;

pub use genesis::GenesisAllocation;
pub use node::{BlockTag, EvmNodeOptions, EvmNodeSource};
pub use params::EvmParams;
