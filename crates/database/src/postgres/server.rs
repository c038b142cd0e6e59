//! Location of a database: parsed from its URL, and shown without the password.

use std::{fmt, str::FromStr};

use sqlx::postgres::{PgConnectOptions, PgSslMode};

use crate::DatabaseError;

/// Name of this program in the server's list of connections, unless the URL sets another one.
const APPLICATION_NAME: &str = "assay";
/// Parameters that a URL can have after `?`. Other parameters are refused: the driver would ignore and log them.
const PARAMETERS: [&str; 11] = [
    "sslmode",
    "sslrootcert",
    "sslcert",
    "sslkey",
    "host",
    "port",
    "dbname",
    "user",
    "password",
    "application_name",
    "options",
];
/// Parameter for the kind of server. The parameter has no effect: only a server that takes writes is ever used.
const PRIMARY_ONLY: &str = "target_session_attrs";

/// A server that may hold the database.
#[derive(Clone)]
pub(super) struct Server {
    /// Connection options.
    pub(super) options: PgConnectOptions,
    /// Name in messages.
    pub(super) name: String,
    /// Text that distinguishes the server from other servers, the password included.
    pub(super) identity: String,
}

impl fmt::Debug for Server {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Server").field(&self.name).finish()
    }
}

/// The servers that a URL names, in order. `password` replaces the password of the URL.
pub(super) fn read(url: &str, password: Option<&str>) -> Result<Vec<Server>, DatabaseError> {
    expect_plain(url)?;
    let (url, asks_for_certificate) = checked_parameters(url)?;
    single_hosts(&url)
        .map(|url| {
            let mut options = PgConnectOptions::from_str(&url)
                .map_err(|error| DatabaseError::InvalidUrl(reason(&error)))?;
            // The driver looks up an address in brackets as a name.
            if let Some(address) = unbracketed(options.get_host()) {
                options = options.host(&address);
            }
            if options.get_application_name().is_none() {
                options = options.application_name(APPLICATION_NAME);
            }
            if let Some(password) = password {
                options = options.password(password);
            }
            // A URL with a root certificate requires its verification, as in PostgreSQL's own
            // programs.
            if asks_for_certificate && matches!(options.get_ssl_mode(), PgSslMode::Require) {
                options = options.ssl_mode(PgSslMode::VerifyCa);
            }
            // Reading hundreds of thousands of labels takes its time; that is no news.
            let options = sqlx::ConnectOptions::disable_statement_logging(options);
            let name = name(&options);
            let identity = format!("{url}\n{}", password.unwrap_or_default());
            Ok(Server { options, name, identity })
        })
        .collect()
}

/// The hosts and ports to which the servers that a URL names are connected by TCP, in order.
///
/// # Errors
///
/// Returns an error if the URL is none of a database. No error holds the password.
pub fn addresses(url: &str) -> Result<Vec<(String, u16)>, DatabaseError> {
    let servers = read(url, None)?.into_iter().map(|server| server.options);
    let by_tcp = servers.filter(|options| options.get_socket().is_none());
    Ok(by_tcp.map(|options| (options.get_host().to_owned(), options.get_port())).collect())
}

/// Refuses a URL whose password contains separators: the parser would take a part of the password
/// for a host, a port or a name, and messages would show it.
fn expect_plain(url: &str) -> Result<(), DatabaseError> {
    let scheme = ["postgres://", "postgresql://"];
    let Some(rest) = scheme.iter().find_map(|scheme| url.strip_prefix(scheme)) else {
        return Err(DatabaseError::InvalidUrl("it does not start with `postgres://`".into()));
    };
    let after_server = rest.split_once(['/', '?', '#']).map_or("", |(_, after)| after);
    if after_server.contains('@') || url.contains('#') {
        return Err(DatabaseError::InvalidUrl(
            "write special characters in the password as %XX: `/` as %2F, `?` as %3F, `#` as %23, \
             `@` as %40"
                .into(),
        ));
    }
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    let hosts = authority.rsplit_once('@').map_or(authority, |(_, hosts)| hosts);
    let is_bare = |host: &str| !host.starts_with('[') && host.matches(':').count() > 1;
    if hosts.split(',').any(is_bare) {
        return Err(DatabaseError::InvalidUrl(
            "write an IPv6 address in brackets, as in [2001:db8::1]:5432".into(),
        ));
    }
    Ok(())
}

/// The URL with the parameters that the driver knows, and true if the URL names a root certificate. Messages do not
/// show parameters, because a part of a misplaced password may look like one.
fn checked_parameters(url: &str) -> Result<(String, bool), DatabaseError> {
    let Some((before, parameters)) = url.split_once('?') else {
        return Ok((url.to_owned(), false));
    };
    let mut kept = Vec::new();
    let mut certificate = false;
    for parameter in parameters.split('&').filter(|parameter| !parameter.is_empty()) {
        match parameter.split_once('=') {
            Some((PRIMARY_ONLY, "read-write" | "primary")) => continue,
            Some((name, _)) if PARAMETERS.contains(&name) || name.starts_with("options[") => {
                certificate |= name == "sslrootcert";
            }
            _ => {
                let known = PARAMETERS.join(", ");
                return Err(DatabaseError::InvalidUrl(format!(
                    "after `?` it says something that is not known; known are {known}"
                )));
            }
        }
        kept.push(parameter);
    }
    let kept = if kept.is_empty() { String::new() } else { format!("?{}", kept.join("&")) };
    Ok((format!("{before}{kept}"), certificate))
}

/// One URL for each host of a URL.
fn single_hosts(url: &str) -> impl Iterator<Item = String> {
    let (scheme, rest) = url.split_once("://").unwrap_or(("postgres", url));
    let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let (user, hosts) = match authority.rsplit_once('@') {
        Some((user, hosts)) => (format!("{user}@"), hosts),
        None => (String::new(), authority),
    };
    hosts.split(',').map(move |host| format!("{scheme}://{user}{host}{path}"))
}

/// The IPv6 address in brackets; `None` for any other host.
fn unbracketed(host: &str) -> Option<String> {
    let address = host.strip_prefix('[')?.strip_suffix(']')?;
    Some(address.to_owned())
}

fn reason(error: &sqlx::Error) -> String {
    match error {
        sqlx::Error::Configuration(reason) => reason.to_string(),
        other => other.to_string(),
    }
}

fn name(options: &PgConnectOptions) -> String {
    let database = options.get_database().unwrap_or(options.get_username());
    match options.get_socket() {
        Some(socket) => format!("{}/{database}", socket.display()),
        None if options.get_host().contains(':') => {
            format!("[{}]:{}/{database}", options.get_host(), options.get_port())
        }
        None => format!("{}:{}/{database}", options.get_host(), options.get_port()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(url: &str) -> Vec<String> {
        read(url, None).unwrap().into_iter().map(|server| server.name).collect()
    }

    #[test]
    fn a_database_is_named_without_its_password() {
        let cases = [
            ("postgres://user:secret@db.example:5433/assay", "db.example:5433/assay"),
            (
                "postgresql://user:s%40cret@db.example/assay?sslmode=require",
                "db.example:5432/assay",
            ),
            ("postgres://user@db.example/assay?password=secret", "db.example:5432/assay"),
            (
                "postgres:///assay?host=/run/postgresql&user=user&password=secret",
                "/run/postgresql/assay",
            ),
        ];
        for (url, expected) in cases {
            assert_eq!(names(url), [expected], "{url}");
            assert!(!format!("{:?}", read(url, Some("secret")).unwrap()).contains("secret"));
        }
    }

    #[test]
    fn several_hosts_are_several_servers_in_order() {
        let url = "postgres://user:s%2Ccret@one,two:5433,[::1]:5434/assay?sslmode=require";
        assert_eq!(names(url), ["one:5432/assay", "two:5433/assay", "[::1]:5434/assay"]);
    }

    #[test]
    fn an_ipv6_address_is_no_name() {
        for url in [
            "postgres://u@[::1]/assay",
            "postgres://u@[::1]:5432/assay",
            "postgres:///assay?user=u&host=[::1]",
            "postgres:///assay?user=u&host=::1",
        ] {
            assert_eq!(names(url), ["[::1]:5432/assay"], "{url}");
            assert_eq!(read(url, None).unwrap()[0].options.get_host(), "::1", "{url}");
        }
        let bare = read("postgres://u@one,::1:5432/assay", None).unwrap_err().to_string();
        assert!(
            bare.ends_with("write an IPv6 address in brackets, as in [2001:db8::1]:5432"),
            "{bare}"
        );
    }

    #[test]
    fn only_known_names_are_parameters() {
        assert_eq!(names("postgres://u@one/a?target_session_attrs=read-write"), ["one:5432/a"]);
        for parameter in ["secret", "pasword=secret", "target_session_attrs=standby", "=secret"] {
            let error = read(&format!("postgres://u@one/a?{parameter}"), None).unwrap_err();
            let text = error.to_string();
            assert!(text.contains("sslmode") && !text.contains("secret"), "{text}");
        }
    }

    #[test]
    fn a_root_certificate_is_not_named_for_nothing() {
        let mode = |url: &str| read(url, None).unwrap()[0].options.get_ssl_mode();
        let with = "postgres://u@one/a?sslrootcert=/ca.pem&sslmode=";
        assert!(matches!(mode(&format!("{with}require")), PgSslMode::VerifyCa));
        assert!(matches!(mode(&format!("{with}verify-full")), PgSslMode::VerifyFull));
        assert!(matches!(mode("postgres://u@one/a?sslmode=require"), PgSslMode::Require));
    }

    #[test]
    fn a_url_truncated_in_its_password_is_refused_without_showing_it() {
        let urls = [
            "postgres://user:12/34secret@db.example/assay",
            "postgres://user:12?34secret@db.example/assay",
            "postgres://user:12#34secret@db.example/assay",
            "postgres://user:secret@db.example:port/assay",
            "mysql://user:secret@db.example/assay",
            "secret",
        ];
        for url in urls {
            let error = read(url, None).unwrap_err();
            assert!(matches!(error, DatabaseError::InvalidUrl(_)));
            for text in [error.to_string(), format!("{error:?}")] {
                assert!(!text.contains("secret") && !text.contains("12"), "{url}: {text}");
            }
        }
    }
}
