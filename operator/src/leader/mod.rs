//! Only one operator writes: whoever holds the Lease. Who cannot renew it in time stops being the one
//! before the Lease runs out, and the program ends: a fresh one starts with nothing half done.

mod claim;

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use jiff::Timestamp;
use k8s_openapi::{
    api::coordination::v1::{Lease, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta},
};
use kube::{Api, Client, api::PostParams};
use tokio::time::{Instant, sleep, timeout};

use self::claim::{Claim, ObservedLease};
use crate::{backoff::spread, system};

/// The Lease.
const LEASE: &str = "assay-operator";

/// Whether this program may write. Cheap to ask, before every write.
#[derive(Clone, Debug, Default)]
pub struct Leadership(Arc<Mutex<Option<Instant>>>);

impl Leadership {
    /// Whether the Lease is held and not about to run out.
    #[must_use]
    pub fn is_held(&self) -> bool {
        let until = *self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        until.is_some_and(|until| Instant::now() < until)
    }

    /// Stops every write from now on.
    pub fn give_up(&self) {
        self.set(None);
    }

    fn set(&self, until: Option<Instant>) {
        *self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = until;
    }
}

/// How the Lease is held.
#[derive(Clone, Debug)]
pub struct Election {
    api: Api<Lease>,
    name: String,
    duration: Duration,
    leadership: Leadership,
    observed: ObservedLease,
}

impl Election {
    /// An election in a namespace, for a program of this name, which decides about `leadership`.
    #[must_use]
    pub fn new(
        client: Client,
        namespace: &str,
        name: &str,
        seconds: u32,
        leadership: Leadership,
    ) -> Self {
        Self {
            api: Api::namespaced(client, namespace),
            name: name.to_owned(),
            duration: Duration::from_secs(seconds.into()),
            leadership,
            observed: ObservedLease::default(),
        }
    }

    /// Waits until this program holds the Lease.
    pub async fn win(&mut self) {
        loop {
            if self.try_claim().await {
                return;
            }
            sleep(spread(self.duration / 8, system::jitter())).await;
        }
    }

    /// Renews the Lease until that is no longer possible.
    pub async fn hold(&mut self) {
        while self.leadership.is_held() {
            sleep(spread(self.duration / 5, system::jitter())).await;
            self.try_claim().await;
        }
    }

    /// Gives the Lease back, so that another program need not wait.
    pub async fn release(&mut self) {
        self.leadership.give_up();
        let Ok(mut lease) = self.api.get(LEASE).await else { return };
        let spec = lease.spec.get_or_insert_default();
        if spec.holder_identity.as_deref() == Some(&*self.name) {
            spec.holder_identity = None;
            spec.lease_duration_seconds = Some(1);
            // Where it fails, the Lease runs out by itself.
            let _ = self.api.replace(LEASE, &PostParams::default(), &lease).await;
        }
    }

    /// Takes or renews the Lease where that is possible; says whether it is held now.
    async fn try_claim(&mut self) -> bool {
        // Counted from before the request: the server's own count cannot begin earlier.
        let begun = Instant::now();
        let request_timeout = self.duration / 4;
        match timeout(request_timeout, self.claim(system::now())).await {
            Ok(Ok(true)) => {
                // Given up before anybody else may take it.
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
        // Both fail where somebody else was faster: what was read is part of what is written.
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
