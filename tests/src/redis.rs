//! Redis servers of the tests' own: one, a master with a replica watched by a sentinel, a cluster.

use std::{
    fs,
    net::TcpListener,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use tempfile::TempDir;

/// Longest wait for a server to say something.
const PATIENCE: Duration = Duration::from_secs(30);

/// A server, which stops when this is dropped.
#[derive(Debug)]
pub struct Redis {
    directory: TempDir,
    arguments: Vec<String>,
    /// What `redis-cli` needs to reach it.
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
    /// Where it does not start.
    #[must_use]
    pub fn start_with(arguments: &[&str]) -> Self {
        let port = free_port();
        let mut server = Self::prepared(port, arguments, &[]);
        server.again();
        server
    }

    /// Starts a server that speaks TLS only, with certificates in PEM files; `redis-cli` trusts their
    /// authority.
    ///
    /// # Panics
    ///
    /// Where it does not start.
    #[must_use]
    pub fn start_with_tls(certificates: &Certificates) -> Self {
        let port = free_port();
        let [authority, certificate, key] =
            ["ca.pem", "server.pem", "server.key"].map(|name| certificates.path(name));
        let tls_port = port.to_string();
        let arguments = [
            "--port",
            "0",
            "--tls-port",
            &tls_port,
            "--tls-ca-cert-file",
            &authority,
            "--tls-cert-file",
            &certificate,
            "--tls-key-file",
            &key,
            "--tls-auth-clients",
            "no",
        ];
        let mut server =
            Self::prepared(port, &arguments, &["--tls", "--cacert", &authority, "-h", "localhost"]);
        server.again();
        server
    }

    fn prepared(port: u16, arguments: &[&str], cli: &[&str]) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let arguments = arguments.iter().map(ToString::to_string).collect();
        let cli = cli.iter().map(ToString::to_string).collect();
        Self { directory, arguments, cli, port, child: None }
    }

    /// Starts it again after it was killed, on the same port and with what it has on disk.
    ///
    /// # Panics
    ///
    /// Where it does not start.
    pub fn again(&mut self) {
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
        self.child = Some(command.spawn().expect("redis-server is installed"));
        self.wait("PONG", &["ping"]);
    }

    /// Waits until the answer to a command holds a word.
    ///
    /// # Panics
    ///
    /// Where it does not for long.
    pub fn wait(&self, word: &str, arguments: &[&str]) {
        let begun = Instant::now();
        loop {
            let answer = self.cli(arguments);
            if answer.contains(word) || (word == "PONG" && answer.contains("NOAUTH")) {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "{arguments:?}: {answer} and never {word}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// What `redis-cli` prints for a command.
    ///
    /// # Panics
    ///
    /// Where it is not installed.
    #[must_use]
    pub fn cli(&self, arguments: &[&str]) -> String {
        let run = Command::new("redis-cli")
            .args(["-p", &self.port.to_string()])
            .args(&self.cli)
            .args(arguments)
            .output()
            .expect("redis-cli is installed");
        String::from_utf8_lossy(&run.stdout).trim().to_owned()
    }

    /// Where it is.
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Its port.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Lets it stand still; connections stay.
    pub fn pause(&self) {
        self.signal("-STOP");
    }

    /// Lets it go on.
    pub fn go_on(&self) {
        self.signal("-CONT");
    }

    fn signal(&self, signal: &str) {
        let id = self.child.as_ref().map(Child::id).expect("a running server");
        let _ = Command::new("kill").args([signal, &id.to_string()]).status();
    }

    /// Kills it.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// How many commands it was sent so far, by name as in `INFO commandstats`.
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

/// A master, a replica and a sentinel that watches both.
#[derive(Debug)]
pub struct Watched {
    /// The first master.
    pub master: Redis,
    /// The first replica.
    pub replica: Redis,
    sentinel: Redis,
}

impl Watched {
    /// Starts all three; the master's name is `main`.
    ///
    /// # Panics
    ///
    /// Where they do not start.
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

    /// Where it is.
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis+sentinel://127.0.0.1:{}/main", self.sentinel.port())
    }

    /// Kills the master and waits until the replica has its place.
    pub fn fail_over(&mut self) {
        self.master.kill();
        self.replica.wait("role:master", &["info", "replication"]);
    }
}

/// A cluster of three masters.
#[derive(Debug)]
pub struct Cluster {
    nodes: Vec<Redis>,
}

impl Cluster {
    /// Starts one.
    ///
    /// # Panics
    ///
    /// Where it does not start.
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

    /// Where it is.
    #[must_use]
    pub fn url(&self) -> String {
        let hosts: Vec<String> =
            self.nodes.iter().map(|node| format!("127.0.0.1:{}", node.port())).collect();
        format!("redis+cluster://{}", hosts.join(","))
    }

    /// Its nodes.
    #[must_use]
    pub fn nodes(&self) -> &[Redis] {
        &self.nodes
    }
}

/// An authority of the tests' own, and a certificate for `localhost` and `127.0.0.1`, in PEM files:
/// `ca.pem`, `server.pem`, `server.key`.
#[derive(Debug)]
pub struct Certificates(TempDir);

impl Certificates {
    /// Makes them with `openssl`.
    ///
    /// # Panics
    ///
    /// Where `openssl` is not there or fails.
    #[must_use]
    pub fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let run = |arguments: &[&str]| {
            let run =
                Command::new("openssl").args(arguments).current_dir(directory.path()).output();
            let run = run.expect("openssl is installed");
            assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
        };
        let names = "subjectAltName=DNS:localhost,IP:127.0.0.1";
        fs::write(
            directory.path().join("names"),
            format!("{names}\nextendedKeyUsage=serverAuth\n"),
        )
        .expect("a file");
        let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
        let ca = [
            "req",
            "-x509",
            "-days",
            "2",
            "-subj",
            "/CN=tests",
            "-keyout",
            "ca.key",
            "-out",
            "ca.pem",
        ];
        run(&[&ca[..], &key].concat());
        let request =
            ["req", "-subj", "/CN=localhost", "-keyout", "server.key", "-out", "server.csr"];
        run(&[&request[..], &key].concat());
        run(&[
            "x509",
            "-req",
            "-days",
            "2",
            "-in",
            "server.csr",
            "-CA",
            "ca.pem",
            "-CAkey",
            "ca.key",
            "-CAcreateserial",
            "-extfile",
            "names",
            "-out",
            "server.pem",
        ]);
        Self(directory)
    }

    /// Where one of the files is.
    #[must_use]
    pub fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_string_lossy().into_owned()
    }
}

impl Default for Certificates {
    fn default() -> Self {
        Self::new()
    }
}

/// A port that nobody listens on. Those that the system gives out itself are left alone: between asking
/// and listening, another test's connection could get it.
fn free_port() -> u16 {
    use std::sync::atomic::{AtomicU16, Ordering};
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let first = 10_000 + u16::try_from(std::process::id() % 997).expect("a small number") * 20;
    loop {
        let port = first + NEXT.fetch_add(1, Ordering::Relaxed) % 2_000;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}
