//! A small file system that tests can fill.

use std::{
    fs::{self, File},
    io::Write,
    path::Path,
    process::Command,
};

use tempfile::TempDir;

/// A file system in memory, unmounted when dropped.
#[derive(Debug)]
pub struct SmallDisk(TempDir);

impl SmallDisk {
    /// Mounts a file system of a size.
    ///
    /// # Panics
    ///
    /// Panics if this process may not mount one.
    #[must_use]
    pub fn mount(mebibytes: u32) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let options = format!("size={mebibytes}m,mode=1777");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &options, "tmpfs"])
            .arg(directory.path())
            .output()
            .expect("mount runs");
        let stderr = String::from_utf8_lossy(&mounted.stderr);
        assert!(mounted.status.success(), "no disk can be mounted, which takes root: {stderr}");
        Self(directory)
    }

    /// Path of the file system.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Fills the file system.
    ///
    /// # Panics
    ///
    /// Panics if a write fails while there is space.
    pub fn fill(&self) {
        let mut ballast = File::create(self.0.path().join("ballast")).expect("a file");
        for piece in [1 << 20, 1 << 12, 1] {
            while ballast.write_all(&vec![0; piece]).is_ok() {}
        }
    }

    /// Makes the file system read-only.
    ///
    /// # Panics
    ///
    /// Panics if a program still writes.
    pub fn make_read_only(&self) {
        let mounted = Command::new("mount").args(["-o", "remount,ro"]).arg(self.0.path()).output();
        let mounted = mounted.expect("mount runs");
        assert!(mounted.status.success(), "{}", String::from_utf8_lossy(&mounted.stderr));
    }

    /// Frees the space that [`Self::fill`] took.
    ///
    /// # Panics
    ///
    /// Panics if the file system was not filled.
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
