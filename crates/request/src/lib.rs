//! What a request says: bodies and header fields, and the problems with them.
//!
//! Pure functions of bytes and header fields, without a server around them: whoever fuzzes or tests a
//! reader needs nothing else. How bytes arrive, and how a problem becomes a response, is HTTP's edge in the
//! API.
//!
//! - [`problem`]: one closed table of codes, and problem details (RFC 9457)
//! - [`json`]: a JSON body, strict about every field
//! - [`check`]: the body of a check
//! - [`row`]: a row of a bulk request
//! - [`head`]: keys, names and wishes in header fields
//! - [`trace`]: the trace that a request belongs to

pub mod check;
pub mod head;
pub mod json;
pub mod problem;
pub mod row;
pub mod trace;
