//! Where a database is: read from its URL, and told without the password.

use std::str::FromStr;

use sqlx::postgres::PgConnectOptions;

use crate::StoreError;

/// What the server's list of connections calls this program, unless the URL says otherwise.
const APPLICATION_NAME: &str = "assay";

/// How to connect, and how to name the database in messages.
pub(super) fn read(url: &str) -> Result<(PgConnectOptions, String), StoreError> {
    expect_plain(url)?;
    let mut options =
        PgConnectOptions::from_str(url).map_err(|error| StoreError::DatabaseUrl(reason(&error)))?;
    if options.get_application_name().is_none() {
        options = options.application_name(APPLICATION_NAME);
    }
    let place = name(&options);
    Ok((options, place))
}

/// Refuses a URL that would be cut in the wrong place because of what is in its password: a part of
/// the password would be taken for a host, a port or a name, and told in messages.
fn expect_plain(url: &str) -> Result<(), StoreError> {
    let scheme = ["postgres://", "postgresql://"];
    let Some(rest) = scheme.iter().find_map(|scheme| url.strip_prefix(scheme)) else {
        return Err(StoreError::DatabaseUrl("it does not start with `postgres://`".into()));
    };
    let after_server = rest.split_once(['/', '?', '#']).map_or("", |(_, after)| after);
    if after_server.contains('@') || url.contains('#') {
        return Err(StoreError::DatabaseUrl(
            "write special characters in the password as %XX: `/` as %2F, `?` as %3F, `#` as %23, \
             `@` as %40"
                .into(),
        ));
    }
    Ok(())
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
        None => format!("{}:{}/{database}", options.get_host(), options.get_port()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            assert_eq!(read(url).unwrap().1, expected, "{url}");
        }
    }

    #[test]
    fn a_url_that_is_cut_within_its_password_is_refused_without_telling_it() {
        let urls = [
            "postgres://user:12/34secret@db.example/assay",
            "postgres://user:12?34secret@db.example/assay",
            "postgres://user:12#34secret@db.example/assay",
            "postgres://user:secret@db.example:port/assay",
            "mysql://user:secret@db.example/assay",
            "secret",
        ];
        for url in urls {
            let error = read(url).unwrap_err();
            assert!(matches!(error, StoreError::DatabaseUrl(_)));
            for text in [error.to_string(), format!("{error:?}")] {
                assert!(!text.contains("secret") && !text.contains("12"), "{url}: {text}");
            }
        }
    }
}
