//! The index of the labels in a file, which programs map instead of reading all labels from the store.
//!
//! The file is a cache: it is of use only for the state of the labels that it was built from, and one that is missing,
//! outdated, damaged or of another program is built again.

use std::path::{Path, PathBuf};

use assay_mapped::MappedFile;
use assay_store::intel::LabelRevision;

use super::{LabelIndex, recorded::RecordedLabels};

/// Name of the file in its folder.
const FILE_NAME: &str = "labels.index";
/// Fewer labels are read from the store as fast as from a file.
const FEWEST_LABELS: usize = 500;

/// The file of a label index in a folder.
#[derive(Clone, Debug)]
pub(in crate::snapshot) struct LabelIndexFile(PathBuf);

impl LabelIndexFile {
    pub(in crate::snapshot) fn in_folder(folder: &Path) -> Self {
        Self(folder.join(FILE_NAME))
    }

    /// The index of a state of the labels; `None` if the file does not have it.
    pub(in crate::snapshot) fn open(&self, revision: &LabelRevision) -> Option<LabelIndex> {
        let file = self.0.display();
        let mapped = MappedFile::open(&self.0)
            .inspect_err(|error| tracing::debug!(%error, "the label index is not mapped"));
        let opened = RecordedLabels::open(Box::new(mapped.ok()??))
            .inspect_err(|error| tracing::info!(%file, %error, "the label index is built again"));
        opened.ok().filter(|labels| labels.revision() == revision).map(LabelIndex::new)
    }

    /// Writes an index into the file, and maps it. If this fails, the index stays in memory.
    pub(in crate::snapshot) fn keep(&self, index: LabelIndex) -> LabelIndex {
        if index.len() < FEWEST_LABELS {
            return index;
        }
        match MappedFile::replace(&self.0, index.recorded.bytes()) {
            Ok(()) => self.open(index.revision()).unwrap_or(index),
            Err(error) => {
                tracing::info!(%error, "the label index stays in memory");
                index
            }
        }
    }
}
