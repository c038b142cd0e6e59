//! Checks of the blocks of all files together: the blocks connect, and belong to the requested chain.

use super::{FileSource, index::Entry};
use crate::{BlockSource, SourceError, TestNetworks, identity};

impl FileSource {
    /// Checks that no file is missing between the files.
    pub(super) fn check_connected(&mut self) -> Result<(), SourceError> {
        let Some(entry) = self.index.unconnected() else { return Ok(()) };
        let header = self.header(&entry)?;
        let (hash, parent) = (header.hash(), header.parent);
        Err(SourceError::NotConnected { origin: self.position(&entry), hash, parent })
    }

    /// Checks that the files belong to the chain, as far as blocks of the files identify the chain, and that no block's
    /// target is easier than the chain allows (files of single blocks have no magic number of their network).
    pub(super) fn check_chain(&mut self, test_networks: TestNetworks) -> Result<(), SourceError> {
        let path = self.files.first().map(|file| file.path().display().to_string());
        let (chain, path) = (self.chain, path.unwrap_or_default());
        identity::check(chain, &path, test_networks, |height| self.hash_at(height))?;
        let limit = self.params.limit_of(test_networks);
        let above = |entry: &&Entry| entry.target_header().check_target(limit).is_err();
        let Some(entry) = self.index.blocks().find(above).copied() else { return Ok(()) };
        let header = self.header(&entry)?;
        header
            .check_target(limit)
            .map_err(|source| SourceError::Raw { origin: self.position(&entry), source })
    }
}
