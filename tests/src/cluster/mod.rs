//! A real Kubernetes control plane: etcd, API server, controllers, scheduler. The node is simulated by `kwok`, so that
//! pods are only objects, or real, so that pods run. `tests/run` builds the programs.

mod control_plane;
mod kwok;
mod node;
mod objects;
mod pki;
mod process_guard;

use std::{
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::OnceLock,
    time::Duration,
};

use assay_test_servers::free_port;

pub use self::node::ContainerProcess;
use self::{control_plane::AUDIT, node::Node, objects::Objects, process_guard::ProcessGuard};
use crate::{Finished, tools::tool, wait_at_most};

/// Time limit for the start of any part of a cluster, on a busy machine.
const PATIENCE: Duration = Duration::from_mins(2);

/// A running cluster, killed with the program that started it.
#[derive(Debug)]
pub struct Cluster {
    directory: PathBuf,
    ports: Ports,
    process_guard: ProcessGuard,
    /// Reader of objects, created on first use, when the certificates exist.
    objects: OnceLock<Objects>,
    /// The real node, if the cluster has one.
    node: Option<Node>,
}

#[derive(Clone, Copy, Debug)]
struct Ports {
    etcd: u16,
    etcd_peers: u16,
    server: u16,
    controllers: u16,
    scheduler: u16,
    kwok: u16,
    kubelet: u16,
    proxy: u16,
    proxy_metrics: u16,
    metrics: u16,
    network_policies: u16,
}

impl Cluster {
    /// Starts a cluster with a ready node that `kwok` simulates.
    ///
    /// # Panics
    ///
    /// Panics if the programs are not built, or the cluster does not start.
    #[must_use]
    pub fn start() -> Self {
        let mut cluster = Self::in_new_directory();
        cluster.start_control_plane();
        cluster.start_kwok();
        cluster.wait_until_ready();
        cluster
    }

    fn in_new_directory() -> Self {
        let directory = tempfile::Builder::new().prefix("assay-").tempdir();
        let directory = directory.expect("a directory").keep();
        let process_guard = ProcessGuard::new(&directory);
        Self { directory, ports: ports(), process_guard, objects: OnceLock::new(), node: None }
    }

    fn start_control_plane(&mut self) {
        self.write_files();
        self.start_etcd();
        self.start_server();
        self.start_controllers();
    }

    fn wait_until_ready(&mut self) {
        wait_at_most(PATIENCE, "accounts and the node", || {
            self.process_guard.check_all(&self.directory);
            let account = self.try_kubectl(&["get", "serviceaccount", "default"]);
            let condition = "jsonpath={.status.conditions[?(@.type==\"Ready\")].status}";
            let node = self.try_kubectl(&["get", "node", "node", "-o", condition]);
            account.code == 0 && node.stdout == "True"
        });
    }

    /// The kubeconfig of the cluster's administrator.
    #[must_use]
    pub fn kubeconfig(&self) -> PathBuf {
        self.directory.join("admin.kubeconfig")
    }

    /// The kubeconfig of a `ServiceAccount` of a namespace.
    #[must_use]
    pub fn config_of_account(&self, namespace: &str, account: &str) -> String {
        let token =
            self.kubectl(&["create", "token", account, "--namespace", namespace, "--duration=1h"]);
        self.config(&format!("token: {}", token.trim()))
    }

    /// URL of the API server.
    #[must_use]
    pub fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.ports.server)
    }

    /// Certificate authority of the API server, as PEM.
    ///
    /// # Panics
    ///
    /// Panics if the file cannot be read.
    #[must_use]
    pub fn authority(&self) -> String {
        fs::read_to_string(self.file("ca.pem")).expect("the authority")
    }

    fn config(&self, credentials: &str) -> String {
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: test\n\
             contexts: [{{name: test, context: {{cluster: test, user: test}}}}]\n\
             clusters: [{{name: test, cluster: {{server: '{}', \
             certificate-authority: {}}}}}]\n\
             users: [{{name: test, user: {{{credentials}}}}}]\n",
            self.url(),
            self.file("ca.pem"),
        )
    }

    /// Runs `kubectl`.
    ///
    /// # Panics
    ///
    /// Panics if `kubectl` fails.
    pub fn kubectl(&self, arguments: &[&str]) -> String {
        let finished = self.try_kubectl(arguments);
        assert_eq!(finished.code, 0, "{arguments:?}: {}{}", finished.stdout, finished.stderr);
        finished.stdout
    }

    /// Runs `kubectl`, and returns its result even if it fails.
    #[must_use]
    pub fn try_kubectl(&self, arguments: &[&str]) -> Finished {
        self.kubectl_with(&self.kubeconfig(), arguments, "")
    }

    /// Runs `kubectl` with a kubeconfig and an input, and returns its result even if it fails.
    ///
    /// # Panics
    ///
    /// Panics if the kubeconfig cannot be written.
    #[must_use]
    pub fn try_kubectl_by(&self, kubeconfig: &str, arguments: &[&str], input: &str) -> Finished {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        file.write_all(kubeconfig.as_bytes()).expect("a kubeconfig");
        self.kubectl_with(file.path(), arguments, input)
    }

    /// Applies YAML.
    ///
    /// # Panics
    ///
    /// Panics if the API server refuses the objects.
    pub fn apply(&self, yaml: &str) -> String {
        let finished = self.try_apply(yaml);
        assert_eq!(finished.code, 0, "{}{}", finished.stdout, finished.stderr);
        finished.stdout
    }

    /// Applies YAML, and returns the result even if it is refused.
    #[must_use]
    pub fn try_apply(&self, yaml: &str) -> Finished {
        self.kubectl_with(&self.kubeconfig(), &["apply", "-f", "-"], yaml)
    }

    /// Response of the API server to a dry-run creation of an object.
    #[must_use]
    pub fn try_create_dry(&self, yaml: &str) -> Finished {
        let create = ["create", "--dry-run=server", "--validate=strict", "-f", "-"];
        self.kubectl_with(&self.kubeconfig(), &create, yaml)
    }

    /// An object by `KIND/NAME` or `KIND NAME`, with `-n NAMESPACE` for another namespace than `default`. `None` if the
    /// object does not exist.
    #[must_use]
    pub fn find(&self, object: &[&str]) -> Option<serde_json::Value> {
        self.objects().find(object)
    }

    /// True if an object exists.
    #[must_use]
    pub fn has(&self, object: &[&str]) -> bool {
        self.find(object).is_some()
    }

    /// Output of `kubectl get -o jsonpath` for an object; empty if the object does not exist.
    #[must_use]
    pub fn field(&self, object: &[&str], path: &str) -> String {
        self.find(object).map_or_else(String::new, |object| objects::text_at(&object, path))
    }

    /// All objects of some kinds, separated by commas, in a namespace (empty: all), with a label selector (empty: any).
    #[must_use]
    pub fn list(&self, kinds: &str, namespace: &str, selector: &str) -> Vec<serde_json::Value> {
        self.objects().list(kinds, namespace, selector)
    }

    /// Deletes all objects of some kinds, separated by commas, in all namespaces, without waiting
    /// for their finalizers.
    pub fn remove_all(&self, kinds: &str) {
        self.objects().remove_all(kinds);
    }

    fn objects(&self) -> &Objects {
        self.objects.get_or_init(|| Objects::new(&self.directory, &self.url()))
    }

    /// An object as JSON.
    ///
    /// # Panics
    ///
    /// Panics if the object does not exist.
    #[must_use]
    pub fn get(&self, arguments: &[&str]) -> serde_json::Value {
        let all: Vec<&str> = ["get", "-o", "json"].iter().chain(arguments).copied().collect();
        serde_json::from_str(&self.kubectl(&all)).expect("kubectl prints JSON")
    }

    /// Requests of service accounts to the API server so far, and their results, the oldest first.
    ///
    /// # Panics
    ///
    /// Panics if the audit log cannot be read.
    #[must_use]
    pub fn audit(&self) -> Vec<serde_json::Value> {
        let record = fs::read_to_string(self.file(AUDIT)).expect("the record");
        // The last line may be half written.
        record.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// Kills the API server.
    pub fn kill_server(&mut self) {
        self.process_guard.kill("kube-apiserver");
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.directory.join(name), text).expect("a file");
    }

    fn file(&self, name: &str) -> String {
        self.directory.join(name).display().to_string()
    }

    fn run(&mut self, program: &str, arguments: &[String]) {
        let command = Command::new(tool(program));
        self.start_process(program, command, arguments);
    }

    fn start_process(&mut self, name: &str, mut command: Command, arguments: &[String]) {
        let log = File::create(self.directory.join(format!("{name}.log"))).expect("a log");
        command
            .args(arguments)
            .current_dir(&self.directory)
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a log"))
            .stderr(log);
        self.process_guard.start_process(name, command);
    }

    fn kubectl_with(&self, kubeconfig: &Path, arguments: &[&str], input: &str) -> Finished {
        let mut child: Child = Command::new(tool("kubectl"))
            .args(arguments)
            .env("KUBECONFIG", kubeconfig)
            .env("HOME", &self.directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("kubectl runs");
        let mut stdin = child.stdin.take().expect("its input");
        // The process may end without reading its input.
        let _ = stdin.write_all(input.as_bytes());
        drop(stdin);
        child.wait_with_output().expect("kubectl ends").into()
    }
}

fn ports() -> Ports {
    Ports {
        etcd: free_port(),
        etcd_peers: free_port(),
        server: free_port(),
        controllers: free_port(),
        scheduler: free_port(),
        kwok: free_port(),
        kubelet: free_port(),
        proxy: free_port(),
        proxy_metrics: free_port(),
        metrics: free_port(),
        network_policies: free_port(),
    }
}
