//! Redis behind a sentinel.

use std::{
    fs,
    process::{Command, Stdio},
};

use super::Redis;
use crate::free_port;

/// A master, a replica and a sentinel that watches both.
#[derive(Debug)]
pub struct SentinelRedis {
    /// The first master.
    pub master: Redis,
    /// The first replica.
    pub replica: Redis,
    sentinel: Redis,
}

impl SentinelRedis {
    /// Starts master, replica and sentinel; the master's name is `main`.
    ///
    /// # Panics
    ///
    /// Panics if a server does not start.
    #[must_use]
    pub fn start() -> Self {
        let master = Redis::start();
        let port = master.port().to_string();
        let replica = Redis::start_with(&["--replicaof", "127.0.0.1", &port]);
        replica.wait("master_link_status:up", &["info", "replication"]);
        let own_port = free_port();
        let mut sentinel = Redis::prepared(own_port, &[], &[]);
        let settings = format!(
            "port {own_port}\nsentinel monitor main 127.0.0.1 {port} 1\nsentinel \
             down-after-milliseconds main 500\nsentinel failover-timeout main 2000\n"
        );
        let file = sentinel.directory.path().join("sentinel.conf");
        fs::write(&file, settings).expect("a file");
        let child = Command::new("redis-server")
            .arg(&file)
            .arg("--sentinel")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        sentinel.child = Some(child.expect("redis-server is installed"));
        sentinel.wait("slaves=1", &["info", "sentinel"]);
        Self { master, replica, sentinel }
    }

    /// URL of the servers.
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis+sentinel://127.0.0.1:{}/main", self.sentinel.port())
    }

    /// Kills the master and waits until the replica is the new master.
    pub fn fail_over(&mut self) {
        self.master.kill();
        self.replica.wait("role:master", &["info", "replication"]);
    }
}
