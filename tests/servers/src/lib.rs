//! Servers that tests start from the programs of this machine, the files of these servers, and nodes of TRON that tests write.
//!
//! All crates with tests against a server use it. A server stops when it is dropped.
#![expect(clippy::expect_used, clippy::panic, reason = "a test stops at the first surprise")]

mod certificates;
mod listener;
mod port;
mod postgres;
pub mod redis;
pub mod tron;
mod wait;

pub use certificates::{Authority, CertificateWithKey};
pub use listener::Listener;
pub use port::free_port;
pub use postgres::{Postgres, PostgresServer, StartOptions};
pub use wait::{eventually, holds_within, repeat, wait_at_most, wait_every, wait_until};
