//! The credentials of a client of chain servers: its token, and the CA bundle by which it verifies servers.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, pem::PemObject},
};

/// Minimum number of characters of a token: 128 random bits in hexadecimal.
pub const MIN_TOKEN_CHARACTERS: usize = 32;

/// Paths of the files with the token and the CA bundle. The files are read for every new connection, so that both can
/// be rotated.
#[derive(Clone, Debug, Default)]
pub struct ChainServerCredentials {
    /// File whose first line is the token.
    pub token: Option<PathBuf>,
    /// File with the CA bundle (PEM) for servers with TLS.
    pub authorities: Option<PathBuf>,
}

/// Credentials that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum InvalidCredentials {
    /// A file cannot be read.
    #[error("failed to read {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The file has no token.
    #[error(
        "{0} holds no token: write one into its first line, such as `openssl rand -hex 32` makes"
    )]
    NoToken(PathBuf),
    /// A token in the file is too short.
    #[error(
        "line {line} of {path} holds a token of {characters} characters: it needs {MIN_TOKEN_CHARACTERS} or more, so \
         that nobody guesses it; make one with `openssl rand -hex 32`"
    )]
    ShortToken {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// Number of characters of the token.
        characters: usize,
    },
    /// The file has no certificate.
    #[error("{0} holds no certificate in PEM form")]
    NoCertificate(PathBuf),
    /// A server uses TLS, and no CA bundle is configured.
    #[error("a server with TLS needs a CA bundle: give --chain-ca-file")]
    NoAuthorities,
    /// The TLS library cannot be set up.
    #[error("failed to set up TLS: {0}")]
    Setup(#[from] rustls::Error),
}

/// Reads the tokens in a file, one per line. A server accepts each token, a client sends the first. To rotate: append
/// the new token for all servers, then swap the lines, then remove the old token.
///
/// # Errors
///
/// Returns an error if the file cannot be read, has no token, or has a token of fewer than [`MIN_TOKEN_CHARACTERS`]
/// characters.
pub fn read_tokens(path: &Path) -> Result<Vec<String>, InvalidCredentials> {
    let read = fs::read_to_string(path);
    let text = read.map_err(|source| InvalidCredentials::Read { path: path.to_owned(), source })?;
    let mut tokens = Vec::new();
    for (line, token) in (1..).zip(text.lines().map(str::trim)) {
        let characters = token.chars().count();
        match characters {
            0 => {}
            MIN_TOKEN_CHARACTERS.. => tokens.push(token.to_owned()),
            _ => {
                let path = path.to_owned();
                return Err(InvalidCredentials::ShortToken { path, line, characters });
            }
        }
    }
    if tokens.is_empty() {
        return Err(InvalidCredentials::NoToken(path.to_owned()));
    }
    Ok(tokens)
}

impl ChainServerCredentials {
    /// Checks the token file before a server is asked. A file that cannot be read passes: it may be written later.
    ///
    /// # Errors
    ///
    /// Returns an error if the file has no token or a token that is too short.
    pub fn check_token(&self) -> Result<(), InvalidCredentials> {
        match self.token() {
            // The file may not exist yet; it is read again for every connection.
            Ok(_) | Err(InvalidCredentials::Read { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Reads the client's token; `None` if no token file is configured.
    pub(super) fn token(&self) -> Result<Option<String>, InvalidCredentials> {
        let Some(path) = &self.token else { return Ok(None) };
        Ok(read_tokens(path)?.into_iter().next())
    }

    /// Returns the TLS configuration with the CA bundle.
    pub(super) fn tls(&self) -> Result<Arc<ClientConfig>, InvalidCredentials> {
        let path = self.authorities.as_ref().ok_or(InvalidCredentials::NoAuthorities)?;
        let none = || InvalidCredentials::NoCertificate(path.clone());
        let bytes = fs::read(path)
            .map_err(|source| InvalidCredentials::Read { path: path.clone(), source })?;
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(&bytes) {
            roots.add(certificate.map_err(|_| none())?)?;
        }
        if roots.is_empty() {
            return Err(none());
        }
        let provider = Arc::new(ring::default_provider());
        let config =
            ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
        let mut config = config.with_root_certificates(roots).with_no_client_auth();
        config.alpn_protocols = vec![b"h2".to_vec()];
        Ok(Arc::new(config))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: &str = "the first token, for tests alone";
    const SECOND: &str = "the second one, not a secret either";

    #[test]
    fn a_file_of_tokens_may_have_several_and_must_have_one() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), format!(" {FIRST} \n\n{SECOND}\n")).unwrap();
        assert_eq!(read_tokens(file.path()).unwrap(), [FIRST, SECOND]);
        fs::write(file.path(), "\n").unwrap();
        let error = read_tokens(file.path()).unwrap_err().to_string();
        assert!(error.contains("holds no token: write one into its first line"), "{error}");
    }

    #[test]
    fn a_short_token_on_any_line_is_refused_with_the_way_to_make_one() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let credentials = ChainServerCredentials {
            token: Some(file.path().to_owned()),
            ..ChainServerCredentials::default()
        };
        for (text, told) in
            [("abc\n".to_owned(), "line 1"), (format!("{FIRST}\n\n{}\n", &FIRST[..31]), "line 3")]
        {
            fs::write(file.path(), text).unwrap();
            let error = read_tokens(file.path()).unwrap_err().to_string();
            assert!(error.starts_with(told) && error.contains("openssl rand -hex 32"), "{error}");
            assert!(credentials.token().is_err() && credentials.check_token().is_err());
        }
        fs::write(file.path(), "é".repeat(32)).unwrap();
        assert!(credentials.check_token().is_ok(), "characters count, not bytes");
        drop(file);
        assert!(credentials.check_token().is_ok(), "it may be there later");
        assert!(credentials.token().is_err());
    }
}
