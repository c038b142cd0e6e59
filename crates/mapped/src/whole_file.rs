//! A file that is read and replaced as a whole.
//!
//! Content that takes long to compute is written once and read by every program that starts later. It is read into memory
//! instead of being mapped: a checksum of it then holds for as long as the program uses it, whatever happens to the file.

use std::{
    ffi::OsString,
    fs::{self, DirBuilder, File, Metadata, OpenOptions},
    io::{self, ErrorKind, Read, Write},
    path::{Path, PathBuf},
};

use crate::{MappedError, open::lock_file};

/// A file that only whole content replaces.
#[derive(Clone, Debug)]
pub struct WholeFile(PathBuf);

impl WholeFile {
    /// Returns the file at `path`, which need not exist.
    #[must_use]
    pub const fn new(path: PathBuf) -> Self {
        Self(path)
    }

    /// Returns the path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Reads the content; `None` if there is no file. The caller checks the content: a crash can leave a file without a
    /// part of it.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read, or if others than the program's user and root could have written it.
    pub fn read(&self) -> Result<Option<Vec<u8>>, MappedError> {
        let failed = |error| MappedError::File { path: self.0.clone(), error };
        let mut file = match open(&self.0) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        let metadata = file.metadata().map_err(failed)?;
        if !metadata.is_file() {
            return Err(failed(ErrorKind::InvalidInput.into()));
        }
        if is_open_to_others(&metadata) {
            return Err(MappedError::OpenToOthers { path: self.0.clone() });
        }
        let mut content = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or_default());
        file.read_to_end(&mut content).map_err(failed)?;
        Ok(Some(content))
    }

    /// Removes the file, if there is one.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be removed.
    pub fn remove(&self) -> Result<(), MappedError> {
        match fs::remove_file(&self.0) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(MappedError::File { path: self.0.clone(), error })
            }
            _ => Ok(()),
        }
    }

    /// Replaces the file by one with other content, and creates its folder if there is none.
    ///
    /// # Errors
    ///
    /// Returns [`MappedError::Busy`] if another program is replacing the file, or an error if the new file cannot be
    /// written. The file then stays as it was.
    pub fn replace(&self, content: &[u8]) -> Result<(), MappedError> {
        let path = &*self.0;
        let failed = |error: io::Error| match error.kind() {
            ErrorKind::StorageFull => MappedError::DiskFull { path: path.to_owned() },
            _ => MappedError::File { path: path.to_owned(), error },
        };
        let mut private = DirBuilder::new();
        private.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut private, 0o700);
        private.create(folder_of(path)).map_err(failed)?;
        // Held to the end: only its holder writes the new file, which no other program knows by this name.
        let _lock = lock_file(&longer_path(path, ".lock"))?;
        let new = longer_path(path, ".new");
        let written = write_new(&new, content).and_then(|()| fs::rename(&new, path));
        written.map_err(|error| {
            // The error says more than that a part of a file could not be removed.
            let _ = fs::remove_file(&new);
            failed(error)
        })
    }
}

/// Opens a file for reading: no link, and without waiting for the writer of a pipe.
fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, flags.bits().cast_signed());
    }
    options.open(path)
}

/// True if others than the program's user and root can write a file.
#[cfg(unix)]
fn is_open_to_others(metadata: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    let is_trusted = [rustix::process::geteuid().as_raw(), 0].contains(&metadata.uid());
    !is_trusted || metadata.mode() & 0o022 != 0
}

#[cfg(not(unix))]
const fn is_open_to_others(_: &Metadata) -> bool {
    false
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

/// A path with a longer name in the same folder.
fn longer_path(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    name.into()
}

/// Writes a private file. The remains of one, by a program that ended, are removed first and not written over.
fn write_new(path: &Path, content: &[u8]) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(content)?;
    // What the disk refuses is told before the file takes its name.
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file_in(folder: &tempfile::TempDir) -> WholeFile {
        WholeFile::new(folder.path().join("labels.index"))
    }

    #[test]
    fn content_is_replaced_as_a_whole() {
        let folder = tempfile::tempdir().unwrap();
        let file = WholeFile::new(folder.path().join("data").join("labels.index"));
        assert!(file.read().unwrap().is_none());
        for content in [&b"before"[..], b"after", b""] {
            file.replace(content).unwrap();
            assert_eq!(file.read().unwrap().unwrap(), content);
        }
        file.remove().unwrap();
        file.remove().unwrap();
        assert!(file.read().unwrap().is_none());
    }

    #[test]
    fn one_program_replaces_a_file_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let file = file_in(&folder);
        let other = lock_file(&longer_path(file.path(), ".lock")).unwrap();
        let busy = file.replace(b"mine");
        assert!(matches!(busy, Err(MappedError::Busy { .. })), "{busy:?}");
        assert!(file.read().unwrap().is_none());
        drop(other);
        file.replace(b"mine").unwrap();
    }

    #[test]
    fn what_a_killed_program_left_is_written_anew() {
        let folder = tempfile::tempdir().unwrap();
        let file = file_in(&folder);
        let new = longer_path(file.path(), ".new");
        fs::write(&new, b"half of").unwrap();
        file.replace(b"all").unwrap();
        assert_eq!(file.read().unwrap().unwrap(), b"all");
        assert!(!new.exists());
    }

    #[test]
    fn what_is_no_file_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let file = file_in(&folder);
        fs::create_dir(file.path()).unwrap();
        assert!(file.read().is_err() && file.replace(b"x").is_err() && file.remove().is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_and_a_file_that_others_can_write_are_refused() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let file = file_in(&folder);
        file.replace(b"mine").unwrap();
        let linked = WholeFile::new(folder.path().join("link"));
        symlink(file.path(), linked.path()).unwrap();
        assert!(matches!(linked.read(), Err(MappedError::File { .. })));
        fs::set_permissions(file.path(), fs::Permissions::from_mode(0o622)).unwrap();
        let refused = file.read().unwrap_err();
        assert!(matches!(refused, MappedError::OpenToOthers { .. }), "{refused}");
    }
}
