//! The table of settings: names, defaults and meanings.

/// A setting: name, default and meaning. The flag of a setting is `--name`, the environment variable `ASSAY_NAME`.
#[derive(Clone, Copy, Debug)]
pub struct Definition {
    /// The name of the setting, as in flags and files.
    pub name: &'static str,
    /// The default.
    pub default: &'static str,
    /// The meaning.
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
pub const DEFINITIONS: [Definition; 55] = [
    definition("data-dir", "assay-data", "directory of the embedded database"),
    definition(
        "database-url",
        "",
        "PostgreSQL database to use instead of the embedded one: \
         postgres://user:password@host:port/database",
    ),
    definition(
        "database-url-file",
        "",
        "file with that URL; changes take effect on new connections",
    ),
    definition(
        "database-password-file",
        "",
        "file with the password for that URL; changes take effect on new connections",
    ),
    definition(
        "database-readers",
        "10",
        "largest number of PostgreSQL connections that read and keep histories of chains that are read on demand; five \
         others serve all other queries",
    ),
    definition(
        "chain-servers",
        "",
        "chain servers, separated by commas, such as btc=http://chain-btc:8080; a chain may have several, and a host \
         several addresses",
    ),
    definition(
        "chain-token-file",
        "",
        "file with the token that chain servers ask for, of 32 characters or more; they accept one on each line, others \
         show the first one",
    ),
    definition(
        "chain-ca-file",
        "",
        "CA bundle (PEM) for chain servers with https; read for every new connection",
    ),
    definition(
        "revocations",
        "",
        "list of revoked keys beside the database; revoked-keys.jsonl in data-dir by default",
    ),
    definition("log-level", "info", "lowest level of log lines: off, error, warn, info or debug"),
    definition("log-format", "text", "format of log lines: text or json"),
    definition(
        "log-sample",
        "1",
        "share of the requests without a problem that have a log line, from 0 to 1; requests with a problem always have \
         one",
    ),
    definition("listen", "127.0.0.1:8080", "listening address of the API"),
    definition("admin-listen", "127.0.0.1:9090", "listening address of health checks and metrics"),
    definition(
        "console",
        "auto",
        "pages for people at /console: auto (with oidc-issuer, or with a sign-in link that is printed at the start if listen \
         is an address of loopback) or off",
    ),
    definition(
        "console-url",
        "",
        "URL at which people reach the server, such as https://risk.example.com",
    ),
    definition(
        "oidc-issuer",
        "",
        "URL of the OpenID Connect issuer at which people sign in to the console",
    ),
    definition("oidc-client-id", "", "client ID"),
    definition(
        "oidc-client-secret-file",
        "",
        "file with the client secret, read for each sign-in; none for a public client",
    ),
    definition(
        "oidc-role-mapping-file",
        "",
        "file (YAML) that maps claims of the issuer to a tenant and a role",
    ),
    definition("oidc-role-mapping", "", "the mapping itself, in place of oidc-role-mapping-file"),
    definition(
        "oidc-scopes",
        "profile email",
        "scopes that are requested beside openid, separated by spaces",
    ),
    definition(
        "listen-backlog",
        "4096",
        "largest number of connections that wait to be accepted; the system may allow fewer \
         (net.core.somaxconn)",
    ),
    definition("request-timeout", "10s", "timeout of a request"),
    definition(
        "drain-delay",
        "1s",
        "time to keep accepting connections after the stop signal, for load balancers",
    ),
    definition(
        "shutdown-grace",
        "30s",
        "time for in-flight requests to finish after the stop signal",
    ),
    definition(
        "max-connections",
        "4096",
        "largest number of concurrent connections; for a further one, the oldest of those that never showed a \
         valid key is closed",
    ),
    definition(
        "max-connections-per-peer",
        "1024",
        "largest number of connections of one address that never showed a valid key",
    ),
    definition(
        "trusted-proxies",
        "",
        "networks of proxies, separated by commas, such as 10.0.0.0/8; their connections are those of many callers",
    ),
    definition(
        "proxy-protocol",
        "off",
        "connections of trusted proxies begin with a PROXY header (version 1 or 2), which names the caller: on or off",
    ),
    definition("cache-bytes", "64MiB", "size of the response cache"),
    definition("refresh-interval", "250ms", "interval between checks for changed data"),
    definition("feeds", "on", "fetch sources on their schedules and follow chains: on or off"),
    definition(
        "source-dir",
        "",
        "folder of the local files that sources may name as their location or credentials; sources in data-dir by \
         default",
    ),
    definition(
        "credentials-dirs",
        "",
        "folders of further credentials files that sources may name, separated by commas, such as that of a node's \
         cookie",
    ),
    definition(
        "source-credentials",
        "",
        "files with credentials of single sources, each with the only server that may receive them, separated by \
         commas, such as etherscan-eth=/run/secrets/key@api.etherscan.io:443",
    ),
    definition(
        "source-networks",
        "",
        "private networks from which sources may be fetched, separated by commas, such as 10.0.0.0/8",
    ),
    definition(
        "redis-url",
        "",
        "Redis that servers share: redis://user:password@host:port, redis+sentinel://hosts/master, \
         redis+cluster://hosts; rediss for TLS",
    ),
    definition("redis-url-file", "", "file with that URL, read at the start"),
    definition(
        "redis-password-file",
        "",
        "file with the password of Redis, read for every new connection",
    ),
    definition(
        "redis-ca-file",
        "",
        "CA bundle (PEM) for Redis over TLS, used instead of the public CAs",
    ),
    definition("redis-prefix", "assay", "prefix of key names in Redis, one for each installation"),
    definition(
        "max-key-data-age",
        "10m",
        "largest age of key data without confirmation; requests are refused beyond it",
    ),
    definition(
        "max-intel-age",
        "10m",
        "largest age of lists and labels without confirmation; no address is allowed beyond it",
    ),
    definition("header-timeout", "20s", "timeout of the TLS handshake and of a request's headers"),
    definition("body-timeout", "5s", "timeout of the body of a check"),
    definition(
        "stall-timeout",
        "30s",
        "timeout of the next row of a bulk request, and of a stalled response",
    ),
    definition(
        "max-requests",
        "1024",
        "largest number of concurrent requests, and of concurrent checks of each blockchain; \
         unauthenticated callers get at most half, bulk requests three quarters",
    ),
    definition("tls-cert", "", "certificate chain (PEM) for TLS; reloaded when the file changes"),
    definition("tls-key", "", "private key (PEM) of the certificate"),
    definition(
        "cors-origin",
        "",
        "origins of web pages that may call the API (CORS), separated by commas",
    ),
    definition("legacy-rate-limit-headers", "off", "send X-RateLimit-* headers too: on or off"),
    definition(
        "otlp-endpoint",
        "",
        "URL of an OTLP/HTTP collector for traces and metrics, such as http://127.0.0.1:4318; \
         OTEL_EXPORTER_OTLP_ENDPOINT by default",
    ),
    definition("otlp-interval", "15s", "interval between exports of metrics"),
    definition(
        "log-hash-key-file",
        "",
        "file with the key of the address hashes in logs; a random key at each start by default",
    ),
];
