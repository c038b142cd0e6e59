//! Where the nodes' programs are.
//!
//! `tests/run` installs and builds them and says where they are in the environment; without it they
//! are looked for where it would have put them.

use std::{env, path::PathBuf};

use super::Kind;
use crate::cache;

/// The program of a kind of node; `None`, and a line that says so, where it is not there.
pub(super) fn find(kind: Kind) -> Option<PathBuf> {
    let (variable, found, remedy) = match kind {
        Kind::BitcoinCore => ("ASSAY_BITCOIND", built("bitcoind"), "./tests/run --full builds it"),
        Kind::Btcd => ("ASSAY_BTCD", built("btcd"), "./tests/run builds it where Go is there"),
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

fn built(name: &str) -> Option<PathBuf> {
    cache::newest(name, &format!("bin/{name}"))
}

fn on_path(name: &str) -> Option<PathBuf> {
    let folders = env::var_os("PATH")?;
    env::split_paths(&folders).map(|folder| folder.join(name)).find(|program| program.is_file())
}
