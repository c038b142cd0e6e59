//! What API servers and chain servers say to each other: the messages, and the client.
//!
//! A *chain server* (`assay chain serve`) owns graphs of chains. An API server asks it questions over HTTP/2, one
//! message of JSON each ([`message`]), and chooses among the servers of a chain ([`client`]).
//!
//! The version is in the path. Within a version, fields and questions are only added: a reader ignores fields that it
//! does not know, and added fields have a default, so that two neighboring releases understand each other.

pub mod client;
pub mod message;

pub use client::{AskError, ChainServerCredentials, ChainServers, InvalidServers, ServerSet};
