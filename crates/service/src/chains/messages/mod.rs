//! What readers find, as messages between chain servers and API servers, and back. Only this room knows both the
//! messages and the types of the engine.
//!
//! Listings and labels of addresses do not travel: the API server looks them up among its own.
//!
//! - [`write`]: questions and answers as messages
//! - [`read`]: questions and answers from messages
//! - [`types`]: the parts that have the same fields on both sides, in one table

pub(super) mod read;
pub(super) mod types;
pub(super) mod write;
