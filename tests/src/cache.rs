//! What `tests/run` built once.

use std::{
    env, fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

/// The newest file `within` a folder `NAME-VERSION` of what is built once.
pub(crate) fn newest(name: &str, within: &str) -> Option<PathBuf> {
    let set = |variable: &str| env::var_os(variable).map(PathBuf::from);
    let cache = set("ASSAY_CACHE")
        .or_else(|| Some(set("XDG_CACHE_HOME")?.join("assay")))
        .or_else(|| Some(set("HOME")?.join(".cache/assay")))?;
    fs::read_dir(cache)
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|folder| {
            let folder = folder.file_name().map(|name| name.to_string_lossy().into_owned());
            folder.is_some_and(|folder| folder.starts_with(&format!("{name}-")))
        })
        .map(|folder| folder.join(within))
        .filter(|file| file.is_file())
        .max_by_key(|file| changed(file))
}

fn changed(file: &Path) -> Option<SystemTime> {
    fs::metadata(file).and_then(|metadata| metadata.modified()).ok()
}
