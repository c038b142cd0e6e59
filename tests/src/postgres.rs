//! A PostgreSQL server of the tests' own, with one database.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
};

/// Where Debian keeps the programs of each version.
const VERSIONS: &str = "/usr/lib/postgresql";
const SCRIPT: &str = include_str!("../../crates/store/tests/backends/server.sh");

/// A server that stops when this is dropped: the script ends with its standard input.
#[derive(Debug)]
pub struct Postgres {
    child: Child,
    /// What the script says; it would stop if nobody listened.
    said: BufReader<ChildStdout>,
    programs: PathBuf,
    port: u16,
}

impl Postgres {
    /// Starts a server.
    ///
    /// # Panics
    ///
    /// Where it does not start.
    #[must_use]
    pub fn start() -> Self {
        let programs = programs();
        let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let port = free.expect("a free port").port();
        // PostgreSQL refuses to run as root.
        let is_root = fs::read_to_string("/proc/self/status")
            .is_ok_and(|status| status.lines().any(|line| line.starts_with("Uid:\t0\t")));
        let mut command = Command::new(if is_root { "setpriv" } else { "sh" });
        if is_root {
            command.args(["--reuid=postgres", "--regid=postgres", "--init-groups", "sh"]);
        }
        let mut child = command
            .args(["-c", SCRIPT, "server.sh"])
            .arg(&programs)
            .args([&port.to_string(), "secret"])
            .current_dir("/")
            .env("TMPDIR", "/tmp")
            // What ends this process's group must leave the script to clean up.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the script runs");
        let said = BufReader::new(child.stdout.take().expect("its output"));
        let mut server = Self { child, said, programs, port };
        server.hear_ready();
        server
    }

    /// Stops the server; what is in it stays.
    ///
    /// # Panics
    ///
    /// Where it does not stop.
    pub fn stop(&mut self) {
        self.tell("stop");
    }

    /// Starts the server again after it was stopped.
    ///
    /// # Panics
    ///
    /// Where it does not start.
    pub fn go_on(&mut self) {
        self.tell("start");
    }

    fn tell(&mut self, command: &str) {
        let script = self.child.stdin.as_mut().expect("the script's input");
        writeln!(script, "{command}").and_then(|()| script.flush()).expect("the script listens");
        self.hear_ready();
    }

    fn hear_ready(&mut self) {
        let mut said = String::new();
        self.said.read_line(&mut said).expect("a word");
        assert_eq!(said.trim(), "ready", "PostgreSQL does not obey");
    }

    /// The URL of its database.
    #[must_use]
    pub fn url(&self) -> String {
        self.url_by(self.port)
    }

    /// The same, for whoever reaches it through another port.
    #[must_use]
    pub fn url_by(&self, port: u16) -> String {
        format!("postgres://assay:secret@127.0.0.1:{port}/postgres")
    }

    /// Its port.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Lets a data directory use the database.
    ///
    /// # Panics
    ///
    /// Where the directory cannot be written.
    pub fn used_by(&self, directory: &Path) {
        let settings = format!("database-url = \"{}\"\n", self.url());
        fs::write(directory.join("assay.toml"), settings).expect("a file of settings");
    }

    /// Writes a backup with PostgreSQL's own tool.
    ///
    /// # Panics
    ///
    /// Where it fails.
    pub fn dump(&self, file: &Path) {
        self.run("pg_dump", &["--format=custom", "--file"], file);
    }

    /// Puts a backup in the place of what is there, with PostgreSQL's own tool.
    ///
    /// # Panics
    ///
    /// Where it fails.
    pub fn restore(&self, file: &Path) {
        self.run("pg_restore", &["--clean", "--if-exists", "--single-transaction"], file);
    }

    fn run(&self, program: &str, arguments: &[&str], file: &Path) {
        let mut command = Command::new(self.programs.join(program));
        let output = command.args(arguments).arg(file).args(["--dbname", &self.url()]).output();
        let output = output.expect("it runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// Runs what `psql` runs from a file: statements, and commands of its own. It stops at the first
    /// that fails.
    ///
    /// # Panics
    ///
    /// Where one fails.
    pub fn script(&self, text: &str) {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        file.write_all(text.as_bytes()).expect("a file of statements");
        let settings = ["--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", "--file"];
        self.run("psql", &settings, file.path());
    }

    /// What a statement answers, as `psql` prints it.
    ///
    /// # Panics
    ///
    /// Where `psql` fails.
    #[must_use]
    pub fn query(&self, statement: &str) -> String {
        let output = Command::new(self.programs.join("psql"))
            .args(["--no-psqlrc", "--tuples-only", "--no-align", "--command", statement])
            .arg(self.url())
            .output()
            .expect("psql runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        // The script stops the server and removes its files.
        let _ = self.child.wait();
    }
}

/// The programs of the newest version that is there.
fn programs() -> PathBuf {
    let versions = fs::read_dir(VERSIONS).into_iter().flatten().flatten();
    let newest = versions
        .map(|version| version.path().join("bin"))
        .filter(|programs| programs.join("postgres").is_file())
        .max_by_key(|programs| {
            let version = programs.parent().and_then(Path::file_name).unwrap_or_default();
            version.to_string_lossy().parse::<u32>().unwrap_or(0)
        });
    newest.expect("PostgreSQL is not there: install the package `postgresql`")
}
