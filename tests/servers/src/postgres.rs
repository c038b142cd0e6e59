//! PostgreSQL for tests: a server of a test's own, or a database on one that the tests of a process share.

mod databases;

use std::{
    env, fs,
    io::{BufRead, BufReader, Read, Write},
    os::unix::{fs::MetadataExt, process::CommandExt},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use crate::free_port;
pub use databases::PostgresServer;

/// Directory in which Debian keeps the programs of each version.
const VERSIONS: &str = "/usr/lib/postgresql";
const SCRIPT: &str = include_str!("postgres/server.sh");

/// A database, and the server of that database.
#[derive(Clone, Debug)]
pub struct Postgres {
    server: Arc<Server>,
    database: String,
    is_shared: bool,
}

/// A server that stops when the value is dropped: the script ends with its standard input.
#[derive(Debug)]
struct Server {
    child: Child,
    script: Mutex<Option<Script>>,
    programs: PathBuf,
    password: String,
    port: u16,
}

/// The script that keeps the server.
#[derive(Debug)]
struct Script {
    commands: ChildStdin,
    /// Output of the script. The server would stop if this stream were closed.
    answers: BufReader<ChildStdout>,
}

/// Options for starting a server.
#[derive(Clone, Copy, Debug)]
pub struct StartOptions<'a> {
    /// The password of the server's login `assay`.
    pub password: &'a str,
    /// The URL of the primary of this standby; empty if it is no standby.
    pub primary: &'a str,
    /// Parent of the temporary directory for the data. Default: the system's directory for temporary files.
    pub folder: Option<&'a Path>,
}

impl Default for StartOptions<'_> {
    fn default() -> Self {
        Self { password: "secret", primary: "", folder: None }
    }
}

impl StartOptions<'_> {
    /// Starts the server.
    ///
    /// # Panics
    ///
    /// Panics if the server does not start.
    #[must_use]
    pub fn start(self) -> Postgres {
        let (programs, port) = (programs(), free_port());
        // PostgreSQL refuses to run as root.
        let is_root = fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
        let mut command = Command::new(if is_root { "setpriv" } else { "sh" });
        if is_root {
            command.args(["--reuid=postgres", "--regid=postgres", "--init-groups", "sh"]);
        }
        // The test's own place for files may be closed to that user.
        let usual = if is_root { "/tmp".into() } else { env::temp_dir() };
        let mut child = command
            .args(["-c", SCRIPT, "server.sh"])
            .arg(&programs)
            .args([&port.to_string(), self.password, self.primary])
            .current_dir("/")
            .env("TMPDIR", self.folder.unwrap_or(&usual))
            // A signal to this process's group must leave the script to clean up.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the script runs");
        let commands = child.stdin.take().expect("its input");
        let answers = BufReader::new(child.stdout.take().expect("its output"));
        let mut script = Script { commands, answers };
        script.wait_until_ready();
        let (script, password) = (Mutex::new(Some(script)), self.password.to_owned());
        let server = Arc::new(Server { child, script, programs, password, port });
        Postgres { server, database: "postgres".into(), is_shared: false }
    }
}

impl Script {
    fn wait_until_ready(&mut self) {
        let mut said = String::new();
        self.answers.read_line(&mut said).expect("a word");
        if said != "ready\n" {
            // The log ends only if the server did not start at all.
            let _ = self.answers.read_to_string(&mut said);
            panic!("PostgreSQL does not obey: {said}");
        }
    }
}

impl Postgres {
    /// Starts a server.
    ///
    /// # Panics
    ///
    /// Panics if the server does not start.
    #[must_use]
    pub fn start() -> Self {
        StartOptions::default().start()
    }

    /// Creates a database on the server that the tests of this process share, which no test may stop: an empty one, or
    /// a copy of `template`, which no other connection may use meanwhile. The server deletes the database when the
    /// server stops.
    ///
    /// # Panics
    ///
    /// Panics if the server does not start, or the database cannot be made.
    #[must_use]
    pub fn shared(template: Option<&Self>) -> Self {
        static SERVER: OnceLock<Arc<Server>> = OnceLock::new();
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let server = Arc::clone(SERVER.get_or_init(|| Self::start().server));
        let administration = Self { server, database: "postgres".into(), is_shared: true };
        let database = format!("test_{}", COUNT.fetch_add(1, Ordering::Relaxed));
        let template = template.map_or("template0", |template| &template.database);
        let _ = administration.query(&format!("CREATE DATABASE {database} TEMPLATE {template}"));
        Self { database, ..administration }
    }

    /// Stops the server; its data stays.
    ///
    /// # Panics
    ///
    /// Panics if the server does not stop, or is shared.
    pub fn stop(&self) {
        self.send_command("stop");
    }

    /// Starts the server again after it was stopped.
    ///
    /// # Panics
    ///
    /// Panics if the server does not start.
    pub fn start_again(&self) {
        self.send_command("start");
    }

    /// Stops the server, with all connections to it, and starts it again.
    ///
    /// # Panics
    ///
    /// Panics if the server does not stop or start.
    pub fn restart(&self) {
        self.send_command("restart");
    }

    fn send_command(&self, command: &str) {
        assert!(!self.is_shared, "other tests use this server: take one by Postgres::start()");
        let mut script = self.server.script.lock().unwrap_or_else(PoisonError::into_inner);
        let script = script.as_mut().expect("a script that runs");
        writeln!(script.commands, "{command}").expect("the script listens");
        script.wait_until_ready();
    }

    /// The port of the server.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.server.port
    }

    /// The URL of the database.
    #[must_use]
    pub fn url(&self) -> String {
        self.url_of_database(&self.database)
    }

    /// The URL of the database with another port.
    #[must_use]
    pub fn url_with_port(&self, port: u16) -> String {
        self.url_at(port, &self.database)
    }

    /// The URL of the database called `name`.
    #[must_use]
    pub fn url_of_database(&self, name: &str) -> String {
        self.url_at(self.server.port, name)
    }

    fn url_at(&self, port: u16, name: &str) -> String {
        let password = self.server.password.replace('/', "%2F").replace('@', "%40");
        format!("postgres://assay:{password}@127.0.0.1:{port}/{name}")
    }

    /// Writes the settings by which a data directory uses the database.
    ///
    /// # Panics
    ///
    /// Panics if the directory cannot be written.
    pub fn connect_directory(&self, directory: &Path) {
        let settings = format!("database-url = \"{}\"\n", self.url());
        fs::write(directory.join("assay.toml"), settings).expect("a file of settings");
    }

    /// Directory of the PostgreSQL programs, such as `pg_dump`.
    #[must_use]
    pub fn programs(&self) -> &Path {
        &self.server.programs
    }

    /// Writes a backup with PostgreSQL's own tool.
    ///
    /// # Panics
    ///
    /// Panics if `pg_dump` fails.
    pub fn dump(&self, file: &Path) {
        self.run("pg_dump", &["--format=custom", "--file"], file);
    }

    /// Restores a backup over the current contents, with PostgreSQL's own tool.
    ///
    /// # Panics
    ///
    /// Panics if `pg_restore` fails.
    pub fn restore(&self, file: &Path) {
        self.run("pg_restore", &["--clean", "--if-exists", "--single-transaction"], file);
    }

    fn run(&self, program: &str, arguments: &[&str], file: &Path) {
        let mut command = Command::new(self.programs().join(program));
        let output = command.args(arguments).arg(file).args(["--dbname", &self.url()]).output();
        let output = output.expect("it runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// Runs a script as `psql` runs a file: statements, and commands of `psql`. The script stops at the first failure.
    ///
    /// # Panics
    ///
    /// Panics if a statement fails.
    pub fn script(&self, text: &str) {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        file.write_all(text.as_bytes()).expect("a file of statements");
        let settings = ["--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", "--file"];
        self.run("psql", &settings, file.path());
    }

    /// Result of a statement, as `psql` prints it.
    ///
    /// # Panics
    ///
    /// Panics if `psql` fails.
    #[must_use]
    pub fn query(&self, statement: &str) -> String {
        let output = Command::new(self.programs().join("psql"))
            .args(["--no-psqlrc", "--tuples-only", "--no-align", "--command", statement])
            .arg(self.url())
            .output()
            .expect("psql runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.script.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        // The script stops the server and removes its files.
        let _ = self.child.wait();
    }
}

/// The programs of the newest installed version.
fn programs() -> PathBuf {
    let versions = fs::read_dir(VERSIONS).into_iter().flatten().flatten();
    let newest = versions
        .map(|version| version.path().join("bin"))
        .filter(|programs| programs.join("postgres").is_file())
        .max_by_key(|programs| {
            let version = programs.parent().and_then(Path::file_name).unwrap_or_default();
            version.to_string_lossy().parse::<u32>().unwrap_or(0)
        });
    newest.unwrap_or_else(|| {
        panic!("there is no {VERSIONS}/*/bin/postgres: install the Debian package `postgresql`")
    })
}
