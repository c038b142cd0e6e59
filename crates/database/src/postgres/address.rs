//! An operator's settings for reaching a database: a URL or a file that holds one, and optionally a
//! file with the password.

use std::{
    fmt, fs,
    path::{Path, PathBuf},
    time::Duration,
};

use super::server::{self, Server};
use crate::DatabaseError;

/// Maximum age of a connection, after which a change of the database's location (a password, an address, a
/// certificate) has taken effect.
const LIFETIME: Duration = Duration::from_mins(30);
/// Default number of connections that read fetched histories at once.
const READERS: u32 = 10;

/// Location of a database, and the credentials for it. `Debug` shows neither, because both may include a password.
#[derive(Clone)]
pub struct DatabaseAddress {
    url: Url,
    password_file: Option<PathBuf>,
    pub(super) lifetime: Duration,
    pub(super) readers: u32,
}

#[derive(Clone)]
enum Url {
    Text(String),
    File(PathBuf),
}

impl DatabaseAddress {
    /// The database at `url` (`postgres://user:password@host:port/database`). Several hosts (`host,host:port`) are
    /// tried in order; the first host that takes writes is used.
    #[must_use]
    pub fn from_url(url: &str) -> Self {
        Self::new(Url::Text(url.to_owned()))
    }

    /// The database whose URL is in a file. The file is read again when it changes.
    #[must_use]
    pub fn from_url_file(file: &Path) -> Self {
        Self::new(Url::File(file.to_owned()))
    }

    const fn new(url: Url) -> Self {
        Self { url, password_file: None, lifetime: LIFETIME, readers: READERS }
    }

    /// Sets a file with the password, which is read again when it changes.
    #[must_use]
    pub fn with_password_file(mut self, file: &Path) -> Self {
        self.password_file = Some(file.to_owned());
        self
    }

    /// Sets the maximum age of a connection; 30 minutes by default.
    #[must_use]
    pub const fn with_lifetime(mut self, lifetime: Duration) -> Self {
        self.lifetime = lifetime;
        self
    }

    /// Sets the maximum number of connections that read and keep histories of chains that are read on demand; 10 by
    /// default. Other work of a program uses a few separate connections.
    #[must_use]
    pub const fn with_readers(mut self, readers: u32) -> Self {
        self.readers = readers;
        self
    }

    /// True if parts of the address come from files, whose contents may change while the program
    /// runs.
    pub(super) const fn has_files(&self) -> bool {
        self.password_file.is_some() || matches!(self.url, Url::File(_))
    }

    /// The servers in the order in which they are tried, by the present contents of the files.
    pub(super) fn servers(&self) -> Result<Vec<Server>, DatabaseError> {
        let url = match &self.url {
            Url::Text(url) => url.clone(),
            Url::File(file) => secret(file)?,
        };
        let password = self.password_file.as_deref().map(secret).transpose()?;
        server::read(&url, password.as_deref())
    }
}

/// Contents of a file, without the final line break.
fn secret(file: &Path) -> Result<String, DatabaseError> {
    let failed = |source| DatabaseError::CredentialFile { file: file.to_owned(), source };
    let text = fs::read_to_string(file).map_err(failed)?;
    let line = text.trim_end_matches(['\n', '\r']);
    if line.is_empty() {
        return Err(failed(std::io::Error::other("it is empty")));
    }
    Ok(line.to_owned())
}

impl From<&str> for DatabaseAddress {
    fn from(url: &str) -> Self {
        Self::from_url(url)
    }
}

impl From<&String> for DatabaseAddress {
    fn from(url: &String) -> Self {
        Self::from_url(url)
    }
}

impl fmt::Debug for DatabaseAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("DatabaseAddress")
    }
}
