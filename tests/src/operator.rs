//! A running `assay-operator`, killed when it is dropped.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use assay_test_servers::free_port;
use tempfile::TempDir;

use crate::{Cluster, metrics::metric, process, wait_at_most};

/// An operator of a cluster, with a database.
#[derive(Debug)]
pub struct Operator {
    child: Child,
    directory: TempDir,
    /// Address of health and metrics.
    address: String,
}

impl Operator {
    /// Starts an operator in the namespace `default`.
    ///
    /// # Panics
    ///
    /// Panics if the operator does not start.
    #[must_use]
    pub fn start(cluster: &Cluster, database_url: &str, name: &str) -> Self {
        Self::start_in(cluster, "default", database_url, name, &[])
    }

    /// Starts an operator with the rights of the `ServiceAccount` `assay-operator` of a namespace, and with more flags.
    /// The operator becomes active when it holds the Lease in that namespace.
    ///
    /// # Panics
    ///
    /// Panics if the operator does not start.
    #[must_use]
    pub fn start_in(
        cluster: &Cluster,
        namespace: &str,
        database_url: &str,
        name: &str,
        flags: &[&str],
    ) -> Self {
        let config = cluster.config_of_account(namespace, "assay-operator");
        Self::start_by(&config, namespace, database_url, name, 6, flags)
    }

    /// Starts an operator with a kubeconfig, and a Lease of the given number of seconds.
    ///
    /// # Panics
    ///
    /// Panics if the operator does not start.
    #[must_use]
    pub fn start_by(
        kubeconfig: &str,
        namespace: &str,
        database_url: &str,
        name: &str,
        lease_seconds: u32,
        flags: &[&str],
    ) -> Self {
        let program = process::built_program("assay-operator");
        let place = (kubeconfig, namespace);
        Self::run(&program, place, database_url, name, lease_seconds, flags)
    }

    /// Starts another operator program than that of the tests, in `default`.
    ///
    /// # Panics
    ///
    /// Panics if the operator does not start.
    #[must_use]
    pub fn start_program(program: &Path, cluster: &Cluster, database_url: &str) -> Self {
        let config = cluster.config_of_account("default", "assay-operator");
        Self::run(program, (&config, "default"), database_url, "operator", 15, &[])
    }

    fn run(
        program: &Path,
        (kubeconfig, namespace): (&str, &str),
        database_url: &str,
        name: &str,
        lease_seconds: u32,
        flags: &[&str],
    ) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let config = directory.path().join("kubeconfig");
        fs::write(&config, kubeconfig).expect("a file");
        let url = directory.path().join("database-url");
        fs::write(&url, database_url).expect("a file");
        let address = format!("127.0.0.1:{}", free_port());
        let log = File::create(log(directory.path())).expect("a log");
        let child = Command::new(program)
            .env_clear()
            .env("KUBECONFIG", &config)
            .args(["--database-url-file", &url.display().to_string(), "--listen", &address])
            .args(["--namespace", namespace, "--name", name, "--log-text"])
            .args(["--lease-seconds", &lease_seconds.to_string()])
            .args(flags)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("the operator runs");
        Self { child, directory, address }
    }

    /// Waits until the operator is active.
    ///
    /// # Panics
    ///
    /// Panics if the operator does not become active in time.
    pub fn wait_until_it_works(&self) {
        // Another one's Lease runs out first.
        wait_at_most(Duration::from_mins(1), "the operator works", || {
            let is_leader = self.metrics().contains("assay_operator_leader 1");
            is_leader && self.log().contains("this operator works for its installation")
        });
    }

    /// True if the readiness probe succeeds.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        ureq::get(format!("http://{}/readyz", self.address)).call().is_ok()
    }

    /// Scrapes the operator's metrics.
    #[must_use]
    pub fn metrics(&self) -> String {
        let answer = ureq::get(format!("http://{}/metrics", self.address)).call();
        answer
            .ok()
            .and_then(|mut answer| answer.body_mut().read_to_string().ok())
            .unwrap_or_default()
    }

    /// The scraped value of a series; 0 if the operator has not counted it yet.
    #[must_use]
    pub fn metric(&self, series: &str) -> u64 {
        metric(&self.metrics(), series).unwrap_or(0)
    }

    /// The operator's process id.
    #[must_use]
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// The operator's log.
    ///
    /// # Panics
    ///
    /// Panics if the log cannot be read.
    #[must_use]
    pub fn log(&self) -> String {
        fs::read_to_string(log(self.directory.path())).expect("its log")
    }

    /// Kills the operator.
    ///
    /// # Panics
    ///
    /// Panics if the operator cannot be killed.
    pub fn kill(&mut self) {
        self.child.kill().expect("it can be killed");
        self.child.wait().expect("it ends");
    }

    /// Asks the operator to stop and returns its exit code.
    ///
    /// # Panics
    ///
    /// Panics if the operator does not stop.
    pub fn stop(&mut self) -> Option<i32> {
        process::signal(&self.child, "TERM");
        self.child.wait().expect("it ends").code()
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn log(directory: &Path) -> PathBuf {
    directory.join("log")
}
