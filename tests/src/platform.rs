//! Several servers that share PostgreSQL and Redis, as in production, and one tenant with a key.

use std::{fs, path::PathBuf, sync::Arc};

use tempfile::TempDir;

use crate::{Caller, Finished, Postgres, Server, assay, migrated_database, redis::Redis, tenant};

/// The database and cache that replicas share.
#[derive(Debug)]
pub struct Platform {
    /// The database.
    pub postgres: Postgres,
    /// The cache.
    pub redis: Redis,
    directory: Arc<TempDir>,
}

impl Platform {
    /// Creates a database on the server that tests share, starts a cache, and creates the tenant
    /// `acme` on the plan `enterprise`.
    ///
    /// # Panics
    ///
    /// Panics if a server does not start.
    #[must_use]
    pub fn start() -> Self {
        Self::with_servers(migrated_database(), Redis::start())
    }

    /// Like [`Self::start`], with a database server that the test may stop.
    ///
    /// # Panics
    ///
    /// Panics if a server does not start.
    #[must_use]
    pub fn start_with_own_database() -> Self {
        Self::with_servers(Postgres::start(), Redis::start())
    }

    /// Like [`Self::start`], with running servers.
    ///
    /// # Panics
    ///
    /// Panics if the tenant cannot be created.
    #[must_use]
    pub fn with_servers(postgres: Postgres, redis: Redis) -> Self {
        let directory = Arc::new(tempfile::tempdir().expect("a directory"));
        let settings =
            format!("database-url = \"{}\"\nredis-url = \"{}\"\n", postgres.url(), redis.url());
        fs::write(directory.path().join("assay.toml"), settings).expect("a file of settings");
        let platform = Self { postgres, redis, directory };
        platform.apply(&tenant("acme", "enterprise"));
        platform
    }

    /// Runs `assay` in the servers' directory.
    #[must_use]
    pub fn assay(&self, arguments: &[&str]) -> Finished {
        assay(self.directory.path(), arguments)
    }

    /// Writes a file in the servers' directory.
    ///
    /// # Panics
    ///
    /// Panics if the file cannot be written.
    pub fn write(&self, name: &str, text: &str) {
        fs::write(self.file(name), text).expect("a file");
    }

    /// Applies a manifest.
    ///
    /// # Panics
    ///
    /// Panics if the manifest is refused.
    pub fn apply(&self, manifest: &str) {
        fs::write(self.file("manifest.yaml"), manifest).expect("a manifest");
        let _ = self.assay(&["apply", "-f", "manifest.yaml"]).ok();
    }

    /// Creates a key of the tenant `acme`.
    ///
    /// # Panics
    ///
    /// Panics if the key cannot be created.
    #[must_use]
    pub fn key(&self) -> String {
        self.assay(&["keys", "create", "--tenant", "acme"]).ok().stdout.trim().to_owned()
    }

    /// The path of a file in the servers' directory.
    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Starts a server whose environment has further variables.
    #[must_use]
    pub fn server_in(&self, environment: &[(&str, String)]) -> Server {
        Server::start_in(Arc::clone(&self.directory), &[], environment)
    }

    /// Starts a server.
    #[must_use]
    pub fn server(&self, arguments: &[&str]) -> Server {
        Server::start(Arc::clone(&self.directory), arguments)
    }

    /// Starts the given number of servers, each with a caller that uses `key`.
    #[must_use]
    pub fn servers(&self, count: usize, key: &str, arguments: &[&str]) -> Vec<(Server, Caller)> {
        (0..count)
            .map(|_| {
                let server = self.server(arguments);
                let caller = server.caller(key);
                (server, caller)
            })
            .collect()
    }
}
