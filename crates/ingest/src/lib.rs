//! Reading what the world publishes: sanctions lists, label sets, and chains of
//! the Bitcoin family.
//!
//! Nothing here knows a store. A reader turns bytes into a [`sanctions::Publication`] or a
//! [`labels::LabelSet`]; [`plan`] compares a publication with what is known and says what would
//! change; storing that is the caller's.
//!
//! - [`input`]: files and URLs, spooled with their digest, unpacked transparently, within limits
//! - [`text`]: text line by line, as all line-based formats have it
//! - [`sanctions`]: the readers of lists, one module a format
//! - [`labels`]: the readers of labels, one module a format
//! - [`plan`]: what importing a publication changes, and when it is refused
//! - [`chain`]: the readers of blocks, one module a source

pub mod chain;
pub mod input;
pub mod labels;
pub mod plan;
pub mod sanctions;
pub mod text;
mod xml;

pub use xml::XmlError;
