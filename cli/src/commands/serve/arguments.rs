//! The flags of `assay serve`.

use clap::Args;

use crate::settings::Layers;

const EXAMPLES: &str = "\
Examples:
  assay serve --sample
  assay serve --data-dir /var/lib/assay --listen 0.0.0.0:8080";

/// Run the API server
///
/// With --sample, creates a database, loads the demo data set and prints API keys: no other setup is
/// needed.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(in crate::commands) struct ServeArgs {
    /// Listening address of the API [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<String>,
    /// Listening address of health checks and metrics [default: 127.0.0.1:9090]
    #[arg(long, value_name = "ADDRESS:PORT")]
    admin_listen: Option<String>,
    /// Pages for people at /console: auto (with --oidc-issuer, or with a sign-in link that is printed at the start if the
    /// server listens on loopback) or off [default: auto]
    #[arg(long, value_name = "AUTO|OFF")]
    console: Option<String>,
    /// URL at which people reach the server, without a path
    #[arg(long, value_name = "URL")]
    console_url: Option<String>,
    /// OpenID Connect issuer at which people sign in to the console [default: none]
    #[arg(long, value_name = "URL")]
    oidc_issuer: Option<String>,
    /// Client ID
    #[arg(long, value_name = "ID")]
    oidc_client_id: Option<String>,
    /// File with the client secret [default: a public client]
    #[arg(long, value_name = "FILE")]
    oidc_client_secret_file: Option<String>,
    /// File (YAML) that maps claims of the issuer to a tenant and a role
    #[arg(long, value_name = "FILE")]
    oidc_role_mapping_file: Option<String>,
    /// Scopes that are requested beside openid, separated by spaces [default: profile email]
    #[arg(long, value_name = "SCOPES")]
    oidc_scopes: Option<String>,
    /// Largest number of connections that wait to be accepted; the system may allow fewer [default: 4096]
    #[arg(long, value_name = "NUMBER")]
    listen_backlog: Option<String>,
    /// Largest number of PostgreSQL connections that read and keep histories of chains that are read on demand; five
    /// other connections serve all other queries [default: 10]
    #[arg(long, value_name = "NUMBER")]
    database_readers: Option<String>,
    /// Timeout of a request [default: 10s]
    #[arg(long, value_name = "TIME")]
    request_timeout: Option<String>,
    /// Time to keep accepting connections after the stop signal, for load balancers [default: 1s]
    #[arg(long, value_name = "TIME")]
    drain_delay: Option<String>,
    /// Time for in-flight requests to finish after the stop signal [default: 30s]
    #[arg(long, value_name = "TIME")]
    shutdown_grace: Option<String>,
    /// Largest number of concurrent connections; a further connection closes the oldest connection that never showed a
    /// valid key [default: 4096]
    #[arg(long, value_name = "NUMBER")]
    max_connections: Option<String>,
    /// Largest number of connections of one address that never showed a valid key [default: 1024]
    #[arg(long, value_name = "NUMBER")]
    max_connections_per_peer: Option<String>,
    /// Networks of proxies, whose connections carry requests of many callers, such as 10.0.0.0/8 [default: none]
    #[arg(long, value_name = "NETWORKS")]
    trusted_proxies: Option<String>,
    /// Connections of trusted proxies begin with a PROXY header (version 1 or 2): on or off [default: off]
    #[arg(long, value_name = "ON|OFF", num_args = 0..=1, default_missing_value = "on")]
    proxy_protocol: Option<String>,
    /// Size of the response cache [default: 64MiB]
    #[arg(long, value_name = "SIZE")]
    cache_bytes: Option<String>,
    /// Interval between checks for changed data [default: 250ms]
    #[arg(long, value_name = "TIME")]
    refresh_interval: Option<String>,
    /// Fetch sources on their schedules and follow chains: on or off [default: on]
    #[arg(long, value_name = "ON|OFF")]
    feeds: Option<String>,
    /// Folder of the local files that sources may name as their location or credentials [default: sources in the data
    /// directory]
    #[arg(long, value_name = "DIR")]
    source_dir: Option<String>,
    /// Folders of further credentials files that sources may name, such as that of a node's cookie, separated by commas
    /// [default: none]
    #[arg(long, value_name = "DIRS")]
    credentials_dirs: Option<String>,
    /// Files with credentials of single sources, each with the only server that may receive them, such as
    /// etherscan-eth=/run/secrets/key@api.etherscan.io:443, separated by commas [default: none]
    #[arg(long, value_name = "FILES")]
    source_credentials: Option<String>,
    /// Private networks from which sources may be fetched, such as 10.0.0.0/8 [default: none]
    #[arg(long, value_name = "NETWORKS")]
    source_networks: Option<String>,
    /// Largest age of key data without confirmation; requests are refused beyond it [default: 10m]
    #[arg(long, value_name = "TIME")]
    max_key_data_age: Option<String>,
    /// Largest age of lists and labels without confirmation; no address is allowed beyond it
    /// [default: 10m]
    #[arg(long, value_name = "TIME")]
    max_intel_age: Option<String>,
    /// Timeout of the TLS handshake and of a request's headers [default: 20s]
    #[arg(long, value_name = "TIME")]
    header_timeout: Option<String>,
    /// Timeout of the body of a check [default: 5s]
    #[arg(long, value_name = "TIME")]
    body_timeout: Option<String>,
    /// Timeout of the next row of a bulk request, and of a stalled response [default: 30s]
    #[arg(long, value_name = "TIME")]
    stall_timeout: Option<String>,
    /// Largest number of concurrent requests, and of concurrent checks of each blockchain; unauthenticated callers get
    /// at most half of this number, bulk requests three quarters [default: 1024]
    #[arg(long, value_name = "NUMBER")]
    max_requests: Option<String>,
    /// Certificate chain (PEM) for TLS; reloaded when the file changes
    #[arg(long, value_name = "FILE")]
    tls_cert: Option<String>,
    /// Private key (PEM) of the certificate
    #[arg(long, value_name = "FILE")]
    tls_key: Option<String>,
    /// Origin of web pages that may call the API (CORS); repeatable
    #[arg(long, value_name = "ORIGIN")]
    cors_origin: Vec<String>,
    /// Send `X-RateLimit-*` headers too: on or off [default: off]
    #[arg(long, value_name = "ON|OFF", num_args = 0..=1, default_missing_value = "on")]
    legacy_rate_limit_headers: Option<String>,
    /// URL of an OTLP/HTTP collector for traces and metrics, such as `http://127.0.0.1:4318`
    /// [default: `OTEL_EXPORTER_OTLP_ENDPOINT`]
    #[arg(long, value_name = "URL")]
    otlp_endpoint: Option<String>,
    /// Interval between exports of metrics [default: 15s]
    #[arg(long, value_name = "TIME")]
    otlp_interval: Option<String>,
    /// File with the key of the address hashes in logs [default: a random key at each start]
    #[arg(long, value_name = "FILE")]
    log_hash_key_file: Option<String>,
    /// Share of the requests without a problem that have a log line, from 0 to 1 [default: 1]
    #[arg(long, value_name = "NUMBER")]
    log_sample: Option<String>,
}

impl ServeArgs {
    pub(in crate::commands) fn flags(&self, layers: &mut Layers) {
        layers.flag("listen", self.listen.clone());
        layers.flag("database-readers", self.database_readers.clone());
        layers.flag("admin-listen", self.admin_listen.clone());
        layers.flag("console", self.console.clone());
        layers.flag("console-url", self.console_url.clone());
        layers.flag("oidc-issuer", self.oidc_issuer.clone());
        layers.flag("oidc-client-id", self.oidc_client_id.clone());
        layers.flag("oidc-client-secret-file", self.oidc_client_secret_file.clone());
        layers.flag("oidc-role-mapping-file", self.oidc_role_mapping_file.clone());
        layers.flag("oidc-scopes", self.oidc_scopes.clone());
        layers.flag("listen-backlog", self.listen_backlog.clone());
        layers.flag("request-timeout", self.request_timeout.clone());
        layers.flag("drain-delay", self.drain_delay.clone());
        layers.flag("shutdown-grace", self.shutdown_grace.clone());
        layers.flag("max-connections", self.max_connections.clone());
        layers.flag("max-connections-per-peer", self.max_connections_per_peer.clone());
        layers.flag("trusted-proxies", self.trusted_proxies.clone());
        layers.flag("proxy-protocol", self.proxy_protocol.clone());
        layers.flag("cache-bytes", self.cache_bytes.clone());
        layers.flag("refresh-interval", self.refresh_interval.clone());
        layers.flag("feeds", self.feeds.clone());
        layers.flag("source-dir", self.source_dir.clone());
        layers.flag("credentials-dirs", self.credentials_dirs.clone());
        layers.flag("source-credentials", self.source_credentials.clone());
        layers.flag("source-networks", self.source_networks.clone());
        layers.flag("max-key-data-age", self.max_key_data_age.clone());
        layers.flag("max-intel-age", self.max_intel_age.clone());
        layers.flag("header-timeout", self.header_timeout.clone());
        layers.flag("body-timeout", self.body_timeout.clone());
        layers.flag("stall-timeout", self.stall_timeout.clone());
        layers.flag("max-requests", self.max_requests.clone());
        layers.flag("tls-cert", self.tls_cert.clone());
        layers.flag("tls-key", self.tls_key.clone());
        let origins = Some(self.cors_origin.join(",")).filter(|origins| !origins.is_empty());
        layers.flag("cors-origin", origins);
        layers.flag("legacy-rate-limit-headers", self.legacy_rate_limit_headers.clone());
        layers.flag("otlp-endpoint", self.otlp_endpoint.clone());
        layers.flag("otlp-interval", self.otlp_interval.clone());
        layers.flag("log-hash-key-file", self.log_hash_key_file.clone());
        layers.flag("log-sample", self.log_sample.clone());
    }
}
