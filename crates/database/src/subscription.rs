//! Notifications that data in a database changed, for programs that serve from memory.
//!
//! A notification says only that something changed. Notifications can be lost with the connection, so that
//! subscribers also poll periodically.

use std::{fmt, sync::Arc};

use tokio::{sync::Notify, task::JoinHandle};

/// A subscription to changes of a database. Dropping it unsubscribes.
pub struct ChangeSubscription {
    changed: Arc<Notify>,
    task: JoinHandle<()>,
}

impl ChangeSubscription {
    pub(crate) fn new(changed: Arc<Notify>, task: JoinHandle<()>) -> Self {
        Self { changed, task }
    }

    /// Waits for a notification. Notifications that arrived between two waits count as one notification. Cancel safe.
    pub async fn changed(&mut self) {
        self.changed.notified().await;
    }
}

impl fmt::Debug for ChangeSubscription {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ChangeSubscription").finish_non_exhaustive()
    }
}

impl Drop for ChangeSubscription {
    fn drop(&mut self) {
        self.task.abort();
    }
}
