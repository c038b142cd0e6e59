//! The use of long windows of limits by a server that counts limits by itself: recorded as charges are, so that a restart
//! does not give a window twice.
//!
//! A killed program loses at most the use since the last write; a program that is stopped writes all.

use std::{
    num::NonZeroU32,
    sync::atomic::{AtomicBool, Ordering},
};

use assay_limiter::{CounterId, Limiter, WindowUse};
use assay_store::{StoreError, UsageStore, coordination::quotas::QuotaCounter, usage::QuotaUse};

use crate::SharedLimits;

/// Writer of the use of windows.
#[derive(Debug, Default)]
pub struct QuotaUses {
    is_failing: AtomicBool,
}

impl QuotaUses {
    /// Returns the limiter of a server: that of the shared limits, else one that continues the windows recorded in a
    /// store.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub async fn limiter(
        shared: Option<&SharedLimits>,
        store: &dyn UsageStore,
    ) -> Result<Limiter, StoreError> {
        if let Some(shared) = shared {
            return Ok(shared.limiter());
        }
        let uses = store.quota_uses().await?;
        Ok(Limiter::continuing(uses.into_iter().filter_map(window_use)))
    }

    /// Writes the use that changed. Use that cannot be written stays in memory.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub(crate) async fn write(
        &self,
        limiter: &Limiter,
        store: &dyn UsageStore,
    ) -> Result<(), StoreError> {
        let uses: Vec<QuotaUse> = limiter.changed_uses().iter().filter_map(quota_use).collect();
        let written = if uses.is_empty() { Ok(()) } else { store.record_quota_uses(&uses).await };
        if written.is_err() {
            limiter.keep_changed();
        }
        self.is_failing.store(written.is_err(), Ordering::Relaxed);
        written
    }

    /// True if the last attempt to write failed.
    pub fn is_failing(&self) -> bool {
        self.is_failing.load(Ordering::Relaxed)
    }
}

/// Converts a recorded use; `None` if a counter that no program writes was recorded.
fn window_use(recorded: QuotaUse) -> Option<WindowUse> {
    let QuotaUse { counter, window_number, used } = recorded;
    Some(WindowUse {
        counter: CounterId {
            subject: counter.subject.parse().ok()?,
            limit: counter.limit.parse().ok()?,
            window_seconds: counter.window_seconds.get().into(),
        },
        window: window_number,
        spent: used,
    })
}

/// Converts a use; `None` for a window of more than 136 years.
fn quota_use(used: &WindowUse) -> Option<QuotaUse> {
    let WindowUse { counter: CounterId { subject, limit, window_seconds }, window, spent } = used;
    let counter = QuotaCounter {
        subject: subject.to_string(),
        limit: limit.to_string(),
        window_seconds: NonZeroU32::new(u32::try_from(*window_seconds).ok()?)?,
    };
    Some(QuotaUse { counter, window_number: *window, used: *spent })
}
