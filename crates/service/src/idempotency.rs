//! Requests with an idempotency key: the first one is answered, and its answer is repeated for a day.
//!
//! The database decides which request has a key, and keeps the answers, so that the servers of an installation agree and
//! a restart forgets nothing. An answer is kept before it is charged and given: a program that stops in between has
//! charged nothing, and a repetition gets the kept answer.

use std::{sync::Arc, time::Duration};

use assay_store::{
    StoreError,
    idempotency::{KeyClaim, KeyState, KeyedRequest},
};
use jiff::{SignedDuration, Timestamp};
use sha2::{Digest, Sha256};

use crate::{Caller, Service};

/// Time for which an answer is repeated.
const KEPT_FOR: SignedDuration = SignedDuration::from_hours(24);

/// Key that a request has claimed.
#[derive(Debug)]
pub struct HeldKey {
    service: Arc<Service>,
    request: KeyedRequest,
    holder: String,
}

/// Outcome of the attempt to claim a key.
#[derive(Debug)]
pub enum KeyOutcome {
    /// The request has the key and is to be answered.
    Held(HeldKey),
    /// An equal request has the key and is not answered yet.
    InUse,
    /// The answer of an equal request.
    Answered(String),
    /// A request with another body has the key.
    OtherBody,
}

impl Service {
    /// Claims an idempotency key of a caller's tenant for a request to an operation. The claim ends after `claimed_for`,
    /// unless the answer is kept before.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub async fn claim_key(
        self: &Arc<Self>,
        caller: &Caller,
        operation: &'static str,
        key: String,
        body: &[u8],
        claimed_for: Duration,
    ) -> Result<KeyOutcome, StoreError> {
        let request = KeyedRequest {
            tenant: caller.tenant.name.clone(),
            operation,
            key,
            body_digest: hex::encode(Sha256::digest(body)),
        };
        let now = self.key_time();
        let holder = format!("{:032x}", assay_system::random_u128());
        let until = now.saturating_add(claimed_for).unwrap_or(Timestamp::MAX);
        let claim = KeyClaim { holder: holder.clone(), until };
        Ok(match self.databases.store.claim_key(&request, &claim, now).await? {
            KeyState::Claimed => {
                KeyOutcome::Held(HeldKey { service: Arc::clone(self), request, holder })
            }
            KeyState::InUse => KeyOutcome::InUse,
            KeyState::Answered(answer) => KeyOutcome::Answered(answer),
            KeyState::OtherBody => KeyOutcome::OtherBody,
        })
    }

    /// Returns the time by which claims and kept answers end: that of the database, which all servers share.
    fn key_time(&self) -> Timestamp {
        self.store_clock.now(self.clock.now())
    }
}

impl HeldKey {
    /// Keeps the answer for a day. False if the claim had ended and another request has the key: then the answer may be
    /// neither charged nor given.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails. The answer may have been kept nevertheless, so that it may not be charged.
    pub async fn keep(self, answer: &str) -> Result<bool, StoreError> {
        let Self { service, request, holder } = self;
        let until = service.key_time().saturating_add(KEPT_FOR).unwrap_or(Timestamp::MAX);
        service.databases.store.keep_answer(&request, &holder, answer, until).await
    }

    /// Frees the key of a request that got no answer that is kept. If the store fails, the claim ends by itself.
    pub async fn free(self) {
        let Self { service, request, holder } = self;
        if let Err(error) = service.databases.store.free_key(&request, &holder).await {
            tracing::warn!(%error, "failed to free an idempotency key; its claim expires");
        }
    }
}
