//! The flags of `assay serve`.

use clap::Args;

use crate::settings::Layers;

const EXAMPLES: &str = "\
Examples:
  assay serve --sample
  assay serve --data-dir /var/lib/assay --listen 0.0.0.0:8080";

/// Serve the API
///
/// With --sample it makes a database, loads a made-up world and prints keys to try: nothing else is
/// needed.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(in crate::commands) struct ServeArgs {
    /// Where the API listens [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<String>,
    /// Where health and metrics listen [default: 127.0.0.1:9090]
    #[arg(long, value_name = "ADDRESS:PORT")]
    admin_listen: Option<String>,
    /// Most connections to PostgreSQL that read chains for checks; everything else has five of its own
    /// [default: 10]
    #[arg(long, value_name = "NUMBER")]
    database_readers: Option<String>,
    /// Longest time until an answer [default: 10s]
    #[arg(long, value_name = "TIME")]
    request_timeout: Option<String>,
    /// How long to go on accepting after the signal to stop, while callers leave [default: 1s]
    #[arg(long, value_name = "TIME")]
    drain_delay: Option<String>,
    /// Longest time for requests under way to finish [default: 30s]
    #[arg(long, value_name = "TIME")]
    shutdown_grace: Option<String>,
    /// Most connections at once [default: 4096]
    #[arg(long, value_name = "NUMBER")]
    max_connections: Option<String>,
    /// Memory for answers that may be repeated [default: 64MiB]
    #[arg(long, value_name = "SIZE")]
    cache_bytes: Option<String>,
    /// How often it is looked whether the data changed [default: 250ms]
    #[arg(long, value_name = "TIME")]
    refresh_interval: Option<String>,
    /// Whether intel sources are fetched on their schedule, and chains followed: on or off [default: on]
    #[arg(long, value_name = "ON|OFF")]
    feeds: Option<String>,
    /// How long it may go unconfirmed who may ask; beyond, nobody is let in [default: 10m]
    #[arg(long, value_name = "TIME")]
    max_key_data_age: Option<String>,
    /// How long lists and labels may go unconfirmed; beyond, nothing is allowed [default: 10m]
    #[arg(long, value_name = "TIME")]
    max_intel_age: Option<String>,
    /// Longest time for a connection to be agreed on, and for a request's head to arrive [default: 20s]
    #[arg(long, value_name = "TIME")]
    header_timeout: Option<String>,
    /// Longest time for the body of a check to arrive [default: 5s]
    #[arg(long, value_name = "TIME")]
    body_timeout: Option<String>,
    /// Longest time for a bulk request's next row to arrive, and for answers not to be taken
    /// [default: 30s]
    #[arg(long, value_name = "TIME")]
    stall_timeout: Option<String>,
    /// Most requests under way at once; strangers may take half of them, bulk requests three quarters
    /// [default: 1024]
    #[arg(long, value_name = "NUMBER")]
    max_requests: Option<String>,
    /// A certificate and those above it (PEM), to serve the API by TLS; read again when it changes
    #[arg(long, value_name = "FILE")]
    tls_cert: Option<String>,
    /// The certificate's private key (PEM)
    #[arg(long, value_name = "FILE")]
    tls_key: Option<String>,
    /// An origin of pages in browsers that may call the API; may be given several times
    #[arg(long, value_name = "ORIGIN")]
    cors_origin: Vec<String>,
    /// Whether limits are shown as `X-RateLimit-*` too: on or off [default: off]
    #[arg(long, value_name = "ON|OFF", num_args = 0..=1, default_missing_value = "on")]
    legacy_rate_limit_headers: Option<String>,
    /// A collector to send traces and metrics to by OTLP over HTTP, such as `http://127.0.0.1:4318`
    /// [default: `OTEL_EXPORTER_OTLP_ENDPOINT`]
    #[arg(long, value_name = "URL")]
    otlp_endpoint: Option<String>,
    /// How often metrics are sent to the collector [default: 15s]
    #[arg(long, value_name = "TIME")]
    otlp_interval: Option<String>,
    /// The key of the hashes that stand for addresses in logs [default: a new one at each start]
    #[arg(long, value_name = "FILE")]
    log_hash_key_file: Option<String>,
}

impl ServeArgs {
    pub(in crate::commands) fn flags(&self, layers: &mut Layers) {
        layers.flag("listen", self.listen.clone());
        layers.flag("database-readers", self.database_readers.clone());
        layers.flag("admin-listen", self.admin_listen.clone());
        layers.flag("request-timeout", self.request_timeout.clone());
        layers.flag("drain-delay", self.drain_delay.clone());
        layers.flag("shutdown-grace", self.shutdown_grace.clone());
        layers.flag("max-connections", self.max_connections.clone());
        layers.flag("cache-bytes", self.cache_bytes.clone());
        layers.flag("refresh-interval", self.refresh_interval.clone());
        layers.flag("feeds", self.feeds.clone());
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
    }
}
