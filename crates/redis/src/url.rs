//! URLs of Redis servers.

use std::{fmt, str::FromStr};

use percent_encoding::percent_decode_str;

/// Default port of Redis.
const PORT: u16 = 6379;
/// Default port of Sentinel.
const SENTINEL_PORT: u16 = 26379;

/// URL of Redis: `redis://`, `redis+sentinel://` or `redis+cluster://`, each also with `rediss` for
/// TLS.
#[derive(Clone, PartialEq, Eq)]
pub struct RedisUrl {
    /// The servers.
    pub topology: Topology,
    /// True if connections use TLS.
    pub tls: bool,
    /// The user, if the URL names one.
    pub user: Option<String>,
    /// The password, if the URL contains one.
    pub password: Option<String>,
    /// The number of the database; 0 in a Cluster.
    pub database: i64,
}

/// A server's name and port.
pub type Host = (String, u16);

/// Topology of the servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Topology {
    /// One server.
    Single(Host),
    /// Sentinels, which locate the master.
    Sentinel {
        /// The sentinels.
        sentinels: Vec<Host>,
        /// The master's name.
        master: String,
    },
    /// Some nodes of a Cluster, which locate the other nodes.
    Cluster(Vec<Host>),
}

/// Error in a URL. No message repeats any part of the URL's text, which may contain a password.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum RedisUrlError {
    /// The scheme is unknown.
    #[error(
        "must begin with redis://, rediss://, redis+sentinel://, rediss+sentinel://, \
         redis+cluster:// or rediss+cluster://"
    )]
    Scheme,
    /// A host is missing, or its port is not a number.
    #[error("host or port is invalid: write them as in redis.example:6379 or [2001:db8::1]:6379")]
    Host,
    /// The database is not a number.
    #[error("the path after the server must be the number of a database, as in redis://host/0")]
    Database,
    /// A Sentinel URL names no master.
    #[error("the master's name is missing, as in redis+sentinel://host:26379/mymaster")]
    NoMaster,
    /// Several hosts are given where one host is expected.
    #[error("several hosts are given: only redis+sentinel:// and redis+cluster:// allow that")]
    SeveralHosts,
    /// A Cluster URL names a database.
    #[error("a database is given, but a Cluster has only database 0")]
    DatabaseInCluster,
    /// User or password contain characters that must be percent-encoded.
    #[error(
        "write special characters in user and password as %XX: `/` as %2F, `%` as %25, `@` as %40"
    )]
    Encoding,
}

impl FromStr for RedisUrl {
    type Err = RedisUrlError;

    fn from_str(text: &str) -> Result<Self, RedisUrlError> {
        let (scheme, rest) = text.split_once("://").ok_or(RedisUrlError::Scheme)?;
        let (scheme, kind) = scheme.split_once('+').unwrap_or((scheme, ""));
        let tls = match scheme {
            "redis" => false,
            "rediss" => true,
            _ => return Err(RedisUrlError::Scheme),
        };
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        // The text before `@` belongs to a password, and would be parsed as a host or a name.
        if path.contains('@') {
            return Err(RedisUrlError::Encoding);
        }
        let (userinfo, hosts) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (user, password) = credentials(userinfo)?;
        let port = if kind == "sentinel" { SENTINEL_PORT } else { PORT };
        let hosts: Vec<Host> =
            hosts.split(',').map(|text| host(text, port)).collect::<Result<_, _>>()?;
        let number = |text: &str| match text {
            "" => Ok(0),
            text => match text.parse::<i64>() {
                Ok(number) if number >= 0 => Ok(number),
                _ => Err(RedisUrlError::Database),
            },
        };
        let (topology, database) = match kind {
            "" => {
                let [one] =
                    <[Host; 1]>::try_from(hosts).map_err(|_| RedisUrlError::SeveralHosts)?;
                (Topology::Single(one), number(path)?)
            }
            "sentinel" => {
                let (master, database) = path.split_once('/').unwrap_or((path, ""));
                if master.is_empty() {
                    return Err(RedisUrlError::NoMaster);
                }
                let master = master.to_owned();
                (Topology::Sentinel { sentinels: hosts, master }, number(database)?)
            }
            "cluster" => match number(path)? {
                0 => (Topology::Cluster(hosts), 0),
                _ => return Err(RedisUrlError::DatabaseInCluster),
            },
            _ => return Err(RedisUrlError::Scheme),
        };
        Ok(Self { topology, tls, user, password, database })
    }
}

/// Returns the user and the password of a URL; both may be missing, and so may be the user alone.
fn credentials(text: &str) -> Result<(Option<String>, Option<String>), RedisUrlError> {
    let (user, password) = text.split_once(':').unwrap_or((text, ""));
    let decoded = |text: &str| match text {
        "" => Ok(None),
        text => decode(text).map(Some).ok_or(RedisUrlError::Encoding),
    };
    Ok((decoded(user)?, decoded(password)?))
}

/// Decodes percent-encoded text; `None` if a `%` begins no encoded byte, or the bytes are not UTF-8.
fn decode(text: &str) -> Option<String> {
    let is_encoded = |after: &str| after.bytes().take(2).filter(u8::is_ascii_hexdigit).count() == 2;
    let decoded = percent_decode_str(text).decode_utf8().ok()?;
    text.split('%').skip(1).all(is_encoded).then(|| decoded.into_owned())
}

fn host(text: &str, port: u16) -> Result<Host, RedisUrlError> {
    let invalid_host = || RedisUrlError::Host;
    // An IPv6 address is in brackets.
    let (name, rest) = match text.strip_prefix('[') {
        Some(rest) => rest.split_once(']').ok_or_else(invalid_host)?,
        None => text.find(':').map_or((text, ""), |colon| text.split_at(colon)),
    };
    let port = match rest.strip_prefix(':') {
        Some(port) => port.parse().map_err(|_| invalid_host())?,
        None if rest.is_empty() => port,
        None => return Err(invalid_host()),
    };
    if name.is_empty() || name.contains(char::is_whitespace) {
        return Err(invalid_host());
    }
    Ok((name.to_owned(), port))
}

impl fmt::Display for RedisUrl {
    /// Writes the URL without user and password.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.tls { "rediss" } else { "redis" };
        let hosts = |hosts: &[Host]| hosts.iter().map(server).collect::<Vec<_>>().join(",");
        match &self.topology {
            Topology::Single(one) => write!(formatter, "{scheme}://{}", server(one)),
            Topology::Sentinel { sentinels, master } => {
                write!(formatter, "{scheme}+sentinel://{}/{master}", hosts(sentinels))
            }
            Topology::Cluster(nodes) => write!(formatter, "{scheme}+cluster://{}", hosts(nodes)),
        }
    }
}

/// A server as a URL writes it, an IPv6 address in brackets.
fn server((name, port): &Host) -> String {
    if name.contains(':') { format!("[{name}]:{port}") } else { format!("{name}:{port}") }
}

impl fmt::Debug for RedisUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "RedisUrl({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> RedisUrl {
        text.parse().unwrap()
    }

    #[test]
    fn a_url_names_one_server_sentinels_or_a_cluster() {
        let one = read("redis://redis.example");
        assert_eq!(one.topology, Topology::Single(("redis.example".into(), 6379)));
        assert!(!one.tls && one.user.is_none() && one.password.is_none() && one.database == 0);
        let one = read("rediss://[::1]:7000/3");
        assert_eq!((one.topology, one.tls), (Topology::Single(("::1".into(), 7000)), true));
        assert_eq!(one.database, 3);
        assert_eq!(read("rediss://[::1]:7000/3").to_string(), "rediss://[::1]:7000");
        let watched = read("redis+sentinel://a,b:5000/main/2");
        let sentinels = vec![("a".to_owned(), 26379), ("b".to_owned(), 5000)];
        assert_eq!(watched.topology, Topology::Sentinel { sentinels, master: "main".into() });
        assert_eq!(watched.database, 2);
        let cluster = read("rediss+cluster://a:1,b:2");
        assert_eq!(cluster.topology, Topology::Cluster(vec![("a".into(), 1), ("b".into(), 2)]));
    }

    #[test]
    fn credentials_are_read_and_never_shown() {
        let url = read("redis://assay:p%40ss%3Aword@redis.example:6380");
        assert_eq!(url.user.as_deref(), Some("assay"));
        assert_eq!(url.password.as_deref(), Some("p@ss:word"));
        let without_user = read("redis://:secret@redis.example");
        assert_eq!(without_user.user, None);
        assert_eq!(without_user.password.as_deref(), Some("secret"));
        for shown in [url.to_string(), format!("{url:?}"), format!("{without_user:?}")] {
            assert!(!shown.contains("ss") || !shown.contains("word"), "{shown}");
            assert!(!shown.contains("secret"), "{shown}");
        }
    }

    #[test]
    fn an_invalid_url_is_refused_with_the_reason() {
        for (text, error) in [
            ("redis.example:6379", RedisUrlError::Scheme),
            ("http://redis.example", RedisUrlError::Scheme),
            ("redis+ring://redis.example", RedisUrlError::Scheme),
            ("redis://", RedisUrlError::Host),
            ("redis://a:b", RedisUrlError::Host),
            ("redis://a,b", RedisUrlError::SeveralHosts),
            ("redis://a/x", RedisUrlError::Database),
            ("redis://a/-1", RedisUrlError::Database),
            ("redis+sentinel://a", RedisUrlError::NoMaster),
            ("redis+cluster://a/1", RedisUrlError::DatabaseInCluster),
            ("redis://u:%zz@a", RedisUrlError::Encoding),
            ("redis://user:pa/ss@cache:6379", RedisUrlError::Encoding),
            ("redis://user:12/ss@cache:6379", RedisUrlError::Encoding),
            ("redis+sentinel://user:12/ss@cache:6379/main", RedisUrlError::Encoding),
        ] {
            assert_eq!(text.parse::<RedisUrl>(), Err(error), "{text}");
        }
    }
}
