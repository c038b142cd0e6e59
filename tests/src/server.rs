//! A running `assay serve`, stopped when it is dropped.

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    net::SocketAddr,
    path::Path,
    process::{Child, ChildStdout, Stdio},
    str::FromStr,
    sync::{Arc, Mutex},
    thread::{self, JoinHandle},
    time::Duration,
};

use tempfile::TempDir;

use crate::{Caller, Finished, metrics::metric, process, tenant};

/// A token of chain servers with the minimum length.
pub const CHAIN_TOKEN: &str = "the token of chain servers in tests";

/// A server and its data directory.
#[derive(Debug)]
pub struct Server {
    child: Child,
    directory: Arc<TempDir>,
    greeting: String,
    log: Arc<Mutex<String>>,
    /// Thread that reads the log until the server exits.
    log_reader: Option<JoinHandle<()>>,
    output: Arc<Mutex<String>>,
    /// Address of the API.
    pub api: SocketAddr,
    /// Address of health and metrics.
    pub admin: SocketAddr,
}

impl Server {
    /// Starts a server on free ports in a data directory, with further arguments.
    ///
    /// # Panics
    ///
    /// Panics if the server does not start.
    #[must_use]
    pub fn start(directory: Arc<TempDir>, arguments: &[&str]) -> Self {
        Self::start_in(directory, arguments, &[])
    }

    /// Starts a server as [`Self::start`] does, with further variables in its environment.
    ///
    /// # Panics
    ///
    /// Panics if the server does not start.
    #[must_use]
    pub fn start_in(
        directory: Arc<TempDir>,
        arguments: &[&str],
        environment: &[(&str, String)],
    ) -> Self {
        let has_listen = arguments.contains(&"--listen");
        let listen: &[&str] = if has_listen { &[] } else { &["--listen", "127.0.0.1:0"] };
        let admin = ["--admin-listen", "127.0.0.1:0"];
        // Servers fetch no sources unless a test enables it.
        let feeds: &[&str] = if arguments.contains(&"--feeds") { &[] } else { &["--feeds", "off"] };
        let all = ["serve"].iter().chain(feeds).chain(listen).chain(&admin).chain(arguments);
        Self::run(directory, all.copied(), environment)
    }

    /// Starts a chain server in a data directory, with further arguments: on a free port, unless the arguments name
    /// one.
    ///
    /// # Panics
    ///
    /// Panics if the server does not start.
    #[must_use]
    pub fn start_chain(directory: Arc<TempDir>, arguments: &[&str]) -> Self {
        let admin = ["--admin-listen", "127.0.0.1:0"];
        let has_listen = arguments.iter().any(|argument| argument.starts_with("--listen"));
        let listen: &[&str] = if has_listen { &[] } else { &["--listen", "127.0.0.1:0"] };
        let all = ["chain", "serve"].iter().chain(arguments).chain(listen).chain(&admin);
        Self::run(directory, all.copied(), &[])
    }

    /// Starts `assay` with a command that serves.
    fn run<'a>(
        directory: Arc<TempDir>,
        arguments: impl Iterator<Item = &'a str> + Clone,
        environment: &[(&str, String)],
    ) -> Self {
        let sample = arguments.clone().any(|argument| argument == "--sample");
        let mut child = process::command(directory.path(), arguments)
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("assay runs");
        let log = Arc::new(Mutex::new(String::new()));
        let mut stderr = child.stderr.take().expect("its log");
        let kept = Arc::clone(&log);
        let log_reader = thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = stderr.read(&mut buffer) {
                let text = String::from_utf8_lossy(buffer.get(..count).unwrap_or_default());
                kept.lock().expect("the log").push_str(&text);
            }
        });
        let stdout = child.stdout.take().expect("its output");
        let output = Arc::default();
        let Some((greeting, api, admin)) = read_greeting(stdout, sample, &output) else {
            let status = child.wait();
            panic!("assay did not start ({status:?}): {}", log.lock().expect("the log"));
        };
        let log_reader = Some(log_reader);
        Self { child, directory, greeting, log, log_reader, output, api, admin }
    }

    /// Output of the server at its start.
    #[must_use]
    pub fn greeting(&self) -> &str {
        &self.greeting
    }

    /// Output of the server after its greeting.
    ///
    /// # Panics
    ///
    /// Panics if the output cannot be read.
    #[must_use]
    pub fn output(&self) -> String {
        self.output.lock().expect("the output").clone()
    }

    /// Log of the server so far.
    ///
    /// # Panics
    ///
    /// Panics if the log cannot be read.
    #[must_use]
    pub fn log(&self) -> String {
        self.log.lock().expect("the log").clone()
    }

    /// The data directory.
    #[must_use]
    pub fn directory(&self) -> Arc<TempDir> {
        Arc::clone(&self.directory)
    }

    /// Runs `assay` on the server's data directory.
    #[must_use]
    pub fn assay(&self, arguments: &[&str]) -> Finished {
        process::assay(self.directory.path(), arguments)
    }

    /// A caller with an API key.
    #[must_use]
    pub fn caller(&self, key: &str) -> Caller {
        Caller::new(self.api, key)
    }

    /// All metrics as text.
    #[must_use]
    pub fn metrics(&self) -> String {
        Caller::new(self.admin, "").get("/metrics").text
    }

    /// The value of a metric, with its labels as they are printed: `name{label="value"}`.
    ///
    /// # Panics
    ///
    /// Panics if there is no such metric.
    #[must_use]
    pub fn metric<T: FromStr>(&self, name: &str) -> T {
        self.metric_if_any(name)
            .unwrap_or_else(|| panic!("there is no {name} in {}", self.metrics()))
    }

    /// The value of a metric that may not be recorded yet.
    #[must_use]
    pub fn metric_if_any<T: FromStr>(&self, name: &str) -> Option<T> {
        metric(&self.metrics(), name)
    }

    /// Peak resident memory of the server, in bytes.
    ///
    /// # Panics
    ///
    /// Panics if the system does not provide it.
    #[must_use]
    pub fn peak_resident_bytes(&self) -> u64 {
        let status =
            fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("status");
        let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("VmHWM");
        let kibibytes: u64 =
            line.split_whitespace().nth(1).and_then(|text| text.parse().ok()).expect("a number");
        kibibytes * 1024
    }

    /// Identifier of the server's process.
    #[must_use]
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// CPU time that the server has used, to a hundredth of a second.
    ///
    /// # Panics
    ///
    /// Panics if the system does not provide it.
    #[must_use]
    pub fn cpu_time(&self) -> Duration {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id())).expect("stat");
        // Fields 14 and 15, behind the name, which may hold spaces.
        let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11);
        let ticks: u64 = fields.take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
        Duration::from_millis(ticks * 10)
    }

    /// Sends the server a signal, such as `TERM`.
    ///
    /// # Panics
    ///
    /// Panics if the signal cannot be sent.
    pub fn signal(&self, name: &str) {
        process::signal(&self.child, name);
    }

    /// True if the server has ended.
    ///
    /// # Panics
    ///
    /// Panics if its state cannot be determined.
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("the server can be waited for").is_some()
    }

    /// Waits until the server exits, and returns its exit code. After the exit the log is complete.
    ///
    /// # Panics
    ///
    /// Panics if the wait fails.
    pub fn wait(&mut self) -> Option<i32> {
        let status = self.child.wait().expect("the server can be waited for");
        if let Some(reader) = self.log_reader.take() {
            reader.join().expect("the log was read");
        }
        status.code()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads the greeting, which states the addresses. `None` if the program exits instead.
fn read_greeting(
    stdout: ChildStdout,
    whole: bool,
    output: &Arc<Mutex<String>>,
) -> Option<(String, SocketAddr, SocketAddr)> {
    let mut lines = BufReader::new(stdout).lines().map_while(Result::ok);
    let first = lines.next()?;
    let addresses: Vec<SocketAddr> = first
        .split("://")
        .skip(1)
        .filter_map(|rest| {
            let end = rest.find(|c: char| !(c.is_ascii_digit() || ".:".contains(c)))?;
            rest.get(..end)?.parse().ok()
        })
        .collect();
    let [api, admin] = addresses.as_slice() else { return None };
    let mut greeting = first;
    if whole {
        for line in &mut lines {
            greeting.push('\n');
            greeting.push_str(&line);
            if line.ends_with("nothing known") {
                break;
            }
        }
    }
    let (api, admin) = (*api, *admin);
    // Further output must not fill the pipe.
    let output = Arc::clone(output);
    thread::spawn(move || {
        lines.for_each(|line| output.lock().expect("the output").push_str(&(line + "\n")));
    });
    Some((greeting, api, admin))
}

/// A server of the demo data set, and a caller for each of its tenants: Business, Enterprise.
///
/// # Panics
///
/// Panics if the server does not start.
#[must_use]
pub fn sample() -> (Server, Caller, Caller) {
    let directory = Arc::new(tempfile::tempdir().expect("a directory"));
    let server = Server::start(directory, &["--sample"]);
    let key = |tenant: &str| {
        let line = server.greeting().lines().find(|line| line.trim().starts_with(tenant));
        let key = line.and_then(|line| line.split_whitespace().nth(1)).expect("a key");
        server.caller(key)
    };
    let (business, enterprise) = (key("sample-business"), key("sample-enterprise"));
    (server, business, enterprise)
}

/// A server for real data with one tenant on Enterprise, and its caller.
///
/// # Panics
///
/// Panics if the server does not start.
#[must_use]
pub fn production() -> (Server, Caller) {
    let (server, caller, ()) = production_with(|_| ());
    (server, caller)
}

/// A server as [`production`] starts it, whose data directory is prepared first, with what the preparation returns.
///
/// # Panics
///
/// Panics if the server does not start.
#[must_use]
pub fn production_with<T>(prepare: impl FnOnce(&Path) -> T) -> (Server, Caller, T) {
    let directory = Arc::new(tempfile::tempdir().expect("a directory"));
    let prepared = prepare(directory.path());
    let acme = tenant("acme", "enterprise");
    fs::write(directory.path().join("acme.yaml"), acme).expect("a manifest");
    let _ = process::assay(directory.path(), ["apply", "-f", "acme.yaml"]).ok();
    let key = process::assay(directory.path(), ["keys", "create", "--tenant", "acme"]).ok().stdout;
    let server = Server::start(directory, &[]);
    let caller = server.caller(key.trim());
    (server, caller, prepared)
}
