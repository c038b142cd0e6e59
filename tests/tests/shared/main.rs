//! Several servers that share PostgreSQL and Redis: what holds of all of them together.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
#![expect(clippy::print_stderr, reason = "figures that no test asserts are shown")]

mod cut_network;
mod limits;
mod reaching_redis;
mod replicas;
mod restart;
mod spread;
mod support;
mod thrift;
mod usage;
