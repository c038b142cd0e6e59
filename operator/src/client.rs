//! The client of the API server, for structs that implement `Debug`.

use kube::Client;

/// A client with an implementation of `Debug`.
#[derive(Clone)]
pub(crate) struct SharedClient(pub(crate) Client);

impl std::fmt::Debug for SharedClient {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Client")
    }
}
