//! Resolution of layers to settings, or to all problems of the layers.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use assay_egress::{NamedCredentials, Networks};
use assay_redis::RedisUrl;

use super::{
    CliSettings, ConsoleMode, DatabaseUrl, Feeds, Layers, LogFormat, LogSample, SettingOrigin,
    Switch, value,
};

/// An invalid setting.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{origin}: {message}")]
pub struct SettingProblem {
    /// Layer of the settings that sets the value.
    pub origin: SettingOrigin,
    /// The problem with the value, and the expected form.
    pub message: String,
}

impl CliSettings {
    /// Resolves the layers.
    ///
    /// # Errors
    ///
    /// Returns all invalid settings.
    pub fn resolve(layers: &Layers) -> Result<Self, Vec<SettingProblem>> {
        let mut problems = layers.unknown();
        let mut take = SettingParser { layers, problems: &mut problems };
        let settings = Self {
            data_dir: take.value("data-dir", value::path),
            database_url: take.value("database-url", value::database_url),
            database_url_file: take.value("database-url-file", value::optional_path),
            database_password_file: take.value("database-password-file", value::optional_path),
            database_readers: take.value("database-readers", value::connections),
            chain_servers: take.value("chain-servers", value::chain_servers),
            chain_token_file: take.value("chain-token-file", value::optional_path),
            chain_ca_file: take.value("chain-ca-file", value::optional_path),
            revocations: take.value("revocations", value::optional_path),
            log_level: take.value("log-level", value::log_level),
            log_format: take.value("log-format", value::log_format),
            log_sample: take.value("log-sample", value::log_sample),
            listen: take.value("listen", value::socket_address),
            admin_listen: take.value("admin-listen", value::socket_address),
            console: take.value("console", value::console),
            console_url: take.value("console-url", value::own_url),
            oidc_issuer: take.value("oidc-issuer", value::web_url),
            oidc_client_id: take.value("oidc-client-id", value::optional_text),
            oidc_client_secret_file: take.value("oidc-client-secret-file", value::optional_path),
            oidc_role_mapping_file: take.value("oidc-role-mapping-file", value::optional_path),
            oidc_role_mapping: take.value("oidc-role-mapping", value::optional_text),
            oidc_scopes: take.value("oidc-scopes", value::words),
            listen_backlog: take.value("listen-backlog", value::backlog),
            request_timeout: take.value("request-timeout", value::positive_duration),
            drain_delay: take.value("drain-delay", value::duration),
            shutdown_grace: take.value("shutdown-grace", value::duration),
            max_connections: take.value("max-connections", value::many),
            max_connections_per_peer: take.value("max-connections-per-peer", value::many),
            trusted_proxies: take.value("trusted-proxies", value::networks),
            proxy_protocol: take.value("proxy-protocol", value::switch),
            cache_bytes: take.value("cache-bytes", value::bytes),
            refresh_interval: take.value("refresh-interval", value::positive_duration),
            feeds: take.value("feeds", value::feeds),
            source_dir: take.value("source-dir", value::optional_path),
            credentials_dirs: take.value("credentials-dirs", value::paths),
            source_credentials: take.value("source-credentials", value::source_credentials),
            source_networks: take.value("source-networks", value::networks),
            redis_url: take.value("redis-url", value::redis_url),
            redis_url_file: take.value("redis-url-file", value::optional_path),
            redis_password_file: take.value("redis-password-file", value::optional_path),
            redis_ca_file: take.value("redis-ca-file", value::optional_path),
            redis_prefix: take.value("redis-prefix", value::prefix),
            max_key_data_age: take.value("max-key-data-age", value::positive_duration),
            max_intel_age: take.value("max-intel-age", value::positive_duration),
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
        problems.extend(contradictions(&settings, layers));
        if problems.is_empty() { Ok(settings) } else { Err(problems) }
    }
}

/// Finds settings that contradict each other, or that need another setting that is missing.
fn contradictions(settings: &CliSettings, layers: &Layers) -> Vec<SettingProblem> {
    let mut problems = Vec::new();
    let is_set = |name| !layers.find(name).0.is_empty();
    let mut report = |name, message: String| {
        problems.push(SettingProblem { origin: layers.origin(name), message });
    };
    for (given, missing) in [("tls-cert", "tls-key"), ("tls-key", "tls-cert")] {
        if is_set(given) && !is_set(missing) {
            report(given, format!("needs --{missing} too"));
        }
    }
    if settings.proxy_protocol == Switch::On && !is_set("trusted-proxies") {
        report("proxy-protocol", "needs --trusted-proxies too".into());
    }
    if settings.listen == settings.admin_listen && settings.listen.port() != 0 {
        report("admin-listen", "is the address of the API: choose another port".into());
    }
    for (file, url) in [("database-url-file", "database-url"), ("redis-url-file", "redis-url")] {
        if is_set(file) && is_set(url) {
            report(file, format!("{url} is set too: remove one of them"));
        }
    }
    if is_set("database-password-file") && !is_set("database-url") && !is_set("database-url-file") {
        report("database-password-file", "needs database-url or database-url-file too".into());
    }
    for needed in ["console-url", "oidc-client-id"] {
        if is_set("oidc-issuer") && !is_set(needed) {
            report("oidc-issuer", format!("needs --{needed} too"));
        }
    }
    let people = ["oidc-role-mapping-file", "oidc-role-mapping"];
    match people.map(is_set) {
        [true, true] => report(
            "oidc-role-mapping",
            "oidc-role-mapping-file is set too: remove one of them".into(),
        ),
        [false, false] if is_set("oidc-issuer") => {
            report("oidc-issuer", "needs --oidc-role-mapping-file too".into());
        }
        _ => {}
    }
    let others = ["console-url", "oidc-client-id", "oidc-client-secret-file"];
    for given in others.into_iter().chain(people) {
        if is_set(given) && !is_set("oidc-issuer") {
            report(given, "needs --oidc-issuer too".into());
        }
    }
    let is_tls = |entry: &String| entry.contains("=https://");
    if settings.chain_servers.iter().any(is_tls) && !is_set("chain-ca-file") {
        report("chain-servers", "https needs --chain-ca-file too".into());
    }
    problems
}

/// Parses values and collects their problems.
struct SettingParser<'a> {
    layers: &'a Layers,
    problems: &'a mut Vec<SettingProblem>,
}

impl SettingParser<'_> {
    /// The value of a setting; the default if the value is invalid.
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

/// A placeholder for an invalid value, which is never used.
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
    LogSample => Self::ALL,
    SocketAddr => SocketAddr::from(([127, 0, 0, 1], 0)),
    Duration => Self::ZERO,
    ConsoleMode => Self::Off,
    Feeds => Self::Off,
    Switch => Self::Off,
    Vec<String> => Self::new(),
    Vec<PathBuf> => Self::new(),
    Vec<NamedCredentials> => Self::new(),
    Networks => Self::default(),
    Option<String> => None,
    Option<DatabaseUrl> => None,
    Option<PathBuf> => None,
    Option<RedisUrl> => None,
    usize => 0,
    u32 => 1,
    u64 => 0,
}
