//! Conversion between the types of the engine and the messages of chain servers and API servers. No other module uses
//! both kinds of types.
//!
//! Messages have no listings and labels of addresses: the API server looks addresses up in its own lists and labels.
//!
//! - [`write`]: questions and answers as messages
//! - [`read`]: questions and answers from messages
//! - [`accounts`]: what account chains alone have
//! - [`types`]: types whose fields are the same in the engine and in messages, in one table

pub(super) mod accounts;
pub(super) mod read;
pub(super) mod types;
pub(super) mod write;
