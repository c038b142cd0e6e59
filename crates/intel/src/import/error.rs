//! Errors of imports.

use assay_engine::names::InvalidName;
use assay_input::FetchError;
use assay_store::StoreError;

use crate::{
    formats::{FormatReadError, ReadOption, UnknownFormat},
    plan::{PublicationRefusal, rejections},
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
    #[error("{origin}: {source}{}", advice(.command.as_deref()))]
    Refused {
        /// Path or URL of the input.
        origin: String,
        /// Reason.
        #[source]
        source: Box<PublicationRefusal>,
        /// Command that accepts the file; `None` if none does.
        command: Option<String>,
    },
    /// The label set is empty. The source keeps its labels.
    #[error(
        "{origin} holds no label that can be imported{}: nothing was changed",
        rejections(*.rejected, .first.as_ref())
    )]
    NoLabels {
        /// Path or URL of the input.
        origin: String,
        /// Number of rows that were rejected.
        rejected: usize,
        /// Reason why the first of them was rejected.
        first: Option<String>,
    },
    /// The files hold no price.
    #[error("{origin} holds no price: nothing was changed")]
    NoPrices {
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

impl ImportError {
    /// A refusal of the content of an input, without the command that accepts it.
    pub(super) fn refused(origin: &str, source: PublicationRefusal) -> Self {
        Self::Refused { origin: origin.to_owned(), source: Box::new(source), command: None }
    }
}

fn advice(command: Option<&str>) -> String {
    command.map_or_else(String::new, |command| {
        format!(
            "; if it is right, set acceptDigest in the manifest of the source, or run: {command}"
        )
    })
}
