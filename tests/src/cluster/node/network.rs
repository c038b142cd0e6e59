//! Networks of a node: its own, those of its pods, and that of hosts outside of the cluster. Enforcement of network
//! policies between them.

use std::{
    fs::{self, File},
    net::{SocketAddr, TcpListener, TcpStream},
    os::fd::AsFd,
    path::Path,
    thread,
    time::Duration,
};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use super::ContainerProcess;
use crate::{cluster::Cluster, tools::tool};

/// Addresses of hosts outside of the cluster: public and private ones, and that of the metadata services of clouds.
pub(super) const OUTSIDE: [&str; 8] = [
    "1.2.3.4",
    "1.2.3.5",
    "10.20.0.5",
    "10.20.0.6",
    "10.20.0.7",
    "10.20.0.8",
    "10.20.0.9",
    "169.254.169.254",
];
/// Time limit for a connection. A policy drops packets, and a first packet that is lost is sent again after a second.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// Account of the program that enforces network policies.
const ACCOUNT: &str = "network-policies";
/// Directory of the token of a program's own account, in the node's mounts.
const OWN_ACCOUNT: &str = "run/secrets/kubernetes.io/serviceaccount";

impl Cluster {
    /// Moves the calling thread, and all processes that it starts, into the network namespace of
    /// the cluster's node.
    ///
    /// # Panics
    ///
    /// Panics if the cluster has no node.
    pub fn enter(&self) {
        enter(&format!("/proc/{}/ns/net", self.node().process));
    }

    /// Listens on a port of a host outside of the cluster, at one of the addresses that the node has for these.
    ///
    /// # Panics
    ///
    /// Panics if the cluster has no node, or the port is in use.
    #[must_use]
    pub fn listen_outside(&self, address: &str) -> TcpListener {
        let network = format!("{}/run/netns/outside", self.root_of_node());
        in_network(&network, || TcpListener::bind(address)).expect("a free port")
    }

    /// Starts the program that enforces network policies. It looks for its account where pods have theirs.
    pub(super) fn start_network_policies(&mut self) {
        let namespace = "--namespace=kube-system";
        self.kubectl(&["create", "serviceaccount", ACCOUNT, namespace]);
        let subject = format!("--serviceaccount=kube-system:{ACCOUNT}");
        self.kubectl(&["create", "clusterrolebinding", ACCOUNT, "--clusterrole=view", &subject]);
        let token = self.kubectl(&["create", "token", ACCOUNT, namespace, "--duration=24h"]);
        let account = Path::new(&self.root_of_node()).join(OWN_ACCOUNT);
        fs::create_dir_all(&account).expect("a folder");
        fs::write(account.join("token"), token.trim()).expect("a file");
        fs::copy(self.file("ca.pem"), account.join("ca.crt")).expect("a file");
        let mut command = self.command_in_node(tool("kube-network-policies"));
        command
            .env("KUBERNETES_SERVICE_HOST", "127.0.0.1")
            .env("KUBERNETES_SERVICE_PORT", self.ports.server.to_string());
        let arguments = [
            "--hostname-override=node".to_owned(),
            // The queue of `tests/node.sh`.
            "--nfqueue-id=100".into(),
            // Kernels of today need no way around this bug. It would refuse a DNS server that is no pod.
            "--netfilter-bug-1766-fix=false".into(),
            format!("--metrics-bind-address=127.0.0.1:{}", self.ports.network_policies),
        ];
        self.start_process("kube-network-policies", command, &arguments);
    }

    /// The root of the node's mounts, as seen from outside.
    fn root_of_node(&self) -> String {
        format!("/proc/{}/root", self.node().process)
    }
}

impl ContainerProcess {
    /// True if the container's pod can connect to an address.
    ///
    /// # Panics
    ///
    /// Panics if the process has ended.
    #[must_use]
    pub fn connects_to(&self, address: SocketAddr) -> bool {
        let connect = || TcpStream::connect_timeout(&address, CONNECT_TIMEOUT).is_ok();
        in_network(&format!("/proc/{}/ns/net", self.0), connect)
    }
}

/// Moves the calling thread into a network namespace.
fn enter(network: &str) {
    let network = File::open(network).expect("a network");
    move_into_link_name_space(network.as_fd(), Some(LinkNameSpaceType::Network))
        .expect("root enters every network");
}

/// Does something in a network namespace, in a thread of its own.
fn in_network<T: Send>(network: &str, work: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let worker = scope.spawn(|| {
            enter(network);
            work()
        });
        worker.join().expect("the network is there")
    })
}
