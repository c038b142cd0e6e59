//! A real node: containerd, kubelet, kube-proxy, kube-network-policies, `CoreDNS` and metrics-server, in their own
//! namespaces of network, mounts and processes (`tests/node.sh`). Pods run as containers behind Services, and network
//! policies are enforced.
//!
//! - `network`: networks of the node, of its pods, and of hosts outside of the cluster

mod files;
mod images;
mod needs;
mod network;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use self::{images::Image, network::OUTSIDE};
use super::{Cluster, PATIENCE};
use crate::{tools::tool, wait_at_most};

/// IP address of the node.
pub(super) const ADDRESS: &str = "10.99.0.1";
/// Socket of containerd on the node.
const CONTAINERD: &str = "/run/containerd/containerd.sock";
/// Containerd namespace of the pods' images.
const IMAGES_OF: &str = "k8s.io";

/// A real node.
#[derive(Debug)]
pub(super) struct Node {
    /// Id of the first process in the node's namespaces, as seen from outside.
    process: u32,
}

/// A process in a container.
#[derive(Clone, Debug)]
pub struct ContainerProcess(u32);

impl Cluster {
    /// Starts a cluster with a real node, which has Assay's images and admits only pods of the standard `restricted`.
    /// The calling thread, and processes that it starts, enter the node's network.
    ///
    /// # Panics
    ///
    /// Panics if the machine lacks a requirement, or the node does not start.
    #[must_use]
    pub fn start_on_node() -> Self {
        needs::check().unwrap_or_else(|lack| panic!("no real Kubernetes node here: {lack}"));
        let mut cluster = Self::in_new_directory();
        cluster.start_node_namespaces();
        cluster.enter();
        cluster.write_node_files();
        cluster.start_containerd();
        for archive in images::build_images(&cluster.directory) {
            cluster.import(&archive);
        }
        cluster.start_control_plane();
        cluster.start_node();
        cluster.wait_until_ready();
        cluster
    }

    /// Adds an image with programs of this machine; the first program is the entry point.
    ///
    /// # Panics
    ///
    /// Panics if the image cannot be created.
    pub fn add_image(&self, name: &str, programs: &[(&str, &str)]) {
        let image = Image::new(name, programs);
        self.import(&image.build(&self.directory));
    }

    /// Gives an image another name.
    ///
    /// # Panics
    ///
    /// Panics if there is no such image.
    pub fn name_image(&self, image: &str, name: &str) {
        self.ctr(&["images", "tag", image, name]);
    }

    /// The first process of a pod's only container.
    ///
    /// # Panics
    ///
    /// Panics if the container does not run.
    #[must_use]
    pub fn process_of(&self, namespace: &str, pod: &str) -> ContainerProcess {
        let path = "jsonpath={.status.containerStatuses[0].containerID}";
        let id = self.kubectl(&["get", "pod", pod, "--namespace", namespace, "-o", path]);
        let id = id.strip_prefix("containerd://").expect("a container of containerd");
        let all = fs::read_dir("/proc").expect("processes");
        let mut found: Vec<u32> = all
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
            .filter(|process| {
                let groups = fs::read_to_string(format!("/proc/{process}/cgroup"));
                groups.is_ok_and(|groups| groups.contains(id))
            })
            .collect();
        found.sort_unstable();
        ContainerProcess(*found.first().expect("the container runs"))
    }

    fn node(&self) -> &Node {
        self.node.as_ref().expect("a cluster with a real node")
    }

    /// A command that runs in the node's namespaces.
    fn command_in_node(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new("nsenter");
        command
            .arg(format!("--target={}", self.node().process))
            .args(["--net", "--mount", "--pid", "--"])
            .arg(program.as_ref());
        command
    }

    fn start_node_namespaces(&mut self) {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("node.sh");
        let mut arguments: Vec<String> =
            ["--net", "--mount", "--pid", "--fork"].map(Into::into).into();
        arguments.extend(
            ["--kill-child=KILL", "--propagation=private", "--mount-proc", "bash"].map(Into::into),
        );
        let directory = self.directory.display().to_string();
        arguments.extend([script.display().to_string(), directory, ADDRESS.into()]);
        arguments.extend(OUTSIDE.map(Into::into));
        self.start_process("room", Command::new("unshare"), &arguments);
        let outer = self.process_guard.id("room");
        wait_at_most(PATIENCE, "room for a node", || {
            self.process_guard.check("room", &self.directory);
            self.directory.join("room").exists()
        });
        let children = fs::read_to_string(format!("/proc/{outer}/task/{outer}/children"));
        let process = children.expect("its children").trim().parse().expect("its only child");
        self.node = Some(Node { process });
    }

    fn start_containerd(&mut self) {
        let command = self.command_in_node("containerd");
        let config = format!("--config={}", self.file("containerd.toml"));
        self.start_process("containerd", command, &[config]);
        wait_at_most(PATIENCE, "containerd", || {
            self.process_guard.check("containerd", &self.directory);
            let mut version = self.command_in_node("ctr");
            version.arg("version").output().expect("ctr runs").status.success()
        });
    }

    fn start_node(&mut self) {
        let kubelet = self.command_in_node(tool("kubelet"));
        let arguments = [
            format!("--config={}", self.file("kubelet.yaml")),
            format!("--kubeconfig={}", self.file("node.kubeconfig")),
            "--hostname-override=node".into(),
            format!("--node-ip={ADDRESS}"),
        ];
        self.start_process("kubelet", kubelet, &arguments);
        self.run("kube-proxy", &[format!("--config={}", self.file("proxy.yaml"))]);
        self.start_network_policies();
        self.run("coredns", &[format!("-conf={}", self.file("Corefile"))]);
        let config = self.file("admin.kubeconfig");
        let arguments = [
            format!("--kubeconfig={config}"),
            format!("--authentication-kubeconfig={config}"),
            format!("--authorization-kubeconfig={config}"),
            "--bind-address=127.0.0.1".into(),
            format!("--secure-port={}", self.ports.metrics),
            format!("--cert-dir={}", self.file("metrics")),
            format!("--kubelet-certificate-authority={}", self.file("ca.pem")),
            "--kubelet-preferred-address-types=InternalIP".into(),
            "--kubelet-use-node-status-port".into(),
            "--metric-resolution=10s".into(),
            "--kubelet-request-timeout=5s".into(),
        ];
        self.run("metrics-server", &arguments);
        self.apply(&files::metrics_api(self.ports.metrics));
    }

    fn import(&self, archive: &Path) {
        self.ctr(&["images", "import", &archive.display().to_string()]);
        fs::remove_file(archive).expect("the archive");
    }

    fn ctr(&self, arguments: &[&str]) {
        let mut ctr = self.command_in_node("ctr");
        let done = ctr.args(["--namespace", IMAGES_OF]).args(arguments).output().expect("ctr runs");
        assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    }
}

/// Further arguments of an API server that pods of a real node reach.
pub(super) fn server_arguments(file: impl Fn(&str) -> String) -> Vec<String> {
    vec![
        "--bind-address=0.0.0.0".into(),
        format!("--advertise-address={ADDRESS}"),
        format!("--kubelet-certificate-authority={}", file("ca.pem")),
        format!("--admission-control-config-file={}", file("admission.yaml")),
        format!("--requestheader-client-ca-file={}", file("front.pem")),
        "--requestheader-allowed-names=front".into(),
        "--requestheader-username-headers=X-Remote-User".into(),
        "--requestheader-group-headers=X-Remote-Group".into(),
        "--requestheader-extra-headers-prefix=X-Remote-Extra-".into(),
        format!("--proxy-client-cert-file={}", file("front-client.pem")),
        format!("--proxy-client-key-file={}", file("front-client.key")),
    ]
}

impl ContainerProcess {
    /// A line of the process's status in `/proc`, such as `Uid`.
    ///
    /// # Panics
    ///
    /// Panics if the process has ended, or has no such line.
    #[must_use]
    pub fn status(&self, line: &str) -> String {
        let status = fs::read_to_string(format!("/proc/{}/status", self.0)).expect("it runs");
        let found = status.lines().find_map(|known| known.strip_prefix(&format!("{line}:")));
        found.expect("the kernel says so").split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// The path, outside the container, of a file in the container.
    #[must_use]
    pub fn path_of(&self, file: &str) -> PathBuf {
        format!("/proc/{}/root{file}", self.0).into()
    }

    /// Sends the process a signal, such as `TERM`.
    ///
    /// # Panics
    ///
    /// Panics if the process has ended.
    pub fn signal(&self, name: &str) {
        let kill = format!("kill -{name} {}", self.0);
        let sent = Command::new("sh").args(["-c", &kill]).status();
        assert!(sent.expect("sh runs").success());
    }
}
