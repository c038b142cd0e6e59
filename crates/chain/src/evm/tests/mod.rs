//! Tests of decoding and verification.
//!
//! - `build`: a node's JSON about blocks that tests make up
//! - `booking`: what moves money
//! - `facts`: contracts and whom their logs name
//! - `forms`: equal transfers from both forms of traces, and any JSON
//! - `real`: blocks of real chains, compared with their hashes and with what another program made of them

mod booking;
pub(super) mod build;
mod facts;
mod forms;
pub(super) mod real;
