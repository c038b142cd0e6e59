//! Where Redis is, who we are, and how long we wait.

use std::{fmt, fs, io, path::PathBuf, time::Duration};

use crate::RedisUrl;

/// How Redis is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedisSettings {
    /// Where it is.
    pub url: RedisUrl,
    /// A file that holds the password, which goes before the URL's. It is read for every new connection.
    pub password_file: Option<PathBuf>,
    /// Files for TLS.
    pub tls: RedisTlsFiles,
    /// Longest time for making a connection.
    pub connect_timeout: Duration,
    /// Longest time until an answer.
    pub response_timeout: Duration,
}

/// Certificates in PEM files, read for every new connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RedisTlsFiles {
    /// The certificate authorities to trust; where left out, those that the web trusts.
    pub ca_bundle: Option<PathBuf>,
    /// Our own certificate and its key, where the server asks for one.
    pub client: Option<(PathBuf, PathBuf)>,
}

/// Who we are.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Credentials {
    /// The user; the server's default one where left out.
    pub user: Option<String>,
    /// The password.
    pub password: Option<String>,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Credentials").field("user", &self.user).finish_non_exhaustive()
    }
}

impl RedisSettings {
    /// Of a place, with the usual waits.
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

    /// Who we are by now.
    ///
    /// # Errors
    ///
    /// Where the password's file cannot be read.
    pub fn credentials(&self) -> io::Result<Credentials> {
        let password = match &self.password_file {
            Some(file) => Some(read(file)?.trim_end_matches(['\r', '\n']).to_owned()),
            None => self.url.password.clone(),
        };
        Ok(Credentials { user: self.url.user.clone(), password })
    }
}

/// Reads a file, which an error names.
fn read(file: &PathBuf) -> io::Result<String> {
    fs::read_to_string(file)
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", file.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_read_anew_each_time_and_never_shown() {
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
