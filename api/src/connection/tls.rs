//! TLS with certificates that are reloaded when their files change.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use arc_swap::ArcSwap;
use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};
use sha2::{Digest, Sha256};
use tokio::time::{MissedTickBehavior, interval};
use tokio_rustls::TlsAcceptor;

/// Interval at which the files are checked for changes.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Reason why a certificate cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read.
    #[error("failed to read {path}: {source}")]
    Read {
        /// The file.
        path: String,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The file contains no certificate.
    #[error("{path} contains no certificate in PEM form: {detail}")]
    NoCertificate {
        /// The file.
        path: String,
        /// The cause.
        detail: String,
    },
    /// The file contains no private key. The message never shows the content of the file.
    #[error("{path} contains no private key in PEM form")]
    NoKey {
        /// The file.
        path: String,
    },
    /// Certificate and key do not match, or are of an unsupported kind.
    #[error("the certificate in {certificate} cannot be used with the key in {key}: {source}")]
    Pair {
        /// The certificate's file.
        certificate: String,
        /// The key's file.
        key: String,
        /// The cause.
        #[source]
        source: rustls::Error,
    },
    /// The TLS library cannot be set up.
    #[error("failed to set up TLS: {0}")]
    Setup(#[source] rustls::Error),
}

/// Paths of certificate and private key, both in PEM form. The certificate's file contains the whole
/// chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// File of the certificate chain.
    pub certificate: PathBuf,
    /// File of the private key.
    pub key: PathBuf,
}

/// Contents of the certificate file and the key file.
struct Pair {
    certificate: Vec<u8>,
    key: Vec<u8>,
}

impl TlsFiles {
    fn read(&self) -> Result<Pair, TlsError> {
        let read = |path: &Path| {
            fs::read(path)
                .map_err(|source| TlsError::Read { path: path.display().to_string(), source })
        };
        Ok(Pair { certificate: read(&self.certificate)?, key: read(&self.key)? })
    }

    fn certified_key(&self, pair: &Pair) -> Result<CertifiedKey, TlsError> {
        let (certificate, key) =
            (self.certificate.display().to_string(), self.key.display().to_string());
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pair.certificate).collect();
        let chain = chain.map_err(|error| TlsError::NoCertificate {
            path: certificate.clone(),
            detail: error.to_string(),
        })?;
        if chain.is_empty() {
            let detail = "the file has no CERTIFICATE section".to_owned();
            return Err(TlsError::NoCertificate { path: certificate, detail });
        }
        let secret = PrivateKeyDer::from_pem_slice(&pair.key)
            .map_err(|_| TlsError::NoKey { path: key.clone() })?;
        CertifiedKey::from_der(chain, secret, &ring::default_provider())
            .map_err(|source| TlsError::Pair { certificate, key, source })
    }
}

impl Pair {
    fn digest(&self) -> [u8; 32] {
        let mut hash = Sha256::new();
        hash.update(Sha256::digest(&self.certificate));
        hash.update(Sha256::digest(&self.key));
        hash.finalize().into()
    }
}

/// Certificate for new connections.
#[derive(Debug)]
struct CurrentCertificate(ArcSwap<CertifiedKey>);

impl ResolvesServerCert for CurrentCertificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.load_full())
    }
}

/// TLS certificate that is reloaded from its files.
#[derive(Debug)]
pub struct Tls {
    files: TlsFiles,
    current: Arc<CurrentCertificate>,
    digest: [u8; 32],
}

impl Tls {
    /// Loads certificate and key from their files.
    ///
    /// # Errors
    ///
    /// Returns an error if the certificate or the key cannot be read or used.
    pub fn load(files: TlsFiles) -> Result<Self, TlsError> {
        let pair = files.read()?;
        let certified_key = files.certified_key(&pair)?;
        let current = Arc::new(CurrentCertificate(ArcSwap::from_pointee(certified_key)));
        Ok(Self { digest: pair.digest(), files, current })
    }

    /// Returns an acceptor for TLS 1.2 and 1.3 that offers HTTP/2 and HTTP/1.1.
    ///
    /// # Errors
    ///
    /// Returns an error if the TLS library does not support TLS 1.2 and 1.3.
    pub fn acceptor(&self) -> Result<TlsAcceptor, TlsError> {
        let provider = Arc::new(ring::default_provider());
        let resolver: Arc<dyn ResolvesServerCert> = Arc::clone(&self.current) as _;
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(TlsError::Setup)?
            .with_no_client_auth()
            .with_cert_resolver(resolver);
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(TlsAcceptor::from(Arc::new(config)))
    }

    /// Watches the files of certificate and key until the future is dropped. New connections use the new certificate;
    /// open connections keep the old one. An unusable certificate changes nothing and is logged once.
    pub async fn watch_files(mut self) {
        let mut ticks = interval(POLL_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // The last error, and how often it occurred in a row.
        let mut last_failure = (String::new(), 0_u32);
        loop {
            ticks.tick().await;
            let error = match self.reload() {
                Ok(changed) => {
                    last_failure.1 = 0;
                    if changed {
                        tracing::info!("loaded the new TLS certificate for new connections");
                    }
                    continue;
                }
                Err(error) => error.to_string(),
            };
            let count = if last_failure.0 == error { last_failure.1.saturating_add(1) } else { 1 };
            // Files are replaced one after the other: an error of a single check is not logged.
            if count == 2 {
                tracing::error!(
                    error,
                    "the new TLS certificate cannot be used; keeping the old one"
                );
            }
            last_failure = (error, count);
        }
    }

    /// Reloads certificate and key; returns true if the contents of their files changed.
    fn reload(&mut self) -> Result<bool, TlsError> {
        let pair = self.files.read()?;
        let digest = pair.digest();
        if digest == self.digest {
            return Ok(false);
        }
        let certified_key = self.files.certified_key(&pair)?;
        self.current.0.store(Arc::new(certified_key));
        self.digest = digest;
        Ok(true)
    }
}
