//! A PostgreSQL server on which tests create databases and logins.

use std::sync::{
    OnceLock,
    atomic::{AtomicUsize, Ordering},
};

use super::{Postgres, StartOptions};

/// A PostgreSQL server with databases and logins of tests, stopped when dropped.
#[derive(Debug)]
pub struct PostgresServer {
    /// The database `postgres`, with the superuser's login.
    administration: Postgres,
    databases: AtomicUsize,
}

impl PostgresServer {
    /// The password of every login, with characters that must be escaped in a URL.
    pub const PASSWORD: &str = "s3/cr@t";

    /// The server that the tests of this process share.
    ///
    /// # Panics
    ///
    /// Panics if the server does not start.
    #[must_use]
    pub fn shared_by_process() -> &'static Self {
        static SERVER: OnceLock<PostgresServer> = OnceLock::new();
        SERVER.get_or_init(Self::start)
    }

    /// Starts a server for one test, which may restart it.
    ///
    /// # Panics
    ///
    /// Panics if the server does not start.
    #[must_use]
    pub fn start() -> Self {
        Self::start_as("")
    }

    /// Starts a standby of this server.
    ///
    /// # Panics
    ///
    /// Panics if the server does not start.
    #[must_use]
    pub fn standby(&self) -> Self {
        Self::start_as(&self.url("postgres"))
    }

    fn start_as(primary: &str) -> Self {
        let starting =
            StartOptions { password: Self::PASSWORD, primary, ..StartOptions::default() };
        Self { administration: starting.start(), databases: AtomicUsize::new(0) }
    }

    /// Stops the server, with all connections to it, and starts it again on the same port.
    ///
    /// # Panics
    ///
    /// Panics if the server does not stop or start.
    pub fn restart(&self) {
        self.administration.restart();
    }

    /// The URL of a new and empty database that a new login owns. The login is no superuser, so that row-level security
    /// applies.
    ///
    /// # Panics
    ///
    /// Panics if the server refuses a statement.
    #[must_use]
    pub fn owned_database(&self) -> String {
        let name = self.create_database(OTHER_ORDER);
        let login = format!("owner_of_{name}");
        let url = self.login(&self.url(&name), &login, "");
        self.run(&format!("ALTER DATABASE {name} OWNER TO {login}"));
        url
    }

    /// The URL of a database for a new login, created with `options`.
    ///
    /// # Panics
    ///
    /// Panics if the server refuses a statement.
    #[must_use]
    pub fn login(&self, url: &str, name: &str, options: &str) -> String {
        self.run(&format!("CREATE ROLE {name} LOGIN PASSWORD '{}' {options}", Self::PASSWORD));
        url.replacen("//assay:", &format!("//{name}:"), 1)
    }

    /// The URL of a new and empty database, whose collation differs from the order of bytes.
    ///
    /// # Panics
    ///
    /// Panics if the server refuses a statement.
    #[must_use]
    pub fn database(&self) -> String {
        self.database_with(OTHER_ORDER)
    }

    /// The URL of a new and empty database, created with `options`.
    ///
    /// # Panics
    ///
    /// Panics if the server refuses a statement.
    #[must_use]
    pub fn database_with(&self, options: &str) -> String {
        self.url(&self.create_database(options))
    }

    fn create_database(&self, options: &str) -> String {
        let name = format!("test_{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.run(&format!("CREATE DATABASE {name} TEMPLATE template0 {options}"));
        name
    }

    fn run(&self, statement: &str) {
        let _ = self.administration.query(statement);
    }

    /// Host and port of the server.
    #[must_use]
    pub fn host(&self) -> String {
        format!("127.0.0.1:{}", self.administration.port())
    }

    /// The URL of the database called `name`.
    #[must_use]
    pub fn url(&self, name: &str) -> String {
        self.administration.url_of_database(name)
    }
}

/// Options of a database whose collation differs from the order of bytes.
const OTHER_ORDER: &str = "ENCODING 'UTF8' LOCALE 'C.UTF-8' LOCALE_PROVIDER icu ICU_LOCALE 'en-US'";
