//! A disk of the tests' own that is soon full.

use std::{
    fs::{self, File},
    io::Write,
    path::Path,
    process::Command,
};

use tempfile::TempDir;

/// A disk in memory, gone when this is dropped.
#[derive(Debug)]
pub struct SmallDisk(TempDir);

impl SmallDisk {
    /// A disk of so many mebibytes; `None`, and a line that says so, where this process may not mount
    /// one.
    ///
    /// # Panics
    ///
    /// Where there is no directory to mount it on.
    #[must_use]
    #[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
    pub fn mount(mebibytes: u32) -> Option<Self> {
        let directory = tempfile::tempdir().expect("a directory");
        let options = format!("size={mebibytes}m,mode=1777");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &options, "tmpfs"])
            .arg(directory.path())
            .output();
        match mounted {
            Ok(run) if run.status.success() => Some(Self(directory)),
            _ => {
                eprintln!("SKIPPED: a disk that is full needs the right to mount one");
                None
            }
        }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Leaves no byte free.
    ///
    /// # Panics
    ///
    /// Where it cannot be written to, even while there is room.
    pub fn fill(&self) {
        let mut ballast = File::create(self.0.path().join("ballast")).expect("a file");
        for piece in [1 << 20, 1 << 12, 1] {
            while ballast.write_all(&vec![0; piece]).is_ok() {}
        }
    }

    /// Makes room again.
    ///
    /// # Panics
    ///
    /// Where it was not full.
    pub fn clear(&self) {
        fs::remove_file(self.0.path().join("ballast")).expect("what filled it");
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: a server may just be ending.
        let _ = Command::new("umount").arg("--lazy").arg(self.0.path()).status();
    }
}
