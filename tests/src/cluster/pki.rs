//! Keys and certificates of a cluster.

use std::{fs, path::Path};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose,
};

/// Who presents a certificate: the file, the group, the name.
const CLIENTS: [(&str, &str, &str); 3] = [
    ("admin", "system:masters", "admin"),
    ("controllers", "", "system:kube-controller-manager"),
    ("scheduler", "", "system:kube-scheduler"),
];
const SERVER_NAMES: [&str; 4] = ["127.0.0.1", "localhost", "kubernetes.default.svc", "10.96.0.1"];

/// Writes the authority, the server's certificate, those of its clients, and the key of accounts.
pub(super) fn write(directory: &Path) {
    let mut params = CertificateParams::new(Vec::<String>::new()).expect("parameters");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    params.distinguished_name.push(DnType::CommonName, "test cluster");
    let authority = CertifiedIssuer::self_signed(params, key()).expect("an authority");
    let save = |name: &str, text: String| {
        fs::write(directory.join(name), text).expect("a file of keys");
    };
    save("ca.crt", authority.pem());
    save("ca.key", authority.key().serialize_pem());

    let names: Vec<String> = SERVER_NAMES.map(str::to_owned).into();
    let mut server = CertificateParams::new(names).expect("parameters");
    server.distinguished_name.push(DnType::CommonName, "kube-apiserver");
    server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let mut certificates = vec![("server", server)];
    for (file, group, name) in CLIENTS {
        let mut client = CertificateParams::new(Vec::<String>::new()).expect("parameters");
        if !group.is_empty() {
            client.distinguished_name.push(DnType::OrganizationName, group);
        }
        client.distinguished_name.push(DnType::CommonName, name);
        client.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        certificates.push((file, client));
    }
    for (file, mut params) in certificates {
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        let key = key();
        let certificate = params.signed_by(&key, &authority).expect("a certificate");
        save(&format!("{file}.crt"), certificate.pem());
        save(&format!("{file}.key"), key.serialize_pem());
    }
    let accounts = key();
    save("accounts.key", accounts.serialize_pem());
    save("accounts.pub", accounts.public_key_pem());
}

fn key() -> KeyPair {
    KeyPair::generate().expect("a key")
}
