//! Hints that something in a store changed, for programs that serve from memory.
//!
//! A hint says to look, not what is there: hints can be lost with a connection. The truth is in
//! [`Store::revisions`](crate::Store::revisions), which whoever takes hints still reads now and then.

use std::{fmt, sync::Arc};

use tokio::{sync::Notify, task::JoinHandle};

/// Hints from a store. Dropping them ends the listening.
pub struct Hints {
    arrived: Arc<Notify>,
    listening: JoinHandle<()>,
}

impl Hints {
    pub(crate) fn new(arrived: Arc<Notify>, listening: JoinHandle<()>) -> Self {
        Self { arrived, listening }
    }

    /// Waits for a hint. Those that nobody waited for are one: a reader who is slow looks once. Nothing is
    /// lost where this is dropped while it waits.
    pub async fn next(&mut self) {
        self.arrived.notified().await;
    }
}

impl fmt::Debug for Hints {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Hints").finish_non_exhaustive()
    }
}

impl Drop for Hints {
    fn drop(&mut self) {
        self.listening.abort();
    }
}
