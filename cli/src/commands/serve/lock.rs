//! One server at a time in a data directory.

use std::{
    fs::{File, TryLockError},
    path::Path,
};

use crate::commands::Failure;

/// One server per data directory holds this file locked.
const LOCK_FILE: &str = "serve.lock";

/// Two servers on one database would each count limits of their own.
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
