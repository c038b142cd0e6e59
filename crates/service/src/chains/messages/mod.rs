//! Conversion between the types of the engine and the messages of chain servers and API servers. No other module uses
//! both.
//!
//! Messages have no listings and labels of addresses: the API server looks them up in its own.
//!
//! - [`write`]: questions and answers as messages
//! - [`read`]: questions and answers from messages
//! - [`types`]: the parts that have the same fields on both sides, in one table

pub(super) mod read;
pub(super) mod types;
pub(super) mod write;
