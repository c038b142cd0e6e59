//! Reading what the world publishes: sanctions lists, label sets, and chains of
//! the Bitcoin family.
//!
//! Nothing here knows a store. A reader turns bytes into a [`sanctions::Publication`] or a
//! [`labels::LabelSet`]; [`plan`] compares a publication with what is known and says what would
//! change; storing that is the caller's.
//!
//! - [`sanctions`]: the readers of lists, one module a format
//! - [`labels`]: the readers of labels, one module a format
//! - [`plan`]: what importing a publication changes, and when it is refused

#[cfg(feature = "edge")]
pub mod import;
pub mod labels;
pub mod plan;
pub mod sanctions;
#[cfg(feature = "edge")]
pub mod snapshot;
mod xml;

#[cfg(feature = "edge")]
pub use snapshot::{IntelSnapshot, LabelIndex, LabelIndexBuilder};
pub use xml::XmlError;
