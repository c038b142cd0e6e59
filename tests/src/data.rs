//! The real data that tests use, in the folder `ASSAY_TEST_DATA`.

use std::{
    env, fs,
    io::copy,
    path::{Path, PathBuf},
};

use bzip2::read::MultiBzDecoder;
use tempfile::NamedTempFile;

use crate::tools::cache;

/// The folder with real data.
#[derive(Clone, Debug)]
pub struct TestData(PathBuf);

impl TestData {
    /// The folder: `ASSAY_TEST_DATA`, or `../shared/data` of the project.
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

    /// The path of a file in the folder.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// A text file of the folder.
    ///
    /// # Panics
    ///
    /// Panics if the file cannot be read.
    #[must_use]
    pub fn text(&self, name: &str) -> String {
        let path = self.path(name);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// A compressed original of OFAC's list, by its date.
    ///
    /// # Panics
    ///
    /// Panics if there is no list of that day.
    #[must_use]
    pub fn ofac(&self, day: &str) -> PathBuf {
        let folder = self.path("sanctions/ofac-sdn-advanced");
        let files = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{error}"));
        files
            .filter_map(|entry| Some(entry.ok()?.path()))
            .find(|path| path.to_string_lossy().contains(&format!("sdn_advanced_{day}")))
            .unwrap_or_else(|| panic!("no list of {day} in {}", folder.display()))
    }

    /// The decompressed list of a date. Decompression takes as long as an import, so the cache keeps the result.
    ///
    /// # Panics
    ///
    /// Panics if there is no list of that day, or the cache cannot be written.
    #[must_use]
    pub fn ofac_unpacked(&self, day: &str) -> PathBuf {
        let packed = self.ofac(day);
        let name = packed.file_stem().expect("a file").to_string_lossy();
        // A corrected list has another length.
        let length = fs::metadata(&packed).expect("the list can be read").len();
        let folder = cache().expect("a home directory").join("test-data");
        let unpacked = folder.join(format!("{length}-{name}"));
        if !unpacked.is_file() {
            fs::create_dir_all(&folder).expect("a folder in the cache");
            let mut file = NamedTempFile::new_in(&folder).expect("a file in the cache");
            let packed = fs::File::open(&packed).expect("the list can be read");
            copy(&mut MultiBzDecoder::new(packed), &mut file).expect("it can be unpacked");
            file.persist(&unpacked).expect("it can be renamed");
        }
        unpacked
    }
}
