//! Redis as a Cluster.

use std::process::Command;

use super::Redis;
use crate::free_port;

/// A cluster of three masters.
#[derive(Debug)]
pub struct Cluster {
    nodes: Vec<Redis>,
}

impl Cluster {
    /// Starts a cluster.
    ///
    /// # Panics
    ///
    /// Panics if the cluster does not start.
    #[must_use]
    pub fn start() -> Self {
        let nodes: Vec<Redis> = (0..3)
            .map(|_| {
                Redis::start_with(&[
                    "--cluster-enabled",
                    "yes",
                    "--cluster-port",
                    &free_port().to_string(),
                ])
            })
            .collect();
        let addresses = nodes.iter().map(|node| format!("127.0.0.1:{}", node.port()));
        let made = Command::new("redis-cli")
            .args(["--cluster", "create"])
            .args(addresses)
            .arg("--cluster-yes")
            .output()
            .expect("redis-cli is installed");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stdout));
        for node in &nodes {
            node.wait("cluster_state:ok", &["cluster", "info"]);
        }
        Self { nodes }
    }

    /// URL of the cluster.
    #[must_use]
    pub fn url(&self) -> String {
        let hosts: Vec<String> =
            self.nodes.iter().map(|node| format!("127.0.0.1:{}", node.port())).collect();
        format!("redis+cluster://{}", hosts.join(","))
    }

    /// The nodes of the cluster.
    #[must_use]
    pub fn nodes(&self) -> &[Redis] {
        &self.nodes
    }
}
