//! Redis servers of the tests' own: one, a master with a replica watched by a sentinel, a cluster.

mod cluster;
mod sentinel;

pub use cluster::Cluster;
pub use sentinel::SentinelRedis;

use std::{
    fs,
    path::PathBuf,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use tempfile::TempDir;

use crate::{Authority, free_port, holds_within};

/// Time limit for an answer of a server.
const PATIENCE: Duration = Duration::from_secs(30);

/// A server, which stops when the value is dropped.
#[derive(Debug)]
pub struct Redis {
    directory: TempDir,
    arguments: Vec<String>,
    /// Arguments with which `redis-cli` connects to the server.
    cli: Vec<String>,
    port: u16,
    child: Option<Child>,
}

impl Redis {
    /// Starts a server that keeps nothing on disk.
    #[must_use]
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts a server with further arguments.
    ///
    /// # Panics
    ///
    /// Panics if the server does not start.
    #[must_use]
    pub fn start_with(arguments: &[&str]) -> Self {
        let port = free_port();
        let mut server = Self::prepared(port, arguments, &[]);
        server.start_again();
        server
    }

    /// Starts a server that accepts TLS only, as `localhost`, with a certificate of `authority`,
    /// which `redis-cli` trusts.
    ///
    /// # Panics
    ///
    /// Panics if the server does not start.
    #[must_use]
    pub fn start_with_tls(authority: &Authority) -> Self {
        let port = free_port();
        let mut server = Self::prepared(port, &[], &[]);
        let file = |name: &str| server.file(name).to_string_lossy().into_owned();
        fs::write(file("ca.pem"), authority.pem()).expect("a file");
        authority.server().write(server.directory.path(), "server");
        let arguments = [
            ("--port", "0".to_owned()),
            ("--tls-port", port.to_string()),
            ("--tls-ca-cert-file", file("ca.pem")),
            ("--tls-cert-file", file("server.pem")),
            ("--tls-key-file", file("server.key")),
            ("--tls-auth-clients", "no".to_owned()),
        ];
        let cli = ["--tls", "--cacert", &file("ca.pem"), "-h", "localhost"].map(str::to_owned);
        server.arguments =
            arguments.into_iter().flat_map(|(name, value)| [name.to_owned(), value]).collect();
        server.cli = cli.into();
        server.start_again();
        server
    }

    fn prepared(port: u16, arguments: &[&str], cli: &[&str]) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let arguments = arguments.iter().map(ToString::to_string).collect();
        let cli = cli.iter().map(ToString::to_string).collect();
        Self { directory, arguments, cli, port, child: None }
    }

    /// Starts the server again after it was killed, on the same port and with its data on disk.
    ///
    /// # Panics
    ///
    /// Panics if the server does not start.
    pub fn start_again(&mut self) {
        let mut command = Command::new("redis-server");
        if !self.arguments.iter().any(|argument| argument == "--port") {
            command.args(["--port", &self.port.to_string()]);
        }
        command
            .args(["--bind", "127.0.0.1", "--save", "", "--dir"])
            .arg(self.directory.path())
            .args(&self.arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        self.child = Some(
            command
                .spawn()
                .expect("redis-server starts: install the Debian package `redis-server`"),
        );
        self.wait("PONG", &["ping"]);
    }

    /// Waits until the answer to a command contains a word.
    ///
    /// # Panics
    ///
    /// Panics if the word does not appear within the time limit.
    pub fn wait(&self, word: &str, arguments: &[&str]) {
        let mut answer = String::new();
        let is_there = holds_within(Duration::from_millis(20), PATIENCE, || {
            answer = self.cli(arguments);
            answer.contains(word) || (word == "PONG" && answer.contains("NOAUTH"))
        });
        assert!(is_there, "{arguments:?}: {answer} and never {word}");
    }

    /// Output of `redis-cli` for a command.
    ///
    /// # Panics
    ///
    /// Panics if `redis-cli` is not installed.
    #[must_use]
    pub fn cli(&self, arguments: &[&str]) -> String {
        let run = Command::new("redis-cli")
            .args(["-p", &self.port.to_string()])
            .args(&self.cli)
            .args(arguments)
            .output()
            .expect("redis-cli runs: install the Debian package `redis-server`");
        String::from_utf8_lossy(&run.stdout).trim().to_owned()
    }

    /// URL of the server.
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Path of a file of the server; `ca.pem` is the CA that TLS clients trust.
    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The port of the server.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Suspends the server process; connections stay.
    pub fn pause(&self) {
        self.signal("-STOP");
    }

    /// Suspends the server process for a duration.
    ///
    /// # Panics
    ///
    /// Panics if the server does not run.
    pub fn pause_for(&self, length: Duration) {
        self.pause();
        // It does not answer for this long.
        thread::sleep(length);
        self.resume();
    }

    /// Resumes the server process.
    pub fn resume(&self) {
        self.signal("-CONT");
    }

    fn signal(&self, signal: &str) {
        let id = self.child.as_ref().map(Child::id).expect("a running server");
        let _ = Command::new("kill").args([signal, &id.to_string()]).status();
    }

    /// Kills the server process.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Number of calls of a command so far, by its name in `INFO commandstats`.
    #[must_use]
    pub fn calls(&self, command: &str) -> u64 {
        let stats = self.cli(&["info", "commandstats"]);
        let line = stats.lines().find_map(|line| {
            line.strip_prefix("cmdstat_")?.strip_prefix(command)?.strip_prefix(":calls=")
        });
        line.and_then(|rest| rest.split(',').next()?.parse().ok()).unwrap_or_default()
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        self.kill();
    }
}
