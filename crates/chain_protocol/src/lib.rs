//! The protocol between API servers and chain servers: its messages and its client.
//!
//! A *chain server* (`assay chain serve`) owns graphs of chains. An API server sends questions to a chain server over
//! HTTP/2, one JSON message each ([`message`]), and chooses one of the chain's servers ([`client`]).
//!
//! The request path names the protocol version. Within a version, fields and questions are only added: a reader ignores
//! unknown fields, and added fields have a default, so that two neighboring releases understand each other.

pub mod client;
pub mod message;

pub use client::{AskError, ChainServerCredentials, ChainServers, InvalidServers, ServerSet};
