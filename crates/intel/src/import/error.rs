//! Errors of imports.

use assay_engine::names::InvalidName;
use assay_input::FetchError;
use assay_store::StoreError;

use crate::{
    formats::{FormatReadError, ReadOption, UnknownFormat},
    plan::PublicationRefusal,
};

/// Reason why an import failed. A failed import changes nothing.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The input cannot be fetched.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// The input cannot be read, or is damaged or of another format.
    #[error(transparent)]
    Read(#[from] FormatReadError),
    /// The publication is older than the newest publication of the source, or implausible.
    #[error("{origin}: {source}")]
    Refused {
        /// Path or URL of the input.
        origin: String,
        /// Reason.
        #[source]
        source: PublicationRefusal,
    },
    /// The label set is empty. The source keeps its labels.
    #[error("{origin} holds no label that can be imported: nothing was changed")]
    NoLabels {
        /// Path or URL of the input.
        origin: String,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The name of a manifest is not valid as the name of a source.
    #[error(transparent)]
    Name(#[from] InvalidName),
    /// No format has the identifier in a manifest.
    #[error(transparent)]
    Format(#[from] UnknownFormat),
    /// An option has no effect on the format.
    #[error("{option} has no effect on the format `{format}`: leave it out")]
    Option {
        /// Identifier of the format.
        format: &'static str,
        /// Option that was given.
        option: ReadOption,
    },
    /// The thread that reads the input ended without a result.
    #[error("reading the input stopped unexpectedly")]
    Stopped,
}
