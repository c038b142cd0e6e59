//! Finds programs that `tests/run` builds or fetches once, and keeps in its cache.

use std::{
    env, fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

/// File that marks a folder of the cache as complete.
const COMPLETE: &str = "complete";

/// The path of a program: in a folder of `ASSAY_TOOLS`, a list like `PATH`, if set; otherwise in the newest complete
/// folder of the cache that has the program.
///
/// # Panics
///
/// Panics if there is no such program.
pub(crate) fn tool(name: &str) -> PathBuf {
    let found = match env::var_os("ASSAY_TOOLS") {
        Some(folders) => env::split_paths(&folders)
            .map(|folder| folder.join(name))
            .find(|program| program.is_file()),
        None => newest(name),
    };
    found.unwrap_or_else(|| {
        panic!("{name} is not built: run ./tests/run, or list its folder in ASSAY_TOOLS")
    })
}

/// The folder of the cache that a program was built into.
///
/// # Panics
///
/// Panics if there is no such program.
pub(crate) fn folder_of(name: &str) -> PathBuf {
    let program = tool(name);
    program.ancestors().nth(2).expect("a program lies in `bin`").to_owned()
}

/// The cache folder of `tests/run`.
pub(crate) fn cache() -> Option<PathBuf> {
    let set = |variable: &str| env::var_os(variable).map(PathBuf::from);
    set("ASSAY_CACHE")
        .or_else(|| Some(set("XDG_CACHE_HOME")?.join("assay")))
        .or_else(|| Some(set("HOME")?.join(".cache/assay")))
}

fn newest(name: &str) -> Option<PathBuf> {
    fs::read_dir(cache()?)
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|folder| folder.join("bin").join(name).is_file())
        .filter_map(|folder| Some((modified(&folder.join(COMPLETE))?, folder)))
        .max()
        .map(|(_, folder)| folder.join("bin").join(name))
}

fn modified(file: &Path) -> Option<SystemTime> {
    fs::metadata(file).and_then(|metadata| metadata.modified()).ok()
}
