//! Requests of the API: bodies, header fields, and the problems with them.
//!
//! Pure functions of bytes and header fields, which tests and fuzz targets call without a server. The
//! API reads bodies from connections and turns problems into responses.
//!
//! - [`problem`]: one table of codes, and problem details (RFC 9457)
//! - [`json`]: a JSON body, strict about every field
//! - [`check`]: the body of a check
//! - [`addresses`]: the body of a check of many addresses
//! - `chain`: the field `blockchain`, and suggestions for an unknown chain
//! - [`row`]: rows of a bulk request
//! - [`head`]: API key, request id and cache directives in header fields
//! - [`search`]: the parameters of a search of checks
//! - [`trace`]: the trace context of a request
//! - [`transfer`]: the body of a check of one transfer

pub mod addresses;
mod chain;
pub mod check;
pub mod head;
pub mod json;
pub mod problem;
pub mod row;
pub mod search;
pub mod trace;
pub mod transfer;

pub use chain::parse_chain;
