//! A PostgreSQL server for the tests alone, with as many databases and logins as they want.

use std::sync::{
    OnceLock,
    atomic::{AtomicUsize, Ordering},
};

use assay_test_servers::{Postgres, Starting};
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

/// Characters that mean something in a URL.
pub(crate) const PASSWORD: &str = "s3/cr@t";

pub(crate) struct Server {
    postgres: Postgres,
    databases: AtomicUsize,
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
        let postgres = Starting { password: PASSWORD, primary, ..Starting::default() }.start();
        Self { postgres, databases: AtomicUsize::new(0) }
    }

    /// Stops the server, with all connections to it, and starts it again on the same port.
    pub(crate) fn restart(&self) {
        self.postgres.restart();
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
        format!("127.0.0.1:{}", self.postgres.port())
    }

    /// The URL of the database called `name`.
    pub(crate) fn url(&self, name: &str) -> String {
        self.postgres.url_of(name)
    }
}
