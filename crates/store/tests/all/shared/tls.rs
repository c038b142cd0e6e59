//! TLS to the server: verification of the server, and client certificates.

use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::PathBuf,
    process::Command,
};

use assay_database::DatabaseError;
use assay_engine::facts::Environment;
use assay_store::{PostgresStore, Store, StoreError};
use assay_test_servers::{Authority, PostgresServer, eventually};
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, Row};
use tempfile::TempDir;

use super::PATIENCE;

/// Certificates of a test CA: for a server called `localhost`, and for a client. The CA `other` has issued no
/// certificate.
struct Certificates(TempDir);

impl Certificates {
    fn new() -> Self {
        let own = Self(tempfile::tempdir().unwrap());
        fs::set_permissions(own.0.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let authority = Authority::new();
        fs::write(own.path("ca.pem"), authority.pem()).unwrap();
        fs::write(own.path("other.pem"), Authority::new().pem()).unwrap();
        authority.server_at(&["localhost"]).write(own.0.path(), "server");
        authority.client("certified").write(own.0.path(), "client");
        // PostgreSQL runs as another user if these tests run as root, and requires that only this
        // user can read its key.
        let key = own.path("server.key");
        fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
        if fs::metadata(own.0.path()).unwrap().uid() == 0 {
            assert!(Command::new("chown").arg("postgres").arg(key).status().unwrap().success());
        }
        own
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

/// A server that accepts TLS only, and a login `certified` by certificate alone.
struct Secured {
    server: PostgresServer,
    certificates: Certificates,
    /// URL of an existing store at `localhost`.
    url: String,
}

impl Secured {
    async fn new() -> Self {
        let (server, certificates) = (PostgresServer::start(), Certificates::new());
        let url = server.database();
        open(&url).await.unwrap().close().await;
        let _ = server.login(&url, "certified", "IN ROLE assay_serve");
        let mut connection = PgConnection::connect(&url).await.unwrap();
        let file = |name: &str| certificates.path(name).display().to_string();
        for (setting, value) in [
            ("ssl_cert_file", file("server.pem")),
            ("ssl_key_file", file("server.key")),
            ("ssl_ca_file", file("ca.pem")),
            ("ssl", "on".to_owned()),
        ] {
            let set = format!("ALTER SYSTEM SET {setting} = '{value}'");
            connection.execute(AssertSqlSafe(set)).await.unwrap();
        }
        let rules: String = connection.fetch_one("SHOW hba_file").await.unwrap().get(0);
        let lines =
            "hostssl all certified 127.0.0.1/32 cert', 'hostssl all all 127.0.0.1/32 scram-sha-256";
        let copy = format!("COPY (SELECT unnest(ARRAY['{lines}'])) TO '{rules}'");
        connection.execute(AssertSqlSafe(copy)).await.unwrap();
        connection.execute("SELECT pg_reload_conf()").await.unwrap();
        let url = url.replace("127.0.0.1", "localhost");
        let with_tls = format!("{url}?sslmode=require");
        eventually("a server with TLS", async || open(&with_tls).await.is_ok()).await;
        Self { server, certificates, url }
    }

    fn with(&self, mode: &str, authority: &str) -> String {
        let root = self.certificates.path(authority).display().to_string();
        format!("{}?sslmode={mode}&sslrootcert={root}", self.url)
    }
}

async fn open(url: &str) -> Result<PostgresStore, StoreError> {
    PostgresStore::open_or_create(url, Environment::Production).await
}

/// Message of a refusal.
async fn refusal(url: &str) -> String {
    let error = open(url).await.unwrap_err();
    assert!(matches!(error, StoreError::Database(DatabaseError::Connect { .. })), "{error}");
    error.to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_is_verified_as_the_url_requires() {
    let secured = Secured::new().await;
    let store = open(&secured.with("verify-full", "ca.pem")).await.unwrap();
    assert_eq!(store.revisions().await.unwrap().control, 0);
    let mut hints = store.subscribe().unwrap();
    tokio::time::timeout(PATIENCE, hints.changed()).await.expect("it listens");
    let mut superuser =
        PgConnection::connect(&secured.with("verify-full", "ca.pem")).await.unwrap();
    let plain = "SELECT count(*) FILTER (WHERE NOT ssl), count(*) FROM pg_stat_ssl
                 JOIN pg_stat_activity USING (pid) WHERE application_name = 'assay'";
    let row = superuser.fetch_one(plain).await.unwrap();
    assert_eq!(row.get::<i64, _>(0), 0, "no connection is without TLS");
    assert!(row.get::<i64, _>(1) >= 2, "those of the pool and the one that listens");

    for mode in ["verify-full", "verify-ca", "require"] {
        let text = refusal(&secured.with(mode, "other.pem")).await;
        assert!(text.contains("certificate") && text.contains("UnknownIssuer"), "{mode}: {text}");
    }
    let other_name = secured.with("verify-full", "ca.pem").replace("localhost", "127.0.0.1");
    let text = refusal(&other_name).await;
    assert!(text.contains("not valid for name") || text.contains("NotValidForName"), "{text}");
    let any_name = secured.with("verify-ca", "ca.pem").replace("localhost", "127.0.0.1");
    open(&any_name).await.expect("verify-ca asks for no name");
    let text = refusal(&format!("{}?sslmode=disable", secured.url)).await;
    assert!(text.contains("no encryption"), "{text}");
    assert!(refusal(&secured.with("verify-full", "missing.pem")).await.contains("No such file"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_gets_in_by_its_certificate() {
    let secured = Secured::new().await;
    let (_, database) = secured.url.rsplit_once('/').unwrap();
    let port = secured.server.host().rsplit_once(':').unwrap().1.to_owned();
    let file = |name: &str| secured.certificates.path(name).display().to_string();
    let url = format!(
        "postgres://certified@localhost:{port}/{database}?sslmode=verify-full&sslrootcert={}",
        file("ca.pem")
    );
    assert!(refusal(&url).await.contains("certificate"));
    let with = format!("{url}&sslcert={}&sslkey={}", file("client.pem"), file("client.key"));
    let store = PostgresStore::open(&with).await.unwrap();
    assert_eq!(store.revisions().await.unwrap().control, 0);
    let another = with.replace("certified@", "assay@");
    assert!(!refusal(&another).await.is_empty(), "a certificate is its owner's only");
}
