//! Limits of requests to the APIs of explorers, which all replicas share.

use std::{
    num::NonZeroU32,
    sync::{Arc, LazyLock},
};

use assay_chain::histories::accounts::limits::{
    CounterGrant, CounterRequest, LocalCounters, RequestCounters,
};
use assay_store::{
    Store,
    coordination::{
        Coordination,
        quotas::{QuotaCounter, QuotaRequest},
    },
};
use tokio::runtime::Handle;

/// Counters of the program, for a store that one program uses at a time.
static LOCAL: LazyLock<Arc<LocalCounters>> = LazyLock::new(Arc::default);

/// Returns the counters of requests: those of the store if several programs share it, else those of the program. The counters of a store
/// are called from threads that may block. Outside of a runtime they are those of the program.
#[must_use]
pub fn request_counters(store: &dyn Store) -> Arc<dyn RequestCounters> {
    match store.coordination() {
        Some(coordination) => Arc::new(SharedCounters { coordination, runtime: Handle::current() }),
        None => Arc::clone(&*LOCAL) as Arc<dyn RequestCounters>,
    }
}

/// Counters in the database, as quotas of windows.
#[derive(Debug)]
struct SharedCounters {
    coordination: Arc<dyn Coordination>,
    runtime: Handle,
}

impl RequestCounters for SharedCounters {
    fn reserve(
        &self,
        subject: &str,
        requests: &[CounterRequest],
    ) -> Result<Vec<CounterGrant>, String> {
        let quota = |request: &CounterRequest| {
            let seconds = u32::try_from(request.window.length().as_secs()).ok();
            let counter = QuotaCounter {
                subject: format!("api {subject}"),
                limit: request.window.as_str().to_owned(),
                window_seconds: seconds.and_then(NonZeroU32::new).unwrap_or(NonZeroU32::MAX),
            };
            QuotaRequest { counter, allowed: request.allowed, wanted: request.wanted }
        };
        let quotas: Vec<QuotaRequest> = requests.iter().map(quota).collect();
        let granted = self.runtime.block_on(self.coordination.reserve(&quotas));
        let granted = granted.map_err(|error| error.to_string())?;
        Ok(granted
            .into_iter()
            .map(|grant| CounterGrant {
                granted: grant.granted,
                remaining: grant.remaining,
                until_end: grant.until_end,
            })
            .collect())
    }
}
