//! Settings in layers: flags override the environment, the environment overrides the file, and the file overrides the
//! defaults. All problems are reported at once.
//!
//! - [`definitions`]: the table of settings
//! - [`layers`]: flags, environment and file
//! - [`value`]: parsing of values
//! - [`resolve`]: settings from layers

mod definitions;
mod layers;
mod resolve;
#[cfg(test)]
mod tests;
mod value;

use std::{fmt, net::SocketAddr, path::PathBuf, time::Duration};

use assay_chain_protocol::{ChainServerCredentials, ChainServers, InvalidServers};
use assay_database::postgres::DatabaseAddress;
use assay_egress::{NamedCredentials, Networks};
use assay_redis::{RedisSettings, RedisUrl};
use assay_telemetry::{LogFormat, request::LogSample};

pub use definitions::{DEFINITIONS, Definition};
pub use layers::{Layers, SettingOrigin, SettingsFileError, read_file};
pub use resolve::SettingProblem;

/// All settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CliSettings {
    /// Directory of the embedded database.
    pub data_dir: PathBuf,
    /// PostgreSQL database to use instead of the embedded one.
    pub database_url: Option<DatabaseUrl>,
    /// File with the URL of the PostgreSQL database.
    pub database_url_file: Option<PathBuf>,
    /// File with the password of the PostgreSQL database.
    pub database_password_file: Option<PathBuf>,
    /// Largest number of PostgreSQL connections that read chains.
    pub database_readers: u32,
    /// Chain servers, each as `CHAIN=URL`.
    pub chain_servers: Vec<String>,
    /// File with the tokens of chain servers.
    pub chain_token_file: Option<PathBuf>,
    /// CA bundle for chain servers with TLS.
    pub chain_ca_file: Option<PathBuf>,
    /// List of revoked keys; by default in the data directory.
    pub revocations: Option<PathBuf>,
    /// Lowest level of log lines.
    pub log_level: String,
    /// Format of log lines.
    pub log_format: LogFormat,
    /// Sample of the requests without a problem that have a log line.
    pub log_sample: LogSample,
    /// Listening address of the API.
    pub listen: SocketAddr,
    /// Listening address of health checks and metrics.
    pub admin_listen: SocketAddr,
    /// Pages for people.
    pub console: ConsoleMode,
    /// URL at which people reach the server.
    pub console_url: Option<String>,
    /// URL of the issuer at which people sign in.
    pub oidc_issuer: Option<String>,
    /// Client ID.
    pub oidc_client_id: Option<String>,
    /// File with the client secret.
    pub oidc_client_secret_file: Option<PathBuf>,
    /// File that maps claims to a tenant and a role.
    pub oidc_role_mapping_file: Option<PathBuf>,
    /// Mapping of claims to a tenant and a role.
    pub oidc_role_mapping: Option<String>,
    /// Scopes that are requested beside `openid`.
    pub oidc_scopes: Vec<String>,
    /// Largest number of connections that wait to be accepted.
    pub listen_backlog: u32,
    /// Timeout of a request.
    pub request_timeout: Duration,
    /// Time to keep accepting connections after the stop signal.
    pub drain_delay: Duration,
    /// Time for in-flight requests to finish after the stop signal.
    pub shutdown_grace: Duration,
    /// Largest number of concurrent connections.
    pub max_connections: usize,
    /// Largest number of connections of one address that never showed a valid key.
    pub max_connections_per_peer: usize,
    /// Networks of proxies in front of the server.
    pub trusted_proxies: Networks,
    /// PROXY headers of trusted proxies.
    pub proxy_protocol: Switch,
    /// Size of the response cache in bytes.
    pub cache_bytes: u64,
    /// Interval between checks for changed data.
    pub refresh_interval: Duration,
    /// Fetching of sources on their schedules and following of chains.
    pub feeds: Feeds,
    /// Folder of local files that sources may name; by default in the data directory.
    pub source_dir: Option<PathBuf>,
    /// Folders of further credentials files that sources may name.
    pub credentials_dirs: Vec<PathBuf>,
    /// Files with credentials of single sources.
    pub source_credentials: Vec<NamedCredentials>,
    /// Private networks from which sources may be fetched.
    pub source_networks: Networks,
    /// Redis that servers share.
    pub redis_url: Option<RedisUrl>,
    /// File with the URL of Redis.
    pub redis_url_file: Option<PathBuf>,
    /// File with the password of Redis.
    pub redis_password_file: Option<PathBuf>,
    /// CA bundle (PEM) for Redis over TLS.
    pub redis_ca_file: Option<PathBuf>,
    /// Prefix of the names of keys and channels in Redis.
    pub redis_prefix: String,
    /// Largest age of key data without confirmation.
    pub max_key_data_age: Duration,
    /// Largest age of lists and labels without confirmation.
    pub max_intel_age: Duration,
    /// Timeout of the TLS handshake and of a request's headers.
    pub header_timeout: Duration,
    /// Timeout of the body of a check.
    pub body_timeout: Duration,
    /// Timeout of the next row of a bulk request, and of a stalled response.
    pub stall_timeout: Duration,
    /// Largest number of concurrent requests.
    pub max_requests: usize,
    /// Certificate chain for TLS; without it, the API is served in plain text.
    pub tls_cert: Option<PathBuf>,
    /// Private key of the certificate.
    pub tls_key: Option<PathBuf>,
    /// Origins of web pages that may call the API.
    pub cors_origin: Vec<String>,
    /// Sending of `X-RateLimit-*` headers.
    pub legacy_rate_limit_headers: Switch,
    /// URL of an OTLP/HTTP collector for traces and metrics.
    pub otlp_endpoint: Option<String>,
    /// Interval between exports of metrics.
    pub otlp_interval: Duration,
    /// File with the key of the address hashes in logs.
    pub log_hash_key_file: Option<PathBuf>,
}

/// An optional behavior.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    /// Enabled.
    On,
    /// Disabled.
    Off,
}

/// URL of a PostgreSQL database, which may hold a password: `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct DatabaseUrl(String);

impl DatabaseUrl {
    /// The URL.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("DatabaseUrl")
    }
}

/// Pages for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConsoleMode {
    /// The server has the console if people sign in at an issuer, or if it listens on loopback.
    Auto,
    /// The server has no console.
    Off,
}

/// Fetching of sources on their schedules and following of chains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feeds {
    /// This server fetches sources and follows chains.
    On,
    /// This server neither fetches sources nor follows chains.
    Off,
}

impl CliSettings {
    /// True if the server has the console.
    #[must_use]
    pub const fn has_console(&self) -> bool {
        matches!(self.console, ConsoleMode::Auto)
            && (self.oidc_issuer.is_some() || self.listen.ip().is_loopback())
    }

    /// True if people and programs reach the server by TLS, which may end in front of it.
    #[must_use]
    pub fn is_reached_by_tls(&self) -> bool {
        match &self.console_url {
            Some(url) => url.starts_with("https://"),
            None => self.tls_cert.is_some(),
        }
    }

    /// Reads the URL of Redis from its file, if one is set.
    ///
    /// # Errors
    ///
    /// Returns the problem with the file or its URL. The message does not contain the URL.
    pub fn read_redis_url(&mut self) -> Result<(), String> {
        let Some(path) = &self.redis_url_file else { return Ok(()) };
        let wrong = |detail: &str| format!("redis-url-file {}: {detail}", path.display());
        let text = std::fs::read_to_string(path).map_err(|error| wrong(&error.to_string()))?;
        let place = value::redis_url(text.trim()).map_err(|detail| wrong(&detail))?;
        self.redis_url = Some(place.ok_or_else(|| wrong("holds no URL"))?);
        Ok(())
    }

    /// Connection settings of Redis, if it is used.
    #[must_use]
    pub fn redis(&self) -> Option<RedisSettings> {
        let mut settings = RedisSettings::new(self.redis_url.clone()?);
        settings.password_file.clone_from(&self.redis_password_file);
        settings.tls.ca_bundle.clone_from(&self.redis_ca_file);
        Some(settings)
    }

    /// Address of the PostgreSQL database; `None` for the embedded one.
    #[must_use]
    pub fn database(&self) -> Option<DatabaseAddress> {
        let address = match (&self.database_url, &self.database_url_file) {
            (Some(url), _) => DatabaseAddress::from_url(url.expose()),
            (None, Some(file)) => DatabaseAddress::from_url_file(file),
            (None, None) => return None,
        };
        let address = address.with_readers(self.database_readers);
        Some(match &self.database_password_file {
            Some(file) => address.with_password_file(file),
            None => address,
        })
    }

    /// The chain servers.
    ///
    /// # Errors
    ///
    /// Returns the entry that cannot be used; a setting that was resolved has no such entry.
    pub fn chain_servers(&self) -> Result<ChainServers, InvalidServers> {
        let entries = self.chain_servers.iter().map(String::as_str);
        ChainServers::parse(entries, &self.chain_credentials())
    }

    /// The credentials for chain servers.
    #[must_use]
    pub fn chain_credentials(&self) -> ChainServerCredentials {
        ChainServerCredentials {
            token: self.chain_token_file.clone(),
            authorities: self.chain_ca_file.clone(),
        }
    }
}
