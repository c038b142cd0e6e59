//! Keys and certificates of a cluster.

use std::{fs, path::Path};

use assay_test_servers::Authority;
use rcgen::KeyPair;

use super::node;

const SERVER_NAMES: [&str; 4] = ["127.0.0.1", "localhost", "kubernetes.default.svc", "10.96.0.1"];

/// Writes the authority, the server's certificate, those of its clients, and the key of accounts.
pub(super) fn write(directory: &Path) {
    let authority = Authority::new();
    authority.own_certificate().write(directory, "ca");
    authority.server_at(&SERVER_NAMES).write(directory, "server");
    authority.client_in("system:masters", "admin").write(directory, "admin");
    authority.client_in("system:nodes", "system:node:node").write(directory, "node");
    authority.server_at(&[node::ADDRESS]).write(directory, "kubelet");
    for (file, name) in [
        ("controllers", "system:kube-controller-manager"),
        ("scheduler", "system:kube-scheduler"),
        ("proxy", "system:kube-proxy"),
    ] {
        authority.client(name).write(directory, file);
    }
    // A holder of this certificate may act for others: the API server, towards other servers behind
    // it.
    let front = Authority::new();
    front.own_certificate().write(directory, "front");
    front.client("front").write(directory, "front-client");
    let accounts = KeyPair::generate().expect("a key");
    for (file, text) in
        [("accounts.key", accounts.serialize_pem()), ("accounts.pub", accounts.public_key_pem())]
    {
        fs::write(directory.join(file), text).expect("a file of keys");
    }
}
