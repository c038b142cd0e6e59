//! A PostgreSQL server for the tests alone: started from Debian's programs, gone with this process.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpListener,
    os::unix::{fs::MetadataExt, process::CommandExt},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::{
        Mutex, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

/// Where Debian keeps the programs of each version.
const VERSIONS: &str = "/usr/lib/postgresql";
/// Another program may take the free port before the server does.
const ATTEMPTS: usize = 3;
/// Characters that mean something in a URL.
pub(crate) const PASSWORD: &str = "s3/cr@t";
const PASSWORD_IN_URL: &str = "s3%2Fcr%40t";

pub(crate) struct Server {
    port: u16,
    databases: AtomicUsize,
    pipes: Mutex<Pipes>,
    _child: Child,
}

/// Closing the first stops the server.
struct Pipes {
    commands: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Server {
    /// The server that the tests of this process share.
    pub(crate) fn of_this_process() -> &'static Self {
        static SERVER: OnceLock<Server> = OnceLock::new();
        SERVER.get_or_init(Self::start)
    }

    /// A server of one's own, to restart it.
    pub(crate) fn start() -> Self {
        Self::start_as("")
    }

    /// A standby of this server.
    pub(crate) fn standby(&self) -> Self {
        Self::start_as(&self.url("postgres"))
    }

    fn start_as(primary: &str) -> Self {
        let programs = programs();
        let mut said = String::new();
        for _ in 0..ATTEMPTS {
            match Self::try_start(&programs, primary) {
                Ok(server) => return server,
                Err(log) => said = log,
            }
        }
        panic!("PostgreSQL from {} does not start:\n{said}", programs.display());
    }

    fn try_start(programs: &Path, primary: &str) -> Result<Self, String> {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        // PostgreSQL refuses to run as root.
        let root = std::fs::metadata("/proc/self").unwrap().uid() == 0;
        let mut command = if root {
            let mut command = Command::new("setpriv");
            command.args(["--reuid=postgres", "--regid=postgres", "--init-groups", "sh"]);
            command.env("TMPDIR", "/tmp");
            command
        } else {
            Command::new("sh")
        };
        let mut child = command
            .args(["-c", include_str!("server.sh"), "server.sh"])
            .arg(programs)
            .args([&port.to_string(), PASSWORD, primary])
            .current_dir("/")
            // What ends this process's group must leave the script to clean up.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let commands = child.stdin.take().unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap());
        let mut pipes = Pipes { commands, answers };
        if let Err(log) = pipes.expect_ready() {
            child.wait().unwrap();
            return Err(log);
        }
        Ok(Self { port, databases: AtomicUsize::new(0), pipes: Mutex::new(pipes), _child: child })
    }

    /// Stops the server, with all connections to it, and starts it again on the same port.
    pub(crate) fn restart(&self) {
        let mut pipes = self.pipes.lock().unwrap();
        pipes.commands.write_all(b"restart\n").unwrap();
        pipes.expect_ready().unwrap();
    }

    /// The URL of a new and empty database that belongs to a login of its own. It is no superuser: what
    /// walls there are stand before it.
    pub(crate) async fn owned_database(&self) -> String {
        let url = self.database().await;
        let (_, database) = url.rsplit_once('/').unwrap();
        let login = format!("owner_of_{database}");
        let owner = self.login(&url, &login, "").await;
        let mut connection = PgConnection::connect(&url).await.unwrap();
        let give = format!("ALTER DATABASE {database} OWNER TO {login}");
        connection.execute(AssertSqlSafe(give)).await.unwrap();
        connection.close().await.unwrap();
        owner
    }

    /// The URL of a database for a new login, made with `options`.
    pub(crate) async fn login(&self, url: &str, name: &str, options: &str) -> String {
        let mut connection = PgConnection::connect(&self.url("postgres")).await.unwrap();
        let create = format!("CREATE ROLE {name} LOGIN PASSWORD '{PASSWORD}' {options}");
        connection.execute(AssertSqlSafe(create)).await.unwrap();
        connection.close().await.unwrap();
        url.replacen("//assay:", &format!("//{name}:"), 1)
    }

    /// The URL of a new and empty database, whose own order of texts is not that of their bytes.
    pub(crate) async fn database(&self) -> String {
        self.database_with(
            "ENCODING 'UTF8' LOCALE 'C.UTF-8' LOCALE_PROVIDER icu ICU_LOCALE 'en-US'",
        )
        .await
    }

    /// The URL of a new and empty database, made with `options`.
    pub(crate) async fn database_with(&self, options: &str) -> String {
        let name = format!("test_{}", self.databases.fetch_add(1, Ordering::Relaxed));
        let mut connection = PgConnection::connect(&self.url("postgres")).await.unwrap();
        let create = format!("CREATE DATABASE {name} TEMPLATE template0 {options}");
        connection.execute(AssertSqlSafe(create)).await.unwrap();
        connection.close().await.unwrap();
        self.url(&name)
    }

    /// Where the server listens.
    pub(crate) fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// The URL of the database called `name`.
    pub(crate) fn url(&self, name: &str) -> String {
        format!("postgres://assay:{PASSWORD_IN_URL}@127.0.0.1:{}/{name}", self.port)
    }
}

impl Pipes {
    fn expect_ready(&mut self) -> Result<(), String> {
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        if line == "ready\n" {
            return Ok(());
        }
        self.answers.read_to_string(&mut line).unwrap();
        Err(line)
    }
}

/// The programs of the newest version that is installed.
fn programs() -> PathBuf {
    let installed = std::fs::read_dir(VERSIONS).into_iter().flatten().flatten();
    let newest = installed
        .filter_map(|version| Some((version.file_name().to_str()?.parse::<u32>().ok()?, version)))
        .map(|(number, version)| (number, version.path().join("bin")))
        .filter(|(_, programs)| programs.join("postgres").is_file())
        .max();
    let Some((_, programs)) = newest else {
        panic!(
            "these tests need a PostgreSQL server: there is no {VERSIONS}/*/bin/postgres; install \
             the Debian package `postgresql`"
        );
    };
    programs
}
