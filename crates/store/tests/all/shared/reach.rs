//! Connections to the server that takes writes, with the present credentials.

use std::{collections::BTreeSet, fs, path::PathBuf, pin::pin, sync::Arc, time::Duration};

use assay_database::DatabaseError;
use assay_database::postgres::DatabaseAddress;
use assay_engine::facts::Environment;
use assay_store::{ControlStore, PostgresStore, Store, StoreError};
use assay_test_servers::{PostgresServer, eventually};
use futures_util::future::{Either, join_all, select};
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, Row};
use tempfile::TempDir;
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    sync::watch,
};

use super::{PATIENCE, key};

async fn open_or_create(address: impl Into<DatabaseAddress>) -> Result<PostgresStore, StoreError> {
    PostgresStore::open_or_create(address, Environment::Production).await
}

async fn run(url: &str, statements: &str) {
    let mut connection = PgConnection::connect(url).await.unwrap();
    connection.execute(AssertSqlSafe(statements.to_owned())).await.unwrap();
}

/// Ends every connection to the database but the connection that sends the statement.
async fn end_connections(url: &str) {
    run(
        url,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = current_database() AND pid <> pg_backend_pid()",
    )
    .await;
}

/// Repeats an attempt until it succeeds.
async fn in_the_end<T>(mut attempt: impl AsyncFnMut() -> Result<T, StoreError>) -> T {
    let mut value = None;
    eventually("it works", async || {
        value = attempt().await.ok();
        value.is_some()
    })
    .await;
    value.unwrap()
}

/// The URL with these hosts instead of its own.
fn at_hosts(url: &str, hosts: &[&str]) -> String {
    let (before, after) = url.split_once('@').unwrap();
    let (_, path) = after.split_once('/').unwrap();
    format!("{before}@{}/{path}", hosts.join(","))
}

/// A login, its URL for superusers and without a password, and a file with its password.
struct Login {
    superuser: String,
    name: String,
    without_password: String,
    folder: TempDir,
}

impl Login {
    async fn new() -> Self {
        let server = PostgresServer::shared_by_process();
        let superuser = server.database();
        open_or_create(&superuser).await.unwrap().close().await;
        let (before, database) = superuser.rsplit_once('/').unwrap();
        let (_, host) = before.rsplit_once('@').unwrap();
        let name = format!("rotated_{database}");
        let _ = server.login(&superuser, &name, "IN ROLE assay_control");
        let without_password = format!("postgres://{name}@{host}/{database}");
        let folder = tempfile::tempdir().unwrap();
        let login = Self { superuser, name, without_password, folder };
        login.write(PostgresServer::PASSWORD);
        login
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("password")
    }

    fn write(&self, password: &str) {
        fs::write(self.file(), format!("{password}\n")).unwrap();
    }

    fn address(&self) -> DatabaseAddress {
        DatabaseAddress::from_url(&self.without_password).with_password_file(&self.file())
    }

    async fn change_password(&self, password: &str) {
        let alter = format!("ALTER ROLE {} PASSWORD '{password}'", self.name);
        run(&self.superuser, &alter).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rotated_password_is_read_again() {
    let login = Login::new().await;
    let store = PostgresStore::open(login.address()).await.unwrap();
    let mut hints = store.subscribe().unwrap();
    tokio::time::timeout(PATIENCE, hints.changed()).await.unwrap();
    store.add_key(&key(1, "acme"), None).await.unwrap();
    tokio::time::timeout(PATIENCE, hints.changed()).await.unwrap();

    login.change_password("another").await;
    // Connections that are open stay open. A connection that is just being returned to its pool is not free
    // at once.
    in_the_end(async || store.add_key(&key(2, "acme"), None).await).await;
    login.write("another");
    end_connections(&login.superuser).await;
    // Neither is started again.
    in_the_end(async || store.add_key(&key(3, "acme"), None).await).await;
    tokio::time::timeout(PATIENCE, hints.changed()).await.unwrap();
    assert_eq!(store.control().await.unwrap().keys.len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_file_that_appears_late_is_used() {
    let login = Login::new().await;
    let store = PostgresStore::open(login.address()).await.unwrap();
    login.change_password("another").await;
    end_connections(&login.superuser).await;
    let error = store.revisions().await.unwrap_err();
    let text = format!("{error} {error:?}");
    assert!(text.contains("password authentication failed"), "{text}");
    assert!(!text.contains(PostgresServer::PASSWORD), "{text}");
    login.write("another");
    store.revisions().await.expect("the first call after it was written");
}

#[tokio::test]
async fn a_refused_password_is_reported_in_the_words_of_the_server() {
    // Given a login whose password is no longer the one in its file,
    let login = Login::new().await;
    login.change_password("another").await;
    // when it connects,
    let error = PostgresStore::open(login.address()).await.unwrap_err();
    // then the error ends with the server's message: the line of the server's source code does not follow.
    let (text, name) = (error.to_string(), &login.name);
    let message = format!(": password authentication failed for user \"{name}\"");
    assert!(text.starts_with("failed to connect to the database "), "{text}");
    assert!(text.ends_with(&message), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn new_connections_use_the_new_password_while_the_old_one_still_works() {
    // Two logins, of which the second one replaces the first.
    let login = Login::new().await;
    let url = login.folder.path().join("url");
    let with = |name: &str| {
        login.without_password.replacen(&format!("//{}@", login.name), &format!("//{name}@"), 1)
    };
    let server = PostgresServer::shared_by_process();
    let second = format!("second_{}", login.name);
    let _ = server.login(&login.superuser, &second, "IN ROLE assay_control");
    fs::write(&url, with(&login.name)).unwrap();
    let address = DatabaseAddress::from_url_file(&url)
        .with_password_file(&login.file())
        .with_lifetime(Duration::from_millis(200));
    let store = PostgresStore::open(address).await.unwrap();
    fs::write(&url, with(&second)).unwrap();
    let who = format!(
        "SELECT coalesce(bool_and(usename = '{second}'), false) FROM pg_stat_activity
         WHERE datname = current_database() AND usename LIKE '%rotated%'"
    );
    let mut connection = PgConnection::connect(&login.superuser).await.unwrap();
    eventually("old connections are replaced", async || {
        store.revisions().await.unwrap();
        let who = AssertSqlSafe(who.clone());
        connection.fetch_one(who).await.unwrap().get::<bool, _>(0)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_are_replaced_after_their_lifetime() {
    let url = PostgresServer::shared_by_process().database();
    let address = DatabaseAddress::from_url(&url).with_lifetime(Duration::from_millis(50));
    let store = open_or_create(address).await.unwrap();
    let mut connection = PgConnection::connect(&url).await.unwrap();
    let pids = "SELECT pid FROM pg_stat_activity
                WHERE datname = current_database() AND pid <> pg_backend_pid()";
    let mut seen = BTreeSet::new();
    eventually("new connections", async || {
        store.revisions().await.unwrap();
        let rows = connection.fetch_all(pids).await.unwrap();
        seen.extend(rows.iter().map(|row| row.get::<i32, _>(0)));
        seen.len() >= 3
    })
    .await;
}

#[tokio::test]
async fn errors_of_a_credentials_file_do_not_show_its_content() {
    let login = Login::new().await;
    let missing = login.folder.path().join("missing");
    let empty = login.folder.path().join("empty");
    fs::write(&empty, "\n").unwrap();
    for file in [&missing, &empty] {
        let by_password =
            DatabaseAddress::from_url(&login.without_password).with_password_file(file);
        for address in [by_password, DatabaseAddress::from_url_file(file)] {
            let error = PostgresStore::open(address).await.unwrap_err();
            assert!(
                matches!(error, StoreError::Database(DatabaseError::CredentialFile { .. })),
                "{error}"
            );
            assert!(error.to_string().contains(file.to_str().unwrap()), "{error}");
        }
    }
    // A password in the place of a URL.
    let error =
        PostgresStore::open(DatabaseAddress::from_url_file(&login.file())).await.unwrap_err();
    let store = PostgresStore::open(login.address()).await.unwrap();
    let hints = store.subscribe().unwrap();
    let shown = format!("{error} {error:?} {store:?} {hints:?} {:?}", login.address());
    for secret in [PostgresServer::PASSWORD, "s3", "cr@t"] {
        assert!(!shown.contains(secret), "{shown}");
    }
}

#[tokio::test]
async fn a_server_that_takes_no_writes_is_not_used() {
    let server = PostgresServer::start();
    let url = server.database();
    open_or_create(&url).await.unwrap().close().await;
    run(&url, "ALTER SYSTEM SET default_transaction_read_only = on").await;
    run(&url, "SELECT pg_reload_conf()").await;
    let refused = async {
        loop {
            if let Err(error) = PostgresStore::open(&url).await {
                return error;
            }
        }
    };
    let error = tokio::time::timeout(PATIENCE, refused).await.unwrap();
    assert!(matches!(error, StoreError::Database(DatabaseError::ReadOnly(_))), "{error}");
    assert!(error.to_string().contains(&server.host()), "{error}");

    let nobody = at_hosts(&url, &["127.0.0.1:1", &server.host()]);
    let text = PostgresStore::open(&nobody).await.unwrap_err().to_string();
    assert!(text.contains("127.0.0.1:1/") && text.contains(&server.host()), "{text}");
    assert!(text.contains("refused") && text.contains("standby"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_primary_is_found_again_after_a_failover() {
    let primary = PostgresServer::start();
    let url = primary.database();
    open_or_create(&url).await.unwrap().close().await;
    let standby = primary.standby();
    let (_, name) = url.rsplit_once('/').unwrap();
    let standby_url = standby.url(name);
    let error = PostgresStore::open(&standby_url).await.unwrap_err();
    assert!(matches!(error, StoreError::Database(DatabaseError::ReadOnly(_))), "{error}");

    // The order of the hosts does not matter.
    let hosts = at_hosts(&url, &[&standby.host(), &primary.host()]);
    let store = Arc::new(open_or_create(&hosts).await.unwrap());
    let mut hints = store.subscribe().unwrap();
    tokio::time::timeout(PATIENCE, hints.changed()).await.unwrap();
    store.add_key(&key(1, "acme"), None).await.unwrap();
    tokio::time::timeout(PATIENCE, hints.changed()).await.unwrap();
    let mut connection = PgConnection::connect(&standby_url).await.unwrap();
    let arrived = "SELECT control_revision = 1 FROM installation";
    eventually("the standby follows", async || {
        connection.fetch_one(arrived).await.unwrap().get::<bool, _>(0)
    })
    .await;

    drop(primary);
    // It takes a moment to go.
    let gone = async {
        loop {
            if let Err(error) = store.revisions().await {
                return error;
            }
        }
    };
    let error = tokio::time::timeout(PATIENCE, gone).await.expect("the primary is gone");
    assert!(!format!("{error} {error:?}").contains(PostgresServer::PASSWORD), "{error}");
    connection.execute("SELECT pg_promote()").await.unwrap();
    in_the_end(async || store.add_key(&key(2, "acme"), None).await).await;
    assert_eq!(store.control().await.unwrap().keys.len(), 2, "nothing that was there is lost");
    let listening = "SELECT EXISTS (SELECT FROM pg_stat_activity
                     WHERE datname = current_database() AND pid <> pg_backend_pid()
                       AND (query LIKE 'LISTEN %' OR query = 'SELECT 1'))";
    let again = async {
        while !connection.fetch_one(listening).await.unwrap().get::<bool, _>(0) {
            hints.changed().await;
        }
    };
    tokio::time::timeout(PATIENCE, again).await.expect("the new primary is listened to");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_demoted_while_connected_is_left() {
    // Both hold the same; the second one is no standby, so that it can take writes at once.
    let (first, second) = (PostgresServer::start(), PostgresServer::start());
    let (one, other) = (first.database(), second.database());
    assert_eq!(one.rsplit_once('/').unwrap().1, other.rsplit_once('/').unwrap().1);
    open_or_create(&other).await.unwrap().close().await;
    let store = open_or_create(&at_hosts(&one, &[&first.host(), &second.host()])).await.unwrap();
    store.add_key(&key(1, "acme"), None).await.unwrap();
    // Connections that are open stay so, and notice.
    run(&one, "ALTER SYSTEM SET default_transaction_read_only = on").await;
    run(&one, "SELECT pg_reload_conf()").await;
    eventually("it goes to the other one", async || store.revisions().await.unwrap().control == 0)
        .await;
    store.add_key(&key(2, "acme"), None).await.unwrap();
}

/// Forwards bytes to a server until it is silenced; then it accepts connections and forwards
/// nothing, as in a network partition.
struct Wire {
    host: String,
    silent: watch::Sender<bool>,
}

impl Wire {
    async fn to(server: &PostgresServer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let (silent, is_silent) = watch::channel(false);
        let server = server.host();
        tokio::spawn(async move {
            while let Ok((mut caller, _)) = listener.accept().await {
                let (server, mut is_silent) = (server.clone(), is_silent.clone());
                tokio::spawn(async move {
                    let mut answers = TcpStream::connect(server).await.unwrap();
                    let cut = async {
                        let _ = is_silent.wait_for(|silent| *silent).await;
                    };
                    let passing = copy_bidirectional(&mut caller, &mut answers);
                    if let Either::Left(_) = select(pin!(cut), pin!(passing)).await {
                        std::future::pending::<()>().await;
                    }
                });
            }
        });
        Self { host, silent }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_falls_silent_is_left() {
    let (first, second) = (PostgresServer::start(), PostgresServer::start());
    let (one, other) = (first.database(), second.database());
    open_or_create(&other).await.unwrap().close().await;
    let wire = Wire::to(&first).await;
    let store = open_or_create(&at_hosts(&one, &[&wire.host, &second.host()])).await.unwrap();
    store.add_key(&key(1, "acme"), None).await.unwrap();
    // Every connection of the pool falls silent.
    let reads = join_all((0..10).map(|_| store.control())).await;
    assert!(reads.iter().all(Result::is_ok));
    wire.silent.send(true).unwrap();
    assert_eq!(in_the_end(async || store.revisions().await).await.control, 0, "the other one's");
    for number in 2..6 {
        store.add_key(&key(number, "acme"), None).await.expect("no silent connection is left");
    }
}
