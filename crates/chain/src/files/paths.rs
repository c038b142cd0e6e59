//! Expansion of a path to the block files that it names.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::open;

/// Returns the files that a path names, in order.
pub(super) fn expand(path: &Path) -> io::Result<Vec<PathBuf>> {
    if !fs::metadata(path)?.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let within = path.join("blocks");
    let mut all = files_of(path)?;
    if !all.iter().any(|file| open::is_block_file(file)) && within.is_dir() {
        all = files_of(&within)?;
    }
    if all.iter().any(|file| open::is_block_file(file)) {
        all.retain(|file| open::is_block_file(file));
    }
    all.sort();
    Ok(all)
}

fn files_of(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_file() {
            files.push(path);
        }
    }
    Ok(files)
}
