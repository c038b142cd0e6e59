//! Leader election by a Lease: only the operator that holds the Lease writes. An operator that cannot renew the Lease
//! in time stops writing before the Lease expires, and exits.

mod claim;

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use assay_system::Clock;
use jiff::Timestamp;
use k8s_openapi::{
    api::coordination::v1::{Lease, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta},
};
use kube::{Api, Client, api::PostParams};
use tokio::time::{Instant, sleep, timeout};

use self::claim::{Claim, ObservedLease};
use crate::backoff::with_jitter;

/// The name of the Lease.
const LEASE: &str = "assay-operator";

/// Permission of this operator to write, checked before every write.
#[derive(Clone, Debug, Default)]
pub struct Leadership(Arc<Mutex<Option<Instant>>>);

impl Leadership {
    /// Says whether the Lease is held and not about to expire.
    #[must_use]
    pub fn is_held(&self) -> bool {
        let until = *self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        until.is_some_and(|until| Instant::now() < until)
    }

    /// Ends the leadership: no write is allowed from now on.
    pub fn give_up(&self) {
        self.set(None);
    }

    fn set(&self, until: Option<Instant>) {
        *self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = until;
    }
}

/// The candidacy of this operator for the Lease.
#[derive(Clone, Debug)]
pub struct Election {
    api: Api<Lease>,
    name: String,
    duration: Duration,
    leadership: Leadership,
    clock: Clock,
    observed: ObservedLease,
}

impl Election {
    /// A candidacy in a namespace, under a name. The election updates `leadership`.
    #[must_use]
    pub fn new(
        client: Client,
        namespace: &str,
        name: &str,
        seconds: u32,
        leadership: Leadership,
        clock: Clock,
    ) -> Self {
        Self {
            api: Api::namespaced(client, namespace),
            name: name.to_owned(),
            duration: Duration::from_secs(seconds.into()),
            leadership,
            clock,
            observed: ObservedLease::default(),
        }
    }

    /// Waits until this operator holds the Lease.
    pub async fn win(&mut self) {
        loop {
            if self.try_claim().await {
                return;
            }
            sleep(with_jitter(self.duration / 8, assay_system::random_fraction())).await;
        }
    }

    /// Renews the Lease until it is lost.
    pub async fn hold(&mut self) {
        while self.leadership.is_held() {
            sleep(with_jitter(self.duration / 5, assay_system::random_fraction())).await;
            self.try_claim().await;
        }
    }

    /// Releases the Lease, so that another operator can take over immediately.
    pub async fn release(&mut self) {
        self.leadership.give_up();
        let Ok(mut lease) = self.api.get(LEASE).await else { return };
        let spec = lease.spec.get_or_insert_default();
        if spec.holder_identity.as_deref() == Some(&*self.name) {
            spec.holder_identity = None;
            spec.lease_duration_seconds = Some(1);
            // If this fails, the Lease expires.
            let _ = self.api.replace(LEASE, &PostParams::default(), &lease).await;
        }
    }

    /// Takes or renews the Lease if possible, and returns true if this operator holds it.
    async fn try_claim(&mut self) -> bool {
        // Measured from before the request: for the API server, the Lease cannot have begun earlier.
        let begun = Instant::now();
        let request_timeout = self.duration / 4;
        match timeout(request_timeout, self.claim(self.clock.now())).await {
            Ok(Ok(true)) => {
                // Leadership ends before another operator may take the Lease.
                self.leadership.set(Some(begun + self.duration * 2 / 3));
            }
            Ok(Ok(false)) => self.leadership.set(None),
            Ok(Err(error)) => tracing::warn!(%error, "failed to claim the Lease"),
            Err(_) => tracing::warn!("the API server did not answer about the Lease in time"),
        }
        self.leadership.is_held()
    }

    async fn claim(&mut self, now: Timestamp) -> Result<bool, kube::Error> {
        let parameters = PostParams::default();
        let current = self.api.get_opt(LEASE).await?;
        let spec = current.as_ref().and_then(|lease| lease.spec.as_ref());
        let claim = self.observed.observe(spec, &self.name, self.duration, Instant::now());
        let transitions = spec.and_then(|spec| spec.lease_transitions).unwrap_or(0);
        let acquired = spec.and_then(|spec| spec.acquire_time.clone());
        let (acquire_time, lease_transitions) = match claim {
            Claim::Leave => return Ok(false),
            Claim::Renew => (acquired, transitions),
            Claim::Take => (Some(MicroTime(now)), transitions + 1),
        };
        let metadata = current.map_or_else(
            || ObjectMeta { name: Some(LEASE.into()), ..ObjectMeta::default() },
            |lease| lease.metadata,
        );
        let is_new = metadata.resource_version.is_none();
        let lease = Lease {
            metadata,
            spec: Some(LeaseSpec {
                holder_identity: Some(self.name.clone()),
                lease_duration_seconds: i32::try_from(self.duration.as_secs()).ok(),
                acquire_time,
                renew_time: Some(MicroTime(now)),
                lease_transitions: Some(lease_transitions),
                ..LeaseSpec::default()
            }),
        };
        // Both fail if another operator was faster: the resource version that was read is sent along.
        let written = if is_new {
            self.api.create(&parameters, &lease).await
        } else {
            self.api.replace(LEASE, &parameters, &lease).await
        };
        match written {
            Ok(_) => Ok(true),
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(false),
            Err(error) => Err(error),
        }
    }
}
