//! A wall clock for programs under test, which the test can change while they run.

use std::{
    fs,
    path::{Path, PathBuf},
};

use tempfile::NamedTempFile;

use crate::process::{self, Finished};

/// A clock for programs that are started with [`WallClock::environment`]: the system's clock with an offset. The
/// programs' monotonic clock is unchanged, as after a change of a machine's time.
#[derive(Debug)]
pub struct WallClock {
    library: PathBuf,
    offset: NamedTempFile,
}

impl WallClock {
    /// A clock with the system's time.
    ///
    /// # Panics
    ///
    /// Panics if the Debian package `faketime` is not installed, or no file can be written.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "it takes a library that may not be installed")]
    pub fn new() -> Self {
        let folders = fs::read_dir("/usr/lib").into_iter().flatten().flatten();
        let libraries = folders.map(|folder| folder.path().join("faketime/libfaketimeMT.so.1"));
        let library = libraries.into_iter().find(|library| library.is_file());
        let library = library.expect("libfaketime: install the Debian package `faketime`");
        let clock = Self { library, offset: NamedTempFile::new().expect("a file") };
        clock.set_ahead(0);
        clock
    }

    /// Sets the clock ahead of the system's clock, or behind if negative.
    ///
    /// # Panics
    ///
    /// Panics if the file cannot be written.
    pub fn set_ahead(&self, seconds: i64) {
        // The file is replaced as a whole: programs read it at any time.
        let next = self.offset.path().with_extension("next");
        fs::write(&next, format!("{seconds:+}\n")).expect("a file");
        fs::rename(next, self.offset.path()).expect("a file");
    }

    /// Runs `assay` by this clock, as [`crate::assay()`] runs it.
    ///
    /// # Panics
    ///
    /// Panics if the program cannot be run.
    #[must_use]
    pub fn assay(&self, directory: &Path, arguments: &[&str]) -> Finished {
        let mut command = process::command(directory, arguments);
        command.envs(self.environment()).output().expect("assay runs").into()
    }

    /// Environment variables by which a program uses this clock.
    #[must_use]
    pub fn environment(&self) -> Vec<(&'static str, String)> {
        let text = |path: &std::path::Path| path.display().to_string();
        vec![
            ("LD_PRELOAD", text(&self.library)),
            ("FAKETIME_TIMESTAMP_FILE", text(self.offset.path())),
            ("FAKETIME_NO_CACHE", "1".to_owned()),
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
            ("NO_FAKE_STAT", "1".to_owned()),
        ]
    }
}
