//! Where the programs of a cluster are.

use std::{
    env,
    path::{Path, PathBuf},
};

use crate::cache;

/// There once everything was built.
const COMPLETE: &str = "complete";

/// The folder that `tests/kubernetes.sh` filled; `None`, and a line that says so, where there is none.
pub(super) fn find() -> Option<PathBuf> {
    let built = || cache::newest("kubernetes", COMPLETE)?.parent().map(Path::to_owned);
    let root = env::var_os("ASSAY_KUBERNETES").map(PathBuf::from).or_else(built);
    let root = root.filter(|root| root.join(COMPLETE).is_file());
    if root.is_none() {
        #[expect(clippy::print_stderr, reason = "a skipped test must say so")]
        {
            eprintln!(
                "SKIPPED: no Kubernetes here: ./tests/run --full builds it, or set ASSAY_KUBERNETES"
            );
        }
    }
    root
}
