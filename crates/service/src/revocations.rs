//! Revoked keys in a file outside the database: a database restored from an old backup lacks their revocation
//! and must not make them valid again.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
};

use assay_store::{ControlStore, StoreError};
use assay_tenancy::key::KeyId;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// List of revoked keys in an append-only file with one JSON object per line.
#[derive(Clone, Debug)]
pub struct Revocations {
    path: PathBuf,
}

/// Error of reading or writing the list.
#[derive(Debug, thiserror::Error)]
pub enum RevocationError {
    /// The file failed.
    #[error("failed to read or write the list of revoked keys in {path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// The error.
        #[source]
        source: io::Error,
    },
    /// A line is malformed.
    #[error("{path}, line {line}, is not a revoked key: repair the line or restore the file")]
    Line {
        /// The file.
        path: PathBuf,
        /// Line number.
        line: usize,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RevocationEntry {
    key: String,
    dead_from: Timestamp,
}

impl Revocations {
    /// Returns the list in a file, which may not exist yet.
    #[must_use]
    pub const fn in_file(path: PathBuf) -> Self {
        Self { path }
    }

    /// Says whether the file exists.
    #[must_use]
    pub fn exists(&self) -> bool {
        self.path.is_file()
    }

    /// Records that a key is revoked from `dead_from`. The record is on disk when this function returns.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be written.
    pub fn append(&self, key: &KeyId, dead_from: Timestamp) -> Result<(), RevocationError> {
        let entry = RevocationEntry { key: key.to_string(), dead_from };
        let write = || -> io::Result<()> {
            if let Some(folder) = self.path.parent() {
                fs::create_dir_all(folder)?;
            }
            let mut file = OpenOptions::new().create(true).append(true).open(&self.path)?;
            let mut line = serde_json::to_vec(&entry)?;
            line.push(b'\n');
            file.write_all(&line)?;
            file.sync_all()
        };
        write().map_err(|source| self.failed(source))
    }

    /// Revokes every key of the list that is active in a store, and returns their number.
    ///
    /// A rotated key within its overlap is revoked too if the store has no expiry of it: the store comes from a backup,
    /// which may lack the key's successor as well.
    ///
    /// # Errors
    ///
    /// Returns an error if the list cannot be read or the store fails.
    pub async fn enforce(
        &self,
        store: &dyn ControlStore,
        now: Timestamp,
    ) -> Result<u64, RevocationError> {
        let entries = self.read()?;
        if entries.is_empty() {
            return Ok(0);
        }
        let control = store.control().await?;
        let mut revoked = 0;
        for RevocationEntry { key, dead_from } in entries {
            let known = control.keys.iter().find(|record| record.id.as_str() == key);
            let Some(record) = known.filter(|record| record.is_active(now)) else { continue };
            let knows_its_end = record.expires_at.is_some_and(|expires| expires <= dead_from);
            if !knows_its_end {
                store.revoke_key(&record.id, now).await?;
                revoked += 1;
            }
        }
        Ok(revoked)
    }

    fn read(&self) -> Result<Vec<RevocationEntry>, RevocationError> {
        let text = match fs::read_to_string(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(self.failed(source)),
        };
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        lines
            .map(|(index, line)| {
                serde_json::from_str(line)
                    .map_err(|_| RevocationError::Line { path: self.path.clone(), line: index + 1 })
            })
            .collect()
    }

    fn failed(&self, source: io::Error) -> RevocationError {
        RevocationError::File { path: self.path.clone(), source }
    }
}

/// Revokes every active key of a store: the safe choice if the keys revoked since a backup are unknown.
///
/// # Errors
///
/// Returns an error if the store fails.
pub async fn revoke_all(store: &dyn ControlStore, now: Timestamp) -> Result<u64, StoreError> {
    let mut revoked = 0;
    for record in store.control().await?.keys.iter().filter(|record| record.is_active(now)) {
        store.revoke_key(&record.id, now).await?;
        revoked += 1;
    }
    Ok(revoked)
}

/// Returns the default path of the list, next to the embedded database.
#[must_use]
pub fn default_path(data_dir: &Path) -> PathBuf {
    data_dir.join("revoked-keys.jsonl")
}
