//! Reading what the world publishes: sanctions lists today; label sets and chains to come.
//!
//! Nothing here knows a store. A reader turns bytes into a [`sanctions::Publication`]; [`plan`] compares
//! it with what is known and says what would change; storing that is the caller's.
//!
//! - [`input`]: files and URLs, spooled with their digest, unpacked transparently, within limits
//! - [`sanctions`]: the readers, one module a format
//! - [`plan`]: what importing a publication changes, and when it is refused

pub mod input;
pub mod plan;
pub mod sanctions;
mod xml;

pub use xml::XmlError;
