//! Hints that something in a store changed, for programs that serve from memory.
//!
//! A hint says where to look, not what is there: hints can be lost with a connection. The truth is in
//! [`Store::revisions`](crate::Store::revisions), which whoever takes hints still reads every second.

use std::{
    collections::BTreeSet,
    fmt, mem,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use assay_engine::chain::ChainId;
use tokio::{sync::Notify, task::JoinHandle};

/// What to look at anew. Hints that nobody took yet are put together: a reader who is slow looks once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hint {
    /// Whether listening began, or began again: then anything may have changed unheard.
    pub connected: bool,
    /// The newest control revision that was heard of.
    pub control: Option<u64>,
    /// The newest revision of sources, listings and labels that was heard of.
    pub intel: Option<u64>,
    /// Chains whose tip moved.
    pub chains: BTreeSet<ChainId>,
}

impl Hint {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Where hints wait until they are taken.
#[derive(Debug, Default)]
pub(crate) struct Mailbox {
    waiting: Mutex<Hint>,
    arrived: Notify,
    connected: AtomicBool,
}

impl Mailbox {
    /// Adds to what waits.
    pub(crate) fn add(&self, change: impl FnOnce(&mut Hint)) {
        change(&mut self.waiting.lock().unwrap_or_else(PoisonError::into_inner));
        self.arrived.notify_one();
    }

    /// Listening began.
    pub(crate) fn connected(&self) {
        self.connected.store(true, Ordering::Relaxed);
        self.add(|hint| hint.connected = true);
    }

    /// Listening ended; nothing is heard until it begins again.
    pub(crate) fn lost(&self) {
        self.connected.store(false, Ordering::Relaxed);
    }

    fn take(&self) -> Hint {
        mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Hints from a store. Dropping them ends the listening.
pub struct Hints {
    mailbox: Arc<Mailbox>,
    listening: JoinHandle<()>,
}

impl Hints {
    pub(crate) fn new(mailbox: Arc<Mailbox>, listening: JoinHandle<()>) -> Self {
        Self { mailbox, listening }
    }

    /// Waits for a hint. Nothing is lost where this is dropped while it waits.
    pub async fn next(&mut self) -> Hint {
        loop {
            let hint = self.mailbox.take();
            if !hint.is_empty() {
                return hint;
            }
            self.mailbox.arrived.notified().await;
        }
    }

    /// Whether the store is listened to at this moment.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.mailbox.connected.load(Ordering::Relaxed)
    }
}

impl fmt::Debug for Hints {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Hints")
            .field("connected", &self.is_connected())
            .finish_non_exhaustive()
    }
}

impl Drop for Hints {
    fn drop(&mut self) {
        self.listening.abort();
    }
}
