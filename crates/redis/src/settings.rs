//! Settings of the client: URL, credentials and timeouts.

use std::{fmt, fs, io, path::PathBuf, time::Duration};

use crate::RedisUrl;

/// Settings of a Redis client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedisSettings {
    /// URL of the servers.
    pub url: RedisUrl,
    /// File with the password, which overrides the URL's password. The file is read for every new connection.
    pub password_file: Option<PathBuf>,
    /// Files for TLS.
    pub tls: RedisTlsFiles,
    /// Longest time for establishing a connection.
    pub connect_timeout: Duration,
    /// Longest time until a response.
    pub response_timeout: Duration,
}

/// Certificates in PEM files, read for every new connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RedisTlsFiles {
    /// CA bundle used instead of the system roots.
    pub ca_bundle: Option<PathBuf>,
    /// Client certificate and its key, for servers that require one.
    pub client: Option<(PathBuf, PathBuf)>,
}

/// Credentials for Redis.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct RedisCredentials {
    /// The user; `None` for the server's default user.
    pub user: Option<String>,
    /// The password.
    pub password: Option<String>,
}

impl fmt::Debug for RedisCredentials {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Credentials").field("user", &self.user).finish_non_exhaustive()
    }
}

impl RedisSettings {
    /// Creates settings for a URL, with default timeouts.
    #[must_use]
    pub fn new(url: RedisUrl) -> Self {
        Self {
            url,
            password_file: None,
            tls: RedisTlsFiles::default(),
            connect_timeout: Duration::from_secs(1),
            response_timeout: Duration::from_millis(500),
        }
    }

    /// Returns the present credentials.
    ///
    /// # Errors
    ///
    /// Returns an error if the password's file cannot be read.
    pub fn credentials(&self) -> io::Result<RedisCredentials> {
        let password = match &self.password_file {
            Some(file) => Some(read(file)?.trim_end_matches(['\r', '\n']).to_owned()),
            None => self.url.password.clone(),
        };
        Ok(RedisCredentials { user: self.url.user.clone(), password })
    }
}

/// Reads a file; an error names its path.
fn read(file: &PathBuf) -> io::Result<String> {
    fs::read_to_string(file)
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", file.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_read_for_each_connection_and_never_shown() {
        let file = std::env::temp_dir().join(format!("assay-redis-{}", std::process::id()));
        let mut settings = RedisSettings::new("redis://assay:old@a".parse().unwrap());
        assert_eq!(settings.credentials().unwrap().password.as_deref(), Some("old"));
        settings.password_file = Some(file.clone());
        for password in ["first", "second"] {
            fs::write(&file, format!("{password}\n")).unwrap();
            let credentials = settings.credentials().unwrap();
            assert_eq!(credentials.password.as_deref(), Some(password));
            assert!(!format!("{credentials:?} {settings:?}").contains(password));
        }
        fs::remove_file(&file).unwrap();
        let error = settings.credentials().unwrap_err();
        assert!(error.to_string().contains("assay-redis-"), "{error}");
    }
}
