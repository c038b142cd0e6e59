//! Intel: sanctions lists, address labels and prices, from their formats to the index that checks read.
//!
//! - [`formats`]: the registry of formats, one module per format
//! - [`listings`], [`labels`], [`prices`]: the content of lists, label sets and price files, and the shared parts of readers
//! - [`plan`]: the changes that a publication makes, and the reasons to refuse it
//! - [`import`]: from a file or URL to the store
//! - [`snapshot`]: the index in memory, with look-alikes and parties by name
//! - [`names`]: likeness of two names
//!
//! Without the feature `edge`, the crate has only the readers, without network and store.

mod error;
pub mod formats;
mod header;
#[cfg(feature = "edge")]
pub mod import;
pub mod labels;
pub mod listings;
#[cfg(feature = "edge")]
pub mod names;
pub mod plan;
pub mod prices;
#[cfg(feature = "edge")]
pub mod snapshot;
mod xml;

#[cfg(feature = "edge")]
pub use snapshot::{FoundAddress, FoundEntity, IntelSnapshot, LabelIndex, LabelIndexBuilder};
pub use xml::XmlError;
