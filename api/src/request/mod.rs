//! Stages of a request before its handler: frame, load shedding, authentication and limits.

pub mod address_hash;
pub(crate) mod answer_records;
pub(crate) mod body;
pub(crate) mod checks_charge;
pub(crate) mod coded_body;
pub(crate) mod cors;
pub(crate) mod drain_body;
pub(crate) mod frame;
pub(crate) mod gate;
pub(crate) mod idempotency;
mod legacy_headers;
pub(crate) mod load;
pub(crate) mod parsed_addresses;
pub mod problem;
pub(crate) mod sandbox;
pub(crate) mod streamed;
