//! What a client shows to chain servers, and by what it recognizes them.

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

/// Files with the token and the CA bundle. They are read for every new connection, so that both can be rotated.
#[derive(Clone, Debug, Default)]
pub struct Credentials {
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
    #[error("{0} holds no token: write one into its first line")]
    NoToken(PathBuf),
    /// The file has no certificate.
    #[error("{0} holds no certificate in PEM form")]
    NoCertificate(PathBuf),
    /// A server with TLS, and no CA bundle.
    #[error("a server with TLS needs a CA bundle: give --chain-ca-file")]
    NoAuthorities,
    /// The TLS library cannot be set up.
    #[error("failed to set up TLS: {0}")]
    Setup(#[from] rustls::Error),
}

/// The tokens in a file, one a line. A server accepts each of them, a client shows the first one: to rotate the token,
/// add the new one behind the old one, give that to all servers, then exchange the lines, then remove the old one.
///
/// # Errors
///
/// Returns an error if the file cannot be read or has no token.
pub fn read_tokens(path: &Path) -> Result<Vec<String>, InvalidCredentials> {
    let read = fs::read_to_string(path);
    let text = read.map_err(|source| InvalidCredentials::Read { path: path.to_owned(), source })?;
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let tokens: Vec<String> = lines.map(str::to_owned).collect();
    if tokens.is_empty() {
        return Err(InvalidCredentials::NoToken(path.to_owned()));
    }
    Ok(tokens)
}

impl Credentials {
    /// The token, if there is one.
    pub(super) fn token(&self) -> Result<Option<String>, InvalidCredentials> {
        let Some(path) = &self.token else { return Ok(None) };
        Ok(read_tokens(path)?.into_iter().next())
    }

    /// The settings of TLS.
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

    #[test]
    fn a_file_of_tokens_may_have_several_and_must_have_one() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), " first \n\nsecond\n").unwrap();
        assert_eq!(read_tokens(file.path()).unwrap(), ["first", "second"]);
        fs::write(file.path(), "\n").unwrap();
        let error = read_tokens(file.path()).unwrap_err().to_string();
        assert!(error.ends_with("holds no token: write one into its first line"), "{error}");
    }
}
