//! Settings: a flag goes before the environment, the environment before the file, the file before the
//! default. All that is wrong is said at once.
//!
//! - [`definitions`]: the table of settings
//! - [`layers`]: flags, environment and file
//! - [`value`]: reading one value
//! - [`resolve`]: from layers to settings

mod definitions;
mod layers;
mod resolve;
#[cfg(test)]
mod tests;
mod value;

use std::{fmt, net::SocketAddr, path::PathBuf, time::Duration};

use assay_database::postgres::DatabaseAddress;
use assay_redis::{RedisSettings, RedisUrl};
use assay_telemetry::LogFormat;

pub use definitions::{DEFINITIONS, Definition};
pub use layers::{Layers, Origin, ReadError, read_file};
pub use resolve::SettingProblem;

/// Everything that can be set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Where the embedded database lives.
    pub data_dir: PathBuf,
    /// A PostgreSQL database to use instead of the embedded one.
    pub database_url: Option<DatabaseUrl>,
    /// A file that holds that URL.
    pub database_url_file: Option<PathBuf>,
    /// A file that holds the password for it.
    pub database_password_file: Option<PathBuf>,
    /// Most connections to it that read chains.
    pub database_readers: u32,
    /// Where dead keys are noted outside the database; beside the embedded one where left out.
    pub revocations: Option<PathBuf>,
    /// Which log lines are written.
    pub log_level: String,
    /// How log lines are written.
    pub log_format: LogFormat,
    /// Where the API listens.
    pub listen: SocketAddr,
    /// Where health and metrics listen.
    pub admin_listen: SocketAddr,
    /// Longest time until an answer.
    pub request_timeout: Duration,
    /// How long to go on accepting after the signal to stop, while callers leave.
    pub drain_delay: Duration,
    /// Longest time for requests under way to finish.
    pub shutdown_grace: Duration,
    /// Most connections at once.
    pub max_connections: usize,
    /// Memory for answers that may be repeated.
    pub cache_bytes: u64,
    /// How often it is looked whether the data changed.
    pub refresh_interval: Duration,
    /// Whether intel sources are fetched on their schedule, and chains followed.
    pub feeds: Feeds,
    /// A Redis that servers share.
    pub redis_url: Option<RedisUrl>,
    /// A file that holds that URL.
    pub redis_url_file: Option<PathBuf>,
    /// A file that holds the password for Redis.
    pub redis_password_file: Option<PathBuf>,
    /// Whom to trust where Redis is reached over TLS.
    pub redis_ca_file: Option<PathBuf>,
    /// What the names of keys and channels in Redis begin with.
    pub redis_prefix: String,
    /// How long who may ask may go unconfirmed.
    pub max_key_data_age: Duration,
    /// How long lists and labels may go unconfirmed.
    pub max_intel_age: Duration,
    /// Longest time for a connection to be agreed on, and for a request's head to arrive.
    pub header_timeout: Duration,
    /// Longest time for the body of a check to arrive.
    pub body_timeout: Duration,
    /// Longest time for a bulk request's next row to arrive, and for answers not to be taken.
    pub stall_timeout: Duration,
    /// Most requests under way at once.
    pub max_requests: usize,
    /// The certificate for TLS; in plain text where left out.
    pub tls_cert: Option<PathBuf>,
    /// Its private key.
    pub tls_key: Option<PathBuf>,
    /// Origins of pages in browsers that may call.
    pub cors_origin: Vec<String>,
    /// Whether limits are shown as `X-RateLimit-*` too.
    pub legacy_rate_limit_headers: Switch,
    /// Where traces and metrics are sent by OTLP over HTTP; nowhere where left out.
    pub otlp_endpoint: Option<String>,
    /// How often metrics are sent there.
    pub otlp_interval: Duration,
    /// The key of the hashes that stand for addresses in logs.
    pub log_hash_key_file: Option<PathBuf>,
}

/// Whether something is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    /// It is.
    On,
    /// It is not.
    Off,
}

/// Where a PostgreSQL database is. It may hold a password, so that it is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct DatabaseUrl(String);

impl DatabaseUrl {
    /// The URL itself, to connect with.
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

/// Whether intel sources are fetched on their schedule, and chains followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feeds {
    /// They are.
    On,
    /// Somebody else sees to that.
    Off,
}

impl Settings {
    /// Reads where Redis is from the file that says so, where one does.
    ///
    /// # Errors
    ///
    /// What is wrong with the file or its URL, which the message never repeats.
    pub fn read_redis_url(&mut self) -> Result<(), String> {
        let Some(path) = &self.redis_url_file else { return Ok(()) };
        let wrong = |detail: &str| format!("redis-url-file {}: {detail}", path.display());
        let text = std::fs::read_to_string(path).map_err(|error| wrong(&error.to_string()))?;
        let place = value::redis_url(text.trim()).map_err(|detail| wrong(&detail))?;
        self.redis_url = Some(place.ok_or_else(|| wrong("holds no URL"))?);
        Ok(())
    }

    /// How Redis is reached, where there is to be one.
    #[must_use]
    pub fn redis(&self) -> Option<RedisSettings> {
        let mut settings = RedisSettings::new(self.redis_url.clone()?);
        settings.password_file.clone_from(&self.redis_password_file);
        settings.tls.ca_bundle.clone_from(&self.redis_ca_file);
        Some(settings)
    }

    /// Where the PostgreSQL database is; `None` where the embedded one is used.
    #[must_use]
    pub fn database(&self) -> Option<DatabaseAddress> {
        let address = match (&self.database_url, &self.database_url_file) {
            (Some(url), _) => DatabaseAddress::at(url.expose()),
            (None, Some(file)) => DatabaseAddress::in_file(file),
            (None, None) => return None,
        };
        let address = address.with_readers(self.database_readers);
        Some(match &self.database_password_file {
            Some(file) => address.with_password_file(file),
            None => address,
        })
    }
}
