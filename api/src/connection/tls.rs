//! TLS, with a certificate that may change while connections go on.

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

/// How often it is looked whether the files changed.
const LOOK: Duration = Duration::from_secs(1);

/// Why a certificate cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read.
    #[error("failed to read {path}: {source}")]
    Read {
        /// The file.
        path: String,
        /// What happened.
        #[source]
        source: io::Error,
    },
    /// There is no certificate in the file.
    #[error("{path} holds no certificate in PEM form: {detail}")]
    NoCertificate {
        /// The file.
        path: String,
        /// What is wrong.
        detail: String,
    },
    /// There is no key in the file. What is in it is never shown.
    #[error("{path} holds no private key in PEM form")]
    NoKey {
        /// The file.
        path: String,
    },
    /// Certificate and key do not belong together, or are of a kind that is not supported.
    #[error("the certificate in {certificate} cannot be used with the key in {key}: {source}")]
    Pair {
        /// The certificate's file.
        certificate: String,
        /// The key's file.
        key: String,
        /// What is wrong.
        #[source]
        source: rustls::Error,
    },
    /// TLS itself cannot be set up.
    #[error("failed to set up TLS: {0}")]
    Setup(#[source] rustls::Error),
}

/// Where certificate and key are, both in PEM form. The certificate's file holds the whole chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate and those above it.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

/// What both files held.
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

    fn certified(&self, pair: &Pair) -> Result<CertifiedKey, TlsError> {
        let (certificate, key) =
            (self.certificate.display().to_string(), self.key.display().to_string());
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pair.certificate).collect();
        let chain = chain.map_err(|error| TlsError::NoCertificate {
            path: certificate.clone(),
            detail: error.to_string(),
        })?;
        if chain.is_empty() {
            let detail = "there is none".to_owned();
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

/// The certificate that new connections get.
#[derive(Debug)]
struct Current(ArcSwap<CertifiedKey>);

impl ResolvesServerCert for Current {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.load_full())
    }
}

/// TLS that follows its files.
#[derive(Debug)]
pub struct Tls {
    files: TlsFiles,
    current: Arc<Current>,
    digest: [u8; 32],
}

impl Tls {
    /// Reads the files for the first time.
    ///
    /// # Errors
    ///
    /// Where they cannot be used.
    pub fn load(files: TlsFiles) -> Result<Self, TlsError> {
        let pair = files.read()?;
        let certified = files.certified(&pair)?;
        let current = Arc::new(Current(ArcSwap::from_pointee(certified)));
        Ok(Self { digest: pair.digest(), files, current })
    }

    /// Speaks TLS 1.2 and 1.3 and offers HTTP/2 and HTTP/1.1.
    ///
    /// # Errors
    ///
    /// Where the library does not support what it should.
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

    /// Follows the files until it is dropped. New connections get what they hold; those that are open go
    /// on. What cannot be used changes nothing and is logged once.
    pub async fn follow(mut self) {
        let mut ticks = interval(LOOK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // What was wrong, and how often in a row.
        let mut wrong = (String::new(), 0_u32);
        loop {
            ticks.tick().await;
            let error = match self.look() {
                Ok(changed) => {
                    wrong.1 = 0;
                    if changed {
                        tracing::info!("new connections get the new TLS certificate");
                    }
                    continue;
                }
                Err(error) => error.to_string(),
            };
            let times = if wrong.0 == error { wrong.1.saturating_add(1) } else { 1 };
            // Files are replaced one after the other: what is wrong for a moment only is not told.
            if times == 2 {
                tracing::error!(error, "the new TLS certificate cannot be used; the old one stays");
            }
            wrong = (error, times);
        }
    }

    /// Takes what the files hold now; tells whether that is new.
    fn look(&mut self) -> Result<bool, TlsError> {
        let pair = self.files.read()?;
        let digest = pair.digest();
        if digest == self.digest {
            return Ok(false);
        }
        let certified = self.files.certified(&pair)?;
        self.current.0.store(Arc::new(certified));
        self.digest = digest;
        Ok(true)
    }
}
