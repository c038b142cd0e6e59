//! The way to the API server, where a type that can be shown holds it.

use kube::Client;

/// A client that can be shown.
#[derive(Clone)]
pub(crate) struct SharedClient(pub(crate) Client);

impl std::fmt::Debug for SharedClient {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Client")
    }
}
