//! The table of settings: names, defaults and meanings.

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
pub const DEFINITIONS: [Definition; 35] = [
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
    definition("redis-url-file", "", "a file with that URL, read when the program starts"),
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
        "max-key-data-age",
        "10m",
        "how long it may go unconfirmed who may ask; beyond, nobody is let in",
    ),
    definition(
        "max-intel-age",
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
