//! Where the nodes' programs are.
//!
//! `tests/run` installs and builds them and says where they are in the environment; without it they
//! are looked for where it would have put them.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use super::Kind;

/// The program of a kind of node; `None`, and a line that says so, where it is not there.
pub(super) fn find(kind: Kind) -> Option<PathBuf> {
    let (variable, found, remedy) = match kind {
        Kind::BitcoinCore => ("ASSAY_BITCOIND", cached("bitcoind"), "./tests/run --full builds it"),
        Kind::Btcd => ("ASSAY_BTCD", cached("btcd"), "./tests/run builds it where Go is there"),
        Kind::Litecoin { .. } => {
            ("ASSAY_LITECOIND", on_path("litecoind"), "install the package `litecoind`")
        }
    };
    let program = env::var_os(variable).map(PathBuf::from).or(found);
    let program = program.filter(|program| program.is_file());
    if program.is_none() {
        #[expect(clippy::print_stderr, reason = "a skipped test must say so")]
        {
            eprintln!("SKIPPED: no {kind} here: {remedy}, or set {variable}");
        }
    }
    program
}

/// The program of that name in the newest folder `NAME-VERSION` of what is built once.
fn cached(name: &str) -> Option<PathBuf> {
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
        .map(|folder| folder.join("bin").join(name))
        .filter(|program| program.is_file())
        .max_by_key(|program| changed(program))
}

fn changed(program: &Path) -> Option<std::time::SystemTime> {
    fs::metadata(program).and_then(|metadata| metadata.modified()).ok()
}

fn on_path(name: &str) -> Option<PathBuf> {
    let folders = env::var_os("PATH")?;
    env::split_paths(&folders).map(|folder| folder.join(name)).find(|program| program.is_file())
}
