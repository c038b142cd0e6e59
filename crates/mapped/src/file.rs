//! A file that is mapped for reading and replaced as a whole.
//!
//! Content that takes long to compute is written once and read in place by every program that starts later. A file never
//! changes: new content is a new file with the same name, and programs keep what they mapped.

use std::{
    ffi::OsString,
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, ErrorKind, Write},
    ops::Deref,
    path::{Path, PathBuf},
};

use memmap2::Mmap;

use crate::{MappedError, file_system::check_not_network, open::lock_file};

/// The content of a file, read from the system's cache of the file when it is accessed.
#[derive(Debug)]
pub struct MappedFile(Mmap);

impl MappedFile {
    /// Maps the content of a file; `None` if there is no file. The caller checks the content: a crash can leave a file
    /// without a part of it.
    ///
    /// # Errors
    ///
    /// Returns an error if the file is on a network file system, where it could be cut while it is mapped, or cannot be
    /// read.
    pub fn open(path: &Path) -> Result<Option<Self>, MappedError> {
        let failed = |error| MappedError::File { path: path.to_owned(), error };
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        if !file.metadata().map_err(failed)?.is_file() {
            return Err(failed(ErrorKind::InvalidInput.into()));
        }
        check_not_network(folder_of(path))?;
        map(&file).map(|map| Some(Self(map))).map_err(failed)
    }

    /// Replaces a file by one with other content, and creates its folder if there is none. Programs that have mapped
    /// the file keep the content that they mapped.
    ///
    /// # Errors
    ///
    /// Returns [`MappedError::Busy`] if another program is replacing the file, or an error if the new file cannot be
    /// written. The file then stays as it was.
    pub fn replace(path: &Path, content: &[u8]) -> Result<(), MappedError> {
        let failed = |error: io::Error| match error.kind() {
            ErrorKind::StorageFull => MappedError::DiskFull { path: path.to_owned() },
            _ => MappedError::File { path: path.to_owned(), error },
        };
        let folder = folder_of(path);
        let mut private = DirBuilder::new();
        private.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut private, 0o700);
        private.create(folder).map_err(failed)?;
        check_not_network(folder)?;
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

impl Deref for MappedFile {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl AsRef<[u8]> for MappedFile {
    fn as_ref(&self) -> &[u8] {
        self
    }
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
    options.open(path)?.write_all(content)
}

#[expect(unsafe_code, reason = "the call that maps a file; nobody changes the file")]
fn map(file: &File) -> io::Result<Mmap> {
    // SAFETY: the bytes stay as they are while they are mapped, because `replace` writes to no file that is in its
    // place: it creates another one and renames it. The file is on this machine (`check_not_network`), and is private to
    // the user (0600), who must not edit it.
    unsafe { Mmap::map(file) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_is_replaced_under_those_who_mapped_the_file() {
        // Given a file that is mapped
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data").join("labels.index");
        assert!(MappedFile::open(&path).unwrap().is_none());
        MappedFile::replace(&path, b"before").unwrap();
        let before = MappedFile::open(&path).unwrap().unwrap();
        // When it is replaced, by shorter content, and nothing
        MappedFile::replace(&path, b"after").unwrap();
        let after = MappedFile::open(&path).unwrap().unwrap();
        MappedFile::replace(&path, b"").unwrap();
        // Then each program has what it mapped
        assert_eq!((&*before, &*after), (&b"before"[..], &b"after"[..]));
        assert!(MappedFile::open(&path).unwrap().unwrap().is_empty());
    }

    #[test]
    fn one_program_replaces_a_file_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("labels.index");
        let other = lock_file(&longer_path(&path, ".lock")).unwrap();
        let busy = MappedFile::replace(&path, b"mine");
        assert!(matches!(busy, Err(MappedError::Busy { .. })), "{busy:?}");
        assert!(MappedFile::open(&path).unwrap().is_none());
        drop(other);
        MappedFile::replace(&path, b"mine").unwrap();
    }

    #[test]
    fn what_a_killed_program_left_is_written_anew() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("labels.index");
        fs::write(longer_path(&path, ".new"), b"half of").unwrap();
        MappedFile::replace(&path, b"all").unwrap();
        assert_eq!(&*MappedFile::open(&path).unwrap().unwrap(), b"all");
        assert!(!longer_path(&path, ".new").exists());
    }

    #[test]
    fn a_file_that_cannot_be_read_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("labels.index");
        fs::create_dir(&path).unwrap();
        assert!(MappedFile::open(&path).is_err() && MappedFile::replace(&path, b"x").is_err());
        assert!(MappedFile::replace(&path.join("f").join("x"), b"x").is_ok());
    }
}
