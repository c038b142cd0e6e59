//! Credentials for the server of a URL: a file with one line, and the servers that may be sent the credentials.

use std::{
    fmt,
    fs::{self, File},
    io::{self, Read},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    str::FromStr,
};

use base64::{Engine, prelude::BASE64_STANDARD as BASE64};
use rustix::fs::{Mode, OFlags};

use crate::{AllowedSourcePaths, ForbiddenFileError, InvalidServer, ServerName};

/// Largest size of credentials in bytes.
const MOST_BYTES: u64 = 4096;

/// A file that holds `user:password` or a token in one line. The file is read for every request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CredentialsFile {
    path: PathBuf,
    /// The folders in which the file must lie. `None`: the operator of the program chose the file.
    folders: Option<AllowedSourcePaths>,
    /// The servers to which the credentials may be sent. `None`: the server of any URL.
    servers: Option<Vec<ServerName>>,
}

/// Reason why credentials are not sent. Messages do not show the credentials.
#[derive(Debug, thiserror::Error)]
pub enum CredentialsError {
    /// A manifest names a file outside of the allowed folders.
    #[error(transparent)]
    Outside(#[from] ForbiddenFileError),
    /// The file cannot be read.
    #[error("failed to read the credentials in {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The file does not hold credentials in one line.
    #[error(
        "the credentials in {} are not one line of at most {MOST_BYTES} bytes with `user:password` or a token",
        path.display()
    )]
    Form {
        /// The file.
        path: PathBuf,
    },
    /// The credentials are for another server.
    #[error("the credentials are for {allowed} only, and not for {server}")]
    Server {
        /// The servers to which the credentials may be sent.
        allowed: String,
        /// The server of the URL.
        server: String,
    },
}

impl CredentialsError {
    /// True if the file does not exist: a node that is not running has no cookie.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Read { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}

/// File with the credentials of one source, which the operator of the program chose, such as a mounted Secret. Written as
/// `etherscan-eth=/run/secrets/key@api.etherscan.io:443`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedCredentials {
    /// Name of the source.
    pub source: String,
    /// The file.
    pub file: PathBuf,
    /// The only server that may receive the credentials.
    pub server: ServerName,
}

/// Text that names no credentials of a source.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidNamedCredentials {
    /// The text lacks a part.
    #[error(
        "`{0}` names no source, file and server: write it as etherscan-eth=/run/secrets/key@api.etherscan.io:443"
    )]
    Form(String),
    /// The server has another form.
    #[error(transparent)]
    Server(#[from] InvalidServer),
}

impl FromStr for NamedCredentials {
    type Err = InvalidNamedCredentials;

    fn from_str(text: &str) -> Result<Self, InvalidNamedCredentials> {
        let form = || InvalidNamedCredentials::Form(text.to_owned());
        let (source, rest) = text.split_once('=').ok_or_else(form)?;
        let (file, server) = rest.rsplit_once('@').ok_or_else(form)?;
        if source.is_empty() || file.is_empty() {
            return Err(form());
        }
        let server = server.parse()?;
        Ok(Self { source: source.to_owned(), file: PathBuf::from(file), server })
    }
}

impl fmt::Display for NamedCredentials {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { source, file, server } = self;
        write!(formatter, "{source}={}@{server}", file.display())
    }
}

impl AllowedSourcePaths {
    /// Returns the credentials that the operator of the program chose for a source; `None` if there are none.
    #[must_use]
    pub fn credentials_of(&self, source: &str) -> Option<CredentialsFile> {
        let given = self.source_credentials.iter().find(|given| given.source == source)?;
        let file = CredentialsFile::new(given.file.clone());
        Some(file.restricted_to(Some(vec![given.server.clone()])))
    }

    /// Returns a file with credentials, which is read only if it lies below one of the folders at that time.
    #[must_use]
    pub fn credentials(&self, path: &Path) -> CredentialsFile {
        CredentialsFile { path: path.to_owned(), folders: Some(self.clone()), servers: None }
    }
}

impl CredentialsFile {
    /// A file that the operator of the program chose.
    #[must_use]
    pub const fn new(path: PathBuf) -> Self {
        Self { path, folders: None, servers: None }
    }

    /// Restricts the credentials to these servers. `None`: the server of any URL.
    #[must_use]
    pub fn restricted_to(self, servers: Option<Vec<ServerName>>) -> Self {
        Self { servers, ..self }
    }

    /// Returns the value of `Authorization` in a request to a URL.
    ///
    /// # Errors
    ///
    /// Returns an error if the server of the URL may not be sent the credentials, if the file lies outside the
    /// folders that a manifest may name, or if the file does not hold credentials.
    pub fn authorization(&self, url: &str) -> Result<String, CredentialsError> {
        self.check_server(url)?;
        let line = self.read()?;
        Ok(if line.contains(':') { basic(&line) } else { format!("Bearer {line}") })
    }

    /// Returns the content as it is, for APIs that take a key in another place than `Authorization`.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Self::authorization`].
    pub fn key(&self, url: &str) -> Result<String, CredentialsError> {
        self.check_server(url)?;
        self.read()
    }

    fn check_server(&self, url: &str) -> Result<(), CredentialsError> {
        let Some(servers) = &self.servers else { return Ok(()) };
        let server = ServerName::of_url(url);
        let permitting = |server: &ServerName| servers.iter().any(|it| it.permits(server));
        if server.as_ref().is_some_and(permitting) {
            return Ok(());
        }
        let allowed: Vec<String> = servers.iter().map(ToString::to_string).collect();
        let server = match server {
            Some(server) if servers.iter().any(|it| it.is_same_server(&server)) => {
                format!("{server} without TLS")
            }
            Some(server) => server.to_string(),
            None => "no URL".to_owned(),
        };
        Err(CredentialsError::Server { allowed: allowed.join(", "), server })
    }

    fn read(&self) -> Result<String, CredentialsError> {
        let path = match &self.folders {
            Some(folders) => folders.credentials_path(&self.path)?,
            None => self.path.clone(),
        };
        let failed = |source| CredentialsError::Read { path: self.path.clone(), source };
        let file = open(&path, self.folders.is_some()).map_err(failed)?;
        if let Some(folders) = &self.folders {
            // Links may have been changed since the path was looked at: the file that is open counts.
            let path = folders.credentials_path(&self.path)?;
            if !is_at(&file, &path).map_err(failed)? {
                let changed = io::Error::other("its path was changed while it was opened");
                return Err(failed(changed));
            }
        }
        let bytes = read_start(file).map_err(failed)?;
        let text =
            if bytes.len() as u64 > MOST_BYTES { None } else { String::from_utf8(bytes).ok() };
        let line = text.map(|text| text.trim().to_owned());
        line.filter(|line| !line.is_empty() && !line.contains(char::is_control))
            .ok_or_else(|| CredentialsError::Form { path: self.path.clone() })
    }
}

/// Returns the value of `Authorization` for `user:password`.
#[must_use]
pub fn basic(pair: &str) -> String {
    format!("Basic {}", BASE64.encode(pair))
}

/// Opens a file with credentials. A file that a manifest names must be a regular file: a pipe or device would block,
/// and holds no credentials.
fn open(path: &Path, must_be_regular: bool) -> io::Result<File> {
    if !must_be_regular {
        return File::open(path);
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"));
    }
    Ok(file)
}

/// True if an open file is the file at a path.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let (open, there) = (file.metadata()?, fs::symlink_metadata(path)?);
    Ok((open.dev(), open.ino()) == (there.dev(), there.ino()))
}

/// Reads a file up to one byte more than the largest size of credentials.
fn read_start(file: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const URL: &str = "https://lists.example/own.csv";

    fn file(content: &[u8]) -> (tempfile::NamedTempFile, CredentialsFile) {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), content).unwrap();
        let credentials = CredentialsFile::new(file.path().to_owned());
        (file, credentials)
    }

    #[test]
    fn credentials_are_a_password_or_a_token_in_one_line() {
        let (_file, pair) = file(b"Aladdin:open sesame\n");
        assert_eq!(pair.authorization(URL).unwrap(), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
        let (_file, token) = file(b" token \n");
        assert_eq!(token.authorization(URL).unwrap(), "Bearer token");
        assert_eq!(token.key(URL).unwrap(), "token");
        let gone = file(b"x").1;
        assert!(gone.authorization(URL).unwrap_err().is_missing());
        let most = vec![b'x'; 4096];
        let (_file, longest) = file(&most);
        assert!(longest.authorization(URL).is_ok());
        for wrong in [&b""[..], b" \n", b"one\ntwo", b"\xff", &[most, vec![b'\n']].concat()] {
            let (_file, credentials) = file(wrong);
            let error = credentials.authorization(URL).unwrap_err().to_string();
            let said = "are not one line of at most 4096 bytes with `user:password` or a token";
            assert!(error.ends_with(said), "{error}");
        }
    }

    #[test]
    fn credentials_are_for_the_servers_that_are_named() {
        let servers = ServerName::parse_list("lists.example:443,node:8332").unwrap();
        let (_file, credentials) = file(b"token");
        let credentials = credentials.restricted_to(Some(servers));
        for allowed in [URL, "https://LISTS.example:443", "http://node:8332/wallet"] {
            assert!(credentials.authorization(allowed).is_ok(), "{allowed}");
            assert_eq!(credentials.key(allowed).unwrap(), "token");
        }
        for (other, server) in [
            ("http://lists.example/own.csv", "lists.example:80"),
            ("https://lists.example:444", "https://lists.example:444"),
            ("https://evil.example/?lists.example:443", "evil.example:443"),
            ("https://lists.example:443@evil.example", "evil.example:443"),
            ("ftp://lists.example:443", "no URL"),
            ("http://lists.example:443/own.csv", "lists.example:443 without TLS"),
            ("https://lists.example;reboot;:443", "no URL"),
        ] {
            let error = credentials.authorization(other).unwrap_err().to_string();
            let said = format!(
                "the credentials are for lists.example:443, node:8332 only, and not for {server}"
            );
            assert_eq!(error, said);
            assert_eq!(credentials.key(other).unwrap_err().to_string(), said);
        }
    }

    #[test]
    fn credentials_of_a_source_are_for_its_server() {
        let (file, _) = file(b"key");
        let path = file.path().display();
        let given = |text: &str| text.parse::<NamedCredentials>();
        let own = given(&format!("own={path}@lists.example:443")).unwrap();
        assert_eq!(given(&own.to_string()), Ok(own.clone()));
        let files =
            AllowedSourcePaths { source_credentials: vec![own], ..AllowedSourcePaths::default() };
        assert_eq!(files.credentials_of("other"), None);
        let credentials = files.credentials_of("own").unwrap();
        assert_eq!(credentials.key(URL).unwrap(), "key");
        // Whoever changes the source's manifest gets nothing sent to another server.
        let error = credentials.key("https://evil.example/").unwrap_err();
        assert!(matches!(error, CredentialsError::Server { .. }), "{error}");
        for wrong in ["", "own", "own=/key", "=/key@a:1", "own=@a:1"] {
            let error = given(wrong).unwrap_err().to_string();
            let said = format!("`{wrong}` names no source, file and server: write it as ");
            assert!(error.starts_with(&said), "{error}");
        }
        assert!(given("own=/key@a").unwrap_err().to_string().contains("is no host and port"));
    }

    #[test]
    fn a_file_that_a_manifest_names_is_looked_for_at_each_use() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        fs::create_dir(at("sources")).unwrap();
        fs::write(at("secret"), "hush").unwrap();
        let files =
            AllowedSourcePaths { source_dir: at("sources"), ..AllowedSourcePaths::default() };
        let credentials = files.credentials(Path::new("token"));
        assert!(credentials.authorization(URL).unwrap_err().is_missing());
        fs::write(at("sources/token"), "known").unwrap();
        assert_eq!(credentials.authorization(URL).unwrap(), "Bearer known");
        // A link takes its place.
        fs::remove_file(at("sources/token")).unwrap();
        std::os::unix::fs::symlink(at("secret"), at("sources/token")).unwrap();
        let error = credentials.authorization(URL).unwrap_err();
        assert!(matches!(error, CredentialsError::Outside(_)), "{error}");
        // A folder is no file.
        fs::create_dir(at("sources/folder")).unwrap();
        let error = files.credentials(Path::new("folder")).authorization(URL).unwrap_err();
        assert!(error.to_string().ends_with("it is no regular file"), "{error}");
    }
}
