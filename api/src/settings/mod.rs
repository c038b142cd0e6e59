//! Settings: a flag goes before the environment, the environment before the file, the file before the
//! default. All that is wrong is said at once.

mod layers;
mod value;

use std::{fmt, net::SocketAddr, path::PathBuf, time::Duration};

use assay_redis::{Place, RedisSettings};
use assay_store::postgres::DatabaseAddress;

pub use layers::{Layers, Origin, ReadError, read_file};

/// How log lines are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// For programs: one JSON object a line.
    Json,
}

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
    pub redis_url: Option<Place>,
    /// A file that holds the password for Redis.
    pub redis_password_file: Option<PathBuf>,
    /// Whom to trust where Redis is reached over TLS.
    pub redis_ca_file: Option<PathBuf>,
    /// What the names of keys and channels in Redis begin with.
    pub redis_prefix: String,
    /// How long who may ask may go unconfirmed.
    pub max_directory_age: Duration,
    /// How long lists and labels may go unconfirmed.
    pub max_snapshot_age: Duration,
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

/// A setting's name, default and meaning. Its flag is `--name`, its variable `ASSAY_NAME`.
#[derive(Clone, Copy, Debug)]
pub struct Definition {
    /// The name, as in flags and files.
    pub name: &'static str,
    /// The default.
    pub default: &'static str,
    /// What it means.
    pub meaning: &'static str,
}

const fn definition(
    name: &'static str,
    default: &'static str,
    meaning: &'static str,
) -> Definition {
    Definition { name, default, meaning }
}

/// Every setting.
pub const DEFINITIONS: [Definition; 34] = [
    definition("data-dir", "assay-data", "where the embedded database lives"),
    definition(
        "database-url",
        "",
        "a PostgreSQL database to use instead: postgres://user:password@host:port/database",
    ),
    definition("database-url-file", "", "a file with that URL, which is read again as it changes"),
    definition(
        "database-password-file",
        "",
        "a file with the password for that URL, which is read again as it changes",
    ),
    definition(
        "database-readers",
        "10",
        "most connections to PostgreSQL that read chains for checks; everything else has five of its own",
    ),
    definition(
        "revocations",
        "",
        "where revoked keys are noted too, outside the database; \
         revoked-keys.jsonl in data-dir where left out",
    ),
    definition("log-level", "info", "which log lines are written: off, error, warn, info, debug"),
    definition("log-format", "text", "how log lines are written: text or json"),
    definition("listen", "127.0.0.1:8080", "where the API listens"),
    definition("admin-listen", "127.0.0.1:9090", "where health and metrics listen"),
    definition("request-timeout", "10s", "longest time until an answer"),
    definition(
        "drain-delay",
        "1s",
        "how long to go on accepting after the signal to stop, while callers leave",
    ),
    definition("shutdown-grace", "30s", "longest time for requests under way to finish"),
    definition("max-connections", "4096", "most connections at once"),
    definition("cache-bytes", "64MiB", "memory for answers that may be repeated"),
    definition("refresh-interval", "250ms", "how often it is looked whether the data changed"),
    definition(
        "feeds",
        "on",
        "whether intel sources are fetched on their schedule, and chains followed: on or off",
    ),
    definition(
        "redis-url",
        "",
        "a Redis that servers share: redis://user:password@host:port, redis+sentinel://hosts/master, \
         redis+cluster://hosts; rediss for TLS",
    ),
    definition(
        "redis-password-file",
        "",
        "a file that holds the password for Redis; read for every new connection",
    ),
    definition(
        "redis-ca-file",
        "",
        "whom to trust where Redis is reached over TLS, in PEM; the web's authorities where left out",
    ),
    definition(
        "redis-prefix",
        "assay",
        "what names in Redis begin with: one for each installation",
    ),
    definition(
        "max-directory-age",
        "10m",
        "how long it may go unconfirmed who may ask; beyond, nobody is let in",
    ),
    definition(
        "max-snapshot-age",
        "10m",
        "how long lists and labels may go unconfirmed; beyond, nothing is allowed",
    ),
    definition(
        "header-timeout",
        "20s",
        "longest time for a connection to be agreed on, and for a request's head to arrive",
    ),
    definition("body-timeout", "5s", "longest time for the body of a check to arrive"),
    definition(
        "stall-timeout",
        "30s",
        "longest time for a bulk request's next row to arrive, and for answers not to be taken",
    ),
    definition(
        "max-requests",
        "1024",
        "most requests under way at once; strangers may take half of them, bulk requests three \
         quarters",
    ),
    definition("tls-cert", "", "a certificate and those above it (PEM), to serve the API by TLS"),
    definition("tls-key", "", "the certificate's private key (PEM)"),
    definition(
        "cors-origin",
        "",
        "origins of pages in browsers that may call the API, separated by commas",
    ),
    definition(
        "legacy-rate-limit-headers",
        "off",
        "whether limits are shown as X-RateLimit-* too: on or off",
    ),
    definition(
        "otlp-endpoint",
        "",
        "a collector to send traces and metrics to by OTLP over HTTP, such as \
         http://127.0.0.1:4318; OTEL_EXPORTER_OTLP_ENDPOINT where left out",
    ),
    definition("otlp-interval", "15s", "how often metrics are sent to the collector"),
    definition(
        "log-hash-key-file",
        "",
        "the key of the hashes that stand for addresses in logs; a new one at each start where \
         left out",
    ),
];

/// A setting that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{origin}: {message}")]
pub struct SettingProblem {
    /// Where it is set.
    pub origin: Origin,
    /// What is wrong and what would be right.
    pub message: String,
}

impl Settings {
    /// How Redis is reached, where there is to be one.
    #[must_use]
    pub fn redis(&self) -> Option<RedisSettings> {
        let mut settings = RedisSettings::new(self.redis_url.clone()?);
        settings.password_file.clone_from(&self.redis_password_file);
        settings.tls.authorities.clone_from(&self.redis_ca_file);
        Some(settings)
    }

    /// Puts the layers together.
    ///
    /// # Errors
    ///
    /// Everything that is wrong.
    pub fn resolve(layers: &Layers) -> Result<Self, Vec<SettingProblem>> {
        let mut problems = layers.unknown();
        let mut take = Taker { layers, problems: &mut problems };
        let settings = Self {
            data_dir: take.value("data-dir", value::path),
            database_url: take.value("database-url", value::database_url),
            database_url_file: take.value("database-url-file", value::optional_path),
            database_password_file: take.value("database-password-file", value::optional_path),
            database_readers: take.value("database-readers", value::connections),
            revocations: take.value("revocations", value::optional_path),
            log_level: take.value("log-level", value::log_level),
            log_format: take.value("log-format", value::log_format),
            listen: take.value("listen", value::socket_address),
            admin_listen: take.value("admin-listen", value::socket_address),
            request_timeout: take.value("request-timeout", value::positive_duration),
            drain_delay: take.value("drain-delay", value::duration),
            shutdown_grace: take.value("shutdown-grace", value::duration),
            max_connections: take.value("max-connections", value::many),
            cache_bytes: take.value("cache-bytes", value::bytes),
            refresh_interval: take.value("refresh-interval", value::positive_duration),
            feeds: take.value("feeds", value::feeds),
            redis_url: take.value("redis-url", value::redis_url),
            redis_password_file: take.value("redis-password-file", value::optional_path),
            redis_ca_file: take.value("redis-ca-file", value::optional_path),
            redis_prefix: take.value("redis-prefix", value::prefix),
            max_directory_age: take.value("max-directory-age", value::positive_duration),
            max_snapshot_age: take.value("max-snapshot-age", value::positive_duration),
            header_timeout: take.value("header-timeout", value::positive_duration),
            body_timeout: take.value("body-timeout", value::positive_duration),
            stall_timeout: take.value("stall-timeout", value::positive_duration),
            max_requests: take.value("max-requests", value::many),
            tls_cert: take.value("tls-cert", value::optional_path),
            tls_key: take.value("tls-key", value::optional_path),
            cors_origin: take.value("cors-origin", value::origins),
            legacy_rate_limit_headers: take.value("legacy-rate-limit-headers", value::switch),
            otlp_endpoint: take.value("otlp-endpoint", value::collector),
            otlp_interval: take.value("otlp-interval", value::positive_duration),
            log_hash_key_file: take.value("log-hash-key-file", value::optional_path),
        };
        for (given, missing) in [("tls-cert", "tls-key"), ("tls-key", "tls-cert")] {
            let is_empty = |name| layers.find(name).0.is_empty();
            if !is_empty(given) && is_empty(missing) {
                problems.push(SettingProblem {
                    origin: layers.origin(given),
                    message: format!("needs --{missing} too"),
                });
            }
        }
        if settings.listen == settings.admin_listen && settings.listen.port() != 0 {
            problems.push(SettingProblem {
                origin: layers.origin("admin-listen"),
                message: "must not be where the API listens".into(),
            });
        }
        if settings.database_url.is_some() && settings.database_url_file.is_some() {
            problems.push(SettingProblem {
                origin: layers.origin("database-url-file"),
                message: "database-url says where the database is already: leave one of them out"
                    .into(),
            });
        }
        if settings.database_password_file.is_some() && settings.database().is_none() {
            problems.push(SettingProblem {
                origin: layers.origin("database-password-file"),
                message: "there is no database-url or database-url-file to go with it".into(),
            });
        }
        if problems.is_empty() { Ok(settings) } else { Err(problems) }
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

/// Reads values and collects what is wrong with them.
struct Taker<'a> {
    layers: &'a Layers,
    problems: &'a mut Vec<SettingProblem>,
}

impl Taker<'_> {
    /// The value of a setting; the default where what is set is wrong.
    fn value<T>(&mut self, name: &'static str, read: fn(&str) -> Result<T, String>) -> T
    where
        T: Fallback,
    {
        let (text, origin) = self.layers.find(name);
        read(&text).unwrap_or_else(|message| {
            self.problems.push(SettingProblem { origin, message });
            T::fallback()
        })
    }
}

/// A value to go on with after something wrong was noted; it is never used.
trait Fallback {
    fn fallback() -> Self;
}

macro_rules! fallback {
    ($($type:ty => $value:expr),+ $(,)?) => {
        $(impl Fallback for $type {
            fn fallback() -> Self {
                $value
            }
        })+
    };
}

fallback! {
    PathBuf => Self::new(),
    String => Self::new(),
    LogFormat => Self::Text,
    SocketAddr => SocketAddr::from(([127, 0, 0, 1], 0)),
    Duration => Self::ZERO,
    Feeds => Self::Off,
    Switch => Self::Off,
    Vec<String> => Self::new(),
    Option<String> => None,
    Option<DatabaseUrl> => None,
    Option<PathBuf> => None,
    Option<Place> => None,
    usize => 0,
    u32 => 1,
    u64 => 0,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layers(flags: &[(&'static str, &str)], env: &[(&str, &str)], file: &str) -> Layers {
        let mut layers = Layers::default();
        for (name, value) in flags {
            layers.flag(name, Some((*value).to_owned()));
        }
        let env: Vec<(String, String)> =
            env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        layers.environment(env.into_iter());
        layers.file("assay.toml", file).unwrap();
        layers
    }

    #[test]
    fn the_defaults_are_right() {
        let settings = Settings::resolve(&Layers::default()).unwrap();
        assert_eq!(settings.listen.to_string(), "127.0.0.1:8080");
        assert_eq!(settings.cache_bytes, 64 * 1024 * 1024);
        assert_eq!(settings.refresh_interval, Duration::from_millis(250));
    }

    #[test]
    fn a_flag_goes_before_the_environment_and_the_environment_before_the_file() {
        let layers = layers(
            &[("listen", "127.0.0.1:1")],
            &[("ASSAY_LISTEN", "127.0.0.1:2"), ("ASSAY_REQUEST_TIMEOUT", "2s")],
            "listen = \"127.0.0.1:3\"\nrequest-timeout = \"3s\"\nmax-connections = 3\n",
        );
        let settings = Settings::resolve(&layers).unwrap();
        assert_eq!(settings.listen.port(), 1);
        assert_eq!(settings.request_timeout, Duration::from_secs(2));
        assert_eq!(settings.max_connections, 3);
    }

    #[test]
    fn all_that_is_wrong_is_said_at_once_with_its_place() {
        let layers = layers(
            &[("listen", "here")],
            &[("ASSAY_LOG_FORMAT", "xml"), ("ASSAY_LISTN", "x")],
            "cache-bytes = \"lots\"\ncolour = \"red\"\n[nested]\na = 1\n",
        );
        let problems: Vec<String> =
            Settings::resolve(&layers).unwrap_err().iter().map(ToString::to_string).collect();
        assert_eq!(
            problems,
            [
                "assay.toml: colour: there is no such setting",
                "assay.toml: nested: there is no such setting",
                "ASSAY_LOG_FORMAT: `xml` is neither text nor json",
                "--listen: `here` is not an address and port, such as 127.0.0.1:8080",
                "assay.toml: cache-bytes: `lots` is not a size, such as 64MiB",
            ]
        );
    }

    #[test]
    fn the_database_is_said_once() {
        let problems = |flags: &[(&'static str, &str)]| -> Vec<String> {
            let layers = layers(flags, &[], "");
            let problems = Settings::resolve(&layers).err().unwrap_or_default();
            problems.iter().map(ToString::to_string).collect()
        };
        let (url, url_file) = (("database-url", "postgres://x/y"), ("database-url-file", "/url"));
        let password = ("database-password-file", "/password");
        assert!(problems(&[url]).is_empty() && problems(&[url_file, password]).is_empty());
        assert_eq!(
            problems(&[url, url_file]),
            ["--database-url-file: database-url says where the database is already: leave one of \
              them out"]
        );
        assert_eq!(
            problems(&[password]),
            [
                "--database-password-file: there is no database-url or database-url-file to go with it"
            ]
        );
    }

    #[test]
    fn origins_are_a_list_wherever_they_are_set() {
        let origins = |layers: &Layers| Settings::resolve(layers).unwrap().cors_origin;
        let two = ["https://a.example", "http://localhost:3000"];
        let flag = "https://a.example,http://localhost:3000";
        assert_eq!(origins(&layers(&[("cors-origin", flag)], &[], "")), two);
        let file = "cors-origin = [\"https://a.example\", \"http://localhost:3000\"]";
        assert_eq!(origins(&layers(&[], &[], file)), two);
        let wrong = layers(&[("cors-origin", "https://a.example/path")], &[], "");
        let problems = Settings::resolve(&wrong).unwrap_err();
        assert!(problems[0].to_string().starts_with("--cors-origin: `https://a.example/path`"));
    }

    #[test]
    fn a_certificate_needs_its_key() {
        let problems = Settings::resolve(&layers(&[("tls-cert", "a.pem")], &[], "")).unwrap_err();
        assert_eq!(problems[0].to_string(), "--tls-cert: needs --tls-key too");
    }

    #[test]
    fn the_two_listeners_differ() {
        let layers = layers(&[("admin-listen", "127.0.0.1:8080")], &[], "");
        let problems = Settings::resolve(&layers).unwrap_err();
        assert_eq!(problems[0].to_string(), "--admin-listen: must not be where the API listens");
    }
}
