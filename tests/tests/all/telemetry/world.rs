//! A server with a failing chain source.

use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use assay_tests::{Caller, Server, assay, tenant};

/// A server with tenants of its own, and a chain that is read on demand from a server that fails.
pub(super) struct World {
    pub(super) server: Server,
    pub(super) caller: Caller,
    /// A revoked key.
    pub(super) revoked: String,
    /// A key of a second tenant.
    pub(super) other: String,
    _source: tokio::runtime::Runtime,
}

/// The failure of a request, by its number.
fn failures(number: usize) -> (axum::http::StatusCode, &'static str) {
    use axum::http::StatusCode;
    match number % 4 {
        0 => (StatusCode::INTERNAL_SERVER_ERROR, "no"),
        1 => (StatusCode::NOT_FOUND, "no"),
        2 => (StatusCode::OK, "{}"),
        _ => (StatusCode::FORBIDDEN, "no"),
    }
}

pub(super) const TENANTS: [&str; 2] = ["zanzibar-exchange", "quokka-payments"];

impl World {
    pub(super) fn start(arguments: &[&str]) -> Self {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let asked = Arc::new(AtomicUsize::new(0));
        let failing = axum::Router::new().fallback(move || {
            let number = asked.fetch_add(1, Ordering::Relaxed);
            async move { failures(number) }
        });
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let endpoint = listener.local_addr().unwrap();
        runtime.spawn(async move { axum::serve(listener, failing).await });

        let directory = Arc::new(tempfile::tempdir().unwrap());
        let mut manifests = format!(
            "apiVersion: assay.dev/v1alpha1\nkind: ChainSource\nmetadata: {{name: failing}}\n\
             spec: {{chain: btc, mode: on_demand, protocol: esplora, endpoint: \"http://{endpoint}\"}}\n"
        );
        for name in TENANTS {
            manifests.push_str("---\n");
            manifests.push_str(&tenant(name, "enterprise"));
        }
        fs::write(directory.path().join("world.yaml"), manifests).unwrap();
        let run = |arguments: &[&str]| assay(directory.path(), arguments).ok().stdout;
        let _ = run(&["apply", "-f", "world.yaml"]);
        let key = |tenant: &str| run(&["keys", "create", "--tenant", tenant]).trim().to_owned();
        let (good, revoked, other) = (key(TENANTS[0]), key(TENANTS[0]), key(TENANTS[1]));
        let _ = run(&["keys", "revoke", revoked.split('_').nth(2).unwrap()]);
        let server = Server::start(Arc::clone(&directory), arguments);
        let caller = server.caller(&good);
        Self { server, caller, revoked, other, _source: runtime }
    }
}
