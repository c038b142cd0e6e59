//! Assay on a real Kubernetes API server.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]
#![expect(clippy::print_stderr, reason = "figures that no test asserts are shown")]
#![expect(clippy::needless_pass_by_value, reason = "fixtures read better without borrows")]

mod attempts;
mod audit;
mod causes;
mod connections;
mod definitions;
mod faults;
mod flaky;
mod following;
mod instances;
mod leaving;
mod linted;
mod modes;
mod operator;
mod pages;
mod plans;
mod platform;
mod refused;
mod rights;
mod scope;
mod security;
mod service;
mod shaped;
mod source_secrets;
mod sources;
mod traced;

use std::{
    path::Path,
    sync::{Mutex, MutexGuard, OnceLock},
};

use assay_tests::Cluster;

/// Path of the generated definitions.
const DEFINITIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../crds/manifests");

/// Rights of the operator.
const RIGHTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../operator/rights.yaml");

/// The cluster of these tests, with the definitions applied, for one test at a time.
pub(crate) fn cluster() -> MutexGuard<'static, Cluster> {
    static CLUSTER: OnceLock<Mutex<Cluster>> = OnceLock::new();
    let cluster = CLUSTER.get_or_init(|| {
        let cluster = Cluster::start();
        assert!(Path::new(DEFINITIONS).is_dir(), "the definitions are generated");
        cluster.kubectl(&["apply", "--server-side", "-f", DEFINITIONS]);
        let established = ["wait", "--for=condition=Established", "crd", "--all", "--timeout=60s"];
        cluster.kubectl(&established);
        // Pods that are not restricted are refused.
        let restricted = "pod-security.kubernetes.io/enforce=restricted";
        cluster.kubectl(&["label", "namespace", "default", restricted]);
        modes::grant(&cluster, RIGHTS, modes::CLUSTER.account, "default");
        modes::prepare(&cluster);
        Mutex::new(cluster)
    });
    // A failed test must not fail this one.
    cluster.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
