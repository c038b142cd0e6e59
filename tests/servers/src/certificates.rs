//! Certificates of test authorities.

use std::{
    fs,
    path::Path,
    sync::atomic::{AtomicU32, Ordering},
};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair,
};

/// A certificate authority.
#[derive(Debug)]
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate and its key.
#[derive(Clone, Debug)]
pub struct CertificateWithKey {
    /// The certificate, as PEM.
    pub certificate: String,
    /// The private key of the certificate, as PEM.
    pub key: String,
}

impl Authority {
    /// A certificate authority that no program trusts by default, with a unique name.
    ///
    /// # Panics
    ///
    /// Panics if the system provides no randomness.
    #[must_use]
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(1);
        let name = format!("authority {}", COUNT.fetch_add(1, Ordering::Relaxed));
        let mut asked = named(&name, &[]);
        asked.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        Self(CertifiedIssuer::self_signed(asked, key).expect("a certificate"))
    }

    /// The authority's certificate, as PEM.
    #[must_use]
    pub fn pem(&self) -> String {
        self.0.pem()
    }

    /// The authority's certificate, as DER.
    #[must_use]
    pub fn der(&self) -> &[u8] {
        self.0.der()
    }

    /// A certificate of a server that is reached as `localhost` or `127.0.0.1`.
    #[must_use]
    pub fn server(&self) -> CertificateWithKey {
        self.server_at(&["localhost", "127.0.0.1"])
    }

    /// A certificate of a server that is reached by these names or addresses, and no others.
    #[must_use]
    pub fn server_at(&self, names: &[&str]) -> CertificateWithKey {
        let mut asked = named("a server", names);
        asked.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.sign(&asked)
    }

    /// A certificate of a client called `name`.
    #[must_use]
    pub fn client(&self, name: &str) -> CertificateWithKey {
        self.sign_client(named(name, &[]))
    }

    /// A certificate of a client called `name` that belongs to `group`.
    #[must_use]
    pub fn client_in(&self, group: &str, name: &str) -> CertificateWithKey {
        let mut asked = named(name, &[]);
        asked.distinguished_name.push(DnType::OrganizationName, group);
        self.sign_client(asked)
    }

    /// The authority's certificate and key, for servers that sign certificates.
    #[must_use]
    pub fn own_certificate(&self) -> CertificateWithKey {
        CertificateWithKey { certificate: self.pem(), key: self.0.key().serialize_pem() }
    }

    fn sign_client(&self, mut asked: CertificateParams) -> CertificateWithKey {
        asked.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(&asked)
    }

    fn sign(&self, asked: &CertificateParams) -> CertificateWithKey {
        let key = KeyPair::generate().expect("a key");
        let certificate = asked.signed_by(&key, &self.0).expect("a certificate").pem();
        CertificateWithKey { certificate, key: key.serialize_pem() }
    }
}

impl Default for Authority {
    fn default() -> Self {
        Self::new()
    }
}

impl CertificateWithKey {
    /// Writes certificate and key into a directory, as `NAME.pem` and `NAME.key`.
    ///
    /// # Panics
    ///
    /// Panics if the files cannot be written.
    pub fn write(&self, directory: &Path, name: &str) {
        for (end, text) in [("pem", &self.certificate), ("key", &self.key)] {
            fs::write(directory.join(format!("{name}.{end}")), text).expect("a file");
        }
    }
}

fn named(name: &str, reached_as: &[&str]) -> CertificateParams {
    let reached_as: Vec<String> = reached_as.iter().map(ToString::to_string).collect();
    let mut asked = CertificateParams::new(reached_as).expect("names of hosts");
    asked.distinguished_name.push(DnType::CommonName, name);
    asked
}
