//! The real data that tests use. It lies beside the project, in `ASSAY_TEST_DATA`.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

/// The folder with real data.
#[derive(Clone, Debug)]
pub struct TestData(PathBuf);

impl TestData {
    /// The folder: `ASSAY_TEST_DATA`, or `shared/data` beside the project.
    ///
    /// # Panics
    ///
    /// Panics if there is no such folder.
    #[must_use]
    pub fn find() -> Self {
        let usual = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data");
        let folder = env::var_os("ASSAY_TEST_DATA").map_or(usual, PathBuf::from);
        let is_there = folder.join("README.md").is_file();
        assert!(is_there, "no test data in {}: set ASSAY_TEST_DATA", folder.display());
        Self(folder)
    }

    /// A file of the folder.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// A text file of the folder.
    ///
    /// # Panics
    ///
    /// Panics if it cannot be read.
    #[must_use]
    pub fn text(&self, name: &str) -> String {
        let path = self.path(name);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// An original of OFAC's list, by its date.
    ///
    /// # Panics
    ///
    /// Panics if there is none of that day.
    #[must_use]
    pub fn ofac(&self, day: &str) -> PathBuf {
        let folder = self.path("sanctions/ofac-sdn-advanced");
        let files = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{error}"));
        files
            .filter_map(|entry| Some(entry.ok()?.path()))
            .find(|path| path.to_string_lossy().contains(&format!("sdn_advanced_{day}")))
            .unwrap_or_else(|| panic!("no list of {day} in {}", folder.display()))
    }
}
