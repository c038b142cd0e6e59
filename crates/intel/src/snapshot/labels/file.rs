//! The index of the labels in a file, which programs read instead of all labels in the store.
//!
//! The file is a cache: it is of use only for the state of the labels that it was built from, and one that is missing,
//! outdated, damaged or of another program is built again.

use std::path::Path;

use assay_mapped::{MappedError, WholeFile};
use assay_store::intel::LabelRevision;

use super::{LabelIndex, layout::Layout, recorded::RecordedLabels};

/// Name of the file in its folder.
const FILE_NAME: &str = "labels.index";
/// Fewer labels are read from the store as fast as from a file.
const FEWEST_LABELS: usize = 500;

/// The file of a label index in a folder.
#[derive(Clone, Debug)]
pub(in crate::snapshot) struct LabelIndexFile(WholeFile);

impl LabelIndexFile {
    pub(in crate::snapshot) fn in_folder(folder: &Path) -> Self {
        Self(WholeFile::new(folder.join(FILE_NAME)))
    }

    /// The index of a state of the labels; `None` if the file does not have it.
    pub(in crate::snapshot) fn open(&self, revision: &LabelRevision) -> Option<LabelIndex> {
        let file = self.0.path().display();
        let read = self.0.read();
        let content = read
            .inspect_err(|error| tracing::warn!(%error, "the label index cannot be read"))
            .ok()??;
        // An outdated file is not worth its checksum.
        if Layout::revision_of(&content).is_some_and(|of_file| of_file != *revision) {
            return None;
        }
        let opened = RecordedLabels::open(content)
            .inspect_err(|error| tracing::info!(%file, %error, "the label index is built again"));
        opened.ok().filter(|labels| labels.revision() == revision).map(LabelIndex::new)
    }

    /// Writes an index into the file; one of few labels removes the file. If this fails, programs that start later read
    /// all labels from the store.
    pub(in crate::snapshot) fn keep(&self, index: &LabelIndex) {
        let kept = if index.len() < FEWEST_LABELS {
            self.0.remove()
        } else {
            self.0.replace(index.recorded.bytes())
        };
        match kept {
            // The other program writes the index of this state, or of a later one.
            Ok(()) | Err(MappedError::Busy { .. }) => {}
            Err(error) => tracing::warn!(%error, "the label index is not kept"),
        }
    }
}
