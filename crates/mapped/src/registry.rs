//! The environments that are open in this process, at most one for each folder.
//!
//! A process must not open an LMDB file twice: closing one of the two would release the locks of both.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak},
};

use crate::{MappedEnvironment, MappedError};

static OPEN: LazyLock<Mutex<HashMap<PathBuf, Weak<MappedEnvironment>>>> =
    LazyLock::new(Mutex::default);

/// The locked registry: no other thread can open an environment meanwhile.
pub(crate) struct Registry(MutexGuard<'static, HashMap<PathBuf, Weak<MappedEnvironment>>>);

impl Registry {
    pub(crate) fn lock() -> Self {
        Self(OPEN.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The environment of `folder`, if it is already open.
    ///
    /// # Errors
    ///
    /// Returns [`MappedError::Replaced`] if the open environment is still in use although its file was deleted
    /// meanwhile.
    pub(crate) fn find(
        &mut self,
        folder: &Path,
    ) -> Result<Option<Arc<MappedEnvironment>>, MappedError> {
        let Some(open) = self.0.get(folder).and_then(Weak::upgrade) else {
            self.0.remove(folder);
            return Ok(None);
        };
        if open.is_current() {
            return Ok(Some(open));
        }
        Err(MappedError::Replaced { path: folder.to_owned() })
    }

    pub(crate) fn insert(&mut self, folder: PathBuf, opened: &Arc<MappedEnvironment>) {
        self.0.insert(folder, Arc::downgrade(opened));
    }
}
