//! The lock that admits one server at a time to a data directory.

use std::{
    fs::{File, TryLockError},
    path::Path,
};

use crate::commands::Failure;

/// Name of the lock file in the data directory.
const LOCK_FILE: &str = "serve.lock";

/// Locks a data directory for one server: two servers on one embedded database would count limits separately.
pub(in crate::commands) fn lock(directory: &Path) -> Result<File, Failure> {
    let path = directory.join(LOCK_FILE);
    let failed = |error| Failure::Failed(format!("failed to lock {}: {error}", path.display()));
    let file = File::create(&path).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Failure::Failed(format!(
            "another server uses {}: stop it or choose another --data-dir",
            directory.display()
        ))),
        Err(TryLockError::Error(error)) => Err(failed(error)),
    }
}
